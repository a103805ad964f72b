#include <string.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "opdump/impl/drain/dump_name.hpp"
#include "opdump/opdump.hpp"
#include "opdump/parts/forecast.hpp"
#include "opdump/port/listeners.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/overflow.hpp"
#include "platform/posix/config_file.hpp"
#include "platform/posix/dump_kit.hpp"
#include "platform/posix/impl/free_bytes.hpp"
#include "platform/posix/system_clock.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/human_text.hpp"
#include "src/tool/cli/interrupt.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/cli/table.hpp"
#include "src/tool/config/checked_config.hpp"
#include "src/tool/config/config_text.hpp"
#include "src/tool/replay/made_memory.hpp"
#include "src/tool/replay/replay_faults.hpp"
#include "src/tool/replay/replay_settings.hpp"
#include "src/tool/run/run_file.hpp"

namespace opdump::tool {
namespace {

/// Short, because made tensors come faster than those of a device.
constexpr std::uint32_t kDrainDelayUs = 100;

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

using Kit = posix::DumpKit<MadeMemory, posix::TreeSink, NamingClock>;
using Session = Kit::Session;
using SessionRecorder = Session::Recorder;

TensorView placed_view(const RunTensor& tensor, MadeMemory& memory) {
  TensorView view = view_of(tensor);
  view.address = memory.place(tensor);
  return view;
}

/// One operator with its tensors where the session can find them.
struct PlacedOp {
  std::vector<TensorView> inputs;
  std::vector<TensorView> outputs;
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t records = 0;

  PlacedOp(const RunOp& op, MadeMemory& memory) {
    for (const RunTensor& tensor : op.inputs) {
      inputs.push_back(placed_view(tensor, memory));
      input_bytes += tensor.bytes;
    }
    for (const RunTensor& tensor : op.outputs) {
      outputs.push_back(placed_view(tensor, memory));
      output_bytes += tensor.bytes;
    }
  }

  std::uint64_t bytes(std::uint8_t capture_bits) const {
    return ((capture_bits & kCaptureInputs) != 0 ? input_bytes : 0) +
           ((capture_bits & kCaptureOutputs) != 0 ? output_bytes : 0);
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

/// Enough for watching every operator of every model.
std::size_t watch_words(const RunFile& run) {
  std::size_t bytes = 8;
  for (const RunModel& model : run.models) {
    std::size_t longest = 0;
    for (const RunOp& op : model.ops) longest = std::max(longest, op.desc.name.size());
    bytes += watch_bytes(model.ops.size(), 2 * longest);
  }
  return bytes / 8;
}

std::size_t scratch_bytes(const RunFile& run, const DumpConfig& config) {
  std::size_t model_name = config.net_name.size();
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
  if (config.watch) name = 2 * name + WatchState::kBetween.size();
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
      : run(model),
        descs(descs_of(model.ops)),
        ops(placed(model.ops, memory)),
        bits(model.ops.size()) {
    for (const PlacedOp& op : ops) tensors.push_back({op.inputs, op.outputs});
    desc = {model.name, model.graph_name, model.id, descs, tensors};
  }
};

void print_session_line(void* /*context*/, std::string_view line) {
  print_line("session  " + std::string(line));
}

void complain(const std::string& message) {
  say("opdump replay: " + message);
}

/// Keeps in words what is told, for the first few.
class WatchText final : public WatchListener {
 public:
  static constexpr std::size_t kMost = 20;

  void overwritten(const Overwrite& overwrite) override {
    if (lines_.size() == kMost) return;
    lines_.push_back(printable(overwrite.by) + " overwrote output " + std::to_string(overwrite.output) +
                     " of " + printable(overwrite.watched) + " at step " + std::to_string(overwrite.step) +
                     ", bytes " + std::to_string(overwrite.first) + ".." + std::to_string(overwrite.last));
  }

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

class Replay {
 public:
  Replay(const ReplaySettings& settings, const RunFile& run, const CheckedConfig& config)
      : run_(run),
        config_(config.config),
        config_text_(config.text()),
        scratch_(scratch_bytes(run, config_)),
        watch_memory_(config_.watch ? watch_words(run) : 0),
        kit_(memory_, {.scratch = scratch_,
                       .watch_memory = std::as_writable_bytes(std::span(watch_memory_)),
                       .watch_listener = &watch_listener_,
                       .device_id = run.device_id,
                       .drain_delay_us = kDrainDelayUs,
                       .room_bytes = settings.partition_bytes != 0 ? settings.partition_bytes
                                                                   : config_.options.max_bytes}) {
    kit_.log_to(print_session_line, nullptr);
  }

  int go() {
    const Result<MutableBytes> ring = kit_.ring_for(config_.options, {});
    if (!ring.ok()) {
      complain("no memory for a ring of " + std::to_string(*config_.options.ring_bytes) + " bytes");
      return kExitFailed;
    }
    Session& session = kit_.session();
    const Result<SessionRecorder*> recorder = session.add_recorder(ring.value());
    if (!recorder.ok()) return failed("the ring", recorder.status());
    if (const Status status = kit_.apply(config_, config_text_); status != Status::ok)
      return failed("a dump below " + printable(config_.dump_path), status);
    time_ = session.dump_time();
    journal_id_ = kit_.clock().last_us();

    load_models();
    if (!has_room(*recorder.value())) return kExitFailed;
    write_constants();
    if (const int exit_code = run_steps(session, *recorder.value()); exit_code != kExitOk) return exit_code;
    expect("what MindSpore writes besides tensors", kit_.end_extras());
    if (const Status status = kit_.end(); status != Status::ok)
      complete_ = failed("making the dump whole and durable", status) == kExitOk;
    for (const std::unique_ptr<LoadedModel>& model : models_)
      complete_ &= session.unload_model(model->plan) == Status::ok;
    return summary(session);
  }

 private:
  static int failed(const std::string& what, Status status) {
    complain(what + ": " + std::string(to_string(status)));
    return kExitFailed;
  }

  void expect(const std::string& what, Status status) {
    if (status != Status::ok) complete_ = failed(what, status) == kExitOk;
  }

  void load_models() {
    for (const RunModel& model : run_.models) {
      LoadedModel& loaded = *models_.emplace_back(std::make_unique<LoadedModel>(model, memory_));
      const Status status = kit_.load_model(loaded.plan, loaded.desc, loaded.bits);
      loaded.wanted_ops = loaded.plan.matched_ops;
      if (status != Status::ok)
        complete_ = failed("model \"" + printable(model.name) + "\" is not captured", status) == kExitOk;
    }
    single_ops_ = placed(run_.single_ops, memory_);
  }

  void write_constants() {
    for (const std::unique_ptr<LoadedModel>& model : models_) {
      std::vector<ConstantDesc> constants;
      for (const RunConstant& constant : model->run.constants)
        constants.push_back({constant.name, placed_view(constant.tensor, memory_)});
      expect("constants", kit_.write_constants(model->plan, constants));
    }
  }

  /// Bytes that the run writes at least, as far as they are known before it; UINT64_MAX: as many or more.
  std::uint64_t bytes_to_write(const SessionRecorder& recorder) const {
    std::uint64_t bytes = 0;
    const auto add = [&bytes](std::uint64_t more) { bytes += std::min(more, UINT64_MAX - bytes); };
    const std::uint64_t steps = wanted_steps();
    const auto add_steps = [&](std::uint64_t each) {
      add(each != 0 && steps > UINT64_MAX / each ? UINT64_MAX : each * steps);
    };
    for (const std::unique_ptr<LoadedModel>& model : models_) {
      const Forecast forecast = forecast_of(config_, model->plan);
      if (!forecast.at_most && config_.options.history_steps == 0) add_steps(forecast.bytes_per_step);
      for (const RunConstant& constant : model->run.constants) {
        if (model->plan.matched_ops != 0 && wants_constants(config_)) add(constant.tensor.bytes);
      }
    }
    const bool whole = recorder.wants_single_ops() && config_.form.data == DumpData::tensor;
    for (const PlacedOp& op : single_ops_) {
      if (whole) add_steps(op.bytes(capture_bits(config_.mode)));
    }
    return bytes;
  }

  /// Before tensors are written. A config with limits of its own fills no disk.
  bool has_room(const SessionRecorder& recorder) const {
    if (config_.options.max_bytes != 0 || config_.options.reserve_bytes != 0) return true;
    const std::uint64_t needed = bytes_to_write(recorder);
    const std::uint64_t free = posix::free_bytes(config_.dump_path);
    if (free == 0 || needed <= free) return true;
    complain(printable(config_.dump_path) + ": the run takes " + byte_text(needed) + ", and " +
             byte_text(free) +
             " are free there: choose fewer operators or steps, statistics (\"dump_data\": \"stats\"), or say "
             "what a dump may take (\"opdump\": {\"max_bytes\": ...})");
    return false;
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
    Progress progress(bytes_to_come(recorder));
    memory_.count_into(&progress);
    for (std::uint64_t step = 0; step < run_.steps && !interrupted() && failed_at_.empty(); ++step) {
      for (const std::unique_ptr<LoadedModel>& model : models_) {
        if (!run_step(session, recorder, *model, progress)) return kExitFailed;
        if (!failed_at_.empty()) break;
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
    const std::uint64_t step = model.plan.next_step - 1;
    memory_.restore();
    for (std::size_t i = 0; i < model.ops.size() && !interrupted(); ++i) {
      const RunFault* const fault = fault_at(model, i, step);
      PlacedOp& op = model.ops[i];
      if (fault != nullptr && fault->kind == RunFault::Kind::exception) {
        recorder.begin_op(i, op.inputs, op.outputs);
        note(session, op, model.descs[i].name, recorder.capture_failure(), progress);
        failed_at_ = printable(model.descs[i].name) + " failed at step " + std::to_string(step);
        break;
      }
      if (fault != nullptr) inject(model, *fault);
      if (!recorder.wants(i)) continue;
      Status status = Status::ok;
      if (fault != nullptr && fault->kind == RunFault::Kind::overflow) {
        OverflowReport report;
        report.status[0] = fault->status;
        status = recorder.capture_overflow(i, op.inputs, op.outputs, report);
      } else {
        status = recorder.capture(i, op.inputs, op.outputs);
      }
      note(session, op, model.descs[i].name, status, progress);
    }
    keep_first_bad(session);
    const Status status = recorder.end_step();
    return status == Status::ok || failed("a step", status) == kExitOk;
  }

  /// Null: operator `op` of that step does what it should.
  const RunFault* fault_at(const LoadedModel& model, std::size_t op, std::uint64_t step) const {
    for (const RunFault& fault : run_.faults) {
      if (&run_.models[fault.model] == &model.run && fault.op == op && fault.step == step) return &fault;
    }
    return nullptr;
  }

  void inject(LoadedModel& model, const RunFault& fault) {
    if (fault.kind != RunFault::Kind::trample)
      return break_output(memory_, model.run.ops[fault.op], model.ops[fault.op].outputs,
                          fault.kind == RunFault::Kind::nan);
    const Status status = trample(memory_, fault, model.ops[fault.victim].outputs[0].address);
    if (status != Status::ok) complete_ = failed("a trampled output", status) == kExitOk;
  }

  /// While the model is loaded, whose the names are.
  void keep_first_bad(const Session& session) {
    const FirstBadOp bad = session.first_bad_op();
    if (bad.unix_us == 0 || !first_bad_.empty()) return;
    first_bad_ = printable(bad.type) + " " + printable(bad.name) + " at step " + std::to_string(bad.step) +
                 " of model " + std::to_string(bad.model_id) + ", with clean inputs";
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
      complain("operator \"" + printable(name) + "\" is lost: " + reason);
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
    const std::string directory = dump_directory();
    std::printf("dump     %s%s\n", directory.c_str(),
                config_.form.layout == Layout::cann ? ('/' + std::to_string(run_.device_id)).c_str() : "");
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
    if (config_.overflow) {
      std::printf("overflow %s\n", count_text(session.overflows(), "operator").c_str());
      if (!first_bad_.empty()) std::printf("first    %s\n", first_bad_.c_str());
    }
    if (config_.options.history_steps != 0)
      std::printf("history  written %s, %s let go\n", count_text(kit_.history().triggers(), "time").c_str(),
                  count_text(kit_.history().let_go(), "file").c_str());
    if (!failed_at_.empty()) std::printf("ended    %s\n", failed_at_.c_str());
    if (config_.watch) std::printf("watch    %s\n", count_text(session.overwrites(), "overwrite").c_str());
    for (const std::string& line : watch_listener_.lines()) std::printf("  %s\n", line.c_str());
    if (counts.empty != 0) std::printf("empty    %u, which no file is written for\n", counts.empty);
    if (counts.degraded != 0) std::printf("reduced  %u to their statistics\n", counts.degraded);
    if (interrupted()) {
      complain("interrupted; what is in the dump is whole");
      std::fflush(stdout);
      die_of_interrupt();
    }
    print_losses(counts, session.last_sink_failure());
    print_journal(session, counts);
    if (!complete_ || counts.lost() != 0 || session.journal_failed()) return kExitFailed;
    if (counts.wanted == 0 && !dumps_on(config_, run_.device_id)) {
      std::printf("nothing  is dumped on device %u, which RUN.json runs on: the config leaves it out\n",
                  run_.device_id);
      return kExitInactive;
    }
    if (counts.wanted == 0) {
      std::puts(
          "nothing  of RUN.json matches the config: names of models and operators must be the same, "
          "letter by letter, and the steps must be run");
      return kExitInactive;
    }
    return kExitOk;
  }

  /// Of all of it, in which its journal lies.
  std::string dump_directory() const {
    DumpTarget target = {
        .time = time_,
        .form = config_.form,
        .exception = holds_only_failures() ? config_.exception : ExceptionDump::none,
    };
    target.form.rank = folder_rank(config_, run_.device_id);
    char memory[kMaxDumpDirectoryBytes];
    TextWriter below(memory);
    add_dump_directory(below, target);
    std::string directory = printable(config_.dump_path);
    if (!below.text().empty()) directory.append("/").append(below.text());
    return directory;
  }

  static std::string operators_text(const LoadedModel& model) {
    return std::to_string(model.wanted_ops) + " of " + count_text(model.ops.size(), "operator");
  }

  bool holds_only_failures() const {
    return config_.exception != ExceptionDump::none && !has_rank_folder(config_.form.layout);
  }

  void print_journal(const Session& session, const DumpCounts& counts) const {
    const bool failed = session.journal_failed();
    if (session.journal() == JournalDetail::none) {
      std::puts("journal  none");
      return;
    }
    if (holds_only_failures() && counts.wanted == 0) {
      std::puts("journal  none: no operator failed");
      return;
    }
    const std::string directory = dump_directory();
    std::printf("journal  %s/opdump.%u.%llu.journal\n", directory.c_str(), run_.device_id,
                static_cast<unsigned long long>(journal_id_));
    if (failed)
      complain("the journal lacks lines that could not be written: it does not prove what is in the dump");
    if (counts.lost() != 0) std::printf("what was lost, and why: opdump verify %s\n", directory.c_str());
  }

  void print_losses(const DumpCounts& counts, Status sink_failure) const {
    if (counts.lost() == 0) {
      if (complete_) std::puts("lost     nothing");
      return;
    }
    std::printf("lost     %u\n", counts.lost());
    Table table("  ", "r");
    for (const LossKind& kind : kLossKinds) {
      const std::uint32_t count = counts.*kind.count;
      if (count != 0) table.add({std::to_string(count), std::string(kind.text)});
    }
    table.print();
    if (sink_failure == Status::ok) return;
    std::string reason(to_string(sink_failure));
    const int error = kit_.store().last_errno();
    if (error != 0) reason += std::string(" (") + strerror(error) + ")";
    complain("writing below " + printable(config_.dump_path) + " failed: " + reason);
  }

  const RunFile& run_;
  const DumpConfig& config_;
  const std::string_view config_text_;
  MadeMemory memory_;
  std::vector<std::byte> scratch_;
  std::vector<std::uint64_t> watch_memory_;
  WatchText watch_listener_;
  std::vector<std::unique_ptr<LoadedModel>> models_;
  std::vector<PlacedOp> single_ops_;
  Kit kit_;
  std::uint32_t captured_ = 0;
  std::uint32_t messages_ = 0;
  std::uint64_t time_ = 0;        ///< of the dump; names its directory
  std::uint64_t journal_id_ = 0;  ///< the same in microseconds; names its journal
  std::string failed_at_;  ///< what ended the run, in words; empty: nothing
  std::string first_bad_;  ///< the operator that went wrong first, in words
  bool complete_ = true;
};

}  // namespace

int run_replay(Words words) {
  ReplaySettings settings;
  if (const std::optional<int> exit_code = read_replay_settings(words, settings)) return *exit_code;

  ConfigError error;
  RunFile run;
  if (!run.load(settings.run_path, error)) {
    print_refusal(settings.run_path, error, run.text());
    return kExitFailed;
  }
  CheckedConfig checked;
  if (checked.load(settings.config_path, posix::check_dump_path, settings.context) != Status::ok ||
      checked.follow_environment() != Status::ok) {
    print_refusal(settings.config_path, checked.error, checked.text());
    return kExitFailed;
  }
  for (const ConfigNote& note : checked.notes)
    say(to_string(note, settings.config_path));
  if (!checked.config.active) {
    print_line(settings.config_path + ": valid, but it switches nothing on");
    return kExitInactive;
  }
  checked.config.options = settings.over(checked.config.options);
  catch_interrupts();
  return std::make_unique<Replay>(settings, run, checked)->go();
}

}  // namespace opdump::tool
