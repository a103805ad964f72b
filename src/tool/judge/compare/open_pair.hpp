#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "opdump/format/relayout.hpp"
#include "src/tool/judge/compare/aligned_pairing.hpp"
#include "src/tool/judge/compare/compare_order.hpp"
#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/judge/compare/comparison.hpp"
#include "src/tool/judge/compare/name_pairing.hpp"
#include "src/tool/read/dump/block_format.hpp"
#include "src/tool/read/dump/elements.hpp"
#include "src/tool/read/dump/mapped_file.hpp"
#include "src/tool/read/dump/real_numbers.hpp"

namespace opdump::tool {

/// The elements of one tensor of a dump: as they lie in its file, gathered from pieces of it, or rearranged
/// by a Relayout, window by window. Takes up to a few MiB for each reading thread, for a tensor of any size.
class CompareElements final : public compare::ElementSource {
 public:
  /// On false `error()` says why.
  bool open(const DumpSide& side, const DumpTensor& tensor, const std::optional<Relayout>& relayout);

  const std::byte* read(std::uint64_t offset, std::size_t count, std::byte* buffer) const override;

  /// Whether bytes could not be read, or the file was cut short meanwhile; `error()` then says so. Call it
  /// while nobody reads.
  bool failed();
  const std::string& error() const { return error_; }

 private:
  struct Window;

  bool gather(const DumpTensor& tensor);
  bool restore(std::uint64_t first, Window& window) const;

  MappedFile file_;
  std::string error_;
  mutable std::mutex failure_mutex_;
  mutable std::string failure_;      ///< the first failure in any thread
  std::vector<std::byte> gathered_;  ///< of a tensor in pieces, or not plain; else empty
  std::optional<Relayout> relayout_;
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint32_t item_bytes_ = 0;
  std::uint64_t number_ = 0;  ///< distinguishes the windows of this opening from those of others
};

/// Reads all elements of a tensor; of quantised ones with one scale the real values count. Nothing when none
/// is finite, or when they cannot be read.
std::optional<ValueRange> value_range(const DumpSide& side, const DumpTensor& tensor);

/// The share of the elements that are the least or the greatest of their integer dtype, without those that
/// stand for 0; nothing of other dtypes, and of what cannot be read.
std::optional<double> share_at_ends(const DumpSide& side, const DumpTensor& tensor);

/// The share of such elements from which golden's are more than a step away: what mine could not hold; or, `at_zero`, of
/// those alone that stand for 0. Nothing also where golden's elements do not lie in the same order.
std::optional<double> clipped_share(const DumpSide& mine, const DumpTensor& tensor, const DumpSide& golden,
                                    const DumpTensor& golden_tensor, bool at_zero);

/// Whether all elements are golden's by another scale or zero point, where both are integers and cards do not tell those
/// of each: mine are so many times golden's and so many more, as far as rounding and the ends of the dtypes let them.
bool is_rescaled(const DumpSide& mine, const DumpTensor& tensor, const DumpSide& golden,
                 const DumpTensor& golden_tensor);

/// A channel of mine that is so many times golden's.
struct ChannelGain {
  std::size_t channel = 0;
  std::size_t channels = 0;
  std::size_t axis = 0;
  double times = 1;
};

/// The channel whose factor to golden's is ten times as far from 1 as that of most others, and five times its own
/// noise. Nothing where there is none, or too little to tell.
std::optional<ChannelGain> odd_channel(const DumpSide& mine, const DumpTensor& tensor, const DumpSide& golden,
                                       const DumpTensor& golden_tensor, std::size_t axis);

/// All elements, as what they stand for; nothing where there are more than `most`, or they cannot be read.
std::optional<std::vector<double>> real_elements(const DumpSide& side, const DumpTensor& tensor,
                                                 std::uint64_t most);

/// The numbers that the elements of another source stand for, as float32, or float64 where elements of more
/// than 16 bits need it. Refers to the source and to the quantisation. Elements have 8 bits or more.
class DequantisedElements final : public compare::ElementSource {
 public:
  DequantisedElements(const compare::ElementSource& stored, const Quantisation& quant, DType dtype,
                      Shape shape)
      : stored_(stored),
        reals_(quant, dtype, shape),
        read_elements_(element_reader(dtype)),
        item_bytes_(info(dtype).bits / 8),
        blocks_(block_format(quant)) {}

  /// Of the numbers.
  DType dtype() const { return item_bytes_ > 2 ? DType::float64 : DType::float32; }

  /// Whether it is known what each element stands for. False: nothing can be read.
  bool fits() const {
    return blocks_ != nullptr ? item_bytes_ == 1
                              : reals_.fits() && read_elements_ != nullptr && item_bytes_ != 0;
  }

  const std::byte* read(std::uint64_t offset, std::size_t count, std::byte* buffer) const override {
    const std::size_t bytes = info(dtype()).bits / 8;
    const std::uint64_t first = offset / bytes;
    const std::size_t elements = count / bytes;
    const bool read = blocks_ != nullptr          ? read_blocks(first, elements, buffer)
                      : dtype() == DType::float64 ? read_each<double>(first, elements, buffer)
                                                  : read_each<float>(first, elements, buffer);
    return read ? buffer : nullptr;
  }

 private:
  template <class Real>
  bool read_each(std::uint64_t index, std::size_t elements, std::byte* to) const {
    constexpr std::size_t kPiece = 512;
    for (std::size_t left = elements; left != 0;) {
      const std::size_t now = std::min(left, kPiece);
      std::byte room[kPiece * sizeof(double)];
      const std::byte* const from = stored_.read(index * item_bytes_, now * item_bytes_, room);
      if (from == nullptr) return false;
      double numbers[kPiece];
      read_elements_(from, now, numbers);
      for (std::size_t i = 0; i < now; ++i, to += sizeof(Real)) {
        const Real real = static_cast<Real>(reals_.real(numbers[i], index++));
        std::memcpy(to, &real, sizeof real);
      }
      left -= now;
    }
    return true;
  }

  bool read_blocks(std::uint64_t index, std::size_t elements, std::byte* to) const {
    while (elements != 0) {
      std::byte room[BlockFormat::kMostBytes];
      const std::byte* const from =
          stored_.read(index / blocks_->elements * blocks_->bytes, blocks_->bytes, room);
      if (from == nullptr) return false;
      float reals[BlockFormat::kMostElements];
      blocks_->decode(from, reals);
      const auto begin = static_cast<std::size_t>(index % blocks_->elements);
      const std::size_t now = std::min(elements, blocks_->elements - begin);
      std::memcpy(to, reals + begin, now * sizeof(float));
      to += now * sizeof(float);
      index += now;
      elements -= now;
    }
    return true;
  }

  const compare::ElementSource& stored_;
  const RealNumbers reals_;
  const ReadElements read_elements_;
  const std::uint32_t item_bytes_;
  const BlockFormat* const blocks_;
};

/// The elements of `source` as a comparison takes them.
compare::ComparedArray array_of(const compare::ElementSource& source, DType dtype);

/// What outputs without a format are taken as where their dims do not tell: what those are that tell, if all agree.
std::optional<AssumedFormats> usual_formats(const DumpSide& mine, const DumpSide& golden,
                                            const TensorPairs& pairs);

/// Two tensors that are read side by side.
class OpenPair {
 public:
  /// On false `problem()` says why; `remark()` may say something either way.
  bool open(const DumpSide& mine, const DumpTensor& x, const DumpSide& golden, const DumpTensor& y,
            const PairOrder& order) {
    return open_side(0, mine, x, order.mine) && open_side(1, golden, y, order.golden);
  }

  const compare::ComparedArray& mine() const { return arrays_[0]; }
  const compare::ComparedArray& golden() const { return arrays_[1]; }
  /// Whether a card says what my elements stand for.
  bool mine_is_real() const { return mine_is_real_; }
  const std::string& problem() const { return problem_; }
  const std::string& remark() const { return remark_; }

  /// Whether a file could not be read meanwhile; `problem()` then says so.
  bool failed();

 private:
  /// One side: its elements, and what they stand for if a card says so.
  struct Side {
    CompareElements stored;
    std::optional<DequantisedElements> real;
  };

  static bool open_real(const DumpTensor& tensor, const ElementOrder& order, Side& side);
  bool open_side(std::size_t i, const DumpSide& dump, const DumpTensor& tensor, const ElementOrder& order);

  Side sides_[2];
  compare::ComparedArray arrays_[2];
  bool mine_is_real_ = false;
  std::string problem_;
  std::string remark_;
};

/// What a floating dtype keeps of a number.
struct FloatRounding {
  int digits = 0;          ///< bits of the fraction
  int least_exponent = 0;  ///< of a normal number
  double most = 0;         ///< the greatest finite number; what rounds beyond it is infinite

  double round(double number) const {
    if (number == 0 || !std::isfinite(number)) return number;
    const double step = std::ldexp(1.0, std::max(std::ilogb(number), least_exponent) - digits);
    const double rounded = std::nearbyint(number / step) * step;
    if (std::fabs(rounded) <= most) return rounded;
    return std::copysign(std::numeric_limits<double>::infinity(), number);
  }

  double rounded(double number, std::uint64_t) const { return round(number); }
};

/// Nothing for float32 and wider ones, and for what is no floating dtype.
inline std::optional<FloatRounding> rounding_of(DType dtype) {
  if (dtype == DType::float16) return FloatRounding{10, -14, 65504};
  if (dtype == DType::bfloat16) return FloatRounding{7, -126, 0x1.fep127};
  return std::nullopt;
}

/// The elements of another array as they are once rounded by `rounding.rounded(number, index)`, as float32.
/// Refers to the array's source.
template <class Rounding>
class RoundedElements final : public compare::ElementSource {
 public:
  RoundedElements(const compare::ComparedArray& array, const Rounding& rounding)
      : array_(array), rounding_(rounding) {}

  const std::byte* read(std::uint64_t offset, std::size_t count, std::byte* buffer) const override {
    constexpr std::size_t kPiece =
        512;  // a multiple of 8, so that pieces of small elements begin with a byte
    constexpr std::size_t kMostBytes = 16;
    std::uint64_t index = offset / sizeof(float);
    std::byte* to = buffer;
    for (std::size_t left = count / sizeof(float); left != 0;) {
      const std::size_t now = std::min(left, kPiece);
      std::byte room[kPiece * kMostBytes];
      const std::byte* const from =
          array_.source->read(index * array_.item_bits / 8, (now * array_.item_bits + 7) / 8, room);
      if (from == nullptr) return nullptr;
      float numbers[kPiece];
      array_.to_floats(from, now, numbers);
      for (std::size_t i = 0; i < now; ++i)
        numbers[i] = static_cast<float>(rounding_.rounded(numbers[i], index + i));
      std::memcpy(to, numbers, now * sizeof(float));
      to += now * sizeof(float);
      index += now;
      left -= now;
    }
    return buffer;
  }

 private:
  const compare::ComparedArray array_;
  const Rounding rounding_;
};

}  // namespace opdump::tool
