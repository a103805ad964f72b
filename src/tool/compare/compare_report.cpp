#include "src/tool/compare/compare_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "src/tool/cli/human_text.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/cli/table.hpp"
#include "src/tool/compare/verdict_report.hpp"
#include "src/tool/dump/statistics_file.hpp"

namespace opdump::tool {
namespace {

using compare::Comparison;

constexpr char kNone[] = "NaN";

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"') quoted += '"';
    quoted += letter;
  }
  return quoted + '"';
}

/// No cell that a spreadsheet would take for a formula.
std::string csv_name(const std::string& text) {
  if (!text.empty() && std::string_view("=+-%@").find(text[0]) != std::string_view::npos) return "'" + text;
  return text;
}

bool is_scalar(const DumpTensor& tensor) {
  return std::all_of(tensor.shape.begin(), tensor.shape.end(), [](Dim dim) { return dim == 1; });
}

bool holds_arrays(const DumpSide& side) {
  return std::any_of(side.files.begin(), side.files.end(),
                     [](const DumpFile& file) { return !file.is_record; });
}

const DumpTensor* tensor_of(const DumpSide& side, std::optional<std::size_t> index) {
  return index ? &side.tensors[*index] : nullptr;
}

/// Name, dtype and address of one side.
void add_side(const DumpSide& side, const DumpTensor* tensor, bool with_address,
              std::vector<std::string>& cells) {
  cells.push_back(tensor != nullptr ? csv_name(side.files[tensor->file].op) : "*");
  cells.push_back(tensor != nullptr ? std::string(info(tensor->dtype).name) : kNone);
  if (!with_address) return;
  cells.push_back(tensor != nullptr && tensor->address != 0 ? std::to_string(tensor->address) : kNone);
}

std::string line_of(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (!line.empty()) line += ',';
    line += csv_cell(cell);
  }
  return line + '\n';
}

void write_side(JsonWriter& json, const DumpSide& side, const DumpTensor* tensor) {
  if (tensor == nullptr) {
    json.json("null");
    return;
  }
  json.open('{').key("file").text(side.files[tensor->file].path);
  json.key("dtype").text(info(tensor->dtype).name);
  json.key("shape").json(shape_text(tensor->shape)).close('}');
}

void write_comparison(JsonWriter& json, const CompareReport& report, const PairResult& result,
                      const std::vector<Dim>& my_shape) {
  const Comparison& c = *result.comparison;
  if (result.shape != my_shape) json.key("compared_shape").json(shape_text(result.shape));
  if (!result.remark.empty()) json.key("remark").text(result.remark);
  json.key("elements").number(c.elements).key("equal").number(c.equal);
  if (c.max_ulp) json.key("max_ulp").number(*c.max_ulp);
  if (c.max_absolute_at) {
    json.key("max_abs_at").json(position_text(*c.max_absolute_at, result.shape));
    json.key("mine_there").real(c.x_at_max).key("golden_there").real(c.y_at_max);
  }
  if (c.max_relative_at) json.key("max_rel_at").json(position_text(*c.max_relative_at, result.shape));
  for (const Measure* measure : report.measures) {
    json.key(measure->short_name);
    if (measure->value != nullptr) {
      json.real(measure->value(c));
      continue;
    }
    json.open('{').key("mine_mean").real(c.x_mean).key("mine_std").real(c.x_deviation);
    json.key("golden_mean").real(c.y_mean).key("golden_std").real(c.y_deviation).close('}');
  }
  if (c.summary_distance) json.key("statistics").real(*c.summary_distance);
  if (c.expected_error) json.key("expected_rmse").real(*c.expected_error);
  json.key("diverges").flag(report.diverges(result));
}

/// By how far it is off: what is nearer to the start of a ranking is worse.
bool worse(const PairResult* a, const PairResult* b) {
  const auto badness = [](const PairResult* result) {
    const double distance = result->comparison->relative_euclidean_distance;
    return std::isnan(distance) ? HUGE_VAL : distance;
  };
  return badness(a) > badness(b);
}

std::vector<std::string> ranking_row(const CompareReport& report, const PairResult& result) {
  const Comparison& c = *result.comparison;
  const DumpTensor& tensor = report.mine.tensors[*result.pair.mine];
  const DumpFile& file = report.mine.files[tensor.file];
  const double percent =
      c.elements == 0 ? 100 : 100.0 * static_cast<double>(c.equal) / static_cast<double>(c.elements);
  char equal[32];
  std::snprintf(equal, sizeof equal, "%.2f%%", percent);
  std::string at = "-";
  if (c.max_absolute_at) {
    at = position_text(*c.max_absolute_at, result.shape) + " " + number_text(c.x_at_max) + " for " +
         number_text(c.y_at_max);
  }
  return {printable(report.tensor_name(result)),
          (file.boot ? "boot " + std::to_string(*file.boot) + " " : std::string()) +
              (file.place.empty() ? "-" : printable(file.place)),
          measure_text(measures()[0], c, is_scalar(tensor)),
          number_text(c.relative_euclidean_distance),
          number_text(c.max_absolute_error),
          at,
          equal,
          c.max_ulp ? std::to_string(*c.max_ulp) : "-"};
}

/// What the config's privacy has kept in the place of tensors.
void print_kept(const char* side, const DumpSide& dump) {
  for (const auto& [kept, count] : dump.kept)
    std::printf("%s: %s %s\n", side, count_text(count, "tensor").c_str(),
                printable(kept_words(kept)).c_str());
}

/// How pairs came about, where names alone did not do it.
void print_pairing(const CompareReport& report) {
  std::map<PairedBy, std::size_t> counts;
  for (const PairResult& result : report.results) {
    if (result.pair.mine && result.pair.golden) ++counts[result.pair.by];
  }
  if (counts.empty() || (counts.size() == 1 && counts.contains(PairedBy::name))) return;
  std::string text;
  for (const auto& [by, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " by " + std::string(to_string(by));
  std::printf("paired: %s\n", text.c_str());
}

}  // namespace

std::vector<Threshold> CompareReport::limits_of(const PairResult& result) const {
  const bool by_statistics = result.comparison->summary_distance.has_value();
  std::vector<Threshold> limits = thresholds;
  std::erase_if(limits, [&](const Threshold& limit) { return limit.is_of_statistics() != by_statistics; });
  if (by_statistics) return limits.empty() ? usual_thresholds(Evidence::statistics) : limits;
  const auto is_by_expected = [](const Threshold& limit) { return limit.is_by_expected(); };
  const bool unknown = !result.comparison->expected_error && std::erase_if(limits, is_by_expected) != 0;
  if (!unknown && !limits.empty()) return limits;
  const std::vector<Threshold> usual = usual_thresholds();
  limits.insert(limits.end(), usual.begin(), usual.end());
  return limits;
}

bool CompareReport::diverges(const PairResult& result) const {
  // What is equal, NaNs included, has NaNs for measures and diverges nowhere.
  if (!result.comparison || result.comparison->equal == result.comparison->elements) return false;
  const std::vector<Threshold> limits = limits_of(result);
  return !std::all_of(limits.begin(), limits.end(),
                      [&](const Threshold& threshold) { return threshold.kept_by(*result.comparison); });
}

std::string CompareReport::tensor_name(const PairResult& result) const {
  const DumpSide& side = result.pair.mine ? mine : golden;
  const DumpTensor& tensor = side.tensors[result.pair.mine ? *result.pair.mine : *result.pair.golden];
  return side.files[tensor.file].op + (tensor.is_output ? ":output:" : ":input:") +
         std::to_string(tensor.index);
}

std::string broken_limits(const CompareReport& report, const PairResult& result) {
  std::string limits;
  for (const Threshold& threshold : report.limits_of(result)) {
    if (threshold.kept_by(*result.comparison)) continue;
    limits += (limits.empty() ? "" : ", ") + std::string(threshold.measure->short_name) + " " +
              number_text(threshold.measure->value(*result.comparison)) +
              (threshold.measure->larger_is_better ? " < " : " > ") + number_text(threshold.limit);
  }
  return limits;
}

std::string measures_text(const CompareReport& report, const PairResult& result) {
  std::string text;
  for (const Threshold& threshold : report.limits_of(result)) {
    const std::string value = number_text(threshold.measure->value(*result.comparison));
    text += (text.empty() ? "" : ", ") + std::string(threshold.measure->short_name) + " " + value;
  }
  return text;
}

std::string position_text(std::uint64_t at, const std::vector<Dim>& shape) {
  std::vector<Dim> position(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    position[i] = shape[i] != 0 ? at % shape[i] : 0;
    at = shape[i] != 0 ? at / shape[i] : 0;
  }
  return shape_text(position);
}

std::string compare_csv(const CompareReport& report) {
  const bool mine_address = !holds_arrays(report.mine);
  const bool golden_address = !holds_arrays(report.golden);
  std::vector<std::string> cells = {"Index", "OpType", "NPUDump", "DataType"};
  if (mine_address) cells.push_back("Address");
  cells.insert(cells.end(), {"GroundTruth", "DataType"});
  if (golden_address) cells.push_back("Address");
  cells.insert(cells.end(), {"TensorIndex", "Shape"});
  for (const Measure* measure : report.measures) cells.emplace_back(measure->name);
  cells.push_back("CompareFailReason");
  std::string csv = line_of(cells);

  std::size_t index = 0;
  const std::string* last_path = nullptr;
  for (const PairResult& result : report.results) {
    const DumpTensor* x = tensor_of(report.mine, result.pair.mine);
    const DumpTensor* y = tensor_of(report.golden, result.pair.golden);
    const std::string& path =
        x != nullptr ? report.mine.files[x->file].path : report.golden.files[y->file].path;
    if (last_path != nullptr && *last_path != path) ++index;
    last_path = &path;
    const std::string& type =
        x != nullptr ? report.mine.files[x->file].type : report.golden.files[y->file].type;
    cells = {std::to_string(index), result.comparison && !type.empty() ? csv_name(type) : kNone};
    add_side(report.mine, x, mine_address, cells);
    add_side(report.golden, y, golden_address, cells);
    std::string reason = result.comparison ? result.remark : result.problem;
    if (result.comparison) {
      cells.push_back(csv_name(report.tensor_name(result)));
      cells.push_back(shape_text(x->shape));
      for (const Measure* measure : report.measures) {
        cells.push_back(measure_text(*measure, *result.comparison, is_scalar(*x)));
        const std::string remark = measure_remark(*measure, *result.comparison, is_scalar(*x));
        if (!remark.empty()) reason += (reason.empty() ? "" : ",") + remark;
      }
    } else {
      cells.push_back(csv_name(report.tensor_name(result)));
      cells.insert(cells.end(), report.measures.size() + 1, kNone);
    }
    cells.push_back(reason);
    csv += line_of(cells);
  }
  return csv;
}

std::string compare_json(const CompareReport& report) {
  JsonWriter json;
  json.open('{').key("tensors").open('[');
  for (const PairResult& result : report.results) {
    const DumpTensor* x = tensor_of(report.mine, result.pair.mine);
    const DumpTensor* y = tensor_of(report.golden, result.pair.golden);
    json.line(2).open('{').key("tensor").text(report.tensor_name(result));
    if (x != nullptr && report.mine.files[x->file].boot)
      json.key("boot").number(*report.mine.files[x->file].boot);
    if (x != nullptr && !report.mine.files[x->file].place.empty())
      json.key("place").text(report.mine.files[x->file].place);
    write_side(json.key("mine"), report.mine, x);
    write_side(json.key("golden"), report.golden, y);
    if (x != nullptr && y != nullptr) json.key("paired_by").text(to_string(result.pair.by));
    if (result.comparison) {
      write_comparison(json, report, result, x->shape);
    } else {
      json.key("problem").text(result.problem);
    }
    json.close('}');
  }
  json.line().close(']');
  VerdictReport(report).write(json);
  json.close('}');
  return json.take() + '\n';
}

void print_comparison(const CompareReport& report) {
  constexpr std::size_t kMostRows = 20;
  std::vector<const PairResult*> compared, diverging, apart;
  std::uint64_t lonely_mine = 0, lonely_golden = 0, failed = 0, equal = 0, by_turn = 0, unscaled = 0,
                summaries = 0;
  for (const PairResult& result : report.results) {
    if (result.comparison) {
      compared.push_back(&result);
      if (report.diverges(result)) diverging.push_back(&result);
      const bool same = result.comparison->equal == result.comparison->elements;
      equal += same ? 1 : 0;
      if (!same && result.comparison->summary_distance != 0.0) apart.push_back(&result);
      by_turn += result.pair.remark.empty() ? 0 : 1;
      summaries += result.comparison->summary_distance ? 1 : 0;
      unscaled += result.unscaled ? 1 : 0;
    } else if (!result.pair.golden) {
      ++lonely_mine;
    } else if (!result.pair.mine) {
      ++lonely_golden;
    } else {
      ++failed;
    }
  }
  std::printf("%s compared: %zu equal, %zu diverging", count_text(compared.size(), "tensor").c_str(),
              static_cast<std::size_t>(equal), diverging.size());
  const auto count = [](std::uint64_t tensors, const char* what) {
    if (tensors != 0) std::printf(", %zu %s", static_cast<std::size_t>(tensors), what);
  };
  count(failed, "not comparable");
  count(lonely_mine, "without golden");
  count(lonely_golden, "only golden");
  std::printf("\n");

  if (summaries != 0)
    std::printf(
        "%s only by statistics, which agree up to 5 %% of the range unless --limits statistics=N says "
        "otherwise\n",
        count_text(summaries, "tensor").c_str());
  if (!diverging.empty()) {
    std::printf("first to diverge: %s (%s)\n", printable(report.tensor_name(*diverging[0])).c_str(),
                broken_limits(report, *diverging[0]).c_str());
  }
  if (!apart.empty()) {
    std::printf("first unequal: %s (%s)\n", printable(report.tensor_name(*apart[0])).c_str(),
                measures_text(report, *apart[0]).c_str());
  }
  print_pairing(report);
  if (by_turn != 0)
    std::printf("%s share a name and were paired by their turn, though shape or type differ\n",
                count_text(by_turn, "tensor").c_str());
  if (unscaled != 0)
    std::printf(
        "%s of integers met real numbers, and no scale is known; --model or --golden-model CARD tells it\n",
        count_text(unscaled, "tensor").c_str());
  print_kept("mine", report.mine);
  print_kept("golden", report.golden);
  VerdictReport(report).print();
  if (!apart.empty()) {
    std::stable_sort(apart.begin(), apart.end(), worse);
    std::printf("\nfarthest apart\n");
    Table table("  ", "llrrrlrr");
    table.add({"tensor", "model/step", "cosine", "euclid", "max_abs", "at, mine for golden", "equal", "ulp"});
    for (std::size_t i = 0; i < apart.size() && i < kMostRows; ++i) table.add(ranking_row(report, *apart[i]));
    table.print();
    if (apart.size() > kMostRows) std::printf("  and %zu more\n", apart.size() - kMostRows);
  }
}

}  // namespace opdump::tool
