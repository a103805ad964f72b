// Stands in for the vendor's libascend_dump_parser.so, which msaccucmp loads to read protobuf records: writes
// the message of a record as JSON. The tensors' bytes msaccucmp reads itself.
#include <cstdio>
#include <string>

#include "opdump/read/proto_reader.hpp"

namespace {

std::string dims(opdump::Shape shape) {
  std::string text = "{\"dim\": [";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]}";
}

std::string tensor_json(const opdump::RecordTensor& tensor) {
  return "{\"data_type\": " + std::to_string(tensor.dtype_code) +
         ", \"format\": " + std::to_string(static_cast<int>(tensor.format)) +
         ", \"shape\": " + dims(tensor.shape()) + ", \"size\": " + std::to_string(tensor.bytes) +
         ", \"original_shape\": " + dims(tensor.original_shape()) +
         ", \"sub_format\": " + std::to_string(tensor.sub_format) + "}";
}

std::string blob_json(const opdump::RecordBlob& blob) {
  const char* type = blob.kind == opdump::RecordBlob::Kind::buffer ? "buffer_type" : "type";
  return "{\"" + std::string(type) + "\": " + std::to_string(blob.type) +
         ", \"size\": " + std::to_string(blob.bytes) + "}";
}

void add(std::string& list, const std::string& item) {
  list += (list.empty() ? "" : ", ") + item;
}

}  // namespace

extern "C" int ParseDumpProtoToJson(const char* data, std::size_t bytes, const char* path) {
  const opdump::Bytes file(reinterpret_cast<const std::byte*>(data), bytes);
  opdump::ProtoReader reader;
  if (reader.open(file, bytes) != opdump::Status::ok) return 1;
  std::string lists[4];
  for (opdump::RecordTensor tensor; reader.next(tensor);)
    add(lists[tensor.is_output ? 1 : 0], tensor_json(tensor));
  for (opdump::RecordBlob blob; reader.next(blob);)
    add(lists[blob.kind == opdump::RecordBlob::Kind::buffer ? 2 : 3], blob_json(blob));
  if (reader.status() != opdump::Status::ok) return 1;
  std::FILE* const out = std::fopen(path, "w");
  if (out == nullptr) return 1;
  std::fprintf(
      out,
      "{\"version\": \"%.*s\", \"op_name\": \"%.*s\", \"input\": [%s], \"output\": [%s], \"buffer\": [%s], "
      "\"space\": [%s]}",
      static_cast<int>(reader.version().size()), reader.version().data(),
      static_cast<int>(reader.op_name().size()), reader.op_name().data(), lists[0].c_str(), lists[1].c_str(),
      lists[2].c_str(), lists[3].c_str());
  return std::fclose(out) == 0 ? 0 : 1;
}
