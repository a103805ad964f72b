#include "src/tool/verify/journal_findings.hpp"

#include <cstring>
#include <vector>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/read/journal/dump_provenance.hpp"
#include "src/tool/verify/trigger_accounts.hpp"

namespace opdump::tool {

void JournalFindings::on_gap(std::uint32_t recorder, std::uint32_t first, std::uint32_t last,
                             std::string_view causes) {
  const std::uint32_t count = last - first + 1;
  findings_.add_summed(FindingKind::gap,
                       {{"journal", journal_},
                        {"recorder", {}, recorder, true},
                        {"first", {}, first, true},
                        {"last", {}, last, true},
                        {"cause", std::string(causes)}},
                       count);
  findings_.add_row(
      FindingKind::gap,
      {journal_, "recorder " + std::to_string(recorder) + ", " + range_text("number", first, last),
       count_text(count, "record") + " lost, with no room even to tell which: " + causes_text(causes)});
}

void JournalFindings::on_forgotten(const JournalLine& line, bool names_files) {
  const ForgottenRecords& told = line.forgotten;
  const std::string range =
      "recorder " + std::to_string(line.recorder) + ", " + range_text("number", line.sequence, line.last);
  const auto fields = [&](std::uint64_t count, const std::string& cause) {
    return std::vector<FindingField>{{"journal", journal_},
                                     {"recorder", {}, line.recorder, true},
                                     {"first", {}, line.sequence, true},
                                     {"last", {}, line.last, true},
                                     {"count", {}, count, true},
                                     {"cause", cause}};
  };
  if (names_files && told.written != 0) {
    findings_.add_summed(FindingKind::removed,
                         fields(told.written, std::string(kind_of(LossCause::quota).word)), told.written);
    const std::string reduced =
        told.reduced != 0 ? ", of which " + std::to_string(told.reduced) + " reduced" : "";
    findings_.add_row(FindingKind::removed, {journal_, range,
                                             count_text(told.written, "record") + reduced +
                                                 "; the journal was shortened and no longer tells which"});
  }
  if (told.all_lost() == 0) return;
  std::string causes = causes_text(told.lost);
  if (told.unclear != 0)
    causes +=
        (causes.empty() ? "" : ", ") + std::to_string(told.unclear) + ": for several causes or unfinished";
  findings_.add_summed(FindingKind::gap, fields(told.all_lost(), causes), told.all_lost());
  findings_.add_row(FindingKind::gap,
                    {journal_, range,
                     count_text(told.all_lost(), "record") +
                         " lost; the journal was shortened and no longer tells which: " + causes});
}

void JournalFindings::files_removed(std::uint64_t count) {
  findings_.add_summed(FindingKind::removed, {{"journal", journal_}, {"count", {}, count, true}}, count);
  findings_.add_row(FindingKind::removed,
                    {journal_, count_text(count, "file") + " of which the journal, shortened, has no name"});
}

void JournalFindings::on_op(const JournalLine& line) {
  const OpCounts& counts = line.op_counts;
  const std::string model = std::string(line.path.model) + " (" + std::to_string(line.path.model_id) + ")";
  std::vector<FindingField> fields = {{"journal", journal_},
                                      {"op", std::string(line.path.op)},
                                      {"model", std::string(line.path.model)},
                                      {"model_id", {}, line.path.model_id, true},
                                      {"seen", {}, line.steps_seen, true},
                                      {"wanted", {}, counts.wanted, true},
                                      {"captured", {}, counts.captured, true},
                                      {"degraded", {}, counts.degraded, true},
                                      {"dropped", {}, counts.dropped(), true},
                                      {"aborted", {}, counts.aborted(), true}};
  for (const LossKind& kind : kLossKinds) fields.push_back({kind.word, {}, counts.*kind.count, true});
  StepRanges steps;
  const std::string of_all = " of " + count_text(counts.wanted, "record");
  std::string what = std::to_string(counts.degraded) + of_all + " reduced";
  if (counts.lost() != 0) {
    steps.add(line.lost_steps.first, line.lost_steps.last);
    const std::string reduced =
        counts.degraded != 0 ? "; " + std::to_string(counts.degraded) + " reduced" : "";
    what = std::to_string(counts.lost()) + of_all + " lost: " + causes_text(counts) + reduced;
    fields.push_back({"first_step", {}, line.lost_steps.first, true});
    fields.push_back({"last_step", {}, line.lost_steps.last, true});
  }
  const std::string where = counts.lost() != 0 ? steps.text() : std::string();
  findings_.add(FindingKind::by_op, true, {std::string(line.path.op), model, where, what}, fields);
}

void JournalFindings::on_provenance(const Provenance& provenance) {
  const std::string text = provenance_text(provenance);
  findings_.add_note(FindingKind::provenance, {journal_, text},
                     {{"journal", journal_},
                      {"build_id", std::string(provenance.build_id)},
                      {"config", std::string(provenance.config)},
                      {"opdump", std::string(provenance.opdump)},
                      {"model", std::string(provenance.model)},
                      {"runtime", std::string(provenance.runtime)}});
}

void JournalFindings::on_clock(const ClockStep& step) {
  const std::string times = "showed " + time_text(step.shown_us) + " when it was " + time_text(step.unix_us) +
                            ": earlier times are moved";
  findings_.add_note(
      FindingKind::clock, {journal_, times},
      {{"journal", journal_}, {"shown_us", {}, step.shown_us, true}, {"unix_us", {}, step.unix_us, true}});
}

void JournalFindings::on_driver(std::string_view call, std::int32_t code) {
  const std::string returned = std::to_string(code);
  findings_.add_note(FindingKind::driver, {journal_, std::string(call) + " returned " + returned},
                     {{"journal", journal_}, {"call", std::string(call)}, {"code", returned}});
}

void JournalFindings::fired(const ToldFiring& firing) {
  const std::string cause(kTriggerWords[static_cast<std::size_t>(firing.cause)]);
  findings_.add_note(FindingKind::fired,
                     {"step " + std::to_string(firing.step), std::string(firing.where), firing_text(firing),
                      "trigger " + std::to_string(firing.trigger)},
                     {{"journal", journal_},
                      {"trigger", {}, firing.trigger, true},
                      {"cause", cause},
                      {"step", {}, firing.step, true},
                      {"value", std::string(firing.value)},
                      {"limit", std::string(firing.limit)},
                      {"model_id", {}, firing.model_id, true},
                      {"where", std::string(firing.where)}});
}

void JournalFindings::trigger(const ToldFiring& trigger, const FiringCounts& counts) {
  const std::string cause(kTriggerWords[static_cast<std::size_t>(trigger.cause)]);
  findings_.add_note(
      FindingKind::trigger,
      {"trigger " + std::to_string(trigger.trigger), cause, firing_counts_text(trigger.cause, counts)},
      {{"journal", journal_},
       {"trigger", {}, trigger.trigger, true},
       {"cause", cause},
       {"fired", {}, counts.fired, true},
       {"cooldown", {}, counts.held[0], true},
       {"firings", {}, counts.held[1], true},
       {"bytes", {}, counts.held[2], true},
       {"crowded", {}, counts.held[3], true},
       {"cut", {}, counts.cut, true},
       {"unread", {}, counts.unread, true},
       {"looks", {}, counts.looks, true}});
}

void JournalFindings::refused_by_sink(std::uint32_t lost) {
  findings_.add_summed(FindingKind::gap,
                       {{"journal", journal_}, {"count", {}, lost, true}, {"cause", "history"}}, lost);
  findings_.add_row(FindingKind::gap,
                    {journal_, "history", count_text(lost, "file") + " of write-outs refused by the sink"});
}

void JournalFindings::on_untold(std::uint64_t number, std::uint32_t untold, const DumpCounts& counts) {
  findings_.add_summed(FindingKind::gap,
                       {{"journal", journal_},
                        {"line", {}, number, true},
                        {"count", {}, untold, true},
                        {"cause", causes_text(counts)}},
                       untold);
  findings_.add_row(FindingKind::gap, {journal_, "line " + std::to_string(number),
                                       count_text(untold, "record") +
                                           " lost, and no line tells which; of all: " + causes_text(counts)});
}

void JournalFindings::on_untold_reduced(std::uint64_t number, std::uint32_t untold) {
  findings_.add(
      FindingKind::reduced, true,
      {journal_, "line " + std::to_string(number),
       count_text(untold, "record") + " reduced: no room for more in the ring, and none to tell which"},
      {{"journal", journal_}, {"line", {}, number, true}, {"count", {}, untold, true}});
}

void JournalFindings::on_dumps_removed(std::uint64_t count, std::uint64_t first, std::uint64_t last) {
  const std::string range =
      first == last ? std::to_string(first) : std::to_string(first) + " to " + std::to_string(last);
  findings_.add(FindingKind::rotated, false, {journal_, count_text(count, "dump"), range},
                {{"journal", journal_},
                 {"count", {}, count, true},
                 {"first", {}, first, true},
                 {"last", {}, last, true}});
}

void JournalFindings::not_final(const JournalCheck& check) {
  std::string what = "what was captured is unknown from the start";
  bool first = true;
  for (std::uint32_t recorder = 0; recorder < JournalCheck::kMostRecorders; ++recorder) {
    std::uint32_t next = 0;
    if (!check.reached(recorder, next)) continue;
    if (first) what = "what was captured after ";
    what += (first ? "" : ", ");
    what += next == 0 ? "the start" : "sequence number " + std::to_string(next - 1);
    what += " of recorder " + std::to_string(recorder);
    first = false;
  }
  if (!first) what += " is unknown";
  what = check.has_lines()
             ? "was not finalized: " + what
             : "has no line, as where the disk had no room for one: it proves nothing, and " + what;
  findings_.add(FindingKind::not_final, true, {journal_, what}, {{"journal", journal_}, {"message", what}});
}

void JournalFindings::on_chunk(const JournalLine& line) {
  const ChunkFaultKind& fault = kind_of(line.fault);
  const std::string path = line.path_text.empty() ? "(no name)" : std::string(line.path_text);
  findings_.add(
      FindingKind::chunk, fault.wrong,
      {path, count_text(line.chunks, "chunk"), count_text(line.bytes, "byte"), std::string(fault.text)},
      {{"journal", journal_},
       {"path", path},
       {"fault", std::string(fault.word)},
       {"chunks", {}, line.chunks, true},
       {"bytes", {}, line.bytes, true}});
}

void JournalFindings::on_unreceived(std::uint64_t first, std::uint64_t last) {
  findings_.add(FindingKind::unreceived, true, {journal_, range_text("frame", first, last)},
                {{"journal", journal_}, {"first", {}, first, true}, {"last", {}, last, true}});
}

void JournalFindings::on_unsynced(std::int32_t code) {
  findings_.add(FindingKind::unsynced, true, {journal_, std::strerror(code)},
                {{"journal", journal_}, {"errno", {}, static_cast<std::uint32_t>(code), true}});
}

void JournalFindings::on_problem(std::uint64_t number, const std::string& what) {
  const std::string place = number == 0 ? journal_ : journal_ + ':' + std::to_string(number);
  findings_.add(FindingKind::journal, true, {place + ": " + what},
                {{"journal", journal_}, {"line", {}, number, true}, {"message", what}});
}

}  // namespace opdump::tool
