#include "src/tool/commands/replay/replay_faults.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "opdump/impl/stats/non_finite.hpp"

namespace opdump::tool {
namespace {

struct Pattern {
  std::size_t bytes = 0;
  std::uint64_t infinity = 0;
  std::uint64_t nan = 0;
};

/// Of one number. What has no infinity overflows to its NaN.
Pattern pattern_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
    case DType::complex32:
      return {2, 0x7c00, 0x7e00};
    case DType::bfloat16:
      return {2, 0x7f80, 0x7fc0};
    case DType::float32:
    case DType::complex64:
      return {4, 0x7f800000, 0x7fc00000};
    case DType::float64:
    case DType::complex128:
      return {8, 0x7ff0000000000000, 0x7ff8000000000000};
    case DType::float8_e5m2:
      return {1, 0x7c, 0x7e};
    case DType::hifloat8:
      return {1, 0x6f, 0x80};
    case DType::float8_e4m3fn:
      return {1, 0x7f, 0x7f};
    case DType::float8_e8m0:
      return {1, 0xff, 0xff};
    default:
      return {};
  }
}

}  // namespace

void break_output(MadeMemory& memory, const RunOp& op, std::span<const TensorView> outputs, bool nan) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Pattern pattern = pattern_of(op.outputs[i].dtype);
    if (pattern.bytes == 0 || op.outputs[i].bytes == 0) continue;
    std::byte little_endian[8];
    store_little_endian(little_endian, nan ? pattern.nan : pattern.infinity);
    memory.overwrite(outputs[i].address, {little_endian, little_endian + pattern.bytes});
    return;
  }
}

Status trample(MadeMemory& memory, const RunFault& fault, Address output) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(fault.bytes));
  const Status status = memory.copy(bytes.data(), output + fault.offset, bytes.size());
  if (status != Status::ok) return status;
  for (std::byte& byte : bytes) byte = ~byte;
  memory.overwrite(output + fault.offset, std::move(bytes));
  return Status::ok;
}

}  // namespace opdump::tool
