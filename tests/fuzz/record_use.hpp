#pragma once
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "opdump/format/relayout.hpp"
#include "opdump/read/record_tensor.hpp"
#include "opdump/types/format.hpp"
#include "src/tool/read/dump/npy_array.hpp"

namespace opdump::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

/// Rearranges in pieces, with no more memory than the tensor claims to have.
inline void rearrange(const RecordTensor& tensor, Format to, std::uint32_t item_bytes) {
  constexpr std::uint64_t kMost = 1 << 14;
  RelayoutRequest request = {.from = tensor.format, .to = to, .shape = tensor.shape()};
  request.logical = tensor.original_shape();
  request.logical_format = tensor.original_format;
  request.groups = static_cast<std::uint32_t>(std::clamp(tensor.sub_format, 1, 64));
  request.item_bytes = item_bytes;
  Relayout relayout;
  if (relayout.plan(request) != Status::ok || relayout.source_elements() > kMost ||
      relayout.elements() > kMost)
    return;
  std::vector<std::byte> result(relayout.elements() * item_bytes);
  for (std::uint64_t done = 0; done < relayout.elements();) {
    const Relayout::Piece piece = relayout.piece(done, 100, 1000);
    require(piece.elements != 0 && piece.elements <= relayout.elements() - done);
    std::uint64_t there = 0;
    relayout.for_each_run(piece, [&](std::uint64_t first, std::uint64_t count) {
      require(first + count <= relayout.source_elements());
      there += count;
    });
    require(there == piece.box_elements);
    const std::vector<std::byte> box(piece.box_elements * item_bytes);
    relayout.convert(piece, box.data(), result.data() + done * item_bytes);
    done += piece.elements;
  }
}

/// What the tool does with a tensor before it reads its bytes.
inline void use(const RecordTensor& tensor, std::uint64_t file_bytes) {
  require(tensor.data_offset <= file_bytes && tensor.bytes <= file_bytes - tensor.data_offset);
  require(tensor.rank <= kMaxRank && tensor.original_rank <= kMaxRank);
  tool::NpyArray array;
  std::string reason;
  if (!tool::describe_array(tensor, false, array, reason)) {
    require(!reason.empty());
    return;
  }
  require(array.source_bytes() <= tensor.bytes || array.elements == 0);
  for (const FormatAxes& known : kFormatAxes) rearrange(tensor, known.format, array.item_bytes);
  rearrange(tensor, Format::nd, array.item_bytes);
}

}  // namespace opdump::fuzz
