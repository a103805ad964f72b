#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "src/tool/compare/comparison.hpp"
#include "src/tool/dump/elements.hpp"
#include "src/tool/dump/quantisation.hpp"

namespace opdump::tool {

/// The numbers that the elements of another source stand for, as float32. Refers to the source and to the
/// quantisation. Elements have 8 bits or more.
class DequantisedElements final : public compare::ElementSource {
 public:
  DequantisedElements(const compare::ElementSource& stored, const Quantisation& quant, DType dtype,
                      Shape shape)
      : stored_(stored),
        reals_(quant, dtype, shape),
        read_elements_(element_reader(dtype)),
        item_bytes_(info(dtype).bits / 8) {}

  /// Whether there is a scale for each element. False: nothing can be read.
  bool fits() const { return reals_.fits() && read_elements_ != nullptr && item_bytes_ != 0; }

  const std::byte* read(std::uint64_t offset, std::size_t count, std::byte* buffer) const override {
    constexpr std::size_t kPiece = 512;
    std::uint64_t index = offset / sizeof(float);
    std::byte* to = buffer;
    for (std::size_t left = count / sizeof(float); left != 0;) {
      const std::size_t now = std::min(left, kPiece);
      std::byte room[kPiece * sizeof(double)];
      const std::byte* const from = stored_.read(index * item_bytes_, now * item_bytes_, room);
      if (from == nullptr) return nullptr;
      double numbers[kPiece];
      read_elements_(from, now, numbers);
      for (std::size_t i = 0; i < now; ++i, to += sizeof(float)) {
        const float real = static_cast<float>(reals_.real(numbers[i], index++));
        std::memcpy(to, &real, sizeof real);
      }
      left -= now;
    }
    return buffer;
  }

 private:
  const compare::ElementSource& stored_;
  const RealNumbers reals_;
  const ReadElements read_elements_;
  const std::uint32_t item_bytes_;
};

}  // namespace opdump::tool
