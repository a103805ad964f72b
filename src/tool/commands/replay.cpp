#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "opdump/opdump.hpp"
#include "opdump/parts/forecast.hpp"
#include "opdump/port/listeners.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/overflow.hpp"
#include "platform/posix/config_file.hpp"
#include "platform/posix/impl/free_bytes.hpp"
#include "src/config/text/config_text.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/commands/replay/placed_run.hpp"
#include "src/tool/commands/replay/replay_outcome.hpp"
#include "src/tool/commands/replay/replay_settings.hpp"
#include "src/tool/commands/replay/replay_summary.hpp"
#include "src/tool/config/checked_config.hpp"
#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {
namespace {

using Session = ReplayKit::Session;
using SessionRecorder = Session::Recorder;

/// Short, because made tensors come faster than those of a device.
constexpr std::uint32_t kDrainDelayUs = 100;

void print_session_line(void* /*context*/, std::string_view line) {
  print_line("session  " + std::string(line));
}

/// Keeps in words what is told, for the first few.
class WatchText final : public WatchListener {
 public:
  static constexpr std::size_t kMost = 20;

  explicit WatchText(std::vector<std::string>& lines) : lines_(lines) {}

  void overwritten(const Overwrite& overwrite) override {
    if (lines_.size() == kMost) return;
    lines_.push_back(printable(overwrite.by) + " overwrote output " + std::to_string(overwrite.output) +
                     " of " + printable(overwrite.watched) + " at step " + std::to_string(overwrite.step) +
                     ", bytes " + std::to_string(overwrite.first) + ".." + std::to_string(overwrite.last));
  }

 private:
  std::vector<std::string>& lines_;
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
      complain_of_replay("no memory for a ring of " + std::to_string(*config_.options.ring_bytes) + " bytes");
      return kExitFailed;
    }
    Session& session = kit_.session();
    const Result<SessionRecorder*> recorder = session.add_recorder(ring.value());
    if (!recorder.ok()) return failed("the ring", recorder.status());
    if (const Status status = kit_.apply(config_, config_text_); status != Status::ok)
      return failed("a dump below " + printable(config_.dump_path), status);
    outcome_.time = session.dump_time();
    outcome_.journal_id = kit_.clock().last_us();

    load_models();
    if (!has_room(*recorder.value())) return kExitFailed;
    write_constants();
    if (const int exit_code = run_steps(session, *recorder.value()); exit_code != kExitOk) return exit_code;
    expect("what MindSpore writes besides tensors", kit_.end_extras());
    if (const Status status = kit_.end(); status != Status::ok)
      outcome_.complete = failed("making the dump whole and durable", status) == kExitOk;
    for (const std::unique_ptr<LoadedModel>& model : outcome_.models)
      outcome_.complete &= session.unload_model(model->plan) == Status::ok;
    return print_replay(run_, config_, kit_, outcome_);
  }

 private:
  int failed(const std::string& what, Status status) const {
    const std::string& reason = kit_.store_error();
    complain_of_replay(what + ": " + std::string(to_string(status)) + (reason.empty() ? "" : ": " + reason));
    return kExitFailed;
  }

  void expect(const std::string& what, Status status) {
    if (status != Status::ok) outcome_.complete = failed(what, status) == kExitOk;
  }

  void load_models() {
    for (const RunModel& model : run_.models) {
      LoadedModel& loaded = *outcome_.models.emplace_back(std::make_unique<LoadedModel>(model, memory_));
      const Status status = kit_.load_model(loaded.plan, loaded.desc, loaded.bits);
      loaded.wanted_ops = loaded.plan.matched_ops;
      if (status != Status::ok)
        outcome_.complete =
            failed("model \"" + printable(model.name) + "\" is not captured", status) == kExitOk;
    }
    outcome_.single_ops = placed(run_.single_ops, memory_);
  }

  void write_constants() {
    for (const std::unique_ptr<LoadedModel>& model : outcome_.models) {
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
    for (const std::unique_ptr<LoadedModel>& model : outcome_.models) {
      const Forecast forecast = forecast_of(config_, model->plan);
      if (!forecast.at_most && config_.options.history_steps == 0) add_steps(forecast.bytes_per_step);
      for (const RunConstant& constant : model->run.constants) {
        if (model->plan.matched_ops != 0 && wants_constants(config_)) add(constant.tensor.bytes);
      }
    }
    const bool whole = recorder.wants_single_ops() && config_.form.data == DumpData::tensor;
    for (const PlacedOp& op : outcome_.single_ops) {
      if (whole) add_steps(op.bytes(capture_bits(config_.mode)));
    }
    return bytes;
  }

  /// Before tensors are written. A config with limits of its own fills no disk.
  bool has_room(const SessionRecorder& recorder) const {
    if (config_.options.max_bytes != 0 || config_.options.reserve_bytes != 0) return true;
    const std::uint64_t needed = bytes_to_write(recorder);
    const std::uint64_t free = kit_.is_raw() ? kit_.store().room() : posix::free_bytes(config_.dump_path);
    if (kit_.is_raw() && config_.options.keep == Keep::newest) return true;
    if (free == 0 || needed <= free) return true;
    complain_of_replay(
        printable(config_.dump_path) + ": the run takes " + byte_text(needed) + ", and " + byte_text(free) +
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
    for (const std::unique_ptr<LoadedModel>& model : outcome_.models) {
      for (std::size_t i = 0; i < model->plan.bits.size(); ++i)
        bytes += model->ops[i].bytes(model->plan.bits[i]);
    }
    for (const PlacedOp& op : outcome_.single_ops)
      bytes += recorder.wants_single_ops() ? op.bytes(capture_bits(config_.mode)) : 0;
    return bytes * wanted_steps();
  }

  int run_steps(Session& session, SessionRecorder& recorder) {
    Progress progress(bytes_to_come(recorder));
    memory_.count_into(&progress);
    for (std::uint64_t step = 0; step < run_.steps && !interrupted() && outcome_.failed_at.empty(); ++step) {
      for (const std::unique_ptr<LoadedModel>& model : outcome_.models) {
        if (!run_step(session, recorder, *model, progress)) return kExitFailed;
        if (!outcome_.failed_at.empty()) break;
      }
      for (std::size_t i = 0; i < outcome_.single_ops.size() && !interrupted(); ++i) {
        PlacedOp& op = outcome_.single_ops[i];
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
        outcome_.failed_at = printable(model.descs[i].name) + " failed at step " + std::to_string(step);
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
    if (status != Status::ok) outcome_.complete = failed("a trampled output", status) == kExitOk;
  }

  /// While the model is loaded, whose the names are.
  void keep_first_bad(const Session& session) {
    const FirstBadOp bad = session.first_bad_op();
    if (bad.unix_us == 0 || !outcome_.first_bad.empty()) return;
    outcome_.first_bad = printable(bad.type) + " " + printable(bad.name) + " at step " +
                         std::to_string(bad.step) + " of model " + std::to_string(bad.model_id) +
                         ", with clean inputs";
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
      complain_of_replay("operator \"" + printable(name) + "\" is lost: " + reason);
    }
  }

  const RunFile& run_;
  const DumpConfig& config_;
  const std::string_view config_text_;
  MadeMemory memory_;
  std::vector<std::byte> scratch_;
  std::vector<std::uint64_t> watch_memory_;
  ReplayOutcome outcome_;
  WatchText watch_listener_{outcome_.overwrites};
  ReplayKit kit_;
  std::uint32_t captured_ = 0;
  std::uint32_t messages_ = 0;
};

}  // namespace

void complain_of_replay(const std::string& message) {
  say("opdump replay: " + message);
}

int run_replay(Words words) {
  ReplaySettings settings;
  if (const std::optional<int> exit_code = read_replay_settings(words, settings)) return *exit_code;

  RunFile run;
  if (!load_or_say(settings.run_path, run)) return kExitFailed;
  if (std::string first; run.unsized_tensors(first) != 0) {
    say(settings.run_path + ": " + first +
        " has no size before the model runs; give its dims with 'opdump describe --dim'");
    return kExitFailed;
  }
  settings.context.nano = run.is_dbg();
  CheckedConfig checked;
  if (checked.load(settings.config_path, posix::check_dump_place, settings.context) != Status::ok ||
      checked.follow_environment() != Status::ok) {
    print_refusal(settings.config_path, checked.error, checked.text());
    return kExitFailed;
  }
  for (const ConfigNote& note : checked.notes) say(to_string(note, settings.config_path));
  if (!checked.config.active) {
    print_line(settings.config_path + ": valid, but it switches nothing on");
    return kExitInactive;
  }
  checked.config.options = settings.over(checked.config.options);
  catch_interrupts();
  return std::make_unique<Replay>(settings, run, checked)->go();
}

}  // namespace opdump::tool
