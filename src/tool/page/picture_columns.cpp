#include <memory>

#include "src/tool/page/page_tensors.hpp"

namespace opdump::tool {
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
