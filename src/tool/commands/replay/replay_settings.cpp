#include "src/tool/commands/replay/replay_settings.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "opdump/impl/stats/non_finite.hpp"
#include "opdump/ring.hpp"
#include "platform/posix/config_file.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/config/checked_config.hpp"

namespace opdump::tool {
namespace {

struct Pattern {
  std::size_t bytes = 0;
  std::uint64_t infinity = 0;
  std::uint64_t nan = 0;
};

/// Of one number. What has no infinity overflows to its NaN.
Pattern pattern_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
    case DType::complex32:
      return {2, 0x7c00, 0x7e00};
    case DType::bfloat16:
      return {2, 0x7f80, 0x7fc0};
    case DType::float32:
    case DType::complex64:
      return {4, 0x7f800000, 0x7fc00000};
    case DType::float64:
    case DType::complex128:
      return {8, 0x7ff0000000000000, 0x7ff8000000000000};
    case DType::float8_e5m2:
      return {1, 0x7c, 0x7e};
    case DType::hifloat8:
      return {1, 0x6f, 0x80};
    case DType::float8_e4m3fn:
      return {1, 0x7f, 0x7f};
    case DType::float8_e8m0:
      return {1, 0xff, 0xff};
    default:
      return {};
  }
}

}  // namespace

void break_output(MadeMemory& memory, const RunOp& op, std::span<const TensorView> outputs, bool nan) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Pattern pattern = pattern_of(op.outputs[i].dtype);
    if (pattern.bytes == 0 || op.outputs[i].bytes == 0) continue;
    std::byte little_endian[8];
    store_little_endian(little_endian, nan ? pattern.nan : pattern.infinity);
    memory.overwrite(outputs[i].address, {little_endian, little_endian + pattern.bytes});
    return;
  }
}

Status trample(MadeMemory& memory, const RunFault& fault, Address output) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(fault.bytes));
  const Status status = memory.copy(bytes.data(), output + fault.offset, bytes.size());
  if (status != Status::ok) return status;
  for (std::byte& byte : bytes) byte = ~byte;
  memory.overwrite(output + fault.offset, std::move(bytes));
  return Status::ok;
}

namespace {

constexpr char kReplayHelp[] =
    R"(opdump replay - feeds described models through the capture path, without a device

usage: opdump replay RUN.json --config CONFIG [--ring-bytes N] [--when-full HOW]
              [--journal none|gaps|records] [--partition BYTES]
              [--personality o0|o1|o2|cpu] [--world-size N] [--rank R]

  --config CONFIG     the config: CANN's acl.json, MindSpore's data_dump.json, the config of MindSpore Lite's
                      benchmark tool or torchair's dump_config; default: $OPDUMP_CONFIG, $MINDSPORE_DUMP_CONFIG
  --ring-bytes N      size of the ring between capture and files; default: 1048576
  --when-full HOW     what happens when the ring is full: 'drop' loses the record, 'block' waits for the thread
                      that writes (default), 'inline' writes in the capturing thread, and no other runs,
                      'degrade' keeps the record's statistics
  --journal DETAIL    what is kept for 'opdump verify': 'records' names every file (default), 'gaps' only what
                      was lost, 'none' nothing
  --partition BYTES   room on the device, as for 'opdump check': the forecast then says how many steps it lasts
  --personality P     for MindSpore's data_dump.json, as for 'opdump check'
  --world-size N      processes of a distributed run, of which this is process R (default: 1 and 0); they name
  --rank R            the folders of torchair's and MindSpore's dumps

A config is tried on the desk before it goes to the device: the same capture code runs, and writes the same
files. RUN.json describes the models. All is optional but names and types, and each tensor's data or fill:

  {"device_id": 0, "steps": 2,
   "models": [{"name": "digits", "graph_name": "main", "id": 1, "ops": [OP, ...], "constants": [CONST, ...]}],
   "single_ops": [OP, ...],
   "inject": [FAULT, ...]}

  OP      {"name": "conv1", "type": "Conv2D", "task_id": 3, "stream_id": 0, "level": "both",
           "original_names": ["conv1/conv", "conv1/relu"], "inputs": [TENSOR, ...], "outputs": [TENSOR, ...]}
          "level": "op" for an operator of several kernels, "kernel" for one of those, "both" otherwise
          "marked": true for one that the program has marked, as MindSpore's set_dump does
          "attributes": {"transpose_a": "True"}, what save_kernel_args writes
          "producers": [0, 2], the places in "ops" of those whose outputs are its inputs
  TENSOR  {"data": "x.npy", "format": "NCHW"}
          {"data": "x.bin", "dtype": "float16", "shape": [1, 1, 28, 28, 16], "format": "NC1HWC0",
           "original_shape": [1, 3, 28, 28]}
          {"fill": "ramp", "dtype": "int8", "shape": [10]}           or "zeros", "random"
          "bytes": 32 beside "fill" for a tensor that takes more than its elements

  CONST   {"name": "data-12", "tensor": TENSOR}, which dumps of MindSpore on CPU and GPU hold once per graph

  FAULT   {"step": 1, "op": "conv1", "kind": "overflow", "status": 256}
          "overflow": an output becomes infinite, and the device reports the status (32 without one)
          "nan": an output becomes NaN, and the device reports nothing; "model" where there are several
          "exception": the device reports that the operator failed, and the run ends
          "trample": it overwrites the first output of the operator "victim": "bytes" (1) from "offset" (0) on

A file is found beside RUN.json; one that is no .npy is raw bytes and may be padded at its end. Each step runs all
models in order, then the single operators. Tensors may be larger than memory. In place of RUN.json, the .dbg file
of a model for CANN's nano products is read too, and an acl.json is then read by their rules; 'opdump describe'
makes a RUN.json of it.

Does the config pick the operators it is meant to, and is a ring of 64 KiB enough without waiting?

  opdump replay run.json --config acl.json
  opdump replay run.json --config acl.json --ring-bytes 65536 --when-full drop

The summary ends with the dump's journal. What exactly was lost:

  opdump verify dump/20260131130559

exit status
  0  everything that the config asks for is in the dump, but for older records that "keep": "newest" removed for
     newer ones; the summary counts them, but those on raw storage, which 'opdump verify' tells
  1  a file is refused, or something was lost; the summary says what
  2  the command line is wrong
  3  the config switches nothing on, or nothing of RUN.json
)";

struct ReplayOptions {
  std::optional<std::string> config;
  std::optional<std::string> ring_bytes;
  std::optional<std::string> when_full;
  std::optional<std::string> journal;
  std::optional<std::string> partition;
  std::optional<std::string> personality;
  std::optional<std::string> world_size;
  std::optional<std::string> rank;
};

/// `words` are in the order of `Value`; false when `word` is none of them.
template <class Value>
bool read_word(const std::optional<std::string>& word, std::span<const std::string_view> words,
               std::optional<Value>& value) {
  if (!word) return true;
  const auto found = std::find(words.begin(), words.end(), *word);
  if (found != words.end()) value = static_cast<Value>(found - words.begin());
  return found != words.end();
}

std::optional<int> read_settings(const ReplayOptions& options, const std::vector<std::string>& rest,
                                 ReplaySettings& settings) {
  if (rest.empty()) return usage_error("replay", "a RUN.json is missing");
  if (rest.size() > 1) return usage_error("replay", "one RUN.json at a time, not also '" + rest[1] + "'");
  const char* const config = posix::find_config(options.config ? options.config->c_str() : nullptr).path;
  if (config == nullptr) return usage_error("replay", "'--config CONFIG' is missing");
  settings.run_path = rest[0];
  settings.config_path = config;
  if (options.ring_bytes) {
    const std::optional<std::uint64_t> bytes = parse_decimal(*options.ring_bytes);
    if (!bytes || *bytes < Ring::kMinBytes || *bytes > Ring::kMaxBytes) {
      return usage_error("replay", "'--ring-bytes " + *options.ring_bytes + "' is no number from " +
                                       std::to_string(Ring::kMinBytes) + " to " +
                                       std::to_string(Ring::kMaxBytes));
    }
    settings.options.ring_bytes = static_cast<std::uint32_t>(*bytes);
  }
  if (!read_word(options.when_full, kWhenFullWords, settings.options.when_full))
    return usage_error("replay",
                       "'--when-full " + *options.when_full + "' is none of drop, block, inline, degrade");
  if (!read_word(options.journal, kJournalWords, settings.options.journal))
    return usage_error("replay", "'--journal " + *options.journal + "' is none of none, gaps, records");
  if (options.partition) {
    settings.partition_bytes = parse_byte_size(*options.partition).value_or(0);
    if (settings.partition_bytes == 0)
      return usage_error("replay", "'--partition " + *options.partition +
                                       "' is no number of bytes such as 4096, 64K, 16M or 1G");
  }
  if (!read_personality(options.personality, settings.context))
    return usage_error("replay", std::string("--personality takes ") + kPersonalities + ", not '" +
                                     *options.personality + "'");
  const std::optional<std::uint64_t> world_size = parse_decimal(options.world_size.value_or("1"));
  const std::optional<std::uint64_t> rank = parse_decimal(options.rank.value_or("0"));
  if (!world_size || !rank || *world_size == 0 || *world_size > UINT32_MAX || *rank >= *world_size)
    return usage_error("replay", "--world-size is a number from 1 on, and --rank one below it, not '" +
                                     options.world_size.value_or("1") + "' and '" +
                                     options.rank.value_or("0") + "'");
  settings.context.world_size = static_cast<std::uint32_t>(*world_size);
  settings.context.rank = static_cast<std::uint32_t>(*rank);
  return std::nullopt;
}

}  // namespace

std::optional<int> read_replay_settings(Words words, ReplaySettings& settings) {
  ReplayOptions options;
  const Option table[] = {
      {"--config", {}, nullptr, &options.config},
      {"--ring-bytes", {}, nullptr, &options.ring_bytes},
      {"--when-full", {}, nullptr, &options.when_full},
      {"--journal", {}, nullptr, &options.journal},
      {"--partition", {}, nullptr, &options.partition},
      {"--personality", {}, nullptr, &options.personality},
      {"--world-size", {}, nullptr, &options.world_size},
      {"--rank", {}, nullptr, &options.rank},
  };
  std::vector<std::string> rest;
  if (const std::optional<int> exit_code = read_options({"replay", kReplayHelp, table}, words, rest))
    return exit_code;
  return read_settings(options, rest, settings);
}

}  // namespace opdump::tool
