#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/impl/format/relayout.hpp"
#include "opdump/port/device_copy.hpp"
#include "opdump/port/device_memory.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The framework's format of a tensor in a format of the device, when the runtime does not say: msaccucmp's
/// choice, and NCDHW for five dims.
constexpr Format framework_format(Format device_format, std::size_t original_rank) {
  if (device_format == Format::fractal_nz) return Format::nd;
  return original_rank == 4 ? Format::nchw : original_rank == 5 ? Format::ncdhw : Format::nd;
}

/// Restores tensors of every format that Relayout knows, by their original shape: for the recorders of slots
/// 0 to `kRecorders` - 1, with memory of about 1 KiB and `kBoxBytes` each, whatever the size of the tensor.
/// `kBoxBytes` must hold a block of the format: up to 4096 bytes for elements of 16 bytes.
///
/// Left as they are: all with OPDUMP_SMALL_CODE; tensors without an original shape or with one that does not
/// fit, elements below a byte, weights in groups, blocks larger than `kBoxBytes`. The elements keep their
/// dtype.
///
/// The device's memory is read in runs, and in parts more than once: where an axis that is split into blocks
/// goes before others, as in NC1HWC0, each element comes as often as its block has elements unless the box
/// holds a whole row of blocks.
template <class Memory, std::size_t kRecorders = 1, std::size_t kBoxBytes = 32 * 1024>
class FormatRestorer final : public Restorer {
 public:
  explicit FormatRestorer(Memory& memory) : memory_(memory) {}
  FormatRestorer(const FormatRestorer&) = delete;
  FormatRestorer& operator=(const FormatRestorer&) = delete;

  bool restore(std::size_t slot, TensorView& tensor) override {
    return slot < kRecorders && slots_[slot].restore(memory_, tensor);
  }

 private:
  class Slot final : public RestoredElements {
   public:
    bool restore(Memory& memory, TensorView& tensor) {
      if (OPDUMP_SMALL_CODE != 0) return false;
      const std::uint32_t bits = codes_of(tensor.dtype).bits;
      if (bits == 0 || bits % 8 != 0 || is_framework_format(tensor.format) || tensor.original_shape.empty())
        return false;
      const Format to = is_framework_format(tensor.original_format)
                            ? tensor.original_format
                            : framework_format(tensor.format, tensor.original_shape.size());
      item_bytes_ = bits / 8;
      const RelayoutRequest request = {.from = tensor.format,
                                       .to = to,
                                       .shape = tensor.shape,
                                       .logical = tensor.original_shape,
                                       .logical_format = to,
                                       .item_bytes = item_bytes_};
      if (relayout_.plan(request) != Status::ok || relayout_.source_elements() > tensor.bytes / item_bytes_ ||
          relayout_.piece(0, 1, 1).box_elements > kBoxBytes / item_bytes_)
        return false;
      memory_ = &memory;
      tensor.format = to;
      tensor.shape = relayout_.dims();
      tensor.bytes = relayout_.elements() * item_bytes_;
      set_restored_elements(tensor, this);
      return true;
    }

    Status copy(const TensorView& tensor, std::uint64_t at, MutableBytes to) override {
      std::uint64_t next = at / item_bytes_;
      for (MutableBytes rest = to; !rest.empty();) {
        const Relayout::Piece piece =
            relayout_.piece(next, rest.size() / item_bytes_, kBoxBytes / item_bytes_);
        if (const Status status = fill_box(tensor.address, piece); status != Status::ok) return status;
        relayout_.convert(piece, box_, rest.data());
        next += piece.elements;
        rest = rest.subspan(static_cast<std::size_t>(piece.elements * item_bytes_));
      }
      to_little_endian(to, tensor.dtype);
      return Status::ok;
    }

   private:
    Status fill_box(Address address, const Relayout::Piece& piece) {
      Status status = Status::ok;
      std::byte* end = box_;
      relayout_.for_each_run(piece, [&](std::uint64_t first, std::uint64_t count) {
        const std::size_t bytes = static_cast<std::size_t>(count * item_bytes_);
        if (status == Status::ok) status = copy_pieces(*memory_, address + first * item_bytes_, {end, bytes});
        end += bytes;
      });
      return status;
    }

    Memory* memory_ = nullptr;
    Relayout relayout_;
    std::uint32_t item_bytes_ = 1;
    alignas(16) std::byte box_[kBoxBytes];
  };

  Memory& memory_;
  Slot slots_[kRecorders];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
