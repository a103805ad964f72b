// Protobuf records: every tensor and blob lies within the file, and what it becomes is bounded by it.
#include "opdump/read/proto_reader.hpp"
#include "record_use.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const opdump::Bytes file(reinterpret_cast<const std::byte*>(data), size);
  opdump::ProtoReader reader;
  if (reader.open(file, size) != opdump::Status::ok) return 0;
  for (opdump::RecordTensor tensor; reader.next(tensor);) opdump::fuzz::use(tensor, size);
  for (opdump::RecordBlob blob; reader.next(blob);)
    opdump::fuzz::require(blob.data_offset <= size && blob.bytes <= size - blob.data_offset);
  return 0;
}
