#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/impl/drain/dump_name.hpp"
#include "opdump/parts/npy.hpp"
#include "opdump/port/device_copy.hpp"
#include "platform/posix/mindspore/constant_desc.hpp"
#include "platform/posix/mindspore/files.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Whether a config wants constants: on CPU and GPU, if it wants outputs; MindSpore counts constants as outputs.
constexpr bool wants_constants(const DumpConfig& config) {
  return is_cpu(config.form.layout) && config.mode != DumpMode::input;
}

/// Adds the folder of a graph's constants, `rank_{rank}/{network}/{graph}/constants`.
inline TextWriter& add_constants_directory(TextWriter& to, const DumpConfig& config, std::uint32_t graph_id) {
  add_dump_directory(to, mindspore_files::target_of(config)).add('/').add_sanitised(config.net_name);
  return to.add('/').add_decimal(graph_id).add("/constants");
}

/// Writes `Parameter.{name}.0.0.{unix_us}.output.0.DefaultFormat.{dtype}.npy` in that folder, the name and
/// the dtype as MindSpore's files have them, through `format` and a sink as above. A tensor without elements
/// gets no file. `names` is memory for the names: `mindspore_name_bytes` of the network, 0 and the constant,
/// else `name_too_long`. Other errors are the sink's and those of `DeviceMemory::copy`.
template <class Memory>
[[nodiscard]] Status write_constant(Sink& sink, const DumpConfig& config, Memory& memory, NpyFormat& format,
                                    std::uint32_t graph_id, const ConstantDesc& constant,
                                    std::uint64_t unix_us, std::span<char> names) {
  constexpr std::size_t kPieceBytes = 1024;
  TensorView tensor = constant.tensor;
  const Result<std::uint64_t> packed = packed_bytes(tensor.dtype, tensor.shape);
  if (!packed.ok()) return packed.status();
  if (packed.value() > tensor.bytes) return Status::invalid_argument;
  if (packed.value() == 0) return Status::ok;
  tensor.bytes = packed.value();

  TextWriter directory(names);
  add_constants_directory(directory, config, graph_id);
  TextWriter file(directory.rest());
  file.add("Parameter.").add_sanitised(constant.name).add(".0.0.").add_decimal(unix_us);
  NpyFormat::add_suffix(file, tensor, true, 0, true, config.form.layout);
  if (directory.overflowed() || file.overflowed()) return Status::name_too_long;

  OpenObject object;
  Status status = object.begin(sink, {config.dump_path, directory.text(), file.text()});
  FormatState state;
  alignas(16) std::byte piece[kPieceBytes];
  for (std::uint64_t at = 0; at < tensor.bytes && status == Status::ok; at += kPieceBytes) {
    const MutableBytes now(piece,
                           static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, tensor.bytes - at)));
    status = copy_elements(memory, tensor, at, now);
    if (status != Status::ok) {
      object.abort();
    } else {
      status = at == 0 ? format.begin_tensor(object, state, tensor, now) : format.append(object, state, now);
    }
  }
  return status == Status::ok ? object.commit() : status;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
