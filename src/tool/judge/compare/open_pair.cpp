#include "src/tool/judge/compare/open_pair.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "src/tool/judge/compare/msprobe_dump.hpp"
#include "src/tool/read/dump/elements.hpp"
#include "src/tool/read/dump/real_numbers.hpp"
#include "src/tool/read/dump/statistics_file.hpp"

namespace opdump::tool {

/// A stretch of the restored tensor that one thread has made.
struct CompareElements::Window {
  static constexpr std::size_t kBytes = 256 * 1024;
  static constexpr std::size_t kBoxBytes = 2 * 1024 * 1024;

  std::uint64_t number = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::vector<std::byte> items;
  std::vector<std::byte> box;

  bool holds(std::uint64_t element) const { return element >= first && element - first < count; }
};

bool CompareElements::open(const DumpSide& side, const DumpTensor& tensor,
                           const std::optional<Relayout>& relayout) {
  static std::atomic<std::uint64_t> openings{0};
  const std::string path = side.path_of(tensor);
  if (!file_.open(path)) {
    error_ = file_.error();
    return false;
  }
  offset_ = tensor.data_offset;
  bytes_ = tensor.data_bytes;
  relayout_ = relayout;
  item_bytes_ = info(tensor.dtype).bits / 8;
  number_ = openings.fetch_add(1, std::memory_order_relaxed) + 1;
  if (tensor.pieces > 1) return gather(tensor);
  if (!tensor.form.is_plain()) {
    if (plain_elements(file_.bytes(), offset_, tensor.form, tensor.shape, gathered_, error_)) return true;
    error_ = path + ": " + error_;
    return false;
  }
  if (offset_ + bytes_ <= file_.bytes().size()) return true;
  error_ = path + ": it has become shorter";
  return false;
}

/// What is cut out of a tensor is small, and has no layout of its own.
bool CompareElements::gather(const DumpTensor& tensor) {
  const std::uint64_t piece = bytes_ / tensor.pieces;
  relayout_.reset();
  gathered_.resize(static_cast<std::size_t>(bytes_));
  for (std::uint64_t i = 0; i < tensor.pieces; ++i) {
    const MutableBytes to =
        MutableBytes(gathered_).subspan(static_cast<std::size_t>(i * piece), static_cast<std::size_t>(piece));
    if (!file_.read_at(offset_ + i * tensor.piece_step, to, error_)) return false;
  }
  return true;
}

const std::byte* CompareElements::read(std::uint64_t offset, std::size_t count, std::byte* buffer) const {
  if (!relayout_) {
    if (offset + count > bytes_) return nullptr;
    if (!gathered_.empty()) return gathered_.data() + offset;
    if (file_.bytes().size() <= MappedFile::kCopiedBytes) return file_.bytes().data() + offset_ + offset;
    // What is mapped counts as memory, and with large pages that would be several MiB for each thread.
    std::string reason;
    if (file_.read_at(offset_ + offset, {buffer, count}, reason)) return buffer;
    const std::lock_guard lock(failure_mutex_);
    if (failure_.empty()) failure_ = std::move(reason);
    return nullptr;
  }
  thread_local Window window;
  std::uint64_t element = offset / item_bytes_;
  std::uint64_t left = count / item_bytes_;
  for (std::byte* to = buffer; left != 0;) {
    if ((window.number != number_ || !window.holds(element)) && !restore(element, window)) return nullptr;
    const std::uint64_t skipped = element - window.first;
    const std::uint64_t now = std::min(left, window.count - skipped);
    std::memcpy(to, window.items.data() + skipped * item_bytes_, static_cast<std::size_t>(now * item_bytes_));
    to += now * item_bytes_;
    element += now;
    left -= now;
  }
  return buffer;
}

bool CompareElements::restore(std::uint64_t first, Window& window) const {
  if (first >= relayout_->elements()) return false;
  const Relayout::Piece piece =
      relayout_->piece(first, Window::kBytes / item_bytes_, Window::kBoxBytes / item_bytes_);
  window.box.resize(static_cast<std::size_t>(piece.box_elements * item_bytes_));
  window.items.resize(static_cast<std::size_t>(piece.elements * item_bytes_));
  std::byte* to = window.box.data();
  const std::byte* const data = gathered_.empty() ? file_.bytes().data() + offset_ : gathered_.data();
  std::uint64_t low = bytes_, high = 0;
  relayout_->for_each_run(piece, [&](std::uint64_t start, std::uint64_t count) {
    const std::uint64_t at = start * item_bytes_;
    const std::size_t bytes = static_cast<std::size_t>(count * item_bytes_);
    std::memcpy(to, data + at, bytes);
    to += bytes;
    low = std::min(low, at);
    high = std::max(high, at + bytes);
  });
  relayout_->convert(piece, window.box.data(), window.items.data());
  if (low < high && gathered_.empty()) file_.drop(offset_ + low, high - low);
  window.number = number_;
  window.first = piece.first;
  window.count = piece.elements;
  return true;
}

bool CompareElements::failed() {
  const bool cut_short = file_.cut_short();
  error_ = cut_short ? file_.error() : failure_;
  return !error_.empty();
}

namespace {

/// The numbers of a tensor as they are stored, and as what they stand for.
template <class Use>
bool for_each_real(const DumpSide& side, const DumpTensor& tensor, Use use) {
  std::optional<RealNumbers> reals;
  if (tensor.quant != nullptr) reals.emplace(*tensor.quant, tensor.dtype, tensor.shape);
  if (reals && !reals->fits()) return false;
  std::uint64_t index = 0;
  return for_each_number(side, tensor, [&](std::span<const double> numbers) {
    for (const double number : numbers) {
      use(index, number, reals ? reals->real(number, index) : number);
      ++index;
    }
  });
}

/// The ends of an integer dtype in which networks compute.
struct Ends {
  explicit Ends(DType dtype) {
    const bool is_signed = dtype == DType::int4 || dtype == DType::int8 || dtype == DType::int16;
    known = is_signed || dtype == DType::uint4 || dtype == DType::uint8 || dtype == DType::uint16;
    const double size = std::ldexp(1.0, static_cast<int>(info(dtype).bits));
    least = is_signed ? -size / 2 : 0;
    most = least + size - 1;
  }

  bool has(double stored) const { return stored == least || stored == most; }

  bool known;
  double least;
  double most;
};

compare::ToFloats to_floats(DType dtype) {
  return dtype == DType::float16 ? compare::pair_kernels().float16_to_float : float_reader(dtype);
}

}  // namespace

std::optional<ValueRange> value_range(const DumpSide& side, const DumpTensor& tensor) {
  if (tensor.summary && tensor.summary->min && tensor.summary->max && tensor.summary->mean)
    return ValueRange{*tensor.summary->min, *tensor.summary->max, *tensor.summary->mean};
  Statistics statistics;
  const bool read = for_each_real(side, tensor, [&](std::uint64_t, double, double real) {
    statistics.add({&real, 1});
  });
  if (!read || statistics.finite() == 0) return std::nullopt;
  return ValueRange{statistics.min(), statistics.max(), statistics.mean()};
}

std::optional<double> share_at_ends(const DumpSide& side, const DumpTensor& tensor) {
  const Ends ends(tensor.dtype);
  if (!ends.known || tensor.summary || tensor.elements == 0) return std::nullopt;
  std::uint64_t count = 0;
  const bool read = for_each_real(side, tensor, [&](std::uint64_t, double stored, double real) {
    count += ends.has(stored) && real != 0 ? 1 : 0;
  });
  if (!read) return std::nullopt;
  return static_cast<double>(count) / static_cast<double>(tensor.elements);
}

bool is_rescaled(const DumpSide& mine, const DumpTensor& tensor, const DumpSide& golden,
                 const DumpTensor& golden_tensor) {
  constexpr std::uint64_t kMost = 4'000'000;
  constexpr std::size_t kLeastNumbers = 4;
  constexpr double kRounding = 0.6;
  const auto is_carded = [](const DumpTensor& side) { return side.quant != nullptr && !side.by_other_card; };
  const Ends my_ends(tensor.dtype), ends(golden_tensor.dtype);
  if (!my_ends.known || !ends.known || (is_carded(tensor) && is_carded(golden_tensor)) || tensor.summary ||
      golden_tensor.summary || tensor.shape != golden_tensor.shape || tensor.elements > kMost)
    return false;
  std::vector<double> x, y;
  const auto read = [](const DumpSide& side, const DumpTensor& of, std::vector<double>& numbers) {
    return for_each_real(side, of, [&](std::uint64_t, double stored, double) { numbers.push_back(stored); });
  };
  if (!read(mine, tensor, x) || !read(golden, golden_tensor, y) || x.size() != y.size()) return false;
  std::set<double> numbers;
  double count = 0, sum_x = 0, sum_y = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (my_ends.has(x[i]) || ends.has(y[i])) continue;
    if (numbers.size() < kLeastNumbers) numbers.insert(y[i]);
    ++count;
    sum_x += x[i];
    sum_y += y[i];
    xy += x[i] * y[i];
    yy += y[i] * y[i];
  }
  if (numbers.size() < kLeastNumbers) return false;
  const double times = (xy - sum_x * sum_y / count) / (yy - sum_y * sum_y / count);
  const double more = (sum_x - times * sum_y) / count;
  const double rounding = kRounding * (1 + times);
  bool fits = times > 0;
  for (std::size_t i = 0; fits && i < x.size(); ++i) {
    const double apart = x[i] - (times * y[i] + more);
    fits = std::fabs(apart) <= rounding || (apart < 0 && (x[i] == my_ends.most || y[i] == ends.least)) ||
           (apart > 0 && (x[i] == my_ends.least || y[i] == ends.most));
  }
  return fits;
}

std::optional<double> clipped_share(const DumpSide& mine, const DumpTensor& tensor, const DumpSide& golden,
                                    const DumpTensor& golden_tensor, bool at_zero) {
  constexpr double kMoreThanAStep = 1.5;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 28;
  const Ends ends(tensor.dtype);
  const bool alike = tensor.shape == golden_tensor.shape &&
                     (tensor.quant != nullptr || tensor.dtype == golden_tensor.dtype) &&
                     (tensor.layout.format == golden_tensor.layout.format ||
                      tensor.layout.format == Format::nd || golden_tensor.layout.format == Format::nd);
  if (!ends.known || !alike || tensor.summary || golden_tensor.summary || tensor.elements == 0 ||
      tensor.elements > kMost)
    return std::nullopt;
  struct AtEnd {
    std::uint64_t index;
    float real;
    float step;
  };
  std::vector<AtEnd> at_ends;
  std::optional<RealNumbers> reals;
  if (tensor.quant != nullptr) reals.emplace(*tensor.quant, tensor.dtype, tensor.shape);
  bool read = for_each_real(mine, tensor, [&](std::uint64_t index, double stored, double real) {
    if (!ends.has(stored) || (real == 0) != at_zero) return;
    const double next = stored == ends.least ? stored + 1 : stored - 1;
    const double step = reals ? std::fabs(reals->real(next, index) - real) : 1;
    at_ends.push_back({index, static_cast<float>(real), static_cast<float>(step)});
  });
  std::uint64_t clipped = 0;
  auto next = at_ends.begin();
  read = read && for_each_real(golden, golden_tensor, [&](std::uint64_t index, double, double real) {
           if (next == at_ends.end() || next->index != index) return;
           clipped += std::fabs(real - static_cast<double>(next->real)) >
                              kMoreThanAStep * static_cast<double>(next->step)
                          ? 1
                          : 0;
           ++next;
         });
  if (!read) return std::nullopt;
  return static_cast<double>(clipped) / static_cast<double>(tensor.elements);
}

std::optional<std::vector<double>> real_elements(const DumpSide& side, const DumpTensor& tensor,
                                                 std::uint64_t most) {
  if (tensor.elements > most || tensor.summary) return std::nullopt;
  std::vector<double> reals;
  reals.reserve(static_cast<std::size_t>(tensor.elements));
  if (!for_each_real(side, tensor, [&](std::uint64_t, double, double real) { reals.push_back(real); }))
    return std::nullopt;
  return reals;
}

std::optional<ChannelGain> odd_channel(const DumpSide& mine, const DumpTensor& tensor, const DumpSide& golden,
                                       const DumpTensor& golden_tensor, std::size_t axis) {
  constexpr std::uint64_t kMost = 4'000'000;
  constexpr std::size_t kFewest = 8;  // elements of a channel, and channels
  constexpr double kOfOthers = 10, kOfNoise = 5, kFaint = 1e-4;
  if (axis >= tensor.shape.size() || tensor.shape != golden_tensor.shape || tensor.elements == 0)
    return std::nullopt;
  const auto channels = static_cast<std::size_t>(tensor.shape[axis]);
  if (channels < kFewest || tensor.elements / channels < kFewest) return std::nullopt;
  const std::optional<std::vector<double>> x = real_elements(mine, tensor, kMost);
  const std::optional<std::vector<double>> y = real_elements(golden, golden_tensor, kMost);
  if (!x || !y) return std::nullopt;
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < tensor.shape.size(); ++i)
    inner *= static_cast<std::size_t>(tensor.shape[i]);
  struct Sums {
    double x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  };
  std::vector<Sums> sums(channels);
  double all = 0;
  const auto each = static_cast<double>(x->size() / channels);
  for (std::size_t i = 0; i < x->size(); ++i) {
    Sums& sum = sums[i / inner % channels];
    sum.x += (*x)[i] / each;
    sum.y += (*y)[i] / each;
    all += (*y)[i] * (*y)[i];
  }
  // About the means: what shifts a channel gives it no factor.
  for (std::size_t i = 0; i < x->size(); ++i) {
    Sums& sum = sums[i / inner % channels];
    const double a = (*x)[i] - sum.x, b = (*y)[i] - sum.y;
    sum.xx += a * a;
    sum.xy += a * b;
    sum.yy += b * b;
  }
  ChannelGain odd{0, channels, axis};
  std::vector<double> off;
  double most = -1, noise = 0;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const Sums& sum = sums[channel];
    if (!(sum.yy > kFaint * all / static_cast<double>(channels)) || !std::isfinite(sum.xx)) continue;
    const double times = sum.xy / sum.yy;
    off.push_back(std::fabs(times - 1));
    if (off.back() <= most) continue;
    most = off.back();
    odd.channel = channel;
    odd.times = times;
    noise = std::sqrt(std::max(0.0, sum.xx / sum.yy - times * times));
  }
  if (off.size() < kFewest) return std::nullopt;
  std::nth_element(off.begin(), off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2), off.end());
  const double usual = std::max(off[off.size() / 2], 1e-3);
  if (most < kOfOthers * usual || most < kOfNoise * noise) return std::nullopt;
  return odd;
}

compare::ComparedArray array_of(const compare::ElementSource& source, DType dtype) {
  return {.source = &source,
          .dtype = dtype,
          .item_bits = info(dtype).bits,
          .to_floats = to_floats(dtype),
          .to_pairs = pair_reader(dtype)};
}

/// What outputs without a format are taken as where their dims do not tell: what those are that tell, if all agree.
std::optional<AssumedFormats> usual_formats(const DumpSide& mine, const DumpSide& golden,
                                            const TensorPairs& pairs) {
  std::optional<AssumedFormats> usual;
  for (const TensorPair& pair : pairs) {
    if (!pair.mine || !pair.golden) continue;
    const DumpTensor& x = mine.tensors[*pair.mine];
    if (!x.is_output) continue;
    const DumpTensor& y = golden.tensors[*pair.golden];
    const std::optional<AssumedFormats> formats = assumed_formats(x, y);
    if (!formats && !keeps_order(x, y)) continue;
    if (!formats || (usual && *usual != *formats)) return std::nullopt;
    usual = formats;
  }
  return usual;
}

/// Whether the scales of `tensor` lie along its dims as they are compared.
bool OpenPair::open_real(const DumpTensor& tensor, const ElementOrder& order, Side& side) {
  const bool anywhere = is_uniform(*tensor.quant);
  side.real.emplace(side.stored, *tensor.quant, tensor.dtype, anywhere ? Shape{} : Shape(order.shape));
  return side.real->fits() && (anywhere || !order.relayout);
}

bool OpenPair::failed() {
  for (Side& side : sides_) {
    if (side.stored.failed()) problem_ = side.stored.error();
  }
  return !problem_.empty();
}

bool OpenPair::open_side(std::size_t i, const DumpSide& dump, const DumpTensor& tensor,
                         const ElementOrder& order) {
  Side& side = sides_[i];
  if (!side.stored.open(dump, tensor, order.relayout)) {
    problem_ = side.stored.error();
    return false;
  }
  arrays_[i] = array_of(side.stored, tensor.dtype);
  if (tensor.quant == nullptr) return true;
  if (open_real(tensor, order, side)) {
    arrays_[i] = array_of(*side.real, side.real->dtype());
    if (i == 0) mine_is_real_ = true;
  } else {
    remark_ = "the scales of the card do not fit the shape";
  }
  return true;
}

}  // namespace opdump::tool
