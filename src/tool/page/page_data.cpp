#include "src/tool/page/page_data.hpp"

#include <functional>
#include <optional>

#include "src/tool/page/page_tensors.hpp"

namespace opdump::tool {
namespace {

constexpr std::uint8_t kNoVerdict = 255;
constexpr std::size_t kMostLonely = 200;

class PageData {
 public:
  PageData(const ReportFacts& facts, PageDetail detail, PageWriter& json)
      : facts_(facts),
        detail_(detail),
        mine_(facts.dumps.mine()),
        json_(json),
        progress_(facts.ops.size() + 2 * facts.runs.size() + mine_.tensors.size() + facts.edges.size(),
                  "writing the page") {}

  /// The next detail to try where this one is too large, as far as that is known early.
  std::optional<PageDetail> write() {
    json_.open('{').key("format").number(1).key("root").text(facts_.root);
    json_.key("image").text(facts_.image);
    write_places();
    write_limits();
    write_ops();
    write_runs();
    // What is written so far, no other detail but the least leaves out.
    if (is_too_large()) return PageDetail::no_files;
    const PageTensors tensors(facts_, detail_, progress_);
    write_tensor_columns(json_, texts_, facts_, tensors, goes_on_);
    if (is_too_large()) return next();
    write_picture_columns(json_, facts_, tensors, detail_ < PageDetail::no_files);
    write_edges();
    write_lonely();
    json_.key("strings").open('[');
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      json_.text(texts_.text(i));
      json_.pass();
    }
    json_.close(']').close('}');
    json_.pass();
    if (json_.is_too_large() && detail_ != PageDetail::no_files) return next();
    return std::nullopt;
  }

 private:
  using Run = ReportRun;

  PageDetail next() const { return static_cast<PageDetail>(static_cast<int>(detail_) + 1); }

  /// Of the least detail the whole size is told.
  bool is_too_large() const {
    return detail_ != PageDetail::no_files && json_.is_too_large(static_cast<std::size_t>(texts_.bytes()));
  }

  void write_places() {
    json_.key("places").open('[');
    for (const ReportPlace& place : facts_.places) {
      json_.open('{').key("text").text(place.text).key("model").text(place.model);
      if (place.step) json_.key("step").number(*place.step);
      json_.close('}');
      json_.pass();
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
    PageTable ops(facts_.ops);
    ops.add("name", [&](const ReportOp& op) { return texts_.number(op.name); });
    ops.add("type", [&](const ReportOp& op) { return texts_.number(op.type); });
    ops.add_used("model", [&](const ReportOp& op) { return texts_.number(op.model); });
    ops.write(json_, "ops", goes_on_);
  }

  void write_runs() {
    PageTable runs(facts_.runs);
    std::optional<std::size_t> known;
    DumpFile latest;
    const auto file = [&](const Run& run) -> const DumpFile& {
      if (known != run.file) latest = mine_.files[run.file];
      known = run.file;
      return latest;
    };
    runs.add("op", [](const Run& run) { return count32(run.op); });
    runs.add_used("place", [](const Run& run) { return count32(run.place); });
    runs.add_used("task", [&](const Run& run) { return count32(file(run).task.value_or(0)); });
    runs.add_used("time", [&](const Run& run) { return static_cast<double>(file(run).unix_us); });
    runs.add_used("nonfinite", [](const Run& run) { return count32(run.nonfinite); });
    runs.add_known("peak", [](const Run& run) { return real32(run.peak); });
    runs.add_known("zeros", [](const Run& run) { return real32(run.zeros); });
    runs.add_known("saturated", [](const Run& run) { return real32(run.saturated); });
    runs.add("bytes", [](const Run& run) { return static_cast<float>(run.bytes); });
    runs.add_known("error", [](const Run& run) { return real32(run.error); });
    runs.add_known("input_error", [](const Run& run) { return real32(run.input_error); });
    runs.add_known("cosine", [](const Run& run) { return real32(run.cosine); });
    runs.add_known("isolated", [](const Run& run) { return real32(run.isolated); });
    runs.add_known("by_expected", [](const Run& run) { return real32(run.by_expected); });
    runs.add_used("own_fault", [](const Run& run) { return flag_of(run.is_own_fault); });
    runs.add_used("only_mine", [&](const Run& run) {
      return flag_of(facts_.compared != nullptr && run.nonfinite != 0 && run.golden_nonfinite == 0);
    });
    runs.add_used("other_dtype", [](const Run& run) { return flag_of(run.other_dtype); });
    if (facts_.verdicts != nullptr) {
      runs.add("verdict", [](const Run& run) {
        return run.verdict ? static_cast<std::uint8_t>(*run.verdict) : kNoVerdict;
      });
    }
    runs.add_used("folder", [&](const Run& run) { return texts_.number(split(file(run).path).first); });
    if (detail_ < PageDetail::no_files)
      runs.add_used("file", [&](const Run& run) { return texts_.number(split(file(run).path).second); });
    json_.key("runs").open('{');
    PageColumns columns(json_);
    runs.write(columns, [this] { return goes_on_() && !is_too_large(); });
    write_told("evidence", facts_.evidence);
    write_told("replayed", facts_.replayed);
    json_.close('}');
  }

  /// What is told of few runs, by their numbers.
  void write_told(std::string_view name, const std::map<std::size_t, std::string>& told) {
    json_.key(name).open('{');
    for (const auto& [run, text] : told) {
      if (!text.empty()) json_.key(std::to_string(run)).text(text);
    }
    json_.close('}');
    json_.pass();
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
    PageTable edges(facts_.edges);
    edges.add("from", [](const ReportEdge& edge) { return count32(edge.from); });
    edges.add("to", [](const ReportEdge& edge) { return count32(edge.to); });
    edges.add("output", [](const ReportEdge& edge) { return byte_of(edge.output); });
    edges.add("input", [](const ReportEdge& edge) { return byte_of(edge.input); });
    edges.add("how", [](const ReportEdge& edge) {
      return static_cast<std::uint8_t>(static_cast<int>(edge.source) * 4 + static_cast<int>(edge.bytes));
    });
    edges.write(json_, "edges", goes_on_);
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
  PageWriter& json_;
  PageTexts texts_;
  Progress progress_;
  const std::function<bool()> goes_on_ = [this] {
    progress_.add();
    return true;
  };
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

std::optional<PageDetail> write_page_data(const ReportFacts& facts, PageDetail detail, PageWriter& json) {
  return PageData(facts, detail, json).write();
}

}  // namespace opdump::tool
