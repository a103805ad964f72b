#include "record_file.hpp"

namespace opdump::tool {

RecordFile::Opened RecordFile::fail(Opened what, std::uint64_t offset, const std::string& reason) {
  error_ = error_at(offset, reason);
  return what;
}

std::string RecordFile::error_at(std::uint64_t offset, const std::string& reason) const {
  return path_ + ": at byte " + std::to_string(offset) + ": " + reason;
}

RecordFile::Opened RecordFile::open(const std::string& path) {
  path_ = path;
  version_ = 0;
  op_name_ = {};
  if (!file_.open(path)) {
    error_ = file_.error();
    return Opened::failed;
  }
  kind_ = is_nano(file_.bytes()) ? Kind::nano : Kind::proto;
  const Opened opened = kind_ == Kind::nano ? open_nano() : open_proto();
  if (!file_.cut_short()) return opened;
  error_ = file_.error();
  return Opened::failed;
}

RecordFile::Opened RecordFile::open_nano() {
  NanoReader reader;
  const Status opened = reader.open(file_.bytes(), bytes());
  if (reader.head_bytes() > kMaxHeadBytes)
    return fail(Opened::failed, 0, "the head claims to have more than 64 MiB");
  if (opened != Status::ok) return fail(Opened::failed, 0, std::string(to_string(opened)) + ", in the head");
  version_ = reader.version();
  for (RecordTensor tensor; reader.next(tensor);) {
  }
  if (reader.status() != Status::ok)
    return fail(Opened::failed, reader.error_offset(), std::string(to_string(reader.status())));
  return Opened::ok;
}

RecordFile::Opened RecordFile::open_proto() {
  ProtoReader reader;
  const Status opened = reader.open(file_.bytes(), bytes());
  if (reader.head_bytes() > kMaxHeadBytes || opened != Status::ok) {
    // Any bytes may look like the start of such a record, so its errors count only when it has a whole head.
    return fail(Opened::not_a_record, std::min<std::uint64_t>(bytes(), 8),
                "not a dump record: neither nano's magic number nor the message of a protobuf record");
  }
  op_name_ = reader.op_name();
  for (RecordTensor tensor; reader.next(tensor);) {
  }
  for (RecordBlob blob; reader.next(blob);) {
  }
  if (reader.status() != Status::ok)
    return fail(Opened::failed, reader.error_offset(), std::string(to_string(reader.status())));
  return Opened::ok;
}

RecordTensors RecordFile::tensors() const {
  // Both went well in `open`, with the same bytes.
  if (kind_ == Kind::nano) {
    NanoReader reader;
    static_cast<void>(reader.open(file_.bytes(), bytes()));
    return RecordTensors(reader);
  }
  ProtoReader reader;
  static_cast<void>(reader.open(file_.bytes(), bytes()));
  return RecordTensors(reader);
}

}  // namespace opdump::tool
