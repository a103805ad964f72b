#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/base/byte_output.hpp"
#include "opdump/base/text.hpp"
#include "opdump/impl/drain/dump_name.hpp"
#include "opdump/impl/record/targets.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/model.hpp"
#include "opdump/types/plan.hpp"

/// The files of MindSpore's dumps besides tensors and statistics. Each function writes through a sink that no
/// drainer uses meanwhile: before a drain thread is attached, after it is detached, or another sink of the
/// same tree. An existing file is kept, and the call returns `ok`. Errors are the sink's; after an error no
/// file is left. Source: MindSpore's writers.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

namespace mindspore_files {

constexpr std::size_t kBatchBytes = 256;

/// Makes the object `name` from the bytes that `add(out)` adds to a ByteBatcher.
template <class Add>
Status write_object(Sink& sink, const ObjectName& name, Add add) {
  OpenObject object;
  Status status = object.begin(sink, name);
  if (status == Status::already_exists) return Status::ok;
  if (status != Status::ok) return status;
  std::byte memory[kBatchBytes];
  ByteBatcher out(memory, [&](Bytes bytes) {
    if (status == Status::ok) status = object.put(bytes);
  });
  add(out);
  if (status == Status::ok) status = object.put(out.pending());
  if (status == Status::ok) status = object.commit();
  return status == Status::already_exists ? Status::ok : status;
}

/// Adds `text` as it stands between quotation marks in JSON.
void add_escaped(auto& out, std::string_view text) {
  for (const char& c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.add(as_bytes("\\"));
    } else if (code < 0x20) {
      const char digits[] = {hex_digit(code >> 4), hex_digit(code & 15)};
      out.add(as_bytes("\\u00"));
      out.add(as_bytes({digits, sizeof digits}));
      continue;
    }
    out.add(as_bytes({&c, 1}));
  }
}

void add_json(auto& out, std::string_view text) {
  out.add(as_bytes("\""));
  add_escaped(out, text);
  out.add(as_bytes("\""));
}

/// Whether the config picks operators, not all of them.
inline bool names_operators(const DumpConfig& config) {
  for (const ModelRule& rule : config.models) {
    if (rule.all_layers) return false;
  }
  return true;
}

/// The attribute with the least name above `after`; null: there is none.
inline const OpAttribute* next_attribute(const OpDesc& op, const OpAttribute* after) {
  const OpAttribute* next = nullptr;
  for (const OpAttribute& attribute : op.attributes) {
    const bool above = after == nullptr || attribute.name > after->name;
    if (above && (next == nullptr || attribute.name < next->name)) next = &attribute;
  }
  return next;
}

inline DumpTarget target_of(const DumpConfig& config) {
  return {.root = config.dump_path, .form = config.form};
}

}  // namespace mindspore_files

/// Bytes of the memory that names need below, for a network's name, an operator's type and its name.
constexpr std::size_t mindspore_name_bytes(std::size_t net_name_bytes, std::size_t type_bytes,
                                           std::size_t op_name_bytes) {
  return kMaxDumpDirectoryBytes + net_name_bytes + type_bytes + op_name_bytes + 80;
}

/// Writes `execution_order/ms_execution_order_graph_{id}.csv` in the rank's folder: a title, then the full
/// name of each operator in the order they run.
[[nodiscard]] inline Status write_execution_order(Sink& sink, const DumpConfig& config,
                                                  const ModelDesc& model) {
  char memory[mindspore_name_bytes(0, 0, 0)];
  TextWriter directory(memory);
  add_dump_directory(directory, mindspore_files::target_of(config)).add("/execution_order");
  TextWriter file(directory.rest());
  file.add("ms_execution_order_graph_").add_decimal(model.id).add(".csv");
  return mindspore_files::write_object(sink, {config.dump_path, directory.text(), file.text()},
                                       [&](auto& out) {
                                         out.add(as_bytes("NodeExecutionOrder-FullNameWithScope\n"));
                                         for (const OpDesc& op : model.ops) {
                                           out.add(as_bytes(op.name));
                                           out.add(as_bytes("\n"));
                                         }
                                       });
}

/// Appends `step` to `execution_order/ms_global_execution_order_graph_{id}.csv`: the steps that were run, a
/// line each, without a title.
[[nodiscard]] inline Status append_executed_step(Sink& sink, const DumpConfig& config, std::uint32_t model_id,
                                                 std::uint64_t step) {
  char memory[mindspore_name_bytes(0, 0, 0) + 20];
  TextWriter directory(memory);
  add_dump_directory(directory, mindspore_files::target_of(config)).add("/execution_order");
  TextWriter file(directory.rest());
  file.add("ms_global_execution_order_graph_").add_decimal(model_id).add(".csv");
  TextWriter line(file.rest());
  const Bytes part = as_bytes(line.add_decimal(step).add('\n').text());
  return sink.append_lines({config.dump_path, directory.text(), file.text()}, {&part, 1});
}

/// Writes `.dump_metadata/data_dump.json`, which is `config_text`, and `config.json`, which names what runs
/// the network, in the rank's folder.
[[nodiscard]] inline Status write_dump_metadata(Sink& sink, const DumpConfig& config,
                                                std::string_view config_text, std::string_view device_target,
                                                std::string_view version) {
  char memory[mindspore_name_bytes(0, 0, 0)];
  TextWriter directory(memory);
  add_dump_directory(directory, mindspore_files::target_of(config)).add("/.dump_metadata");
  const Status status =
      mindspore_files::write_object(sink, {config.dump_path, directory.text(), "data_dump.json"},
                                    [&](auto& out) { out.add(as_bytes(config_text)); });
  if (status != Status::ok) return status;
  return mindspore_files::write_object(sink, {config.dump_path, directory.text(), "config.json"},
                                       [&](auto& out) {
                                         out.add(as_bytes("{\"device_target\": "));
                                         mindspore_files::add_json(out, device_target);
                                         out.add(as_bytes(", \"ms_version\": "));
                                         mindspore_files::add_json(out, version);
                                         out.add(as_bytes("}"));
                                       });
}

/// Writes `acl_dump_{device}.json` in the dump path: what MindSpore asks CANN to dump of whole graphs at `step`;
/// MindSpore leaves the file of the last step. It lists the wanted operators of `plan` if the config names operators.
[[nodiscard]] inline Status write_acl_dump(Sink& sink, const DumpConfig& config, const ModelPlan& plan,
                                           std::uint32_t device_id, std::uint64_t step) {
  char memory[80];
  TextWriter number(memory);
  number.add('/').add_decimal(step);
  TextWriter file(number.rest());
  file.add("acl_dump_").add_decimal(device_id).add(".json");
  return mindspore_files::write_object(sink, {config.dump_path, {}, file.text()}, [&](auto& out) {
    const auto add_path = [&] {
      out.add(as_bytes("\"dump_path\":\""));
      mindspore_files::add_escaped(out, config.dump_path);
      out.add(as_bytes(number.text()));
      out.add(as_bytes("\""));
    };
    if (config.exception != ExceptionDump::none)
      return out.add(as_bytes("{\"dump\":{\"dump_scene\":\"lite_exception\"}}"));
    if (config.overflow) {
      out.add(as_bytes("{\"dump\":{\"dump_debug\":\"on\","));
      add_path();
      return out.add(as_bytes("}}"));
    }
    out.add(as_bytes("{\"dump\":{\"dump_list\":["));
    const char* before = "{\"layer\":[";
    for (std::size_t i = 0; i < plan.bits.size() && mindspore_files::names_operators(config); ++i) {
      if (plan.bits[i] == 0) continue;
      out.add(as_bytes(before));
      mindspore_files::add_json(out, plan.model->ops[i].name);
      before = ",";
    }
    out.add(as_bytes(*before == ',' ? "]}]" : "]"));
    out.add(as_bytes(",\"dump_mode\":\""));
    out.add(as_bytes(config.mode == DumpMode::all     ? "all"
                     : config.mode == DumpMode::input ? "input"
                                                      : "output"));
    out.add(as_bytes("\",\"dump_op_switch\":\"on\","));
    add_path();
    out.add(as_bytes("}}"));
  });
}

/// Writes `{type}.{name}.json` beside the tensors that operator `op` has at `step`: its attributes, sorted by name,
/// or null. `type` is the part of the full name between the last slash and the last dash, or the operator's type if
/// that part is empty. `memory` is for the names: `mindspore_name_bytes`, else `name_too_long`.
[[nodiscard]] inline Status write_kernel_args(Sink& sink, const DumpConfig& config, std::uint32_t model_id,
                                              const OpDesc& op, std::uint64_t step, std::span<char> memory) {
  TextWriter directory(memory);
  add_dump_directory(directory, mindspore_files::target_of(config)).add('/').add_sanitised(config.net_name);
  directory.add('/').add_decimal(model_id).add('/').add_decimal(step);
  std::string_view type = op.name.substr(op.name.rfind('/') + 1);
  type = type.substr(0, type.rfind('-'));
  TextWriter file(directory.rest());
  file.add_sanitised(type.empty() ? op.type : type).add('.').add_sanitised(op.name).add(".json");
  if (directory.overflowed() || file.overflowed()) return Status::name_too_long;
  return mindspore_files::write_object(
      sink, {config.dump_path, directory.text(), file.text()}, [&](auto& out) {
        const OpAttribute* attribute = mindspore_files::next_attribute(op, nullptr);
        if (attribute == nullptr) return out.add(as_bytes("null"));
        const char* before = "{\n    ";
        for (; attribute != nullptr; attribute = mindspore_files::next_attribute(op, attribute)) {
          out.add(as_bytes(before));
          mindspore_files::add_json(out, attribute->name);
          out.add(as_bytes(": "));
          mindspore_files::add_json(out, attribute->value);
          before = ",\n    ";
        }
        out.add(as_bytes("\n}"));
      });
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
