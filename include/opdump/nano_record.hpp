#pragma once
#include <cstdint>

#include "opdump/nano_encode.hpp"
#include "opdump/record.hpp"

/// How a record's head goes through the ring with OPDUMP_SMALL_CODE: behind RecordHead and the texts stands
/// the head of the nano record itself, and ends where the tensors' bytes begin. The drainer hands both on as
/// they are.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Bytes that `encode_nano_record` will write; errors and `data_bytes` as `check_record`.
inline Result<std::uint32_t> nano_record_bytes(RecordSource& source, std::uint64_t& data_bytes) {
  if (const Status status = check_record(source, data_bytes); status != Status::ok) return status;
  source.nano_head =
      nano_head_sizes([&source](auto use) { source.tensors.for_each_tensor(use); }, source.op->name);
  return aligned_head_bytes(plain_head_bytes(source) + source.nano_head.file_bytes());
}

/// Writes the head, the texts and the nano record's head to `to`, which is 8-byte aligned and has room for
/// the `head_bytes` that `nano_record_bytes` has told. All of it is one function: on a Cortex-M that takes
/// less code and half the stack.
[[gnu::flatten]] inline void encode_nano_record(const RecordSource& source, std::uint32_t head_bytes,
                                                std::byte* to) {
  const std::uint32_t file_bytes = static_cast<std::uint32_t>(source.nano_head.file_bytes());
  encode_record(source, {}, file_bytes, to);
  ByteCursor file(to + head_bytes - file_bytes);
  encode_nano_head([&source](auto use) { source.tensors.for_each_tensor(use); }, source.op->name,
                   source.nano_head, file);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
