#include "src/tool/judge/diverge/diverge_report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/judge/compare/compare_measures.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kReplayVerdicts = 3;
constexpr std::size_t kMostRows = 20;

const ReplayedOutput* wrong_output(const ReplayedOp& op) {
  const auto found = std::find_if(op.outputs.begin(), op.outputs.end(),
                                  [](const ReplayedOutput& output) { return output.error.diverges; });
  return found == op.outputs.end() ? nullptr : &*found;
}

std::string output_text(std::uint32_t index) {
  return "output " + std::to_string(index);
}

void write_isolated(JsonWriter& json, const OutputError& error) {
  json.key("isolated").open('{').key("class").text(to_string(error.op_class));
  json.key("elements").number(error.elements).key("beyond").number(error.over);
  if (error.op_class == OpClass::quantised) json.key("off").number(error.off);
  json.key("of_limit").real(error.worst).key("max_abs").real(error.max_absolute);
  json.key("cosine").real(error.cosine).key("euclid").real(error.euclid);
  if (error.off != 0 || error.over != 0) {
    json.key("at").number(error.at).key("device").real(error.device);
    json.key("expected").real(error.expected).key("limit").real(error.limit);
  }
  json.close('}');
}

}  // namespace

const ReplayedOp* DivergeReport::first_diverging() const {
  const auto first = std::find_if(ops.begin(), ops.end(),
                                  [](const ReplayedOp& op) { return op.verdict == ReplayVerdict::culprit; });
  return first == ops.end() ? nullptr : &*first;
}

std::string DivergeReport::name_of(const ReplayedOp& op) const {
  DumpFile file = side.files[op.file];
  if (file.type.empty()) file.type = op.type;
  return op_text(file);
}

std::string DivergeReport::evidence_of(const ReplayedOp& op) const {
  std::string text;
  if (const ReplayedOutput* const output = wrong_output(op)) {
    text = output_text(output->index) +
           " is not what its inputs make: " + error_text(output->error, output->dims);
  }
  if (!op.unlike_constant.empty())
    text += (text.empty() ? "" : "; ") + op.unlike_constant + " is not the constant of the model";
  if (op.verdict == ReplayVerdict::not_replayed) text = op.reason;
  return text;
}

std::string DivergeReport::first_text(const ReplayedOp& op) const {
  return name_of(op) + ", " + std::string(to_string(op.verdict)) + ": " + evidence_of(op);
}

std::string DivergeReport::counts_text() const {
  std::array<std::size_t, kReplayVerdicts> counts{};
  for (const ReplayedOp& op : ops) ++counts[static_cast<std::size_t>(op.verdict)];
  constexpr const char* kMany[kReplayVerdicts] = {"agree", "culprits", "not replayed"};
  std::string line;
  for (std::size_t i = 0; i < kReplayVerdicts; ++i) {
    if (counts[i] == 0) continue;
    line += (line.empty() ? "" : ", ") + std::to_string(counts[i]) + ' ' +
            (counts[i] == 1 ? std::string(to_string(static_cast<ReplayVerdict>(i))) : kMany[i]);
  }
  return count_text(ops.size(), "operator") + ", recomputed by " + reference + ": " + line;
}

void DivergeReport::print() const {
  if (const ReplayedOp* const first = first_diverging())
    print_line("first diverging operator: " + first_text(*first));
  print_line(counts_text());
  std::map<std::string, std::pair<std::size_t, const ReplayedOp*>> reasons;
  for (const ReplayedOp& op : ops) {
    if (op.verdict != ReplayVerdict::not_replayed) continue;
    auto& [count, first] = reasons[op.reason];
    if (count++ == 0) first = &op;
  }
  for (const auto& [reason, of] : reasons)
    print_line("  not replayed: " + reason + " (" +
               (of.first == 1 ? "" : std::to_string(of.first) + ", as ") + name_of(*of.second) + ')');
  Table table("  ", "llll");
  std::size_t rows = 0, more = 0;
  for (const ReplayedOp& op : ops) {
    if (op.verdict != ReplayVerdict::culprit) continue;
    if (rows++ >= kMostRows) {
      ++more;
      continue;
    }
    const ReplayedOutput* const shown = wrong_output(op) != nullptr ? wrong_output(op)
                                        : op.outputs.empty()        ? nullptr
                                                                    : op.outputs.data();
    if (rows == 1) table.add({"at", "operator", "verdict", "isolated cosine"});
    const DumpFile& file = side.files[op.file];
    table.add({file.place.empty() ? "-" : file.place, file.op, std::string(to_string(op.verdict)),
               shown == nullptr ? "-" : number_text(shown->error.cosine)});
  }
  table.print();
  if (more != 0) print_line("  and " + std::to_string(more) + " more, which --json has");
}

std::string DivergeReport::json() const {
  JsonWriter json;
  json.open('{').key("reference").text(reference);
  if (const ReplayedOp* const first = first_diverging()) {
    json.line(1)
        .key("first_diverging")
        .open('{')
        .key("op")
        .number(static_cast<std::uint64_t>(first - ops.data()));
    json.key("text").text(first_text(*first)).close('}');
  }
  json.line(1).key("ops").open('[');
  for (const ReplayedOp& op : ops) {
    const DumpFile& file = side.files[op.file];
    json.line(2).open('{').key("name").text(file.op);
    if (!file.type.empty()) json.key("type").text(file.type);
    if (!op.type.empty()) json.key("onnx").text(op.type);
    if (!file.place.empty()) json.key("place").text(file.place);
    if (file.boot) json.key("boot").number(*file.boot);
    json.key("verdict").text(to_string(op.verdict));
    if (!op.reason.empty()) json.key("reason").text(op.reason);
    if (const std::string evidence = op.verdict == ReplayVerdict::culprit ? evidence_of(op) : "";
        !evidence.empty())
      json.key("evidence").text(evidence);
    if (!op.outputs.empty()) {
      json.key("outputs").open('[');
      for (const ReplayedOutput& output : op.outputs) {
        json.open('{').key("index").number(output.index);
        write_isolated(json, output.error);
        json.close('}');
      }
      json.close(']');
    }
    json.close('}');
  }
  json.line().close(']').close('}');
  return json.take() + '\n';
}

}  // namespace opdump::tool
