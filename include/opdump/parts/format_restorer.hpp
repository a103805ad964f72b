#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "opdump/format/relayout.hpp"
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

/// Restores tensors of every format that Relayout knows and of C1HWNCoC0, by their original shape: for the
/// recorders of slots 0 to `kRecorders` - 1, with memory of about 1 KiB and `kBoxBytes` each, whatever the
/// size of the tensor. `kBoxBytes` must hold a block of the format: up to 4096 bytes for elements of 16
/// bytes. Where the framework has 4 dims, NDC1HWC0 and FRACTAL_Z_3D are taken for one deep.
///
/// Left as they are: all with OPDUMP_SMALL_CODE; tensors without an original shape or with one that does not fit,
/// elements below a byte, weights in groups, blocks larger than `kBoxBytes`. The elements keep their dtype.
///
/// The device's memory is read in runs, and in parts more than once: where an axis that is split into blocks goes
/// before others, as in NC1HWC0, each element comes as often as its block has elements unless the box holds a whole
/// row of blocks. The elements of C1HWNCoC0 are read one by one, from the diagonals of its blocks.
template <class Memory, std::size_t kRecorders = 1, std::size_t kBoxBytes = 32 * 1024>
class FormatRestorer final : public Restorer {
 public:
  explicit FormatRestorer(Memory& memory) : memory_(memory) {}
  FormatRestorer(const FormatRestorer&) = delete;
  FormatRestorer& operator=(const FormatRestorer&) = delete;

  bool restore(std::size_t slot, TensorView& tensor, Format to) override {
    return slot < kRecorders && slots_[slot].restore(memory_, tensor, to);
  }

 private:
  class Slot final : public RestoredElements {
   public:
    bool restore(Memory& memory, TensorView& tensor, Format wanted) {
      if (OPDUMP_SMALL_CODE != 0) return false;
      const std::uint32_t bits = codes_of(tensor.dtype).bits;
      if (bits == 0 || bits % 8 != 0 || is_framework_format(tensor.format) || tensor.original_shape.empty())
        return false;
      const Format own = is_framework_format(tensor.original_format)
                             ? tensor.original_format
                             : framework_format(tensor.format, tensor.original_shape.size());
      // The dims of a matrix stay in their order, which the format must name.
      const bool stays =
          tensor.format == Format::fractal_nz && axes_of(own).size() == tensor.original_shape.size();
      const Format to = wanted == Format::reserved || stays ? own : wanted;
      item_bytes_ = bits / 8;
      const Source source(tensor);
      diagonal_ = source.diagonal;
      const RelayoutRequest request = {.from = source.format,
                                       .to = to,
                                       .shape = source.shape,
                                       .logical = tensor.original_shape,
                                       .logical_format = own,
                                       .item_bytes = item_bytes_};
      if (relayout_.plan(request) != Status::ok ||
          relayout_.source_elements() > tensor.bytes / item_bytes_ / diagonal_ ||
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
    /// What Relayout takes a tensor for.
    struct Source {
      explicit Source(const TensorView& tensor) : format(tensor.format), shape(tensor.shape) {
        const bool one_deep = tensor.original_shape.size() == 4;
        if (format == Format::c1hwncoc0 && shape.size() == 6 && shape[4] == shape[5] && shape[5] != 0) {
          format = Format::c1hwnc0;
          diagonal = shape[5];
          shape = shape.first(5);
        } else if (format == Format::ndc1hwc0 && one_deep && shape.size() == 6 && shape[1] == 1) {
          format = Format::nc1hwc0;
          dims[0] = shape[0];
          std::copy(shape.begin() + 2, shape.end(), dims + 1);
          shape = dims;
        } else if (format == Format::fractal_z_3d && one_deep) {
          format = Format::fractal_z;
        }
      }

      Format format;
      Shape shape;
      Dim diagonal = 1;
      Dim dims[5] = {};
    };

    Status fill_box(Address address, const Relayout::Piece& piece) {
      Status status = Status::ok;
      std::byte* end = box_;
      const auto read = [&](std::uint64_t first, std::uint64_t count) {
        const std::size_t bytes = static_cast<std::size_t>(count * item_bytes_);
        if (status == Status::ok) status = copy_pieces(*memory_, address + first * item_bytes_, {end, bytes});
        end += bytes;
      };
      relayout_.for_each_run(piece, [&](std::uint64_t first, std::uint64_t count) {
        if (diagonal_ == 1) return read(first, count);
        for (std::uint64_t i = first; i < first + count; ++i)
          read(i / diagonal_ * diagonal_ * diagonal_ + i % diagonal_ * (diagonal_ + 1), 1);
      });
      return status;
    }

    Memory* memory_ = nullptr;
    Relayout relayout_;
    std::uint32_t item_bytes_ = 1;
    Dim diagonal_ = 1;  ///< elements of the diagonals that alone are read; 1: all are
    alignas(16) std::byte box_[kBoxBytes];
  };

  Memory& memory_;
  Slot slots_[kRecorders];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
