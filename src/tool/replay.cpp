#include <string.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "byte_size.hpp"
#include "checked_config.hpp"
#include "commands.hpp"
#include "config_text.hpp"
#include "exit_code.hpp"
#include "human_text.hpp"
#include "interrupt.hpp"
#include "made_memory.hpp"
#include "opdump/npy_format.hpp"
#include "opdump/opdump.hpp"
#include "opdump/protobuf_format.hpp"
#include "opdump/statistics_reduction.hpp"
#include "opdump/text_log.hpp"
#include "options.hpp"
#include "platform/posix/config_file.hpp"
#include "platform/posix/drain_thread.hpp"
#include "platform/posix/system_clock.hpp"
#include "platform/posix/tree_sink.hpp"
#include "progress.hpp"
#include "record_name.hpp"
#include "run_file.hpp"
#include "table.hpp"

namespace opdump::tool {
namespace {

constexpr char kHelp[] =
    R"(opdump replay - feeds described models through the capture path, without a device

usage: opdump replay RUN.json --config CONFIG [--ring-bytes N] [--when-full HOW]
              [--journal none|gaps|records] [--partition BYTES]

  --config CONFIG     the config: CANN's acl.json, MindSpore's data_dump.json or torchair's dump_config
  --ring-bytes N      size of the ring between capture and files; default: 1048576
  --when-full HOW     what happens when the ring is full: 'drop' loses the record, 'block' waits for the thread
                      that writes (default), 'inline' writes in the capturing thread, and no other runs,
                      'degrade' keeps the record's statistics
  --journal DETAIL    what is kept for 'opdump verify': 'records' names every file (default), 'gaps' only what
                      was lost, 'none' nothing
  --partition BYTES   room on the device, as for 'opdump check': the forecast then says how many steps it lasts

A config is tried on the desk before it goes to the device: the same capture code runs, and writes the same
files. RUN.json describes the models. All is optional but names and types, and each tensor's data or fill:

  {"device_id": 0, "steps": 2,
   "models": [{"name": "digits", "graph_name": "main", "id": 1, "ops": [OP, ...]}],
   "single_ops": [OP, ...]}

  OP      {"name": "conv1", "type": "Conv2D", "task_id": 3, "stream_id": 0, "level": "both",
           "original_names": ["conv1/conv", "conv1/relu"], "inputs": [TENSOR, ...], "outputs": [TENSOR, ...]}
          "level": "op" for an operator of several kernels, "kernel" for one of those, "both" otherwise
          "marked": true for one that the program has marked, as MindSpore's set_dump does
  TENSOR  {"data": "x.npy", "format": "NCHW"}
          {"data": "x.bin", "dtype": "float16", "shape": [1, 1, 28, 28, 16], "format": "NC1HWC0",
           "original_shape": [1, 3, 28, 28]}
          {"fill": "ramp", "dtype": "int8", "shape": [10]}           or "zeros", "random"

A file is found beside RUN.json; one that is no .npy is raw bytes and may be padded at its end. Each step runs all
models in order, then the single operators. Tensors may be larger than memory.

Does the config pick the operators it is meant to, and is a ring of 64 KiB enough without waiting?

  opdump replay run.json --config acl.json
  opdump replay run.json --config acl.json --ring-bytes 65536 --when-full drop

The summary ends with the dump's journal. What exactly was lost:

  opdump verify dump/20260131130559

exit status
  0  everything that the config asks for is in the dump
  1  a file is refused, or something was lost; the summary says what
  2  the command line is wrong
  3  the config switches nothing on, or nothing of RUN.json
)";

constexpr std::uint64_t kDefaultRingBytes = 1024 * 1024;

/// Short, because made tensors come faster than those of a device.
constexpr std::uint32_t kDrainDelayUs = 100;

using Session = BasicSession<MadeMemory>;
using SessionRecorder = Session::Recorder;

struct Options {
  std::optional<std::string> config;
  std::optional<std::string> ring_bytes;
  std::optional<std::string> when_full;
  std::optional<std::string> journal;
  std::optional<std::string> partition;
};

struct Settings {
  std::string run_path;
  std::string config_path;
  DumpOptions options;  ///< those of the command line, which go before the config's
  std::uint64_t partition_bytes = 0;

  std::size_t ring_bytes() const { return options.ring_bytes.value_or(kDefaultRingBytes); }
  JournalDetail journal() const { return options.journal.value_or(JournalDetail::records); }

  void fill_in(const DumpOptions& config) {
    if (!options.ring_bytes) options.ring_bytes = config.ring_bytes;
    if (!options.when_full) options.when_full = config.when_full;
    if (!options.block_limit_ms) options.block_limit_ms = config.block_limit_ms;
    if (!options.journal) options.journal = config.journal;
  }
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

std::optional<int> read_settings(const Options& options, const std::vector<std::string>& rest,
                                 Settings& settings) {
  if (rest.empty()) return usage_error("replay", "a RUN.json is missing");
  if (rest.size() > 1) return usage_error("replay", "one RUN.json at a time, not also '" + rest[1] + "'");
  if (!options.config) return usage_error("replay", "'--config CONFIG' is missing");
  settings.run_path = rest[0];
  settings.config_path = *options.config;
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
  return std::nullopt;
}

/// The system's clocks, and the latest time they gave: the session names its journal after the one it asked
/// for in `set_config`.
class NamingClock final : public Clock {
 public:
  std::uint64_t unix_us() override { return last_us_ = system_.unix_us(); }
  std::int32_t utc_offset_seconds() override { return system_.utc_offset_seconds(); }
  std::uint32_t monotonic_ms() override { return system_.monotonic_ms(); }
  void pause() override { system_.pause(); }

  std::uint64_t last_us() const { return last_us_; }

 private:
  posix::SystemClock system_;
  std::uint64_t last_us_ = 0;
};

/// One operator with its tensors where the session can find them.
struct PlacedOp {
  std::vector<TensorView> inputs;
  std::vector<TensorView> outputs;
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t records = 0;

  PlacedOp(const RunOp& op, MadeMemory& memory) {
    for (const RunTensor& tensor : op.inputs) {
      inputs.push_back(view(tensor, memory));
      input_bytes += tensor.bytes;
    }
    for (const RunTensor& tensor : op.outputs) {
      outputs.push_back(view(tensor, memory));
      output_bytes += tensor.bytes;
    }
  }

  std::uint64_t bytes(std::uint8_t capture_bits) const {
    return ((capture_bits & kCaptureInputs) != 0 ? input_bytes : 0) +
           ((capture_bits & kCaptureOutputs) != 0 ? output_bytes : 0);
  }

 private:
  static TensorView view(const RunTensor& tensor, MadeMemory& memory) {
    TensorView view = view_of(tensor);
    view.address = memory.place(tensor);
    return view;
  }
};

std::vector<PlacedOp> placed(const std::vector<RunOp>& ops, MadeMemory& memory) {
  std::vector<PlacedOp> out;
  for (const RunOp& op : ops) out.emplace_back(op, memory);
  return out;
}

std::vector<OpDesc> descs_of(const std::vector<RunOp>& ops) {
  std::vector<OpDesc> descs;
  for (const RunOp& op : ops) descs.push_back(op.desc);
  return descs;
}

std::size_t scratch_bytes(const RunFile& run) {
  std::size_t model_name = 0;
  std::size_t type = 0;
  std::size_t name = 0;
  const auto look = [&](const std::vector<RunOp>& ops) {
    for (const RunOp& op : ops) {
      type = std::max(type, op.desc.type.size());
      name = std::max(name, op.desc.name.size());
    }
  };
  for (const RunModel& model : run.models) {
    model_name = std::max({model_name, model.name.size(), model.graph_name.size()});
    look(model.ops);
  }
  look(run.single_ops);
  return drain_scratch_bytes(model_name, type, name);
}

/// A model as the session knows it. Does not move while it is loaded.
struct LoadedModel {
  const RunModel& run;
  std::vector<OpDesc> descs;
  std::vector<PlacedOp> ops;
  std::vector<CapturedTensors> tensors;
  std::vector<std::uint8_t> bits;
  ModelDesc desc;
  ModelPlan plan;
  std::uint32_t wanted_ops = 0;

  LoadedModel(const RunModel& model, MadeMemory& memory)
      : run(model), descs(descs_of(model.ops)), ops(placed(model.ops, memory)), bits(model.ops.size()) {
    for (const PlacedOp& op : ops) tensors.push_back({op.inputs, op.outputs});
    desc = {model.name, model.graph_name, model.id, descs, tensors};
  }
};

void print_line(void* /*context*/, std::string_view line) {
  std::printf("session  %s\n", std::string(line).c_str());
}

void say(const std::string& message) {
  std::fprintf(stderr, "opdump replay: %s\n", message.c_str());
}

class Replay {
 public:
  Replay(const Settings& settings, const RunFile& run, const DumpConfig& config)
      : settings_(settings),
        run_(run),
        config_(config),
        log_(print_line, nullptr, settings.partition_bytes, true),
        scratch_(scratch_bytes(run)) {}

  int go() {
    const std::size_t words = (settings_.ring_bytes() + 7) / 8;
    const std::unique_ptr<std::uint64_t[]> ring(new (std::nothrow) std::uint64_t[words]);
    if (ring == nullptr) {
      say("no memory for a ring of " + std::to_string(settings_.ring_bytes()) + " bytes");
      return kExitFailed;
    }
    NamingClock clock;
    Session session({.memory = memory_,
                     .sink = sink_,
                     .clock = clock,
                     .scratch = scratch_,
                     .device_id = run_.device_id,
                     .reduction = &reduction_,
                     .formats = {.protobuf = &protobuf_, .npy = &npy_},
                     .log = &log_});
    if (const Status status = session.configure(settings_.options); status != Status::ok)
      return failed("the options", status);
    const MutableBytes ring_bytes =
        std::as_writable_bytes(std::span(ring.get(), words)).first(settings_.ring_bytes());
    const Result<SessionRecorder*> recorder = session.add_recorder(ring_bytes);
    if (!recorder.ok()) return failed("the ring", recorder.status());
    if (const Status status = session.init(); status != Status::ok) return failed("init", status);
    if (const Status status = session.set_config(config_); status != Status::ok)
      return failed("the config", status);
    time_ = session.dump_time();
    journal_id_ = clock.last_us();

    load_models(session);
    if (const int exit_code = run_steps(session, *recorder.value()); exit_code != kExitOk) return exit_code;
    const Status finalized = session.finalize();
    if (finalized != Status::ok) complete_ = failed("making the dump durable", finalized) == kExitOk;
    for (const std::unique_ptr<LoadedModel>& model : models_)
      complete_ &= session.unload_model(model->plan) == Status::ok;
    return summary(session);
  }

 private:
  static int failed(const std::string& what, Status status) {
    say(what + ": " + std::string(to_string(status)));
    return kExitFailed;
  }

  void load_models(Session& session) {
    for (const RunModel& model : run_.models) {
      LoadedModel& loaded = *models_.emplace_back(std::make_unique<LoadedModel>(model, memory_));
      const Status status = session.load_model(loaded.plan, loaded.desc, loaded.bits);
      loaded.wanted_ops = loaded.plan.matched_ops;
      if (status != Status::ok)
        complete_ = failed("model \"" + printable(model.name) + "\" is not captured", status) == kExitOk;
    }
    single_ops_ = placed(run_.single_ops, memory_);
  }

  /// Steps that the config wants, those of overlapping ranges more than once.
  std::uint64_t wanted_steps() const {
    if (config_.steps.every_step()) return run_.steps;
    std::uint64_t steps = 0;
    for (const StepRange& range : config_.steps.ranges) {
      if (range.first < run_.steps) steps += std::min(range.last, run_.steps - 1) - range.first + 1;
    }
    return std::min(steps, run_.steps);
  }

  /// Bytes that the steps will capture, for the bar.
  std::uint64_t bytes_to_come(const SessionRecorder& recorder) const {
    std::uint64_t bytes = 0;
    for (const std::unique_ptr<LoadedModel>& model : models_) {
      for (std::size_t i = 0; i < model->plan.bits.size(); ++i)
        bytes += model->ops[i].bytes(model->plan.bits[i]);
    }
    for (const PlacedOp& op : single_ops_)
      bytes += recorder.wants_single_ops() ? op.bytes(capture_bits(config_.mode)) : 0;
    return bytes * wanted_steps();
  }

  int run_steps(Session& session, SessionRecorder& recorder) {
    posix::DrainThread<Session> drain;
    if (settings_.options.when_full != WhenFull::inline_drain) {
      if (const Status status = drain.start(session, {.delay_us = kDrainDelayUs}); status != Status::ok)
        return failed("the thread that writes", status);
    }
    Progress progress(bytes_to_come(recorder));
    memory_.count_into(&progress);
    for (std::uint64_t step = 0; step < run_.steps && !interrupted(); ++step) {
      for (const std::unique_ptr<LoadedModel>& model : models_) {
        if (!run_step(session, recorder, *model, progress)) return kExitFailed;
      }
      for (std::size_t i = 0; i < single_ops_.size() && !interrupted(); ++i) {
        PlacedOp& op = single_ops_[i];
        if (!recorder.wants_single_ops()) continue;
        note(session, op, run_.single_ops[i].desc.name,
             recorder.capture_single_op(run_.single_ops[i].desc, op.inputs, op.outputs), progress);
      }
    }
    memory_.count_into(nullptr);
    return kExitOk;
  }

  bool run_step(Session& session, SessionRecorder& recorder, LoadedModel& model, Progress& progress) {
    if (const Status status = recorder.begin_step(model.plan); status != Status::ok)
      return failed("a step", status) == kExitOk;
    for (std::size_t i = 0; i < model.ops.size() && !interrupted(); ++i) {
      if (!recorder.wants(i)) continue;
      PlacedOp& op = model.ops[i];
      note(session, op, model.descs[i].name, recorder.capture(i, op.inputs, op.outputs), progress);
    }
    const Status status = recorder.end_step();
    return status == Status::ok || failed("a step", status) == kExitOk;
  }

  /// Losses of room are only counted; what is wrong with an operator is told, once for the first few.
  void note(const Session& session, PlacedOp& op, std::string_view name, Status status, Progress& progress) {
    constexpr std::uint32_t kMostMessages = 20;
    const std::uint32_t captured = session.counts().captured;
    op.records += captured - captured_;
    captured_ = captured;
    const bool counted = status == Status::ok || status == Status::ring_full || status == Status::timeout;
    if (!counted && messages_ < kMostMessages) {
      ++messages_;
      progress.wipe();
      std::string reason(to_string(status));
      if (status == Status::device_copy_failed && !memory_.failure().empty()) reason = memory_.failure();
      if (status == Status::too_large) reason += "; a larger --ring-bytes helps";
      say("operator \"" + printable(name) + "\" is lost: " + reason);
    }
  }

  void print_ops(const std::vector<RunOp>& run, const std::vector<PlacedOp>& ops) const {
    Table table("  ", "llr");
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].records == 0) continue;
      table.add(
          {printable(run[i].desc.name), printable(run[i].desc.type), count_text(ops[i].records, "record")});
    }
    table.print();
  }

  static std::uint64_t records_of(const std::vector<PlacedOp>& ops) {
    std::uint64_t records = 0;
    for (const PlacedOp& op : ops) records += op.records;
    return records;
  }

  int summary(const Session& session) const {
    std::printf("dump     %s/%014llu/%u\n", printable(config_.dump_path).c_str(),
                static_cast<unsigned long long>(time_), run_.device_id);
    for (const std::unique_ptr<LoadedModel>& model : models_) {
      std::printf("model    %s (%u): %s wanted, %s captured\n", printable(model->run.name).c_str(),
                  model->run.id, operators_text(*model).c_str(),
                  count_text(records_of(model->ops), "record").c_str());
      print_ops(model->run.ops, model->ops);
    }
    if (!single_ops_.empty()) {
      std::printf("single   %s, %s captured\n", count_text(single_ops_.size(), "operator").c_str(),
                  count_text(records_of(single_ops_), "record").c_str());
      print_ops(run_.single_ops, single_ops_);
    }
    const DumpCounts counts = session.counts();
    std::printf("records  %u wanted, %u written\n", counts.wanted, counts.written);
    if (counts.empty != 0) std::printf("empty    %u, which no file is written for\n", counts.empty);
    if (counts.degraded != 0) std::printf("reduced  %u to their statistics\n", counts.degraded);
    if (interrupted()) {
      say("interrupted; what is in the dump is whole");
      std::fflush(stdout);
      die_of_interrupt();
    }
    print_losses(counts, session.last_sink_failure());
    print_journal(session.journal_failed(), counts.lost() != 0);
    if (!complete_ || counts.lost() != 0 || session.journal_failed()) return kExitFailed;
    if (counts.wanted == 0) {
      std::puts(
          "nothing  of RUN.json matches the config: names of models and operators must be the same, "
          "letter by letter, and the steps must be run");
      return kExitInactive;
    }
    return kExitOk;
  }

  static std::string operators_text(const LoadedModel& model) {
    return std::to_string(model.wanted_ops) + " of " + count_text(model.ops.size(), "operator");
  }

  void print_journal(bool failed, bool lost) const {
    if (settings_.journal() == JournalDetail::none) {
      std::puts("journal  none");
      return;
    }
    char time[16];
    std::snprintf(time, sizeof time, "%014llu", static_cast<unsigned long long>(time_));
    const std::string directory = printable(config_.dump_path) + '/' + time;
    std::printf("journal  %s/opdump.%u.%llu.journal\n", directory.c_str(), run_.device_id,
                static_cast<unsigned long long>(journal_id_));
    if (failed)
      say("the journal lacks lines that could not be written: it does not prove what is in the dump");
    if (lost) std::printf("what was lost, and why: opdump verify %s\n", directory.c_str());
  }

  void print_losses(const DumpCounts& counts, Status sink_failure) const {
    if (counts.lost() == 0) {
      if (complete_) std::puts("lost     nothing");
      return;
    }
    const std::pair<const char*, std::uint32_t> causes[] = {
        {"a tensor or name that no record can hold", counts.invalid},
        {"no room in the ring", counts.ring_full},
        {"no room in the ring within the limit", counts.timed_out},
        {"head too large for the ring", counts.too_large},
        {"bytes of a tensor not readable", counts.device_failed},
        {"file not written", counts.sink_failed},
    };
    std::printf("lost     %u\n", counts.lost());
    Table table("  ", "r");
    for (const auto& [cause, count] : causes) {
      if (count != 0) table.add({std::to_string(count), cause});
    }
    table.print();
    if (sink_failure == Status::ok) return;
    std::string reason(to_string(sink_failure));
    if (sink_.last_errno() != 0) reason += std::string(" (") + strerror(sink_.last_errno()) + ")";
    say("writing below " + printable(config_.dump_path) + " failed: " + reason);
  }

  const Settings& settings_;
  const RunFile& run_;
  const DumpConfig& config_;
  MadeMemory memory_;
  StatisticsReduction<MadeMemory> reduction_{memory_, &statistics_kernels()};
  ProtobufFormat protobuf_;
  NpyFormat npy_;
  TextLog log_;
  posix::TreeSink sink_;
  std::vector<std::byte> scratch_;
  std::vector<std::unique_ptr<LoadedModel>> models_;
  std::vector<PlacedOp> single_ops_;
  std::uint32_t captured_ = 0;
  std::uint32_t messages_ = 0;
  std::uint64_t time_ = 0;        ///< of the dump; names its directory
  std::uint64_t journal_id_ = 0;  ///< the same in microseconds; names its journal
  bool complete_ = true;
};

}  // namespace

int run_replay(Words words) {
  Options options;
  const Option table[] = {
      {"--config", {}, nullptr, &options.config},       {"--ring-bytes", {}, nullptr, &options.ring_bytes},
      {"--when-full", {}, nullptr, &options.when_full}, {"--journal", {}, nullptr, &options.journal},
      {"--partition", {}, nullptr, &options.partition},
  };
  std::vector<std::string> rest;
  if (const std::optional<int> exit_code = read_options({"replay", kHelp, table}, words, rest))
    return *exit_code;
  Settings settings;
  if (const std::optional<int> exit_code = read_settings(options, rest, settings)) return *exit_code;

  ConfigError error;
  RunFile run;
  if (!run.load(settings.run_path, error)) {
    print_refusal(settings.run_path, error, run.text());
    return kExitFailed;
  }
  CheckedConfig checked;
  if (checked.load(settings.config_path, posix::check_dump_path) != Status::ok) {
    print_refusal(settings.config_path, checked.error, checked.text());
    return kExitFailed;
  }
  for (const ConfigNote& note : checked.notes)
    std::fprintf(stderr, "%s\n", printable(to_string(note, settings.config_path)).c_str());
  const DumpConfig& config = checked.config;
  if (!config.active) {
    std::printf("%s: valid, but it switches nothing on\n", settings.config_path.c_str());
    return kExitInactive;
  }
  settings.fill_in(config.options);
  catch_interrupts();
  return std::make_unique<Replay>(settings, run, config)->go();
}

}  // namespace opdump::tool
