#include "src/tool/commands/replay/replay_summary.hpp"

#include <string.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "opdump/impl/drain/dump_name.hpp"
#include "opdump/types/counts.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/progress.hpp"

namespace opdump::tool {
namespace {

class ReplaySummary {
 public:
  ReplaySummary(const RunFile& run, const DumpConfig& config, const ReplayKit& kit,
                const ReplayOutcome& outcome)
      : run_(run), config_(config), kit_(kit), outcome_(outcome) {}

  int print() const {
    const ReplayKit::Session& session = kit_.session();
    const std::string directory = dump_directory();
    std::printf("dump     %s%s\n", directory.c_str(),
                config_.form.layout == Layout::cann ? ('/' + std::to_string(run_.device_id)).c_str() : "");
    for (const std::unique_ptr<LoadedModel>& model : outcome_.models) {
      std::printf("model    %s (%u): %s wanted, %s captured\n", printable(model->run.name).c_str(),
                  model->run.id, operators_text(*model).c_str(),
                  count_text(records_of(model->ops), "record").c_str());
      print_ops(model->run.ops, model->ops);
    }
    if (!outcome_.single_ops.empty()) {
      std::printf("single   %s, %s captured\n", count_text(outcome_.single_ops.size(), "operator").c_str(),
                  count_text(records_of(outcome_.single_ops), "record").c_str());
      print_ops(run_.single_ops, outcome_.single_ops);
    }
    const DumpCounts counts = session.counts();
    std::printf("records  %u wanted, %u written\n", counts.wanted, counts.written);
    if (config_.overflow) {
      std::printf("overflow %s\n", count_text(session.overflows(), "operator").c_str());
      if (!outcome_.first_bad.empty()) std::printf("first    %s\n", outcome_.first_bad.c_str());
    }
    if (config_.options.history_steps != 0)
      std::printf("history  written %s, %s let go\n", count_text(kit_.history().triggers(), "time").c_str(),
                  count_text(kit_.history().let_go(), "file").c_str());
    if (!outcome_.failed_at.empty()) std::printf("ended    %s\n", outcome_.failed_at.c_str());
    if (config_.watch) std::printf("watch    %s\n", count_text(session.overwrites(), "overwrite").c_str());
    for (const std::string& line : outcome_.overwrites) std::printf("  %s\n", line.c_str());
    if (counts.empty != 0) std::printf("empty    %u, which no file is written for\n", counts.empty);
    if (counts.degraded != 0) std::printf("reduced  %u to their statistics\n", counts.degraded);
    if (interrupted()) {
      complain_of_replay("interrupted; what is in the dump is whole");
      std::fflush(stdout);
      die_of_interrupt();
    }
    print_losses(counts, session.last_sink_failure());
    if (const std::uint64_t removed = kit_.store().removed_records(); removed != 0)
      std::printf("removed  %s for newer ones\n", count_text(removed, "older record").c_str());
    print_journal(session, counts);
    if (!outcome_.complete || counts.lost() != 0 || session.journal_failed()) return kExitFailed;
    if (counts.wanted == 0 && !dumps_on(config_, run_.device_id)) {
      std::printf("nothing  is dumped on device %u, which RUN.json runs on: the config leaves it out\n",
                  run_.device_id);
      return kExitInactive;
    }
    if (counts.wanted == 0) {
      std::printf("nothing  %s\n", why_nothing().c_str());
      return kExitInactive;
    }
    return kExitOk;
  }

 private:
  /// Why a run that the config leaves no device out of captured nothing; the first reason that holds.
  std::string why_nothing() const {
    std::uint64_t wanted_ops = 0;
    for (const std::unique_ptr<LoadedModel>& model : outcome_.models) wanted_ops += model->wanted_ops;
    if (config_.exception != ExceptionDump::none)
      return "failed: RUN.json's \"inject\" makes an operator fail, with \"kind\": \"exception\"";
    if (config_.overflow && (config_.models.empty() || wanted_ops != 0))
      return "overflowed: RUN.json's \"inject\" makes an operator overflow, with \"kind\": \"overflow\"";
    if (wanted_ops == 0 && wants_only_marked())
      return "is marked: the config asks for marked operators, those with \"marked\": true in RUN.json";
    if (wanted_ops == 0 && config_.models.empty() && config_.single_ops)
      return run_.single_ops.empty()
                 ? "of RUN.json runs outside a model: the config asks for single operators alone, \"single_ops\""
                 : "is captured outside a model: single operators have no step, and the config asks for steps";
    if (wanted_ops == 0)
      return "of RUN.json matches the config: names of models and operators must be the same, letter by letter";
    if (config_.watch) return "was overwritten or ran: no watched operator wrote an output";
    return "was captured: RUN.json runs " + count_text(run_.steps, "step") +
           ", and the config asks for others (\"steps\" in RUN.json says how many)";
  }

  bool wants_only_marked() const {
    return !config_.models.empty() &&
           std::all_of(config_.models.begin(), config_.models.end(),
                       [](const ModelRule& rule) { return rule.extras != nullptr && rule.extras->marked; });
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

  /// Of all of it, in which its journal lies.
  std::string dump_directory() const {
    DumpTarget target = {
        .time = outcome_.time,
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

  void print_journal(const ReplayKit::Session& session, const DumpCounts& counts) const {
    const bool failed = session.journal_failed();
    if (session.journal() == JournalDetail::none) {
      std::puts("journal  none");
      return;
    }
    if (holds_only_failures() && counts.wanted == 0) {
      std::puts("journal  none: no operator failed");
      return;
    }
    if (posix::is_raw_place(config_.dump_path)) {
      const std::string place = printable(config_.dump_path);
      std::printf("journal  in the flash log there; 'opdump extract %s -o DIR' gets all of it\n",
                  place.c_str());
      return;
    }
    if (counts.wanted == 0 && !dumps_on(config_, run_.device_id)) {
      std::puts("journal  none: the config leaves the device out");
      return;
    }
    const std::string directory = dump_directory();
    std::printf("journal  %s/opdump.%u.%llu.journal\n", directory.c_str(), run_.device_id,
                static_cast<unsigned long long>(outcome_.journal_id));
    if (failed)
      complain_of_replay(
          "the journal lacks lines that could not be written: it does not prove what is in the dump");
    if (counts.lost() != 0) std::printf("what was lost, and why: opdump verify %s\n", directory.c_str());
  }

  void print_losses(const DumpCounts& counts, Status sink_failure) const {
    if (counts.lost() == 0) {
      if (outcome_.complete) std::puts("lost     nothing");
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
    complain_of_replay("writing below " + printable(config_.dump_path) + " failed: " + reason);
  }

  const RunFile& run_;
  const DumpConfig& config_;
  const ReplayKit& kit_;
  const ReplayOutcome& outcome_;
};

}  // namespace

int print_replay(const RunFile& run, const DumpConfig& config, const ReplayKit& kit,
                 const ReplayOutcome& outcome) {
  return ReplaySummary(run, config, kit, outcome).print();
}

}  // namespace opdump::tool
