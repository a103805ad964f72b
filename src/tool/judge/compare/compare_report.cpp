#include "src/tool/judge/compare/compare_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/judge/compare/verdict_report.hpp"
#include "src/tool/read/dump/statistics_file.hpp"

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

/// A tensor and its file; nothing where there is none.
struct TensorInFile {
  TensorInFile(const DumpSide& side, std::optional<std::size_t> number) {
    if (!number) return;
    tensor = side.tensors[*number];
    file = side.files[tensor->file];
  }

  std::optional<DumpTensor> tensor;
  DumpFile file;
};

/// Name, dtype and address of one side.
void add_side(const TensorInFile& side, bool with_address, std::vector<std::string>& cells) {
  cells.push_back(side.tensor ? csv_name(side.file.op) : "*");
  cells.push_back(side.tensor ? std::string(info(side.tensor->dtype).name) : kNone);
  if (!with_address) return;
  const bool told = side.tensor && side.tensor->address != 0;
  cells.push_back(told ? std::to_string(side.tensor->address) : kNone);
}

std::string line_of(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (!line.empty()) line += ',';
    line += csv_cell(cell);
  }
  return line + '\n';
}

void write_side(JsonWriter& json, const TensorInFile& side) {
  if (!side.tensor) {
    json.json("null");
    return;
  }
  json.open('{').key("file").text(side.file.path);
  json.key("dtype").text(info(side.tensor->dtype).name);
  json.key("shape").json(shape_text(side.tensor->shape)).close('}');
}

void write_comparison(JsonWriter& json, const CompareReport& report, const PairResult& result,
                      const std::vector<Dim>& my_shape) {
  const Comparison& c = *result.comparison;
  if (result.shape != my_shape) json.key("compared_shape").json(shape_text(result.shape));
  if (!result.remark.empty()) json.key("remark").text(result.remark);
  json.key("elements").number(c.elements).key("equal").number(c.equal);
  if (c.detail && c.detail->alike != 0) json.key("left_out").number(c.detail->alike);
  if (c.detail && c.detail->unlike != 0) json.key("not_finite_on_one_side").number(c.detail->unlike);
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

/// The numbers of the results that are farthest off, the worst first, of equal ones the earlier.
class Farthest {
 public:
  explicit Farthest(std::size_t most) : most_(most) {}

  void add(std::size_t number, const PairResult& result) {
    ++count_;
    const double distance = result.comparison->relative_euclidean_distance;
    const double badness = std::isnan(distance) ? HUGE_VAL : distance;
    const auto behind = std::upper_bound(worst_.begin(), worst_.end(), badness,
                                         [](double a, const Ranked& b) { return a > b.badness; });
    worst_.insert(behind, {badness, number});
    if (worst_.size() > most_) worst_.pop_back();
  }

  struct Ranked {
    double badness;
    std::size_t number;
  };

  const std::vector<Ranked>& worst() const { return worst_; }
  std::size_t count() const { return count_; }

 private:
  const std::size_t most_;
  std::vector<Ranked> worst_;
  std::size_t count_ = 0;
};

std::vector<std::string> ranking_row(const CompareReport& report, const PairResult& result) {
  const Comparison& c = *result.comparison;
  const DumpTensor& tensor = report.mine.tensors[*result.pair.mine];
  const DumpFile& file = report.mine.files[tensor.file];
  const double percent =
      c.elements == 0 ? 100 : 100.0 * static_cast<double>(c.equal) / static_cast<double>(c.elements);
  char equal[32];
  std::snprintf(equal, sizeof equal, "%.2f%%", percent);
  std::string at = "-";
  if (c.max_absolute_at) at = position_text(*c.max_absolute_at, result.shape) + " " + farthest_text(c);
  return {printable(report.tensor_name(result)),
          (file.boot ? "boot " + std::to_string(*file.boot) + " " : std::string()) +
              (file.place.empty() ? "-" : printable(file.place)),
          cosine_text(c, is_scalar(tensor)),
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

/// How many elements are NaN or infinite on one side, and not so on the other, which no limit allows.
std::uint64_t unlike(const Comparison& comparison) {
  return comparison.detail ? comparison.detail->unlike : 0;
}

using PairedCounts = std::map<PairedBy, std::size_t>;

/// How pairs came about, where names alone did not do it.
void print_pairing(const PairedCounts& counts) {
  if (counts.empty() || (counts.size() == 1 && counts.contains(PairedBy::name))) return;
  std::string text;
  for (const auto& [by, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " by " + std::string(to_string(by));
  std::printf("paired: %s\n", text.c_str());
}

/// Integers that stand for themselves, as indices and tokens do, not for real numbers by a scale.
bool is_exact(const DumpTensor& tensor) {
  switch (tensor.dtype) {
    case DType::int32:
    case DType::uint32:
    case DType::int64:
    case DType::uint64:
      return tensor.quant == nullptr;
    default:
      return false;
  }
}

}  // namespace

std::vector<Threshold> CompareReport::limits_of(const PairResult& result) const {
  const bool by_statistics = result.comparison->summary_distance.has_value();
  std::vector<Threshold> limits = thresholds;
  std::erase_if(limits, [&](const Threshold& limit) { return limit.is_of_statistics() != by_statistics; });
  if (by_statistics) return limits.empty() ? usual_thresholds(Evidence::statistics) : limits;
  const bool exact =
      is_exact(mine.tensors[*result.pair.mine]) && is_exact(golden.tensors[*result.pair.golden]);
  if (exact && std::all_of(limits.begin(), limits.end(), [](const Threshold& limit) { return limit.usual; }))
    return usual_thresholds(Evidence::integers);
  const auto is_by_expected = [](const Threshold& limit) { return limit.is_by_expected(); };
  const bool unknown = !result.comparison->expected_error && std::erase_if(limits, is_by_expected) != 0;
  if (!unknown && !limits.empty()) return limits;
  const std::vector<Threshold> usual = usual_thresholds();
  limits.insert(limits.end(), usual.begin(), usual.end());
  return limits;
}

bool CompareReport::diverges(const PairResult& result) const {
  if (!result.comparison || result.comparison->equal == result.comparison->elements) return false;
  if (unlike(*result.comparison)) return true;
  const std::vector<Threshold> limits = limits_of(result);
  return !std::all_of(limits.begin(), limits.end(),
                      [&](const Threshold& threshold) { return threshold.kept_by(*result.comparison); });
}

std::string CompareReport::tensor_name(const PairResult& result) const {
  const DumpSide& side = result.pair.mine ? mine : golden;
  const DumpTensor tensor = side.tensors[result.pair.mine ? *result.pair.mine : *result.pair.golden];
  return side.files[tensor.file].op + (tensor.is_output ? ":output:" : ":input:") +
         std::to_string(tensor.index);
}

std::string farthest_text(const compare::Comparison& comparison) {
  std::string text = apart_text(comparison.x_at_max, comparison.y_at_max);
  // Magnitudes of complex numbers, and integers beyond 2^53.
  if (comparison.x_at_max == comparison.y_at_max && comparison.max_absolute_error > 0)
    text += ", " + number_text(comparison.max_absolute_error) + " apart";
  return text;
}

std::string broken_limits(const CompareReport& report, const PairResult& result) {
  std::string limits;
  for (const Threshold& threshold : report.limits_of(result)) {
    if (threshold.kept_by(*result.comparison)) continue;
    limits += (limits.empty() ? "" : ", ") + std::string(threshold.measure->short_name) + " " +
              apart_text(threshold.measure->value(*result.comparison), threshold.limit,
                         threshold.measure->larger_is_better ? " < " : " > ");
  }
  const std::uint64_t count = unlike(*result.comparison);
  if (limits.empty() && count != 0)
    limits = count_text(count, "element") + " NaN or infinite on one side alone";
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

bool write_compare_csv(const CompareReport& report, const std::function<bool(std::string_view)>& put) {
  const bool mine_address = !holds_arrays(report.mine);
  const bool golden_address = !holds_arrays(report.golden);
  std::vector<std::string> cells = {"Index", "OpType", "NPUDump", "DataType"};
  if (mine_address) cells.push_back("Address");
  cells.insert(cells.end(), {"GroundTruth", "DataType"});
  if (golden_address) cells.push_back("Address");
  cells.insert(cells.end(), {"TensorIndex", "Shape"});
  for (const Measure* measure : report.measures) cells.emplace_back(measure->name);
  cells.push_back("CompareFailReason");
  constexpr std::size_t kPiece = std::size_t{64} << 10;
  std::string rows = line_of(cells);

  std::size_t index = 0;
  std::optional<std::string> last_path;
  for (const PairResult& result : report.results) {
    const TensorInFile x(report.mine, result.pair.mine);
    const TensorInFile y(report.golden, result.pair.golden);
    const DumpFile& file = x.tensor ? x.file : y.file;
    if (last_path && *last_path != file.path) ++index;
    last_path = file.path;
    cells = {std::to_string(index), result.comparison && !file.type.empty() ? csv_name(file.type) : kNone};
    add_side(x, mine_address, cells);
    add_side(y, golden_address, cells);
    std::string reason = result.comparison ? result.remark : result.problem;
    cells.push_back(csv_name(report.tensor_name(result)));
    if (result.comparison) {
      cells.push_back(shape_text(x.tensor->shape));
      for (const Measure* measure : report.measures) {
        cells.push_back(measure_text(*measure, *result.comparison, is_scalar(*x.tensor)));
        const std::string remark = measure_remark(*measure, *result.comparison, is_scalar(*x.tensor));
        if (!remark.empty()) reason += (reason.empty() ? "" : ",") + remark;
      }
    } else {
      cells.insert(cells.end(), report.measures.size() + 1, kNone);
    }
    cells.push_back(reason);
    rows += line_of(cells);
    if (rows.size() < kPiece) continue;
    if (!put(rows)) return false;
    rows.clear();
  }
  return put(rows);
}

void print_compare_json(const CompareReport& report, const VerdictReport& verdicts) {
  JsonWriter json;
  const auto flush = [&json] { std::fputs(json.take().c_str(), stdout); };
  json.open('{').key("tensors").open('[');
  for (const PairResult& result : report.results) {
    const TensorInFile x(report.mine, result.pair.mine);
    const TensorInFile y(report.golden, result.pair.golden);
    json.line(2).open('{').key("tensor").text(report.tensor_name(result));
    if (x.tensor && x.file.boot) json.key("boot").number(*x.file.boot);
    if (x.tensor && !x.file.place.empty()) json.key("place").text(x.file.place);
    write_side(json.key("mine"), x);
    write_side(json.key("golden"), y);
    if (x.tensor && y.tensor) json.key("paired_by").text(to_string(result.pair.by));
    if (result.comparison) {
      write_comparison(json, report, result, x.tensor->shape);
    } else {
      json.key("problem").text(result.problem);
    }
    json.close('}');
    flush();
  }
  json.line().close(']');
  verdicts.write(json, flush);
  json.close('}');
  flush();
  std::puts("");
}

void print_comparison(const CompareReport& report, const VerdictReport& verdicts) {
  constexpr std::size_t kMostRows = 20;
  std::uint64_t compared = 0, diverging = 0, lonely_mine = 0, lonely_golden = 0, failed = 0, equal = 0,
                by_turn = 0, unscaled = 0, summaries = 0;
  Farthest apart(kMostRows);
  PairedCounts paired;
  std::size_t number = 0;
  for (const PairResult& result : report.results) {
    const std::size_t here = number++;
    if (result.pair.mine && result.pair.golden) ++paired[result.pair.by];
    if (result.comparison) {
      ++compared;
      diverging += report.diverges(result) ? 1 : 0;
      const bool same = result.comparison->equal == result.comparison->elements;
      equal += same ? 1 : 0;
      if (!same && result.comparison->summary_distance != 0.0) apart.add(here, result);
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
  std::printf("%s compared: %zu equal, %zu diverging", count_text(compared, "tensor").c_str(),
              static_cast<std::size_t>(equal), static_cast<std::size_t>(diverging));
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
  print_pairing(paired);
  if (by_turn != 0)
    std::printf("%s share a name and were paired by their turn, though shape or type differ\n",
                count_text(by_turn, "tensor").c_str());
  if (unscaled != 0)
    std::printf(
        "%s of integers met real numbers, and no scale is known; --model or --golden-model CARD tells it\n",
        count_text(unscaled, "tensor").c_str());
  print_kept("mine", report.mine);
  print_kept("golden", report.golden);
  verdicts.print();
  if (apart.count() == 0) return;
  std::printf("\nfarthest apart\n");
  Table table("  ", "llrrrlrr");
  table.add({"tensor", "model/step", "cosine", "euclid", "max_abs", "at, mine for golden", "equal", "ulp"});
  for (const Farthest::Ranked& ranked : apart.worst())
    table.add(ranking_row(report, report.results[ranked.number]));
  table.print();
  if (apart.count() > kMostRows) std::printf("  and %zu more\n", apart.count() - kMostRows);
}

}  // namespace opdump::tool
