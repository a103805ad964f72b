#include "src/tool/judge/compare/error_shape.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "src/config/text/human_text.hpp"
#include "src/tool/judge/compare/open_pair.hpp"
#include "src/tool/read/dump/elements.hpp"

namespace opdump::tool {
namespace {

std::string rounded_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", number);
  return text;
}

class ErrorShape {
 public:
  ErrorShape(std::vector<double> mine, std::vector<double> golden, std::vector<Dim> shape, double share)
      : x_(std::move(mine)), y_(std::move(golden)), shape_(std::move(shape)), share_(share) {
    double squares = 0, finite = 0;
    for (const double y : y_) {
      squares += std::isfinite(y) ? y * y : 0;
      finite += std::isfinite(y) ? 1 : 0;
    }
    least_ = share_ * std::sqrt(squares / std::max(1.0, finite));
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (!near(x_[i], y_[i])) off_.push_back(i);
    }
  }

  bool is_off() const { return !off_.empty(); }

  std::string text() {
    if (off_.empty()) return {};
    constexpr double kTold = 1e-3;
    std::string text = off_.size() == x_.size()
                           ? "all " + count_text(off_.size(), "element")
                           : std::to_string(off_.size()) + " of " + count_text(x_.size(), "element");
    text += off_.size() == 1 ? " is off" : " are off";
    if (share_ >= kTold) text += " by more than " + rounded_text(100 * share_) + " %";
    text += place();
    if (const std::string value = this->value(); !value.empty()) return text + value;
    return text + rearranged();
  }

  /// The order of golden's axes that makes mine of it.
  std::string permuted() {
    constexpr std::size_t kMostAxes = 5;
    const std::size_t rank = shape_.size();
    if (rank < 2 || rank > kMostAxes) return {};
    std::vector<std::size_t> strides(rank, 1), axes(rank);
    for (std::size_t axis = rank - 1; axis-- > 0;)
      strides[axis] = strides[axis + 1] * static_cast<std::size_t>(shape_[axis + 1]);
    std::iota(axes.begin(), axes.end(), std::size_t{0});
    while (std::next_permutation(axes.begin(), axes.end())) {
      // As if mine lay with golden's axes in that order.
      const bool found = is_golden(0, x_.size(), [&](std::size_t i) {
        std::size_t at = 0;
        for (std::size_t turn = rank; turn-- > 0;) {
          const auto extent = static_cast<std::size_t>(shape_[axes[turn]]);
          at += i % extent * strides[axes[turn]];
          i /= extent;
        }
        return at;
      });
      if (!found) continue;
      std::string text;
      for (const std::size_t axis : axes) text += (text.empty() ? "" : ",") + std::to_string(axis);
      return text;
    }
    return {};
  }

 private:
  bool near(double x, double y) const {
    if (x == y || (std::isnan(x) && std::isnan(y))) return true;
    return std::isfinite(x - y) && std::fabs(x - y) <= least_ + share_ * std::fabs(y);
  }

  template <class Rule>
  bool all_off(Rule rule) const {
    return std::all_of(off_.begin(), off_.end(), rule);
  }

  /// ", all at index 7 of axis 1"; empty: they are in many places of each axis.
  std::string place() const {
    constexpr std::size_t kMostIndices = 4;
    if (off_.size() == x_.size()) return {};
    if (off_.size() == 1) return ", at " + position_text(off_[0], shape_);
    std::size_t inner = x_.size(), best = 0, all = 0;
    std::set<std::size_t> fewest;
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
      const auto extent = static_cast<std::size_t>(shape_[axis]);
      if (extent < 2) continue;
      inner /= extent;
      std::set<std::size_t> indices;
      for (const std::size_t i : off_) {
        indices.insert(i / inner % extent);
        if (indices.size() > kMostIndices) break;
      }
      if (indices.size() > kMostIndices || 2 * indices.size() > extent ||
          (!fewest.empty() && indices.size() >= fewest.size()))
        continue;
      fewest = indices;
      best = axis;
      all = indices.size() * (x_.size() / extent);
    }
    if (!fewest.empty()) {
      std::string list;
      for (const std::size_t index : fewest)
        list += (list.empty() ? "" : index == *fewest.rbegin() ? " and " : ", ") + std::to_string(index);
      return (off_.size() == all ? ", all of " : ", all at ") +
             std::string(fewest.size() == 1 ? "index " : "indices ") + list + " of axis " +
             std::to_string(best);
    }
    if (off_.back() - off_.front() + 1 == off_.size())
      return ", all between " + position_text(off_.front(), shape_) + " and " +
             position_text(off_.back(), shape_);
    return {};
  }

  /// ", each 2 times golden's", ", all of them 0", or empty.
  std::string value() const {
    constexpr std::size_t kMany = 8;
    if (all_off([&](std::size_t i) { return !std::isfinite(x_[i]); })) return ", NaN or infinity";
    if (off_.size() < 2) return {};
    const double first = x_[off_[0]];
    if (all_off([&](std::size_t i) { return x_[i] == first; }))
      return first == 0 ? ", all of them 0, as if never written" : ", all of them " + number_text(first);
    double least = HUGE_VAL, most = -HUGE_VAL, xy = 0, yy = 0, more = 0;
    for (const double x : x_) {
      least = std::min(least, x);
      most = std::max(most, x);
    }
    for (const std::size_t i : off_) {
      xy += x_[i] * y_[i];
      yy += y_[i] * y_[i];
      more += (x_[i] - y_[i]) / static_cast<double>(off_.size());
    }
    if (off_.size() >= kMany && all_off([&](std::size_t i) { return x_[i] == least || x_[i] == most; }))
      return ", all of them at the ends of mine, " + number_text(least) + " or " + number_text(most);
    const double times = xy / yy;
    if (std::isfinite(times) && all_off([&](std::size_t i) { return near(x_[i], times * y_[i]); }))
      return ", each " + rounded_text(times) + " times golden's";
    if (std::isfinite(more) && all_off([&](std::size_t i) { return near(x_[i], y_[i] + more); }))
      return ", each " + rounded_text(std::fabs(more)) + (more > 0 ? " more" : " less") + " than golden's";
    return {};
  }

  /// "; they are golden's moved on by 5 places", or with axes permuted; empty: neither.
  std::string rearranged() {
    constexpr std::size_t kMostMoves = 4096, kMostMoved = std::size_t{1} << 20, kLeast = 8;
    const std::size_t count = x_.size();
    if (count < kLeast || count > kMostMoved || off_.size() * 10 < count) return {};
    for (std::size_t by = 1; by < std::min(count / 2 + 1, kMostMoves); ++by) {
      for (const bool later : {true, false}) {
        const std::size_t step = later ? by : count - by;
        const auto moved = [&](std::size_t i) { return (i + step) % count; };
        const std::size_t begin = later ? 0 : by, end = later ? count - by : count;
        if (!is_golden(begin, end, moved)) continue;
        const bool round = is_golden(0, count, moved);
        return "; they are golden's, moved " + count_text(by, "place") + along(by) + " to the " +
               (later ? "front" : "back") +
               (round ? ", round the end"
                      : ", but for the " + std::string(later ? "last " : "first ") + std::to_string(by));
      }
    }
    const std::string axes = permuted();
    return axes.empty() ? axes : "; they are golden's transposed, with the axes in the order " + axes;
  }

  /// " (1 of axis 0)".
  std::string along(std::size_t by) const {
    std::size_t inner = x_.size();
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
      inner /= static_cast<std::size_t>(shape_[axis]);
      if (inner > 1 && by % inner == 0 && by / inner < static_cast<std::size_t>(shape_[axis]))
        return " (" + std::to_string(by / inner) + " of axis " + std::to_string(axis) + ')';
    }
    return {};
  }

  /// Whether mine has at `begin` to `end` what golden has at `place` of it. Those that are off are looked at first.
  template <class Place>
  bool is_golden(std::size_t begin, std::size_t end, Place place) {
    constexpr std::uint64_t kMostLooks = 200'000'000;
    constexpr std::size_t kFirst = 64;
    const auto fits = [&](std::size_t i) { return near(x_[i], y_[place(i)]); };
    const std::size_t apart = std::max<std::size_t>(1, off_.size() / kFirst);
    for (std::size_t i = 0; i < off_.size(); i += apart) {
      if (off_[i] >= begin && off_[i] < end && !fits(off_[i])) return false;
    }
    if ((looks_ += end - begin) > kMostLooks) return false;
    for (std::size_t i = begin; i < end; ++i) {
      if (!fits(i)) return false;
    }
    return true;
  }

  std::vector<double> x_;
  std::vector<double> y_;
  std::vector<Dim> shape_;
  std::vector<std::size_t> off_;
  double share_;
  double least_ = 0;
  std::uint64_t looks_ = 0;
};

std::optional<ErrorShape> error_shape_of(const DumpSide& mine, const DumpTensor& tensor,
                                         const DumpSide& golden, const DumpTensor& golden_tensor,
                                         double share) {
  constexpr std::uint64_t kMost = 4'000'000;
  if (is_complex(tensor.dtype) || is_complex(golden_tensor.dtype) || tensor.shape != golden_tensor.shape ||
      tensor.layout.format != golden_tensor.layout.format)
    return std::nullopt;
  std::optional<std::vector<double>> x = real_elements(mine, tensor, kMost);
  std::optional<std::vector<double>> y = real_elements(golden, golden_tensor, kMost);
  if (!x || !y || x->size() != y->size()) return std::nullopt;
  return ErrorShape(std::move(*x), std::move(*y), tensor.shape, share);
}

}  // namespace

std::string permutation(const DumpSide& mine, const DumpTensor& tensor, const DumpSide& golden,
                        const DumpTensor& golden_tensor, double share) {
  std::optional<ErrorShape> shape = error_shape_of(mine, tensor, golden, golden_tensor, share);
  return shape && shape->is_off() ? shape->permuted() : std::string();
}

std::string error_shape(const CompareReport& report, const PairResult& result, double share) {
  if (!result.comparison) return {};
  std::optional<ErrorShape> shape =
      error_shape_of(report.mine, report.mine.tensors[*result.pair.mine], report.golden,
                     report.golden.tensors[*result.pair.golden], share);
  return shape ? shape->text() : std::string();
}

}  // namespace opdump::tool
