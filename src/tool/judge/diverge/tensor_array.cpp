#include "src/tool/judge/diverge/tensor_array.hpp"

#include <algorithm>

#include "src/tool/read/dump/npy_array.hpp"
#include "src/tool/read/dump/npy_header.hpp"

namespace opdump::tool {

bool array_of(const ReplayTensor& tensor, std::string& bytes, std::string& reason) {
  RecordTensor described;
  described.dtype = tensor.dtype;
  described.dtype_known = true;
  described.bytes = tensor.bytes.size();
  described.has_shape = true;
  if (tensor.dims.size() > kMaxRank) {
    reason = "it has " + std::to_string(tensor.dims.size()) + " dims";
    return false;
  }
  described.rank = static_cast<std::uint8_t>(tensor.dims.size());
  std::copy(tensor.dims.begin(), tensor.dims.end(), described.dims);
  NpyArray array;
  if (!describe_array(described, false, array, reason)) return false;
  // Not as msaccucmp: a tensor without elements keeps its dtype, and a scalar stays one.
  const std::string_view own = info(tensor.dtype).npy_descr;
  bytes = npy_header(array.elements == 0 && !own.empty() ? own : array.descr, tensor.dims);
  const std::size_t head = bytes.size();
  bytes.resize(head + static_cast<std::size_t>(array.elements) * array.item_bytes);
  auto* const items = reinterpret_cast<std::byte*>(bytes.data() + head);
  if (array.convert != nullptr)
    array.convert(tensor.bytes.data(), static_cast<std::size_t>(array.elements), items);
  else
    std::copy_n(tensor.bytes.begin(), bytes.size() - head, items);
  return true;
}

}  // namespace opdump::tool
