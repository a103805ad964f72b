#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "src/tool/judge/compare/comparison.hpp"
#include "src/tool/read/dump/block_format.hpp"
#include "src/tool/read/dump/elements.hpp"
#include "src/tool/read/dump/real_numbers.hpp"

namespace opdump::tool {

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

}  // namespace opdump::tool
