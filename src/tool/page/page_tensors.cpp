#include "src/tool/page/page_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "src/config/text/human_text.hpp"
#include "src/tool/read/dump/quantisation_text.hpp"

namespace opdump::tool {

PageTensors::PageTensors(const ReportFacts& facts, PageDetail detail, Progress& progress)
    : facts_(facts), detail_(detail) {
  for (const std::size_t i : facts.flagged) rows_[i] = kNone;
  for (const ReportRun& run : facts.runs) {
    progress.add();
    const bool flagged =
        std::any_of(run.tensors.begin(), run.tensors.end(), [&](std::size_t i) { return is_flagged(i); });
    if (!flagged && detail >= PageDetail::flagged_tensors) continue;
    for (const std::size_t i : run.tensors) {
      if (!flagged && detail >= PageDetail::outputs && !facts.dumps.mine().tensors[i].is_output) continue;
      if (const auto found = rows_.find(i); found != rows_.end())
        found->second = static_cast<std::uint32_t>(chosen_.size());
      chosen_.push_back(i);
    }
  }
}

std::uint32_t PageTensors::row(std::size_t tensor) const {
  const auto found = rows_.find(tensor);
  return found == rows_.end() ? kNone : found->second;
}

bool PageTensors::has_histogram(std::size_t tensor) const {
  if (detail_ >= PageDetail::none) return false;
  if (detail_ == PageDetail::all) return true;
  return is_flagged(tensor) &&
         (detail_ == PageDetail::flagged || facts_.dumps.mine().tensors[tensor].is_output);
}

namespace {

class TensorColumns {
  using Columns = PageTable<std::vector<std::size_t>>;

 public:
  TensorColumns(PageWriter& json, PageTexts& texts, const ReportFacts& facts, const PageTensors& tensors)
      : json_(json), texts_(texts), facts_(facts), tensors_(tensors), mine_(facts.dumps.mine()) {}

  void write(const std::function<bool()>& goes_on) {
    Columns columns(tensors_.all());
    add_runs(columns);
    add_tensors(columns);
    add_statistics(columns);
    if (facts_.compared != nullptr) {
      add_golden(columns);
      add_comparison(columns);
    }
    columns.write(json_, "tensors", goes_on);
  }

  void write_names() {
    json_.key("dtypes").open('{');
    std::vector<std::uint8_t> dtypes;
    for (const std::size_t i : tensors_.all()) {
      const auto number = static_cast<std::uint8_t>(mine_.tensors[i].dtype);
      if (std::find(dtypes.begin(), dtypes.end(), number) == dtypes.end()) dtypes.push_back(number);
    }
    std::sort(dtypes.begin(), dtypes.end());
    for (const std::uint8_t number : dtypes)
      json_.key(std::to_string(number)).text(info(static_cast<DType>(number)).name);
    json_.close('}').key("formats").open('[');
    for (const Format format : formats_) json_.text(format_text(format));
    json_.close(']').key("paired_by").open('[');
    for (int by = 0; by <= static_cast<int>(PairedBy::alignment); ++by)
      json_.text(to_string(static_cast<PairedBy>(by)));
    json_.close(']');
  }

  /// Where flagged tensors are farthest from golden.
  void write_farthest() {
    if (facts_.compared == nullptr) return;
    std::vector<std::size_t> shown;
    for (const std::size_t i : tensors_.all()) {
      const compare::Comparison* const c = comparison_of(i);
      if (tensors_.is_flagged(i) && c != nullptr && c->max_absolute_at) shown.push_back(i);
    }
    Columns columns(shown);
    columns.add("of", [this](std::size_t i) { return tensors_.row(i); });
    columns.add("at", [this](std::size_t i) {
      return texts_.number(position_text(*comparison_of(i)->max_absolute_at, facts_.result_of(i)->shape));
    });
    columns.add("mine", [this](std::size_t i) { return real32(comparison_of(i)->x_at_max); });
    columns.add("golden", [this](std::size_t i) { return real32(comparison_of(i)->y_at_max); });
    columns.write(json_, "farthest");
  }

 private:
  /// Each tensor's run, by how many runs after that of the tensor before, where that takes a byte.
  void add_runs(Columns& columns) {
    const auto after = std::make_shared<ColumnValues<std::uint8_t>>();
    std::size_t before = 0;
    for (const std::size_t i : tensors_.all()) {
      const std::size_t run = facts_.run_of[i];
      if (run - before > UINT8_MAX)
        return columns.add("run", [this](std::size_t tensor) { return count32(facts_.run_of[tensor]); });
      after->push_back(static_cast<std::uint8_t>(run - before));
      before = run;
    }
    columns.add_all("run_after", after);
  }

  void add_tensors(Columns& columns) {
    columns.add("role", [this](std::size_t i) { return flag_of(tensor(i).is_output); });
    columns.add_used("index", [this](std::size_t i) { return byte_of(tensor(i).index); });
    columns.add("dtype", [this](std::size_t i) { return static_cast<std::uint8_t>(tensor(i).dtype); });
    columns.add("format", [this](std::size_t i) { return byte_of(number_of(tensor(i).layout.format)); });
    columns.add("dims", [this](std::size_t i) { return texts_.number(shape_text(tensor(i).shape)); });
    columns.add("bytes", [this](std::size_t i) { return static_cast<float>(tensor(i).data_bytes); });
    columns.add_used("quant", [this](std::size_t i) {
      const Quantisation* const quant = tensor(i).quant;
      return quant != nullptr ? texts_.number(parameter_text(*quant)) : 0;
    });
    columns.add_used("original", [this](std::size_t i) { return texts_.number(tensor(i).original_op); });
  }

  void add_statistics(Columns& columns) {
    columns.add_known("min", [this](std::size_t i) { return real32(own(i).min); });
    columns.add_known("max", [this](std::size_t i) { return real32(own(i).max); });
    columns.add_known("mean", [this](std::size_t i) { return real32(own(i).mean); });
    columns.add_known("std", [this](std::size_t i) { return real32(own(i).deviation); });
    columns.add_known("l2", [this](std::size_t i) { return real32(own(i).norm); });
    columns.add_known("saturated", [this](std::size_t i) { return real32(own(i).saturated); });
    columns.add_used("zeros", [this](std::size_t i) { return count32(own(i).zeros); });
    columns.add_used("nan", [this](std::size_t i) { return count32(own(i).nan); });
    columns.add_used("inf", [this](std::size_t i) { return count32(own(i).infinite); });
    columns.add_used("note", [this](std::size_t i) {
      const PairResult* const result = facts_.result_of(i);
      return texts_.number(result == nullptr    ? own(i).problem
                           : result->comparison ? result->remark
                                                : result->problem);
    });
  }

  /// The partner of each tensor, and whether it agrees.
  void add_golden(Columns& columns) {
    columns.add("diverges", [this](std::size_t i) {
      return flag_of(comparison_of(i) != nullptr && facts_.compared->diverges(*facts_.result_of(i)));
    });
    columns.add("paired_by", [this](std::size_t i) {
      return golden_of(i) != nullptr
                 ? static_cast<std::uint8_t>(static_cast<int>(facts_.result_of(i)->pair.by) + 1)
                 : std::uint8_t{0};
    });
    columns.add_used("golden_dims", [this](std::size_t i) {
      const DumpTensor* const golden = golden_of(i);
      const bool differs = golden != nullptr && golden->shape != tensor(i).shape;
      return differs ? texts_.number(shape_text(golden->shape)) : 0;
    });
    columns.add_used("golden_dtype", [this](std::size_t i) {
      const DumpTensor* const golden = golden_of(i);
      const bool differs = golden != nullptr && golden->dtype != tensor(i).dtype;
      return differs ? texts_.number(std::string(info(golden->dtype).name)) : 0;
    });
    columns.add_known("golden_min", [this](std::size_t i) { return real32(theirs(i).min); });
    columns.add_known("golden_max", [this](std::size_t i) { return real32(theirs(i).max); });
    columns.add_known("golden_mean", [this](std::size_t i) { return real32(theirs(i).mean); });
    columns.add_known("golden_saturated", [this](std::size_t i) { return real32(theirs(i).saturated); });
  }

  void add_comparison(Columns& columns) {
    static constexpr std::uint32_t kNoUlp = UINT32_MAX;
    for (const Measure* const measure : facts_.compared->measures) {
      columns.add_known(measure->short_name, [this, measure](std::size_t i) {
        const compare::Comparison* const c = comparison_of(i);
        return c != nullptr ? real32(measure->value(*c)) : NAN;
      });
    }
    columns.add_known("equal", [this](std::size_t i) {
      const compare::Comparison* const c = comparison_of(i);
      if (c == nullptr) return NAN;
      return c->elements == 0 ? 1.0F
                              : real32(static_cast<double>(c->equal) / static_cast<double>(c->elements));
    });
    columns.add("ulp", [this](std::size_t i) {
      const compare::Comparison* const c = comparison_of(i);
      return c != nullptr && c->max_ulp ? std::min(count32(*c->max_ulp), kNoUlp - 1) : kNoUlp;
    });
  }

  const DumpTensor& tensor(std::size_t i) const { return mine_.tensors[i]; }
  const TensorFacts& own(std::size_t i) const { return facts_.mine[i]; }
  const TensorFacts& theirs(std::size_t i) const { return facts_.golden[i]; }

  /// Null: the tensor was not compared.
  const compare::Comparison* comparison_of(std::size_t i) const {
    const PairResult* const result = facts_.result_of(i);
    return result != nullptr && result->comparison ? &*result->comparison : nullptr;
  }

  /// Null: the tensor has no partner.
  const DumpTensor* golden_of(std::size_t i) const {
    const PairResult* const result = facts_.result_of(i);
    return result != nullptr && result->pair.golden ? &facts_.dumps.golden().tensors[*result->pair.golden]
                                                    : nullptr;
  }

  std::size_t number_of(Format format) {
    const auto at = std::find(formats_.begin(), formats_.end(), format);
    if (at != formats_.end()) return static_cast<std::size_t>(at - formats_.begin());
    formats_.push_back(format);
    return formats_.size() - 1;
  }

  PageWriter& json_;
  PageTexts& texts_;
  const ReportFacts& facts_;
  const PageTensors& tensors_;
  const DumpSide& mine_;
  std::vector<Format> formats_;
};

}  // namespace

void write_tensor_columns(PageWriter& json, PageTexts& texts, const ReportFacts& facts,
                          const PageTensors& tensors, const std::function<bool()>& goes_on) {
  TensorColumns columns(json, texts, facts, tensors);
  columns.write(goes_on);
  columns.write_names();
  columns.write_farthest();
}

namespace {

class PictureColumns {
 public:
  PictureColumns(PageWriter& json, const ReportFacts& facts, const PageTensors& tensors)
      : json_(json), facts_(facts), tensors_(tensors) {}

  /// Each histogram has a scale, 0 for equal steps of the numbers themselves.
  void write_bins(std::string_view name, const std::vector<TensorFacts>& facts) {
    struct Shown {
      std::size_t tensor;
      std::uint32_t row;
    };
    std::vector<Shown> shown;
    std::uint32_t row = 0;
    const auto bins = std::make_shared<ColumnValues<std::uint8_t>>();
    for (const std::size_t i : tensors_.all()) {
      const Shown one = {i, row++};
      if (!tensors_.has_histogram(i)) continue;
      const TensorFacts& shown_facts = facts[i];
      if (!shown_facts.has_bins) continue;
      shown.push_back(one);
      append(*bins, shown_facts.bins.counts);
    }
    PageTable columns(shown);
    columns.add("of", [](const Shown& one) { return one.row; });
    columns.add("scale", [&](const Shown& one) {
      const TensorFacts& shown_facts = facts[one.tensor];
      return shown_facts.bins.is_log ? real32(log_scale(shown_facts.deviation)) : 0;
    });
    columns.add_all("bins", bins);
    columns.write(json_, name);
  }

  void write_pictures() {
    std::vector<const ReportPicture*> shown;
    for (const ReportPicture& picture : facts_.pictures) {
      if (tensors_.row(picture.tensor) != PageTensors::kNone) shown.push_back(&picture);
    }
    PageTable columns(shown);
    columns.add("of", [&](const ReportPicture* one) { return tensors_.row(one->tensor); });
    columns.add("pair", [](const ReportPicture* one) { return flag_of(is_pair(one->picture)); });
    columns.add("rows", [](const ReportPicture* one) { return one->picture.mine.rows; });
    columns.add("columns", [](const ReportPicture* one) { return one->picture.mine.columns; });
    using Bytes8 = ColumnValues<std::uint8_t>;
    using Reals = ColumnValues<float>;
    const auto cells = std::make_shared<Bytes8>(), scatter = std::make_shared<Bytes8>(),
               errors = std::make_shared<Bytes8>(), absolute = std::make_shared<Bytes8>();
    const auto ends = std::make_shared<Reals>(), quantiles = std::make_shared<Reals>();
    for (const ReportPicture* one : shown) {
      const PairPicture& picture = one->picture;
      add_thumbnail(picture.mine, *cells, *ends);
      if (!is_pair(picture)) continue;
      add_thumbnail(picture.golden, *cells, *ends);
      add_thumbnail(picture.error, *cells, *ends);
      for (const float end : {picture.farthest, picture.least_magnitude, picture.greatest_magnitude,
                              picture.least_error, picture.greatest_error})
        ends->push_back(end);
      append(*errors, picture.signed_error);
      append(*absolute, picture.absolute_error);
      append(*quantiles, picture.mine_quantiles);
      append(*quantiles, picture.golden_quantiles);
      append(*scatter, picture.scatter);
    }
    columns.add_all("cells", cells);
    columns.add_all("ends", ends);
    columns.add_all("errors", errors);
    columns.add_all("absolute", absolute);
    columns.add_all("quantiles", quantiles);
    columns.add_all("scatter", scatter);
    columns.write(json_, "pictures");
  }

 private:
  static bool is_pair(const PairPicture& picture) { return picture.golden.rows != 0; }

  template <class T, class Values>
  static void append(ColumnValues<T>& all, const Values& values) {
    for (const T value : values) all.push_back(value);
  }

  static void add_thumbnail(const Thumbnail& thumbnail, ColumnValues<std::uint8_t>& cells,
                            ColumnValues<float>& ends) {
    const std::size_t count = std::size_t{thumbnail.rows} * thumbnail.columns;
    for (std::size_t i = 0; i < count; ++i) cells.push_back(thumbnail.cells[i]);
    ends.push_back(thumbnail.least);
    ends.push_back(thumbnail.greatest);
  }

  PageWriter& json_;
  const ReportFacts& facts_;
  const PageTensors& tensors_;
};

}  // namespace

void write_picture_columns(PageWriter& json, const ReportFacts& facts, const PageTensors& tensors,
                           bool pictures) {
  PictureColumns columns(json, facts, tensors);
  columns.write_bins("hist", facts.mine);
  if (!facts.golden.empty()) columns.write_bins("golden_hist", facts.golden);
  if (pictures) columns.write_pictures();
}

}  // namespace opdump::tool
