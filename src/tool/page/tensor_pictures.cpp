#include "src/tool/page/tensor_pictures.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "src/tool/judge/compare/open_pair.hpp"
#include "src/tool/page/tensor_facts.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kPictureElements = 4096;
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

/// Reads the elements of an array as floats, piece by piece. A piece begins at a multiple of 8 elements.
bool read_floats(const compare::ComparedArray& array, std::uint64_t first, std::size_t count, float* to) {
  alignas(16) std::byte room[kPictureElements * 16];
  const std::uint64_t bits = array.item_bits;
  const std::byte* const from =
      array.source->read(first * bits / 8, static_cast<std::size_t>((count * bits + 7) / 8), room);
  if (from == nullptr) return false;
  array.to_floats(from, count, to);
  return true;
}

/// Gathers the cells of one thumbnail.
class Cells {
 public:
  explicit Cells(const std::vector<Dim>& shape, bool greatest) : greatest_(greatest) {
    const std::size_t rank = shape.size();
    height_ = rank < 2 ? 1 : shape[rank - 2];
    width_ = rank == 0 ? 1 : shape[rank - 1];
    if (rank == 1) {  // a long vector as rows
      width_ = std::max<std::uint64_t>(
          1, static_cast<std::uint64_t>(std::ceil(std::sqrt(static_cast<double>(shape[0])))));
      height_ = (shape[0] + width_ - 1) / width_;
    }
    rows_ = static_cast<std::size_t>(std::min<std::uint64_t>(height_, Thumbnail::kMost));
    columns_ = static_cast<std::size_t>(std::min<std::uint64_t>(width_, Thumbnail::kMost));
  }

  void add(std::uint64_t element, double number) {
    if (rows_ == 0 || columns_ == 0) return;
    const auto column = static_cast<std::size_t>(element % width_ * columns_ / width_);
    const auto row = static_cast<std::size_t>(element / width_ % height_ * rows_ / height_);
    Cell& cell = cells_[row * columns_ + column];
    if (!std::isfinite(number)) {
      cell.odd = true;
      return;
    }
    cell.value = greatest_ ? std::max(cell.value, number) : cell.value + number;
    ++cell.count;
  }

  Thumbnail finish() const {
    Thumbnail thumbnail;
    thumbnail.rows = static_cast<std::uint8_t>(rows_);
    thumbnail.columns = static_cast<std::uint8_t>(columns_);
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (std::size_t i = 0; i < rows_ * columns_; ++i) {
      const double value = value_of(cells_[i]);
      if (std::isnan(value)) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    if (least > most) least = most = 0;
    thumbnail.least = static_cast<float>(least);
    thumbnail.greatest = static_cast<float>(most);
    constexpr double kSteps = 254;
    for (std::size_t i = 0; i < rows_ * columns_; ++i) {
      const double value = value_of(cells_[i]);
      const double share = most > least ? (value - least) / (most - least) : 0;
      thumbnail.cells[i] =
          std::isnan(value) ? std::uint8_t{255} : static_cast<std::uint8_t>(std::lround(share * kSteps));
    }
    return thumbnail;
  }

 private:
  struct Cell {
    double value = 0;
    std::uint64_t count = 0;
    bool odd = false;
  };

  double value_of(const Cell& cell) const {
    if (cell.odd || cell.count == 0) return kNoNumber;
    return greatest_ ? cell.value : cell.value / static_cast<double>(cell.count);
  }

  const bool greatest_;
  std::uint64_t height_ = 1;
  std::uint64_t width_ = 1;
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::array<Cell, Thumbnail::kMost * Thumbnail::kMost> cells_{};
};

/// The range of the logarithms of some magnitudes.
struct LogRange {
  double least = HUGE_VAL;
  double greatest = -HUGE_VAL;

  void add(double magnitude) {
    if (!(magnitude > 0) || !std::isfinite(magnitude)) return;
    least = std::min(least, std::log10(magnitude));
    greatest = std::max(greatest, std::log10(magnitude));
  }
  bool any() const { return least <= greatest; }
  std::size_t bin(double magnitude, std::size_t bins) const {
    const double share = greatest > least ? (std::log10(magnitude) - least) / (greatest - least) : 0;
    return std::min<std::size_t>(bins - 1,
                                 static_cast<std::size_t>(std::max(0.0, share) * static_cast<double>(bins)));
  }
};

/// Every so many of a tensor's finite elements, sorted in the end.
class Sample {
 public:
  explicit Sample(std::uint64_t elements) : every_((elements + kMost - 1) / kMost) {}

  void add(std::uint64_t element, double number) {
    if (element % every_ == 0 && std::isfinite(number)) numbers_.push_back(static_cast<float>(number));
  }

  void finish(std::span<float> quantiles) {
    std::sort(numbers_.begin(), numbers_.end());
    for (std::size_t i = 0; i < quantiles.size() && !numbers_.empty(); ++i)
      quantiles[i] = numbers_[i * (numbers_.size() - 1) / (quantiles.size() - 1)];
  }

 private:
  static constexpr std::uint64_t kMost = 65536;

  const std::uint64_t every_;
  std::vector<float> numbers_;
};

/// Calls `use(element, mine, golden)` for each pair of elements.
template <class Use>
bool for_each_pair(const compare::ComparedArray& x, const compare::ComparedArray& y, std::uint64_t elements,
                   Use use) {
  float mine[kPictureElements], golden[kPictureElements];
  for (std::uint64_t done = 0; done < elements; done += kPictureElements) {
    const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(kPictureElements, elements - done));
    if (!read_floats(x, done, now, mine) || !read_floats(y, done, now, golden)) return false;
    for (std::size_t i = 0; i < now; ++i)
      use(done + i, static_cast<double>(mine[i]), static_cast<double>(golden[i]));
  }
  return true;
}

}  // namespace

std::optional<PairPicture> picture_of(const DumpSide& mine, const DumpSide& golden, const PairResult& result,
                                      const std::optional<AssumedFormats>& usual) {
  const DumpTensor& x = mine.tensors[*result.pair.mine];
  const DumpTensor& y = golden.tensors[*result.pair.golden];
  const PairOrder order = order_pair(x, y, usual);
  OpenPair pair;
  if (!order.problem.empty() || !pair.open(mine, x, golden, y, order)) return std::nullopt;
  PairPicture picture;
  Cells ours(order.mine.shape, false), theirs(order.mine.shape, false), errors(order.mine.shape, true);
  Sample our_sample(order.elements), their_sample(order.elements);
  LogRange magnitudes, distances;
  double farthest = 0;
  bool read = for_each_pair(pair.mine(), pair.golden(), order.elements,
                            [&](std::uint64_t element, double a, double b) {
                              ours.add(element, a);
                              theirs.add(element, b);
                              our_sample.add(element, a);
                              their_sample.add(element, b);
                              const double error = std::fabs(a - b);
                              errors.add(element, error);
                              if (!std::isfinite(error)) return;
                              farthest = std::max(farthest, error);
                              distances.add(error);
                              if (error > 0) magnitudes.add(std::fabs(b));
                            });
  std::array<std::uint64_t, PairPicture::kBins> bins{}, absolute{};
  std::array<std::uint64_t, PairPicture::kSide * PairPicture::kSide> scatter{};
  read = read &&
         for_each_pair(pair.mine(), pair.golden(), order.elements, [&](std::uint64_t, double a, double b) {
           const double error = a - b;
           if (!std::isfinite(error)) return;
           const double share = farthest > 0 ? (error / farthest + 1) / 2 : 0.5;
           const auto bin = static_cast<std::size_t>(share * static_cast<double>(PairPicture::kBins));
           ++bins[std::min(bin, PairPicture::kBins - 1)];
           if (error == 0) return;
           ++absolute[distances.bin(std::fabs(error), PairPicture::kBins)];
           if (b == 0 || !std::isfinite(b)) return;
           ++scatter[distances.bin(std::fabs(error), PairPicture::kSide) * PairPicture::kSide +
                     magnitudes.bin(std::fabs(b), PairPicture::kSide)];
         });
  if (!read || pair.failed()) return std::nullopt;
  picture.mine = ours.finish();
  picture.golden = theirs.finish();
  picture.error = errors.finish();
  picture.farthest = static_cast<float>(farthest);
  pack_counts(bins, picture.signed_error);
  pack_counts(absolute, picture.absolute_error);
  pack_counts(scatter, picture.scatter);
  our_sample.finish(picture.mine_quantiles);
  their_sample.finish(picture.golden_quantiles);
  if (magnitudes.any()) {
    picture.least_magnitude = static_cast<float>(magnitudes.least);
    picture.greatest_magnitude = static_cast<float>(magnitudes.greatest);
  }
  if (distances.any()) {
    picture.least_error = static_cast<float>(distances.least);
    picture.greatest_error = static_cast<float>(distances.greatest);
  }
  return picture;
}

std::optional<PairPicture> picture_of(const DumpSide& mine, const DumpTensor& tensor) {
  OpenPair pair;
  const ElementOrder order = {.relayout = std::nullopt, .shape = tensor.shape};
  PairOrder itself;
  itself.mine = itself.golden = order;
  if (!pair.open(mine, tensor, mine, tensor, itself)) return std::nullopt;
  Cells cells(tensor.shape, false);
  float numbers[kPictureElements];
  for (std::uint64_t done = 0; done < tensor.elements; done += kPictureElements) {
    const auto now =
        static_cast<std::size_t>(std::min<std::uint64_t>(kPictureElements, tensor.elements - done));
    if (!read_floats(pair.mine(), done, now, numbers)) return std::nullopt;
    for (std::size_t i = 0; i < now; ++i) cells.add(done + i, static_cast<double>(numbers[i]));
  }
  PairPicture picture;
  picture.mine = cells.finish();
  return picture;
}

}  // namespace opdump::tool
