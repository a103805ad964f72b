#include "src/tool/read/dump/lite_name.hpp"

#include <algorithm>
#include <limits>

#include "opdump/types/format.hpp"
#include "src/tool/cli/decimal.hpp"

namespace opdump::tool {
namespace {

// Source: the tool's tables of words.
constexpr std::string_view kLiteDTypes[] = {"Float16", "Float32", "Int8",   "Int16", "Int32", "UInt8",
                                            "UInt16",  "UInt32",  "String", "Bool",  "Tensor"};
constexpr std::string_view kLiteFormats[] = {"NCHW", "NHWC", "NHWC4", "HWKC",   "HWCK",
                                             "KCHW", "CKHW", "KHWC",  "CHWK",   "HW",
                                             "HW4",  "NC",   "NC4",   "NC4HW4", "NCDHW"};

template <std::size_t kWords>
bool is_one_of(std::string_view word, const std::string_view (&words)[kWords]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

/// Reads `{dim}_{dim}_{dtype}_{format}`, of which each part may be missing.
bool parse_tail(std::string_view tail, LiteName& name) {
  while (!tail.empty()) {
    const std::size_t end = std::min(tail.find('_'), tail.size());
    const std::optional<std::uint64_t> dim = parse_decimal(tail.substr(0, end));
    if (!dim || end == tail.size()) break;
    name.shape.push_back(*dim);
    tail.remove_prefix(end + 1);
  }
  if (name.shape.size() > kMaxRank) return false;
  const std::size_t end = std::min(tail.find('_'), tail.size());
  name.dtype = tail.substr(0, end);
  if (!name.dtype.empty() && !is_one_of(name.dtype, kLiteDTypes)) return false;
  if (end == tail.size()) return true;
  name.format = tail.substr(end + 1);
  return is_one_of(name.format, kLiteFormats);
}

/// Reads `{name}_{input|output}_{index}`.
bool parse_front(std::string_view front, LiteName& name) {
  const std::size_t last = front.rfind('_');
  if (last == front.npos) return false;
  const std::optional<std::uint64_t> index = parse_decimal(front.substr(last + 1));
  if (!index || *index > std::numeric_limits<std::uint32_t>::max()) return false;
  name.index = static_cast<std::uint32_t>(*index);
  front = front.substr(0, last);
  name.is_output = front.ends_with("_output");
  if (!name.is_output && !front.ends_with("_input")) return false;
  name.op = front.substr(0, front.rfind('_'));
  return !name.op.empty();
}

}  // namespace

std::optional<LiteName> parse_lite_name(std::string_view file_name) {
  constexpr std::string_view kSuffix = ".bin";
  constexpr std::string_view kShape = "_shape_";
  if (!file_name.ends_with(kSuffix)) return std::nullopt;
  file_name.remove_suffix(kSuffix.size());
  const std::size_t shape = file_name.rfind(kShape);
  LiteName name;
  if (shape == file_name.npos || !parse_tail(file_name.substr(shape + kShape.size()), name) ||
      !parse_front(file_name.substr(0, shape), name))
    return std::nullopt;
  return name;
}

RecordTensor named_tensor(const LiteName& name) {
  RecordTensor tensor;
  tensor.is_output = name.is_output;
  tensor.index = name.index;
  std::string dtype(name.dtype);
  for (char& c : dtype) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const Result<DType> known = dtype_from_name(dtype);
  tensor.dtype_known = true;
  if (known.ok()) tensor.dtype = known.value();
  if (const Result<Format> format = format_from_name(name.format); format.ok())
    tensor.format = format.value();
  tensor.has_shape = true;
  tensor.rank = static_cast<std::uint8_t>(name.shape.size());
  std::copy(name.shape.begin(), name.shape.end(), tensor.dims);
  return tensor;
}

std::optional<RecordPlace> parse_lite_place(std::string_view directory) {
  while (directory.ends_with('/')) directory.remove_suffix(1);
  const std::size_t slash = directory.rfind('/');
  const std::optional<std::uint64_t> step = parse_decimal(directory.substr(slash + 1));
  if (slash == directory.npos || !step) return std::nullopt;
  const std::string_view above = directory.substr(0, slash);
  return RecordPlace{.model = above.substr(above.rfind('/') + 1), .step = *step, .has_model_id = false};
}

}  // namespace opdump::tool
