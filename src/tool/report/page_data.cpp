#include "src/tool/report/page_data.hpp"

#include <algorithm>
#include <cmath>

#include "src/tool/report/page_tensors.hpp"

namespace opdump::tool {
namespace {

constexpr std::uint8_t kNoVerdict = 255;
constexpr std::size_t kMostLonely = 200;

class PageData {
 public:
  PageData(const ReportFacts& facts, PageDetail detail)
      : facts_(facts), detail_(detail), mine_(facts.dumps.mine()) {}

  std::string write() {
    json_.open('{').key("format").number(1).key("root").text(facts_.root);
    json_.key("image").text(facts_.image).key("explorer").text(facts_.explorer);
    write_places();
    write_limits();
    write_ops();
    write_runs();
    const PageTensors tensors(facts_, detail_);
    write_tensor_columns(json_, texts_, facts_, tensors);
    write_picture_columns(json_, facts_, tensors, detail_ < PageDetail::no_files);
    write_edges();
    write_lonely();
    json_.key("strings").open('[');
    for (const std::string& text : texts_.all()) json_.text(text);
    json_.close(']').close('}');
    std::string text = json_.take(), safe;
    safe.reserve(text.size());
    for (const char letter : text) letter == '<' ? safe.append("\\u003c") : safe.append(1, letter);
    return safe;
  }

 private:
  void write_places() {
    json_.key("places").open('[');
    for (const ReportPlace& place : facts_.places) {
      json_.open('{').key("text").text(place.text).key("model").text(place.model);
      if (place.step) json_.key("step").number(*place.step);
      json_.close('}');
    }
    json_.close(']');
  }

  void write_limits() {
    if (facts_.compared == nullptr) return;
    json_.key("limits").open('[');
    for (const Threshold& limit : facts_.compared->thresholds) {
      json_.open('{').key("measure").text(limit.measure->short_name).key("limit").real(limit.limit);
      json_.key("larger_is_better").flag(limit.measure->larger_is_better).close('}');
    }
    json_.close(']');
  }

  void write_ops() {
    std::vector<std::uint32_t> names, types, models;
    for (const ReportOp& op : facts_.ops) {
      names.push_back(texts_.number(op.name));
      types.push_back(texts_.number(op.type));
      models.push_back(texts_.number(op.model));
    }
    json_.key("ops").open('{');
    PageColumns columns(json_);
    columns.add("name", names);
    columns.add("type", types);
    columns.add_used("model", models);
    json_.close('}');
  }

  void write_runs() {
    std::vector<std::uint32_t> op, task, nonfinite, folder, file, place;
    std::vector<double> time;
    std::vector<float> peak, zeros, saturated, bytes, error, input_error, cosine, isolated, by_expected;
    std::vector<std::uint8_t> verdict, own_fault, only_mine, other_dtype;
    for (const ReportRun& run : facts_.runs) {
      const DumpFile& dumped = mine_.files[run.file];
      op.push_back(count32(run.op));
      place.push_back(count32(run.place));
      task.push_back(count32(dumped.task.value_or(0)));
      time.push_back(static_cast<double>(dumped.unix_us));
      nonfinite.push_back(count32(run.nonfinite));
      peak.push_back(real32(run.peak));
      zeros.push_back(real32(run.zeros));
      saturated.push_back(real32(run.saturated));
      bytes.push_back(static_cast<float>(run.bytes));
      error.push_back(real32(run.error));
      input_error.push_back(real32(run.input_error));
      cosine.push_back(real32(run.cosine));
      isolated.push_back(real32(run.isolated));
      by_expected.push_back(real32(run.by_expected));
      own_fault.push_back(run.is_own_fault ? 1 : 0);
      only_mine.push_back(facts_.compared != nullptr && run.nonfinite != 0 && run.golden_nonfinite == 0 ? 1
                                                                                                        : 0);
      other_dtype.push_back(run.other_dtype ? 1 : 0);
      verdict.push_back(run.verdict == nullptr ? kNoVerdict
                                               : static_cast<std::uint8_t>(run.verdict->verdict));
      const auto [below, name] = split(dumped.path);
      folder.push_back(texts_.number(below));
      file.push_back(detail_ < PageDetail::no_files ? texts_.number(name) : 0);
    }
    json_.key("runs").open('{');
    PageColumns columns(json_);
    columns.add("op", op);
    columns.add_used("place", place);
    columns.add_used("task", task);
    columns.add_used("time", time);
    columns.add_used("nonfinite", nonfinite);
    columns.add_known("peak", peak);
    columns.add_known("zeros", zeros);
    columns.add_known("saturated", saturated);
    columns.add("bytes", bytes);
    columns.add_known("error", error);
    columns.add_known("input_error", input_error);
    columns.add_known("cosine", cosine);
    columns.add_known("isolated", isolated);
    columns.add_known("by_expected", by_expected);
    columns.add_used("own_fault", own_fault);
    columns.add_used("only_mine", only_mine);
    columns.add_used("other_dtype", other_dtype);
    if (facts_.verdicts != nullptr) columns.add("verdict", verdict);
    columns.add_used("folder", folder);
    columns.add_used("file", file);
    write_told("evidence", &ReportRun::evidence);
    write_told("replayed", &ReportRun::replayed);
    json_.close('}');
  }

  /// What is told of few runs, by their numbers.
  void write_told(std::string_view name, std::string ReportRun::*what) {
    json_.key(name).open('{');
    for (std::size_t i = 0; i < facts_.runs.size(); ++i) {
      if (const std::string& told = facts_.runs[i].*what; !told.empty())
        json_.key(std::to_string(i)).text(told);
    }
    json_.close('}');
  }

  /// A path below the dump, as its folder and its name.
  std::pair<std::string, std::string> split(const std::string& path) const {
    const std::string& root = facts_.dumps.my_path();
    const std::string below = path.starts_with(root + "/") ? path.substr(root.size() + 1) : path;
    const std::size_t slash = below.rfind('/');
    if (slash == std::string::npos) return {"", below};
    return {below.substr(0, slash), below.substr(slash + 1)};
  }

  void write_edges() {
    std::vector<std::uint32_t> from, to;
    std::vector<std::uint8_t> output, input, how;
    for (const ReportEdge& edge : facts_.edges) {
      from.push_back(count32(edge.from));
      to.push_back(count32(edge.to));
      output.push_back(byte_of(edge.output));
      input.push_back(byte_of(edge.input));
      how.push_back(
          static_cast<std::uint8_t>(static_cast<int>(edge.source) * 3 + static_cast<int>(edge.bytes)));
    }
    json_.key("edges").open('{');
    PageColumns columns(json_);
    columns.add("from", from);
    columns.add("to", to);
    columns.add("output", output);
    columns.add("input", input);
    columns.add("how", how);
    json_.close('}');
  }

  /// Golden tensors without a partner.
  void write_lonely() {
    if (facts_.compared == nullptr) return;
    std::uint64_t count = 0;
    json_.key("only_golden").open('[');
    for (const PairResult& result : facts_.dumps.results()) {
      if (result.pair.mine || ++count > kMostLonely) continue;
      json_.text(facts_.compared->tensor_name(result));
    }
    json_.close(']').key("only_golden_count").number(count);
  }

  const ReportFacts& facts_;
  const PageDetail detail_;
  const DumpSide& mine_;
  JsonWriter json_;
  PageTexts texts_;
};

}  // namespace

std::string left_out_text(PageDetail detail) {
  switch (detail) {
    case PageDetail::all:
      return {};
    case PageDetail::flagged:
      return "histograms of tensors that nothing stands out in";
    case PageDetail::flagged_outputs:
      return "histograms of all tensors but outputs that stand out";
    case PageDetail::none:
      return "all histograms";
    case PageDetail::outputs:
      return "all histograms, and the inputs of operators that do not stand out";
    case PageDetail::flagged_tensors:
      return "all histograms, and the tensors of operators that do not stand out";
    case PageDetail::no_files:
      return "all histograms, pictures and names of files, and the tensors of operators that do not stand "
             "out";
  }
  return {};
}

std::string page_data(const ReportFacts& facts, PageDetail detail) {
  return PageData(facts, detail).write();
}

}  // namespace opdump::tool
