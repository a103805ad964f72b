#include "src/tool/read/run/quantisation_reader.hpp"

#include <array>

#include "opdump/types/tensor.hpp"

namespace opdump::tool {

using cards::Quantisation;
using cards::QuantScheme;
using config::JsonNode;
using config::JsonType;
using config::KeyPath;

bool QuantisationReader::read(const JsonNode& parent, const KeyPath& path, Quantisation& quant) {
  const JsonNode* const node = parent.member("quant");
  if (node == nullptr) return true;
  const KeyPath here = path.key("quant");
  if (node->type() != JsonType::object) return fields_.wrong_type(*node, here, "an object");
  std::size_t scheme = 0;
  if (!fields_.read_word(*node, here, "scheme", cards::kQuantSchemes, scheme)) return false;
  quant.scheme = static_cast<QuantScheme>(scheme + 1);
  std::uint64_t axis = 0;
  if (!fields_.read_number(*node, here, "axis", axis)) return false;
  if (axis >= kMaxRank)
    return fields_.refuse(*node->member("axis"), here.key("axis"), "a tensor has up to 32 dims");
  if (node->member("axis") != nullptr) quant.axis = static_cast<std::int64_t>(axis);
  switch (quant.scheme) {
    case QuantScheme::pow2:
      return read_pow2(*node, here, quant);
    case QuantScheme::block:
      return read_block(*node, here, quant);
    case QuantScheme::lut:
      return read_lut(*node, here, quant);
    default:
      return read_affine(*node, here, quant);
  }
}

bool QuantisationReader::read_affine(const JsonNode& node, const KeyPath& path, Quantisation& quant) {
  constexpr std::array<std::string_view, 4> kKeys = {"scheme", "axis", "scale", "zero_point"};
  if (!fields_.check_object(node, path, kKeys) || !fields_.read_reals(node, path, "scale", quant.scales) ||
      !fields_.read_reals(node, path, "zero_point", quant.zero_points))
    return false;
  if (quant.scales.empty())
    return fields_.missing(node, path.key("scale"), "one number, or one for each index of the axis");
  if (quant.zero_points.empty() || quant.zero_points.size() == quant.scales.size()) return true;
  return fields_.refuse(*node.member("zero_point"), path.key("zero_point"), "there are as many as scales");
}

bool QuantisationReader::read_pow2(const JsonNode& node, const KeyPath& path, Quantisation& quant) {
  constexpr std::array<std::string_view, 3> kKeys = {"scheme", "axis", "exponent"};
  if (!fields_.check_object(node, path, kKeys) ||
      !fields_.read_reals(node, path, "exponent", quant.exponents))
    return false;
  if (quant.exponents.empty())
    return fields_.missing(node, path.key("exponent"), "one number, or one for each index of the axis");
  for (const std::int32_t exponent : quant.exponents) {
    if (exponent < cards::kLeastExponent || exponent > cards::kMostExponent)
      return fields_.refuse(*node.member("exponent"), path.key("exponent"),
                            "exponents are from -149 to 127, as those of a float");
  }
  return true;
}

bool QuantisationReader::read_block(const JsonNode& node, const KeyPath& path, Quantisation& quant) {
  constexpr std::array<std::string_view, 4> kKeys = {"scheme", "type", "block_elements", "block_bytes"};
  std::string_view type;
  if (!fields_.check_object(node, path, kKeys) || !fields_.read_text(node, path, "type", type) ||
      !fields_.read_number(node, path, "block_elements", quant.block_elements) ||
      !fields_.read_number(node, path, "block_bytes", quant.block_bytes))
    return false;
  quant.block_type = type;
  if (type.empty())
    return fields_.missing(node, path.key("type"), "the name of the block's format, as \"Q4_K\"");
  if (quant.block_elements == 0)
    return fields_.missing(node, path.key("block_elements"), "how many numbers a block stands for");
  if (quant.block_bytes == 0)
    return fields_.missing(node, path.key("block_bytes"), "how many bytes a block has");
  return true;
}

bool QuantisationReader::read_lut(const JsonNode& node, const KeyPath& path, Quantisation& quant) {
  constexpr std::array<std::string_view, 4> kKeys = {"scheme", "axis", "table", "first"};
  if (!fields_.check_object(node, path, kKeys) || !fields_.read_reals(node, path, "table", quant.table))
    return false;
  if (quant.table.empty())
    return fields_.missing(node, path.key("table"), "a number for each that is stored");
  const JsonNode* const first = node.member("first");
  return first == nullptr || fields_.take_real(*first, path.key("first"), quant.first);
}

}  // namespace opdump::tool
