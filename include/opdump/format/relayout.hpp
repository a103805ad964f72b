#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/types/format.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What a Relayout is asked to do; `plan` refers to it only during the call.
struct RelayoutRequest {
  Format from = Format::nd;
  Format to = Format::nd;
  Shape shape{};  ///< in memory, in the order of `from`

  /// Dims without padding, in the order of the first of these formats in which they fit `shape`:
  /// `logical_format`, `to`, `from`, any other. If they fit in none, they are taken in the order of `to`, and
  /// more than padding may be cut off. Empty: padding is unknown, and nothing is cut off.
  Shape logical{};
  Format logical_format = Format::nd;

  bool in_order_of_to = false;   ///< no other order is tried for `logical`
  std::uint32_t groups = 1;      ///< of a convolution's weights in FRACTAL_Z
  std::uint32_t item_bytes = 2;  ///< 1, 2, 4, 8 or 16
};

/// Rearranges a tensor's elements from one memory format into another: takes blocks apart or makes them, moves axes,
/// cuts padding off or fills it with zeros. Takes every pair of formats of kFormatAxes with the same axes, and the
/// matrix format with ND and with every plain format, whose dims then are ND's. The blocks it makes have 16 elements,
/// or 32 if an element is one byte (FRACTAL_Z always 16, NC1HWC0_C04 4). Fixed size, no heap. Makes the result from
/// the front, in pieces of any size, so that neither side needs to be in memory as a whole.
///
///     Relayout relayout;
///     Status status = relayout.plan(request);
///     for (std::uint64_t done = 0; done < relayout.elements(); done += piece.elements) {
///       piece = relayout.piece(done, most_elements, most_box_elements);
///       relayout.for_each_run(piece, [&](std::uint64_t first, std::uint64_t count) { append these to box });
///       relayout.convert(piece, box, to);
///     }
///
/// Source of the formats: CANN's documents; of groups: the formula of CANN's weight conversion.
class Relayout {
 public:
  static constexpr std::size_t kMaxParts = 8;

  /// Consecutive elements of the result, and the box of source elements that they are made from.
  struct Piece {
    std::uint64_t first = 0;
    std::uint64_t elements = 0;
    std::uint64_t box_elements = 0;      ///< 0: the piece is padding only
    std::array<Dim, kMaxParts> low{};    ///< where the box starts, for each part of the source
    std::array<Dim, kMaxParts> count{};  ///< how far it reaches
  };

  /// `not_supported` for a pair of formats that this class does not take, `malformed` when the dims contradict the
  /// formats or each other or one of them is 0, `too_large` past 64 bits. Unless `ok`, the object must not be used.
  [[nodiscard]] Status plan(const RelayoutRequest& request);

  /// Dims of the result; refers to this object.
  Shape dims() const { return {dims_.data(), rank_}; }
  std::uint64_t elements() const { return elements_; }
  std::uint64_t source_elements() const { return source_elements_; }

  /// The next piece of the result: at most `most` elements from a box of at most `most_box` elements. A piece has at
  /// least one element, and its box may then be a whole block. With groups the box is always the whole source.
  Piece piece(std::uint64_t first, std::uint64_t most, std::uint64_t most_box) const;

  /// Calls `use(first, count)` for the runs of source elements that form the box, in order.
  template <class Use>
  void for_each_run(const Piece& piece, Use use) const;

  /// Makes the piece from its box. Both are packed, with the item size of the plan.
  void convert(const Piece& piece, const std::byte* box, std::byte* to) const;

 private:
  static constexpr std::size_t kMaxAxes = 6;

  struct Axis {
    char letter = 0;
    Dim extent = 1;        ///< without padding
    Dim source_block = 0;  ///< 0: not split
    Dim result_block = 0;
  };

  /// One dim of memory; the first dim of FRACTAL_Z is split into parts.
  struct Part {
    std::uint8_t axis = 0;
    bool inner = false;
    Dim size = 1;
  };

  struct Layout {
    std::array<Part, kMaxParts> parts{};
    std::size_t count = 0;
  };

  struct Range {
    Dim low = 0;
    Dim high = 0;  ///< the last one
  };

  struct Groups {
    std::uint32_t count = 1;
    Dim joined = 1;  ///< groups that share blocks
    Dim n = 0;       ///< of one group
    Dim c = 0;
    bool to_blocks = false;
  };

  using Places = std::array<Dim, kMaxParts>;

  Status plan_axes(const RelayoutRequest& request);
  Status plan_matrix(const RelayoutRequest& request);
  Status finish();
  bool set_axes(std::string_view from, std::string_view to);
  bool find_order(const RelayoutRequest& request, std::string_view from, std::string_view& order);
  bool try_order(const RelayoutRequest& request, std::string_view from, std::string_view order, bool exact);
  bool set_source(std::string_view from, Shape shape);
  bool set_groups(const RelayoutRequest& request, bool to_blocks);
  void set_blocks(Format to);
  void set_result(std::string_view to);
  void set_dims(std::string_view to);
  void join_axes();

  std::size_t axis_of(char letter) const;
  Dim padded(std::size_t axis) const;
  Dim step(std::size_t result_part) const;
  void set_box(Piece& piece, const Places& start, std::size_t level, Dim rows) const;
  void convert_row(const Piece& piece, const Places& at, Dim count, const std::byte* box,
                   std::byte* to) const;
  void convert_grouped(const Piece& piece, const std::byte* source, std::byte* to) const;

  std::array<Axis, kMaxAxes> axes_{};
  std::size_t axis_count_ = 0;
  Layout from_{};
  Layout to_{};
  Groups groups_{};
  std::array<Dim, kMaxRank> dims_{};
  std::size_t rank_ = 0;
  std::uint64_t elements_ = 0;
  std::uint64_t source_elements_ = 0;
  std::uint32_t item_bytes_ = 0;
};

template <class Use>
void Relayout::for_each_run(const Piece& piece, Use use) const {
  if (piece.box_elements == 0) return;
  // Innermost parts that lie whole in the box form one run with the part before them.
  std::size_t outer = from_.count;
  std::uint64_t run = 1;
  while (outer > 0) {
    --outer;
    run *= piece.count[outer];
    if (piece.count[outer] != from_.parts[outer].size) break;
  }
  Places strides{};
  std::uint64_t stride = 1;
  for (std::size_t i = from_.count; i-- != 0;) {
    strides[i] = stride;
    stride *= from_.parts[i].size;
  }
  for (Places at{};;) {
    std::uint64_t first = 0;
    for (std::size_t i = 0; i < from_.count; ++i) first += (piece.low[i] + at[i]) * strides[i];
    use(first, run);
    std::size_t part = outer;
    for (; part != 0; --part) {
      if (++at[part - 1] < piece.count[part - 1]) break;
      at[part - 1] = 0;
    }
    if (part == 0) return;
  }
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
