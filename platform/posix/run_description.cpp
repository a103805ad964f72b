#include "platform/posix/run_description.hpp"

#include <errno.h>
#include <fcntl.h>
#include <simdjson.h>

#include <string>

#include "opdump/base/text.hpp"
#include "platform/posix/base/errno_status.hpp"
#include "platform/posix/base/unique_fd.hpp"
#include "platform/posix/base/write_all.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {
namespace {

class RunWriter {
 public:
  bool is_utf8() const { return is_utf8_; }
  const std::string& text() const { return text_; }

  void add(std::uint32_t device_id, std::span<const ModelDesc* const> models) {
    text_ = "{\"device_id\": " + std::to_string(device_id) + ",\n \"models\": [";
    for (std::size_t i = 0; i < models.size(); ++i) add(*models[i], i == 0 ? "\n  " : ",\n  ");
    text_ += "]}\n";
  }

 private:
  void add(const ModelDesc& model, const char* before) {
    add_text(std::string(before) + "{\"name\": ", model.name);
    if (!model.graph_name.empty()) add_text(", \"graph_name\": ", model.graph_name);
    text_ += ", \"id\": " + std::to_string(model.id) + ", \"ops\": [";
    const bool has_tensors = model.tensors.size() == model.ops.size();
    for (std::size_t i = 0; i < model.ops.size(); ++i) {
      add(model.ops[i], i == 0 ? "\n   " : ",\n   ");
      if (has_tensors) {
        add(", \"inputs\": [", model.tensors[i].inputs);
        add(", \"outputs\": [", model.tensors[i].outputs);
      }
      text_ += '}';
    }
    text_ += "]}";
  }

  void add(const OpDesc& op, const char* before) {
    static constexpr const char* kLevels[] = {"both", "op", "kernel"};
    add_text(std::string(before) + "{\"name\": ", op.name);
    add_text(", \"type\": ", op.type);
    text_ +=
        ", \"task_id\": " + std::to_string(op.task_id) + ", \"stream_id\": " + std::to_string(op.stream_id);
    if (op.level != OpLevel::both)
      text_.append(", \"level\": \"").append(kLevels[static_cast<std::size_t>(op.level)]).append("\"");
    if (op.marked) text_ += ", \"marked\": true";
    for (std::size_t i = 0; i < op.original_names.size(); ++i)
      add_text(i == 0 ? ", \"original_names\": [" : ", ", op.original_names[i]);
    if (!op.original_names.empty()) text_ += ']';
    const std::span<const std::uint32_t> producers = op.producers;
    for (std::size_t i = 0; i < producers.size(); ++i)
      text_ += (i == 0 ? ", \"producers\": [" : ", ") + std::to_string(producers[i]);
    if (!producers.empty()) text_ += ']';
    for (std::size_t i = 0; i < op.attributes.size(); ++i) {
      add_text(i == 0 ? ", \"attributes\": {" : ", ", op.attributes[i].name);
      add_text(": ", op.attributes[i].value);
    }
    if (!op.attributes.empty()) text_ += '}';
  }

  void add(const char* before, std::span<const TensorView> tensors) {
    text_ += before;
    for (std::size_t i = 0; i < tensors.size(); ++i) add(tensors[i], i == 0 ? "" : ", ");
    text_ += ']';
  }

  void add(const TensorView& tensor, const char* before) {
    const bool sized = tensor.dtype != DType::undefined && info(tensor.dtype).bits != 0;
    const Dim bytes = tensor.bytes;
    text_.append(before).append("{\"fill\": \"zeros\", \"dtype\": \"");
    text_.append(sized ? info(tensor.dtype).name : info(DType::uint8).name);
    add("\", \"shape\": ", sized ? tensor.shape : Shape(&bytes, 1));
    if (!tensor.original_shape.empty()) add(", \"original_shape\": ", tensor.original_shape);
    const std::string_view format = to_string(tensor.format);
    if (!format.empty()) text_.append(", \"format\": \"").append(format).append("\"");
    const Result<std::uint64_t> packed = packed_bytes(tensor.dtype, tensor.shape);
    if (sized && packed.ok() && bytes > packed.value()) text_ += ", \"bytes\": " + std::to_string(bytes);
    text_ += '}';
  }

  void add(const char* before, Shape shape) {
    text_.append(before).append("[");
    for (std::size_t i = 0; i < shape.size(); ++i)
      text_.append(i == 0 ? "" : ", ").append(std::to_string(shape[i]));
    text_ += ']';
  }

  void add_text(const std::string& before, std::string_view text) {
    is_utf8_ = is_utf8_ && simdjson::validate_utf8(text);
    text_.append(before).append("\"");
    for (const char c : text) {
      const auto code = static_cast<unsigned char>(c);
      if (code < 0x20) {
        text_.append("\\u00").append(1, hex_digit(code >> 4)).append(1, hex_digit(code & 15));
      } else {
        text_.append(c == '"' || c == '\\' ? "\\" : "").append(1, c);
      }
    }
    text_ += '"';
  }

  std::string text_;
  bool is_utf8_ = true;
};

}  // namespace

Status describe_models(const char* path, std::span<const ModelDesc* const> models, std::uint32_t device_id) {
  RunWriter writer;
  writer.add(device_id, models);
  if (!writer.is_utf8()) return Status::invalid_argument;
  UniqueFd file(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) return status_of(errno);
  const Bytes text = as_bytes(writer.text());
  if (const int error = write_all(file.get(), {&text, 1})) return status_of(error);
  const int error = file.close();
  return error == 0 ? Status::ok : status_of(error);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
