#include "src/tool/report/page_tensors.hpp"

namespace opdump::tool {
namespace {

class PictureColumns {
 public:
  PictureColumns(JsonWriter& json, const ReportFacts& facts, const PageTensors& tensors)
      : json_(json), facts_(facts), tensors_(tensors) {}

  /// Each histogram has a scale, 0 for equal steps of the numbers themselves.
  void write_bins(std::string_view name, const std::vector<TensorFacts>& facts) {
    std::vector<std::uint32_t> of;
    std::vector<float> scales;
    std::vector<std::uint8_t> bins;
    for (const std::size_t i : tensors_.all()) {
      if (!tensors_.has_histogram(i) || !facts[i].has_bins) continue;
      of.push_back(tensors_.row(i));
      scales.push_back(facts[i].bins.is_log ? real32(log_scale(facts[i].deviation)) : 0);
      bins.insert(bins.end(), facts[i].bins.counts.begin(), facts[i].bins.counts.end());
    }
    json_.key(name).open('{');
    PageColumns columns(json_);
    columns.add("of", of);
    columns.add("scale", scales);
    columns.add("bins", bins);
    json_.close('}');
  }

  void write_pictures() {
    std::vector<std::uint32_t> of;
    std::vector<std::uint8_t> rows, columns, cells, kind, scatter, errors, absolute;
    std::vector<float> ends, quantiles;
    for (const auto& [tensor, picture] : facts_.pictures) {
      if (tensors_.row(tensor) == PageTensors::kNone) continue;
      of.push_back(tensors_.row(tensor));
      rows.push_back(picture.mine.rows);
      columns.push_back(picture.mine.columns);
      const bool is_pair = picture.golden.rows != 0;
      kind.push_back(is_pair ? 1 : 0);
      add_thumbnail(picture.mine, cells, ends);
      if (!is_pair) continue;
      add_thumbnail(picture.golden, cells, ends);
      add_thumbnail(picture.error, cells, ends);
      ends.insert(ends.end(), {picture.farthest, picture.least_magnitude, picture.greatest_magnitude,
                               picture.least_error, picture.greatest_error});
      errors.insert(errors.end(), picture.signed_error.begin(), picture.signed_error.end());
      absolute.insert(absolute.end(), picture.absolute_error.begin(), picture.absolute_error.end());
      quantiles.insert(quantiles.end(), picture.mine_quantiles.begin(), picture.mine_quantiles.end());
      quantiles.insert(quantiles.end(), picture.golden_quantiles.begin(), picture.golden_quantiles.end());
      scatter.insert(scatter.end(), picture.scatter.begin(), picture.scatter.end());
    }
    json_.key("pictures").open('{');
    PageColumns all(json_);
    all.add("of", of);
    all.add("pair", kind);
    all.add("rows", rows);
    all.add("columns", columns);
    all.add("cells", cells);
    all.add("ends", ends);
    all.add("errors", errors);
    all.add("absolute", absolute);
    all.add("quantiles", quantiles);
    all.add("scatter", scatter);
    json_.close('}');
  }

 private:
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
