#include "src/tool/read/dump/quantisation_text.hpp"

#include <algorithm>
#include <vector>

#include "src/config/text/human_text.hpp"
#include "src/tool/read/dump/block_format.hpp"

namespace opdump::tool {
namespace {

std::string range_text(double least, double most) {
  return least == most ? number_text(least) : number_text(least) + ".." + number_text(most);
}

/// The least and the greatest of `numbers`, which are not empty.
template <class Number>
std::string range_text(const std::vector<Number>& numbers) {
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  return range_text(static_cast<double>(*least), static_cast<double>(*most));
}

}  // namespace

std::string parameter_text(const Quantisation& quant) {
  std::string text;
  switch (quant.scheme) {
    case QuantScheme::none:
      break;
    case QuantScheme::affine:
      text = "scale " + range_text(quant.scales);
      if (!quant.zero_points.empty()) text += "  zero point " + range_text(quant.zero_points);
      break;
    case QuantScheme::pow2:
      text = "scale 2^" + range_text(quant.exponents);
      break;
    case QuantScheme::block:
      text = "blocks of " + std::to_string(quant.block_elements) + " " + printable(quant.block_type);
      break;
    case QuantScheme::lut:
      text = "table of " + std::to_string(quant.table.size()) + " from " + range_text(quant.table);
  }
  return is_uniform(quant) || quant.axis < 0 ? text : text + "  axis " + std::to_string(quant.axis);
}

std::string unreal_text(const Quantisation& quant) {
  const bool blocks = quant.scheme == QuantScheme::block;
  return blocks && block_format(quant) == nullptr
             ? "real values: not known for " + printable(quant.block_type)
             : "real values: the " + std::string(blocks ? "blocks" : "scales") +
                   " of the card do not fit this shape";
}

}  // namespace opdump::tool
