#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "opdump/attach.h"
#include "opdump/read/proto_wire.hpp"
#include "platform/posix/base/errno_status.hpp"
#include "src/attach/guarded.hpp"

using namespace opdump;

namespace {

using Show = void (*)(void* context, const opdump_onnx_node* node);

/// The last of these fields; null: there is none.
Bytes field_of(Bytes message, std::uint32_t number, bool& good) {
  Bytes found{};
  ByteReader in(message);
  for (ProtoField field; next_field(in, field, good);) {
    if (field.is_bytes(number)) found = field.bytes;
  }
  return found;
}

/// C reads names up to their first zero.
bool is_name(std::string_view text) {
  return text.find('\0') == std::string_view::npos;
}

/// A node, whose texts stay until the next one is read.
class OnnxNode {
 public:
  bool read(Bytes message) {
    *this = OnnxNode();
    bool good = true;
    ByteReader in(message);
    for (ProtoField field; next_field(in, field, good);) {
      if (field.is_bytes(1)) inputs_.emplace_back(as_text(field.bytes));
      if (field.is_bytes(2)) outputs_.emplace_back(as_text(field.bytes));
      if (field.is_bytes(3)) name_ = as_text(field.bytes);
      if (field.is_bytes(4)) type_ = as_text(field.bytes);
      if (field.is_bytes(5)) read_attribute(field.bytes, good);
      if (field.is_bytes(7)) domain_ = as_text(field.bytes);
    }
    for (std::size_t i = 0; name_.empty() && i < outputs_.size(); ++i) name_ = outputs_[i];
    if (name_.empty()) name_ = type_;
    for (const auto* names : {&inputs_, &outputs_}) {
      for (const std::string& name : *names) good = good && is_name(name);
    }
    return good && !type_.empty() && is_name(type_) && is_name(name_) && is_name(domain_);
  }

  const std::vector<std::string>& outputs() const { return outputs_; }
  bool is_constant() const { return type_ == "Constant"; }

  void pass(const std::unordered_set<std::string>& constants, Show show, void* context) const {
    std::vector<const char*> inputs, outputs;
    std::vector<unsigned char> are_constant;
    for (const std::string& name : inputs_) {
      inputs.push_back(name.c_str());
      are_constant.push_back(constants.count(name) != 0 ? 1 : 0);
    }
    for (const std::string& name : outputs_) outputs.push_back(name.c_str());
    const opdump_onnx_node node = {.struct_bytes = sizeof node,
                                   .name = name_.c_str(),
                                   .type = type_.c_str(),
                                   .domain = domain_.c_str(),
                                   .inputs = inputs.data(),
                                   .outputs = outputs.data(),
                                   .constants = are_constant.data(),
                                   .input_count = static_cast<std::uint32_t>(inputs.size()),
                                   .output_count = static_cast<std::uint32_t>(outputs.size()),
                                   .has_bodies = has_bodies_ ? 1u : 0u,
                                   .reserved = 0};
    show(context, &node);
  }

 private:
  void read_attribute(Bytes message, bool& good) {
    ByteReader in(message);
    for (ProtoField field; next_field(in, field, good);) {
      if (field.is_bytes(6) || field.is_bytes(11)) has_bodies_ = true;
    }
  }

  std::string name_, type_, domain_;
  std::vector<std::string> inputs_, outputs_;
  bool has_bodies_ = false;
};

/// Calls `use` with each node of the graph. False where the graph is damaged.
template <class Use>
bool for_each_node(Bytes graph, const Use& use) {
  OnnxNode node;
  bool good = true;
  ByteReader in(graph);
  for (ProtoField field; next_field(in, field, good);) {
    if (!field.is_bytes(1)) continue;
    if (!node.read(field.bytes)) return false;
    use(node);
  }
  return good;
}

/// The names of the tensors that do not change. False where the graph is damaged.
bool find_constants(Bytes graph, std::unordered_set<std::string>& constants) {
  bool good = true;
  ByteReader in(graph);
  for (ProtoField field; next_field(in, field, good);) {
    Bytes tensor = field.bytes;
    if (field.is_bytes(15))
      tensor = field_of(tensor, 1, good);  // a sparse one, of which these are the values
    if (field.is_bytes(5) || field.is_bytes(15)) constants.emplace(as_text(field_of(tensor, 8, good)));
  }
  return good && for_each_node(graph, [&](const OnnxNode& node) {
           if (node.is_constant()) constants.insert(node.outputs().begin(), node.outputs().end());
         });
}

Status show_nodes(Bytes model, Show show, void* context) {
  bool good = true;
  const Bytes graph = field_of(model, 7, good);
  std::unordered_set<std::string> constants;
  if (!good || graph.data() == nullptr || !find_constants(graph, constants)) return Status::malformed;
  constants.erase("");
  for_each_node(graph, [&](const OnnxNode& node) { node.pass(constants, show, context); });
  return Status::ok;
}

Status read_whole(const char* path, std::vector<std::byte>& bytes) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "rbe"), std::fclose);
  if (file == nullptr) return posix::status_of(errno);
  struct stat about {};
  if (fstat(fileno(file.get()), &about) == 0 && S_ISREG(about.st_mode))
    bytes.reserve(static_cast<std::size_t>(about.st_size));
  std::byte part[16 * 1024];
  while (const std::size_t count = std::fread(part, 1, sizeof part, file.get()))
    bytes.insert(bytes.end(), part, part + count);
  return std::ferror(file.get()) != 0 ? Status::io_error : Status::ok;
}

}  // namespace

extern "C" {

opdump_status opdump_onnx_nodes(const void* model, std::uint64_t bytes, Show show, void* context) {
  if (model == nullptr || show == nullptr || bytes > SIZE_MAX) return OPDUMP_ERR_INVALID_ARGUMENT;
  return attaching::guarded([&] {
    return show_nodes({static_cast<const std::byte*>(model), static_cast<std::size_t>(bytes)}, show, context);
  });
}

opdump_status opdump_onnx_nodes_of_file(const char* path, Show show, void* context) {
  if (path == nullptr || show == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  return attaching::guarded([&] {
    std::vector<std::byte> bytes;
    const Status status = read_whole(path, bytes);
    return status == Status::ok ? show_nodes(bytes, show, context) : status;
  });
}

}  // extern "C"
