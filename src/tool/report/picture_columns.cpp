#include <utility>

#include "src/tool/report/page_tensors.hpp"

namespace opdump::tool {
namespace {

class PictureColumns {
 public:
  PictureColumns(JsonWriter& json, const ReportFacts& facts, const PageTensors& tensors)
      : json_(json), facts_(facts), tensors_(tensors) {}

  /// Each histogram has a scale, 0 for equal steps of the numbers themselves.
  void write_bins(std::string_view name, const std::vector<TensorFacts>& facts) {
    std::vector<std::size_t> shown;
    std::vector<std::uint8_t> bins;
    for (const std::size_t i : tensors_.all()) {
      if (!tensors_.has_histogram(i) || !facts[i].has_bins) continue;
      shown.push_back(i);
      append(bins, facts[i].bins.counts);
    }
    PageTable columns(shown);
    columns.add("of", [&](std::size_t i) { return tensors_.row(i); });
    columns.add("scale", [&](std::size_t i) {
      return facts[i].bins.is_log ? real32(log_scale(facts[i].deviation)) : 0;
    });
    columns.add_all("bins", std::move(bins));
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
    std::vector<std::uint8_t> cells, scatter, errors, absolute;
    std::vector<float> ends, quantiles;
    for (const ReportPicture* one : shown) {
      const PairPicture& picture = one->picture;
      add_thumbnail(picture.mine, cells, ends);
      if (!is_pair(picture)) continue;
      add_thumbnail(picture.golden, cells, ends);
      add_thumbnail(picture.error, cells, ends);
      ends.insert(ends.end(), {picture.farthest, picture.least_magnitude, picture.greatest_magnitude,
                               picture.least_error, picture.greatest_error});
      append(errors, picture.signed_error);
      append(absolute, picture.absolute_error);
      append(quantiles, picture.mine_quantiles);
      append(quantiles, picture.golden_quantiles);
      append(scatter, picture.scatter);
    }
    columns.add_all("cells", std::move(cells));
    columns.add_all("ends", std::move(ends));
    columns.add_all("errors", std::move(errors));
    columns.add_all("absolute", std::move(absolute));
    columns.add_all("quantiles", std::move(quantiles));
    columns.add_all("scatter", std::move(scatter));
    columns.write(json_, "pictures");
  }

 private:
  static bool is_pair(const PairPicture& picture) { return picture.golden.rows != 0; }

  template <class T, class Values>
  static void append(std::vector<T>& all, const Values& values) {
    all.insert(all.end(), values.begin(), values.end());
  }

  static void add_thumbnail(const Thumbnail& thumbnail, std::vector<std::uint8_t>& cells,
                            std::vector<float>& ends) {
    const std::size_t count = std::size_t{thumbnail.rows} * thumbnail.columns;
    cells.insert(cells.end(), thumbnail.cells.begin(),
                 thumbnail.cells.begin() + static_cast<std::ptrdiff_t>(count));
    ends.push_back(thumbnail.least);
    ends.push_back(thumbnail.greatest);
  }

  JsonWriter& json_;
  const ReportFacts& facts_;
  const PageTensors& tensors_;
};

}  // namespace

void write_picture_columns(JsonWriter& json, const ReportFacts& facts, const PageTensors& tensors,
                           bool pictures) {
  PictureColumns columns(json, facts, tensors);
  columns.write_bins("hist", facts.mine);
  if (!facts.golden.empty()) columns.write_bins("golden_hist", facts.golden);
  if (pictures) columns.write_pictures();
}

}  // namespace opdump::tool
