#pragma once
#include <cstdint>

#include "opdump/nano_encode.hpp"
#include "opdump/record_source.hpp"

/// How the head of a whole record goes through the ring. With OPDUMP_SMALL_CODE, behind RecordHead and the
/// texts stands the head of the nano record itself, and ends where the tensors' bytes begin: the drainer
/// hands both on as they are. Otherwise it is as `encode_record` has it.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

#if OPDUMP_SMALL_CODE
/// Sets `bytes` to what `encode_whole_record` will write, and what follows. Errors as `check_record`, which
/// limits what the head can come to.
inline Status measure_whole_record(RecordSource& source, RecordBytes& bytes) {
  if (const Status status = check_record(source, bytes.data); status != Status::ok) return status;
  bytes.head =
      static_cast<std::uint32_t>(padded_bytes(plain_head_bytes(source) + source.nano_head.file_bytes()));
  return Status::ok;
}

/// Writes the head to `to`, which is 8-byte aligned and has room for the `head_bytes` that
/// `measure_whole_record` has told.
inline void encode_whole_record(const RecordSource& source, std::uint32_t head_bytes, std::byte* to) {
  const std::uint32_t file_bytes = source.nano_head.file_bytes();
  encode_record(source, {}, file_bytes, to);
  NanoHeadWriter<ByteCursor> writer(ByteCursor(to + head_bytes - file_bytes), source.nano_head,
                                    source.op->name);
  writer.add_start();
  writer.add_all(source.tensors.inputs, false);
  writer.add_all(source.tensors.outputs, true);
}
#else
inline Status measure_whole_record(RecordSource& source, RecordBytes& bytes) {
  return measure_record(source, bytes);
}

inline void encode_whole_record(const RecordSource& source, std::uint32_t, std::byte* to) {
  encode_record(source, source.tensors, 0, to);
}
#endif

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
