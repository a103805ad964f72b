#include "src/tool/read/overflow/op_debug_file.hpp"

#include <algorithm>
#include <vector>

namespace opdump::tool {

bool read_op_debug(RecordFile& file, const RecordTensor& tensor, OpDebug& debug, std::string& reason) {
  constexpr std::uint64_t kMostBytes = 4096;
  Result<std::uint64_t> bytes = tensor.bytes;
  if (tensor.has_shape && tensor.rank != 0 && tensor.dtype != DType::undefined)
    bytes = packed_bytes(tensor.dtype, tensor.shape());
  if (!bytes.ok() || bytes.value() > tensor.bytes) {
    reason = "the shape needs more bytes than the tensor has";
    return false;
  }
  std::vector<std::byte> all(static_cast<std::size_t>(std::min(bytes.value(), kMostBytes)));
  if (!file.read(tensor.data_offset, all)) {
    reason = file.error();
    return false;
  }
  return parse_op_debug(all, debug, reason);
}

}  // namespace opdump::tool
