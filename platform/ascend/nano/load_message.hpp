#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/base/byte_output.hpp"
#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"

/// The message that the nano executor's `libge_dbg` sends with `rtMsgSend` when a model is loaded or
/// unloaded, and that `libdatadump` on the device side receives. Little endian, no padding:
///
///     the bytes of the model's .dbg file
///     TLV 2: u32 flag            1 load, 0 unload
///            u32 model id        of the driver, as it stands in the mailbox of each operator
///            address             of the u64 that holds the number of the step, as wide as a pointer
///            u64, u64            addresses of loop counters, 0 in inference
///            u32 mode            0 inputs, 1 outputs, 2 all
///            u64 data            0 statistics, 1 tensors
///            u32 bytes of TLVs   the vendor's sender leaves it unset
///     TLV 3: dump_path/YYYYmmddHHMMSS/device/, without a final zero
///
///     TLV    u32 tag, u32 bytes of the value, value
///
/// The length that `rtMsgSend` and the receiver are given is that of the .dbg file alone; both TLVs lie behind it.
/// The receiver may keep a pointer into a load message, and look at the TLVs again at each operator: the sender keeps
/// the bytes as they are until it has sent the unload message. Source: the vendor's executor and the tests of its
/// device part; where a 32-bit device differs, only the width of the address does.

namespace opdump::nano {

inline constexpr std::uint32_t kTagModel = 2;
inline constexpr std::uint32_t kTagDumpPath = 3;
inline constexpr std::uint32_t kFlagUnload = 0;
inline constexpr std::uint32_t kFlagLoad = 1;
inline constexpr std::uint32_t kModeInputs = 0;
inline constexpr std::uint32_t kModeOutputs = 1;
inline constexpr std::uint32_t kModeAll = 2;
inline constexpr std::uint64_t kDataStatistics = 0;
inline constexpr std::uint64_t kDataTensors = 1;
inline constexpr std::size_t kTlvHeadBytes = 8;
inline constexpr std::size_t kModelValueBytes = 4 + 4 + sizeof(void*) + 8 + 8 + 4 + 8 + 4;

/// What a load or unload message says. Refers to its bytes and to the step's number.
struct LoadMessage {
  Bytes description{};  ///< the .dbg file, see `dbg_file.hpp`; not looked into here
  bool load = true;     ///< false: the model goes
  std::uint32_t model_id = 0;
  const std::uint64_t* step = nullptr;  ///< the number of the step that runs; the executor counts it up
  std::uint32_t mode = kModeOutputs;
  std::uint64_t data = kDataStatistics;
  std::string_view directory{};  ///< where the files go; ends with '/'
};

/// Bytes of the message as a whole, of which `rtMsgSend` is told only `message.description.size()`.
inline std::size_t load_message_bytes(const LoadMessage& message) {
  return message.description.size() + 2 * kTlvHeadBytes + kModelValueBytes + message.directory.size();
}

/// Writes `load_message_bytes(message)` bytes to `to`. A description or directory of 4 GiB and more has no message.
inline void write_load_message(std::byte* to, const LoadMessage& message) {
  copy_bytes(to, message.description);
  to += message.description.size();
  FieldWriter(to)
      .add(kTagModel)
      .add(static_cast<std::uint32_t>(kModelValueBytes))
      .add(message.load ? kFlagLoad : kFlagUnload)
      .add(message.model_id)
      .add(reinterpret_cast<std::uintptr_t>(message.step))
      .add(std::uint64_t{0})
      .add(std::uint64_t{0})
      .add(message.mode)
      .add(message.data)
      .add(std::uint32_t{0})
      .add(kTagDumpPath)
      .add(static_cast<std::uint32_t>(message.directory.size()));
  copy_bytes(to + 2 * kTlvHeadBytes + kModelValueBytes, as_bytes(message.directory));
}

/// Reads a message of which all bytes are known; `description_bytes` of them are the .dbg file. Errors:
/// truncated where the bytes end too early; malformed where another TLV lies than should, where TLV 2 is too
/// short, or where its flag is neither load nor unload. What follows the known fields of TLV 2 is skipped.
inline Result<LoadMessage> read_load_message(Bytes bytes, std::size_t description_bytes) {
  ByteReader in(bytes);
  LoadMessage message;
  message.description = in.take(description_bytes);
  const std::uint32_t model_tag = in.read<std::uint32_t>();
  const Bytes model_value = in.take(in.read<std::uint32_t>());
  const std::uint32_t path_tag = in.read<std::uint32_t>();
  message.directory = as_text(in.take(in.read<std::uint32_t>()));
  if (in.truncated()) return Status::truncated;
  if (model_tag != kTagModel || path_tag != kTagDumpPath) return Status::malformed;
  ByteReader model(model_value);
  const std::uint32_t flag = model.read<std::uint32_t>();
  message.load = flag == kFlagLoad;
  message.model_id = model.read<std::uint32_t>();
  message.step = reinterpret_cast<const std::uint64_t*>(model.read<std::uintptr_t>());
  model.take(16);
  message.mode = model.read<std::uint32_t>();
  message.data = model.read<std::uint64_t>();
  if (model.truncated() || flag > kFlagLoad) return Status::malformed;
  return message;
}

/// The same for the receiver of a message, which is told no length but that of the .dbg file: what lies
/// behind it is as long as it says.
inline Result<LoadMessage> receive_load_message(const void* at, std::size_t description_bytes) {
  const std::byte* const bytes = static_cast<const std::byte*>(at);
  std::size_t whole = description_bytes;
  for (const std::uint32_t tag : {kTagModel, kTagDumpPath}) {
    if (load_little_endian<std::uint32_t>(bytes + whole) != tag) return Status::malformed;
    whole += kTlvHeadBytes + load_little_endian<std::uint32_t>(bytes + whole + 4);
  }
  return read_load_message({bytes, whole}, description_bytes);
}

}  // namespace opdump::nano
