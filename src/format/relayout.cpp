#include "opdump/format/relayout.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "opdump/types/format.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr Dim kBlock = 16;

char capital(char letter) {
  return letter >= 'a' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

bool has(std::string_view axes, char letter) {
  return axes.find(letter) != std::string_view::npos;
}

bool is_inner(char letter) {
  return letter >= 'a';
}

bool is_fractal_z(std::string_view axes) {
  return axes.ends_with("Nnc");
}

Dim blocks(Dim extent, Dim block) {
  return (extent + block - 1) / block;
}

/// Places axes of a shape that may lack trailing dims, which are 1.
Dim dim_or_one(Shape shape, std::size_t i) {
  return i < shape.size() ? shape[i] : 1;
}

template <std::size_t kBytes>
void gather(const std::byte* from, Dim stride, Dim count, std::byte* to) {
  for (Dim i = 0; i < count; ++i) std::memcpy(to + i * kBytes, from + i * stride * kBytes, kBytes);
}

/// `stride` in items.
void copy_items(const std::byte* from, Dim stride, Dim count, std::uint32_t item_bytes, std::byte* to) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count * item_bytes));
    return;
  }
  switch (item_bytes) {
    case 1:
      return gather<1>(from, stride, count, to);
    case 2:
      return gather<2>(from, stride, count, to);
    case 4:
      return gather<4>(from, stride, count, to);
    case 8:
      return gather<8>(from, stride, count, to);
    default:
      return gather<16>(from, stride, count, to);
  }
}

}  // namespace

std::size_t Relayout::axis_of(char letter) const {
  std::size_t i = 0;
  while (i < axis_count_ && axes_[i].letter != capital(letter)) ++i;
  return i;
}

Status Relayout::plan(const RelayoutRequest& request) {
  *this = Relayout();
  item_bytes_ = request.item_bytes;
  if (request.item_bytes == 0 || request.item_bytes > 16 ||
      (request.item_bytes & (request.item_bytes - 1)) != 0)
    return Status::invalid_argument;
  const Result<std::uint64_t> count = element_count(request.shape);
  if (!count.ok()) return count.status();
  if (count.value() > UINT64_MAX / request.item_bytes) return Status::too_large;
  if (count.value() == 0 || request.shape.size() > kMaxRank) return Status::malformed;
  source_elements_ = count.value();
  const bool matrix = request.from == Format::fractal_nz || request.to == Format::fractal_nz;
  return matrix ? plan_matrix(request) : plan_axes(request);
}

bool Relayout::set_axes(std::string_view from, std::string_view to) {
  for (const char letter : from) {
    if (is_inner(letter)) continue;
    if (!has(to, letter)) return false;
    axes_[axis_count_++].letter = letter;
  }
  const auto all_known = [this](char letter) { return axis_of(letter) != axis_count_; };
  return std::all_of(to.begin(), to.end(), all_known);
}

Status Relayout::plan_matrix(const RelayoutRequest& request) {
  const bool from_blocks = request.from == Format::fractal_nz;
  const Format plain = from_blocks ? request.to : request.from;
  if (plain != Format::nd && (axes_of(plain).empty() || !is_plain(axes_of(plain))))
    return Status::not_supported;
  const std::string_view from = from_blocks ? axes_of(Format::fractal_nz) : kMatrixAxes;
  const std::string_view to = from_blocks ? kMatrixAxes : axes_of(Format::fractal_nz);
  if (!set_axes(from, to)) return Status::not_supported;

  // Rows, columns, and everything before them as one axis.
  const Shape shape = request.shape;
  const std::size_t tail = from_blocks ? 4 : std::min<std::size_t>(shape.size(), 2);
  if (shape.size() < tail || shape.empty()) return Status::malformed;
  const Shape leading = shape.first(shape.size() - tail);
  Dim parts[6] = {};
  parts[0] = element_count(leading).value();
  std::copy(shape.end() - static_cast<std::ptrdiff_t>(tail), shape.end(), parts + (from.size() - tail));
  if (tail == 1) parts[1] = 1;
  if (!set_source(from, {parts, from.size()})) return Status::malformed;

  const Shape logical = from_blocks ? request.logical : shape;
  if (logical.empty()) {
    for (std::size_t i = 0; i < axis_count_; ++i) axes_[i].extent = padded(i);
    rank_ = leading.size() + 2;
    std::copy(leading.begin(), leading.end(), dims_.begin());
    dims_[rank_ - 2] = axes_[axis_of('A')].extent;
    dims_[rank_ - 1] = axes_[axis_of('B')].extent;
  } else {
    const std::size_t inside = std::min<std::size_t>(logical.size(), 2);
    if (!std::ranges::equal(leading, logical.first(logical.size() - inside))) return Status::malformed;
    axes_[axis_of('L')].extent = parts[0];
    axes_[axis_of('A')].extent = inside == 2 ? logical[logical.size() - 2] : 1;
    axes_[axis_of('B')].extent = logical.back();
    for (std::size_t i = 0; i < axis_count_; ++i) {
      if (axes_[i].extent == 0 || axes_[i].extent > padded(i)) return Status::malformed;
    }
    rank_ = logical.size();
    std::copy(logical.begin(), logical.end(), dims_.begin());
  }
  set_blocks(request.to);
  set_result(to);
  if (!from_blocks) {
    rank_ = leading.size() + 4;
    if (rank_ > kMaxRank) return Status::malformed;
    std::copy(leading.begin(), leading.end(), dims_.begin());
    for (std::size_t i = 0; i < 4; ++i) dims_[leading.size() + i] = to_.parts[i + 1].size;
  }
  return finish();
}

Status Relayout::plan_axes(const RelayoutRequest& request) {
  const std::string_view from = axes_of(request.from);
  std::string_view to = axes_of(request.to);
  if (from.empty() || (to.empty() && request.to != Format::nd)) return Status::not_supported;
  // FRACTAL_Z has one dim for all parts before the N.
  const std::size_t rank = is_fractal_z(from) ? 4 : from.size();
  if (request.shape.size() != rank) return Status::malformed;
  if (!set_axes(from, to.empty() ? from : to)) return Status::not_supported;
  std::string_view order = to;
  if (!find_order(request, from, order)) return Status::malformed;
  if (to.empty()) to = order;
  if (request.groups > 1 && is_fractal_z(to) && !is_fractal_z(from) && !set_groups(request, true))
    return Status::malformed;
  set_blocks(request.to);
  set_result(to);
  set_dims(to);
  return finish();
}

bool Relayout::find_order(const RelayoutRequest& request, std::string_view from, std::string_view& order) {
  const std::string_view to = order;
  const std::string_view fallback = is_plain(to) && !to.empty() ? to : from;
  if (request.logical.empty()) {
    if (is_fractal_z(from)) return false;
    if (!set_source(from, request.shape)) return false;
    for (std::size_t i = 0; i < axis_count_; ++i) axes_[i].extent = padded(i);
    // ND of a blocked format: its axes in their order, each whole.
    order = is_plain(from) ? from : axis_count_ == 5 ? axes_of(Format::ncdhw) : axes_of(Format::nchw);
    return true;
  }
  const auto attempt = [&](std::string_view axes, bool exact) {
    if (axes.empty() || !is_plain(axes) || !try_order(request, from, axes, exact)) return false;
    order = axes;
    return true;
  };
  if (!request.in_order_of_to) {
    for (const std::string_view axes : {axes_of(request.logical_format), to, from}) {
      if (attempt(axes, true)) return true;
    }
    for (const FormatAxes& known : kFormatAxes) {
      if (attempt(known.axes, true)) return true;
    }
  }
  if (attempt(fallback, false)) return true;
  return !request.in_order_of_to &&
         attempt(axis_count_ == 5 ? axes_of(Format::ncdhw) : axes_of(Format::nchw), false);
}

bool Relayout::try_order(const RelayoutRequest& request, std::string_view from, std::string_view order,
                         bool exact) {
  if (order.size() != axis_count_ || request.logical.size() > order.size()) return false;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t axis = axis_of(order[i]);
    if (axis == axis_count_) return false;
    axes_[axis].extent = dim_or_one(request.logical, i);
    if (axes_[axis].extent == 0) return false;
  }
  if (request.groups > 1 && is_fractal_z(from) && !is_fractal_z(axes_of(request.to)))
    return set_groups(request, false);
  if (!set_source(from, request.shape)) return false;
  for (std::size_t i = 0; i < axis_count_; ++i) {
    const Dim most = padded(i);
    const Dim least = exact ? most - std::max<Dim>(axes_[i].source_block, 1) + 1 : 1;
    if (axes_[i].extent < least || axes_[i].extent > most) return false;
  }
  return true;
}

bool Relayout::set_source(std::string_view from, Shape shape) {
  from_ = {};
  from_.count = from.size();
  std::size_t next = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    Part& part = from_.parts[i];
    part.axis = static_cast<std::uint8_t>(axis_of(from[i]));
    part.inner = is_inner(from[i]);
    if (is_fractal_z(from) && i < from.size() - 3) {
      // The blocks of C are what the other parts leave over.
      if (from[i] == 'C') {
        part.size = shape[0];
        for (const char letter : {'D', 'H', 'W'}) {
          const std::size_t axis = axis_of(letter);
          if (axis == axis_count_) continue;
          if (part.size % axes_[axis].extent != 0) return false;
          part.size /= axes_[axis].extent;
        }
      } else {
        part.size = axes_[part.axis].extent;
      }
      next = 1;
      continue;
    }
    part.size = shape[next++];
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from_.parts[i].inner) axes_[from_.parts[i].axis].source_block = from_.parts[i].size;
  }
  return true;
}

Dim Relayout::padded(std::size_t axis) const {
  Dim size = 1;
  for (std::size_t i = 0; i < from_.count; ++i) {
    if (from_.parts[i].axis == axis) size *= from_.parts[i].size;
  }
  return size;
}

void Relayout::set_blocks(Format to) {
  const std::string_view axes = axes_of(to);
  const bool always_16 = is_fractal_z(axes);
  for (const char letter : axes) {
    if (!is_inner(letter)) continue;
    Dim block = item_bytes_ == 1 && (letter == 'c' || letter == 'b') && !always_16 ? 2 * kBlock : kBlock;
    if (to == Format::nc1hwc0_c04) block = 4;
    axes_[axis_of(letter)].result_block = block;
  }
}

/// The usual way to share blocks among groups: as many side by side as fill whole blocks of both axes.
bool Relayout::set_groups(const RelayoutRequest& request, bool to_blocks) {
  Axis& n = axes_[axis_of('N')];
  Axis& c = axes_[axis_of('C')];
  groups_.count = request.groups;
  groups_.to_blocks = to_blocks;
  if (!is_plain(axes_of(to_blocks ? request.from : request.to))) return false;
  if (axis_count_ != 4 || n.extent % groups_.count != 0) return false;
  groups_.n = n.extent / groups_.count;
  groups_.c = c.extent;
  if (groups_.n > UINT32_MAX || groups_.c > UINT32_MAX) return false;
  groups_.joined = std::min<Dim>(
      std::lcm(std::lcm(groups_.c, kBlock) / groups_.c, std::lcm(groups_.n, kBlock) / groups_.n),
      groups_.count);
  if (to_blocks) return true;
  from_ = {.count = 1};
  from_.parts[0].size = source_elements_;
  const Dim rows = axes_[axis_of('H')].extent * axes_[axis_of('W')].extent;
  const Dim c_blocks = blocks(groups_.joined * groups_.c, kBlock);
  return request.shape[0] == blocks(groups_.count, groups_.joined) * c_blocks * rows &&
         request.shape[1] == blocks(groups_.joined * groups_.n, kBlock) && request.shape[2] == kBlock &&
         request.shape[3] == kBlock;
}

void Relayout::set_result(std::string_view to) {
  to_ = {};
  to_.count = to.size();
  for (std::size_t i = 0; i < to.size(); ++i) {
    Part& part = to_.parts[i];
    part.axis = static_cast<std::uint8_t>(axis_of(to[i]));
    part.inner = is_inner(to[i]);
    const Axis& axis = axes_[part.axis];
    part.size = part.inner               ? axis.result_block
                : axis.result_block != 0 ? blocks(axis.extent, axis.result_block)
                                         : axis.extent;
  }
  if (groups_.count > 1 && groups_.to_blocks) {
    to_.parts[0].size = blocks(groups_.count, groups_.joined) * blocks(groups_.joined * groups_.c, kBlock);
    to_.parts[3].size = blocks(groups_.joined * groups_.n, kBlock);
  }
}

void Relayout::set_dims(std::string_view to) {
  rank_ = 0;
  for (std::size_t i = 0; i < to_.count; ++i) dims_[rank_++] = to_.parts[i].size;
  if (!is_fractal_z(to)) return;
  const std::size_t joined = to.size() - 3;
  for (std::size_t i = 1; i < joined; ++i) dims_[0] *= dims_[i];
  for (std::size_t i = 0; i < 3; ++i) dims_[1 + i] = to_.parts[joined + i].size;
  rank_ = 4;
}

Status Relayout::finish() {
  std::array<Dim, kMaxParts> sizes{};
  for (std::size_t i = 0; i < to_.count; ++i) sizes[i] = to_.parts[i].size;
  const Result<std::uint64_t> count = element_count({sizes.data(), to_.count});
  if (!count.ok() || count.value() > UINT64_MAX / item_bytes_) return Status::too_large;
  elements_ = count.value();
  if (groups_.count == 1) join_axes();
  return Status::ok;
}

/// Axes that follow each other on both sides and have no padding become one, so that rows get longer.
void Relayout::join_axes() {
  const auto whole = [this](const Part& part) {
    return axes_[part.axis].source_block == 0 && axes_[part.axis].result_block == 0;
  };
  const auto remove = [](Layout& layout, std::size_t i) {
    std::copy(layout.parts.begin() + static_cast<std::ptrdiff_t>(i) + 1,
              layout.parts.begin() + static_cast<std::ptrdiff_t>(layout.count),
              layout.parts.begin() + static_cast<std::ptrdiff_t>(i));
    --layout.count;
  };
  for (std::size_t i = 0; i + 1 < from_.count;) {
    const Part& first = from_.parts[i];
    const Part& second = from_.parts[i + 1];
    std::size_t j = 0;
    while (j < to_.count && to_.parts[j].axis != first.axis) ++j;
    if (!whole(first) || !whole(second) || j + 1 >= to_.count || to_.parts[j + 1].axis != second.axis ||
        second.size != axes_[second.axis].extent) {
      ++i;
      continue;
    }
    axes_[first.axis].extent *= axes_[second.axis].extent;
    to_.parts[j].size *= to_.parts[j + 1].size;
    from_.parts[i].size *= second.size;
    remove(from_, i + 1);
    remove(to_, j + 1);
  }
}

/// How far the index of a part's axis goes when the part's place goes one further.
Dim Relayout::step(std::size_t result_part) const {
  const Part& part = to_.parts[result_part];
  const Axis& axis = axes_[part.axis];
  return part.inner || axis.result_block == 0 ? 1 : axis.result_block;
}

void Relayout::set_box(Piece& piece, const Places& start, std::size_t level, Dim rows) const {
  std::array<Range, kMaxAxes> ranges{};
  for (std::size_t i = 0; i < to_.count; ++i) {
    Range& range = ranges[to_.parts[i].axis];
    const Dim low = i <= level ? start[i] : 0;
    const Dim high = i < level ? start[i] : i == level ? start[i] + rows - 1 : to_.parts[i].size - 1;
    range.low += low * step(i);
    range.high += high * step(i);
  }
  piece.box_elements = 1;
  for (std::size_t i = 0; i < from_.count; ++i) {
    const Part& part = from_.parts[i];
    const Axis& axis = axes_[part.axis];
    Range range = ranges[part.axis];
    if (range.low >= axis.extent) {
      piece.box_elements = 0;
      return;
    }
    range.high = std::min(range.high, axis.extent - 1);
    if (axis.source_block != 0) {
      const Range block = {range.low / axis.source_block, range.high / axis.source_block};
      // The whole block, as its elements lie side by side and make longer runs.
      range = part.inner ? Range{0, axis.source_block - 1} : block;
    }
    piece.low[i] = range.low;
    piece.count[i] = range.high - range.low + 1;
    piece.box_elements *= piece.count[i];
  }
}

Relayout::Piece Relayout::piece(std::uint64_t first, std::uint64_t most, std::uint64_t most_box) const {
  Piece piece;
  piece.first = first;
  if (groups_.count > 1) {
    piece.elements = std::min(most, elements_ - first);
    piece.box_elements = source_elements_;
    for (std::size_t i = 0; i < from_.count; ++i) piece.count[i] = from_.parts[i].size;
    return piece;
  }
  Places start{};
  std::uint64_t inside = elements_;
  std::uint64_t rest = first;
  std::size_t level = to_.count - 1;
  for (std::size_t i = 0; i < to_.count; ++i) {
    inside /= to_.parts[i].size;
    start[i] = rest / inside;
    rest %= inside;
    if (rest == 0) level = std::min(level, i);
  }
  for (;; ++level) {
    std::uint64_t row = 1;
    for (std::size_t i = level + 1; i < to_.count; ++i) row *= to_.parts[i].size;
    const bool last = level + 1 == to_.count;
    Dim rows = std::min<Dim>(most / row, to_.parts[level].size - start[level]);
    if (rows == 0 && !last) continue;
    rows = std::max<Dim>(rows, 1);
    // Up to the end of a block, so that as few as can be are fetched twice.
    const Dim block = axes_[to_.parts[level].axis].source_block;
    if (block > 1 && step(level) == 1) {
      const Dim end = (start[level] + rows) / block * block;
      if (end > start[level]) rows = end - start[level];
    }
    for (set_box(piece, start, level, rows); piece.box_elements > most_box && rows > 1;) {
      rows = rows / 2;
      set_box(piece, start, level, rows);
    }
    if (piece.box_elements > most_box && !last) continue;
    piece.elements = rows * row;
    return piece;
  }
}

void Relayout::convert(const Piece& piece, const std::byte* box, std::byte* to) const {
  if (groups_.count > 1) return convert_grouped(piece, box, to);
  if (piece.box_elements == 0) {
    std::memset(to, 0, static_cast<std::size_t>(piece.elements * item_bytes_));
    return;
  }
  Places at{};
  std::uint64_t inside = elements_;
  std::uint64_t rest = piece.first;
  for (std::size_t i = 0; i < to_.count; ++i) {
    inside /= to_.parts[i].size;
    at[i] = rest / inside;
    rest %= inside;
  }
  const std::size_t last = to_.count - 1;
  for (std::uint64_t left = piece.elements; left != 0;) {
    const Dim count = std::min<std::uint64_t>(left, to_.parts[last].size - at[last]);
    convert_row(piece, at, count, box, to);
    to += count * item_bytes_;
    left -= count;
    at[last] += count;
    for (std::size_t i = last; i != 0 && at[i] == to_.parts[i].size; --i) {
      at[i] = 0;
      ++at[i - 1];
    }
  }
}

/// A row lies along the innermost part of the result, whose step is 1.
void Relayout::convert_row(const Piece& piece, const Places& at, Dim count, const std::byte* box,
                           std::byte* to) const {
  std::array<Dim, kMaxAxes> index{};
  for (std::size_t i = 0; i < to_.count; ++i) index[to_.parts[i].axis] += at[i] * step(i);
  const std::size_t along = to_.parts[to_.count - 1].axis;
  Dim valid = index[along] < axes_[along].extent ? std::min(count, axes_[along].extent - index[along]) : 0;
  for (std::size_t i = 0; i < axis_count_; ++i) {
    if (i != along && index[i] >= axes_[i].extent) valid = 0;
  }
  std::memset(to + valid * item_bytes_, 0, static_cast<std::size_t>((count - valid) * item_bytes_));
  if (valid == 0) return;

  Dim offset = 0;
  Dim stride = 1;
  Dim outer_stride = 0;
  Dim inner_stride = 0;
  Dim outer_low = 0;
  Dim inner_low = 0;
  for (std::size_t i = from_.count; i-- != 0;) {
    const Part& part = from_.parts[i];
    const Dim block = axes_[part.axis].source_block;
    if (part.axis == along) {
      (part.inner || block == 0 ? inner_stride : outer_stride) = stride;
      (part.inner || block == 0 ? inner_low : outer_low) = piece.low[i];
    } else {
      const Dim place = block == 0   ? index[part.axis]
                        : part.inner ? index[part.axis] % block
                                     : index[part.axis] / block;
      offset += (place - piece.low[i]) * stride;
    }
    stride *= piece.count[i];
  }
  const Dim block = axes_[along].source_block;
  for (Dim i = index[along]; valid != 0;) {
    const Dim inner = block == 0 ? i : i % block;
    const Dim outer = block == 0 ? 0 : i / block - outer_low;
    const Dim now = block == 0 ? valid : std::min(valid, block - inner);
    copy_items(box + (offset + outer * outer_stride + (inner - inner_low) * inner_stride) * item_bytes_,
               inner_stride, now, item_bytes_, to);
    to += now * item_bytes_;
    i += now;
    valid -= now;
  }
}

/// Groups share blocks along a diagonal, so that the places of N and C depend on each other: one element at a
/// time, as weights are small.
void Relayout::convert_grouped(const Piece& piece, const std::byte* source, std::byte* to) const {
  const std::size_t n = axis_of('N');
  const std::size_t c = axis_of('C');
  const Dim c_blocks = blocks(groups_.joined * groups_.c, kBlock);
  const Dim n_blocks = blocks(groups_.joined * groups_.n, kBlock);
  const Dim height = axes_[axis_of('H')].extent;
  const Dim width = axes_[axis_of('W')].extent;
  for (std::uint64_t k = 0; k < piece.elements; ++k, to += item_bytes_) {
    std::array<Dim, kMaxAxes> index{};
    std::uint64_t rest = piece.first + k;
    for (std::size_t i = to_.count; i-- != 0; rest /= to_.parts[i].size)
      index[to_.parts[i].axis] += rest % to_.parts[i].size * step(i);
    Dim offset = 0;
    if (groups_.to_blocks) {
      const Dim join = index[c] / kBlock / c_blocks;
      const Dim joined_c = index[c] - join * c_blocks * kBlock;
      const Dim member = index[n] / groups_.n;
      const Dim group = join * groups_.joined + member;
      if (member >= groups_.joined || group >= groups_.count || joined_c / groups_.c != member) {
        std::memset(to, 0, item_bytes_);
        continue;
      }
      index[n] = group * groups_.n + index[n] % groups_.n;
      index[c] = joined_c % groups_.c;
      for (std::size_t i = 0; i < from_.count; ++i)
        offset = offset * from_.parts[i].size + index[from_.parts[i].axis];
    } else {
      const Dim group = index[n] / groups_.n;
      const Dim member = group % groups_.joined;
      const Dim joined_n = member * groups_.n + index[n] % groups_.n;
      const Dim joined_c = member * groups_.c + index[c];
      offset = group / groups_.joined * c_blocks + joined_c / kBlock;
      offset = (offset * height + index[axis_of('H')]) * width + index[axis_of('W')];
      offset = (offset * n_blocks + joined_n / kBlock) * kBlock + joined_n % kBlock;
      offset = offset * kBlock + joined_c % kBlock;
    }
    std::memcpy(to, source + offset * item_bytes_, item_bytes_);
  }
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
