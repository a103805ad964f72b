#pragma once
#include <ggml-backend.h>
#include <ggml.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "opdump/attach.hpp"

namespace opdump::ggml {

/// Where the tokens of a step lie in a tensor of ggml: dims as ggml counts them, innermost first, -1:
/// nowhere.
struct TokenAxis {
  int token = -1;
  int head = -1;
  int cell = -1;                     ///< of a KV cache
  std::vector<std::int64_t> rows{};  ///< which of the step's tokens each entry is of, or the cells filled
  bool is_selection = false;         ///< `rows` counts, and not every token has an entry
  bool grows = false;                ///< another dim is as long as the cache

  bool tells() const { return token >= 0 || head >= 0 || cell >= 0; }
};

/// Follows the tokens of a step through the nodes of its graphs, in the order in which ggml runs them: from
/// the rows of an embedding on, through what keeps, moves, splits or selects dims, to the caches of keys and
/// values that SET_ROWS fills. What an operator that is not known here makes of its sources has no axis. A
/// step may run several graphs, each with the next of its tokens. The data of indices must be there when
/// their node is seen, as inputs of a graph are.
class TokenAxes {
 public:
  /// A step of `count` tokens begins; 0: nobody asks.
  void begin(std::int64_t count) {
    count_ = count;
    axes_.clear();
    caches_.clear();
    begun_.clear();
  }
  bool is_on() const { return count_ != 0; }

  /// The next node.
  void see(const ggml_tensor& node) {
    TokenAxis axis = derive(node);
    if (axis.tells()) {
      axes_[&node] = std::move(axis);
    } else {
      axes_.erase(&node);
    }
  }

  TokenAxis of(const ggml_tensor& tensor) const {
    const auto found = axes_.find(&tensor);
    return found == axes_.end() ? TokenAxis() : found->second;
  }

 private:
  struct Cache {
    std::size_t row_bytes = 0;
    std::vector<std::int64_t> rows{};
  };

  static const ggml_tensor& root_of(const ggml_tensor& tensor) {
    return tensor.view_src == nullptr ? tensor : *tensor.view_src;
  }

  /// The elements of `tensor` as indices; none when they are no such.
  static std::vector<std::int64_t> indices_of(const ggml_tensor& tensor) {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(ggml_nelements(&tensor)));
    const bool is_short = tensor.type == GGML_TYPE_I32;
    const bool is_there = tensor.data != nullptr && (tensor.buffer != nullptr || tensor.view_src != nullptr);
    if (!is_there || !ggml_is_contiguous(&tensor) || (!is_short && tensor.type != GGML_TYPE_I64)) return {};
    if (!is_short) {
      ggml_backend_tensor_get(&tensor, indices.data(), 0, ggml_nbytes(&tensor));
      return indices;
    }
    std::vector<std::int32_t> narrow(indices.size());
    ggml_backend_tensor_get(&tensor, narrow.data(), 0, ggml_nbytes(&tensor));
    indices.assign(narrow.begin(), narrow.end());
    return indices;
  }

  TokenAxis derive(const ggml_tensor& node) {
    if (node.src[0] == nullptr) return {};
    switch (node.op) {
      case GGML_OP_GET_ROWS:
        return of_rows(node);
      case GGML_OP_SET_ROWS:
        return of_cells(node);
      case GGML_OP_MUL_MAT: {
        TokenAxis axis = kept(node, of(*node.src[1]), 1);
        axis.grows = of(*node.src[0]).cell == 1;
        return axis;
      }
      case GGML_OP_FLASH_ATTN_EXT: {
        TokenAxis axis = of(*node.src[0]);
        if (axis.token != 1 || axis.head != 2) return {};
        axis.token = 2;
        axis.head = 1;
        return axis;
      }
      case GGML_OP_PERMUTE:
        return moved(node);
      case GGML_OP_TRANSPOSE:
        return transposed(of(*node.src[0]));
      case GGML_OP_VIEW:
        return of_view(node);
      case GGML_OP_RESHAPE:
        return reshaped(node);
      case GGML_OP_CONT:
      case GGML_OP_DUP:
        return ggml_are_same_shape(&node, node.src[0]) ? of(*node.src[0]) : reshaped(node);
      case GGML_OP_CPY:
      case GGML_OP_SUM_ROWS:
      case GGML_OP_MUL_MAT_ID:
        return {};
      default:
        return of_alike(node);
    }
  }

  /// Those of a source of the same shape.
  TokenAxis of_alike(const ggml_tensor& node) const {
    for (const ggml_tensor* source : {node.src[0], node.src[1]}) {
      if (source == nullptr || !ggml_are_same_shape(&node, source)) continue;
      TokenAxis axis = of(*source);
      if (axis.token >= 0) return axis;
    }
    return {};
  }

  /// `axis` as far as its dims, from `first` on, are those of the node.
  static TokenAxis kept(const ggml_tensor& node, TokenAxis axis, int first) {
    axis.cell = -1;
    if (axis.token < first) return {};
    if (axis.head < first) axis.head = -1;
    const bool fits =
        !axis.is_selection || node.ne[axis.token] == static_cast<std::int64_t>(axis.rows.size());
    return fits ? axis : TokenAxis();
  }

  /// Rows of an embedding are tokens, and rows of tokens a selection of them.
  TokenAxis of_rows(const ggml_tensor& node) {
    const ggml_tensor& from = *node.src[0];
    const ggml_tensor& which = *node.src[1];
    TokenAxis axis = of(from);
    if (axis.token < 0) {
      std::int64_t& begun = begun_[&from];
      const std::int64_t first = begun;
      if (which.op != GGML_OP_NONE || ggml_n_dims(&which) != 1 || which.ne[0] > count_ - first) return {};
      begun += which.ne[0];
      axis.token = 1;
      if (which.ne[0] != count_) {
        axis.is_selection = true;
        for (std::int64_t i = 0; i < which.ne[0]; ++i) axis.rows.push_back(first + i);
      }
      return axis;
    }
    if (axis.token != 1) return {};
    std::vector<std::int64_t> rows = indices_of(which);
    if (static_cast<std::int64_t>(rows.size()) != node.ne[1]) return {};
    for (std::int64_t& row : rows) {
      if (row < 0 || row >= from.ne[1]) return {};
      row = axis.is_selection ? axis.rows[static_cast<std::size_t>(row)] : row;
    }
    axis.rows = std::move(rows);
    axis.is_selection = true;
    return axis;
  }

  /// A cache that gets rows, and which.
  TokenAxis of_cells(const ggml_tensor& node) {
    Cache cache = {node.nb[1], indices_of(*node.src[1])};
    if (cache.rows.empty() || cache.rows.size() % static_cast<std::size_t>(count_) != 0) return {};
    TokenAxis axis;
    axis.cell = 1;
    axis.rows = cache.rows;
    caches_[&root_of(node)] = std::move(cache);
    return axis;
  }

  TokenAxis of_view(const ggml_tensor& node) const {
    const auto cache = caches_.find(&root_of(node));
    if (cache != caches_.end()) return of_cache(node, cache->second);
    const ggml_tensor& source = *node.src[0];
    const TokenAxis from = of(source);
    if (from.token < 0) return {};
    TokenAxis axis = from;
    axis.token = axis.head = -1;
    for (int i = 1; i < GGML_MAX_DIMS && axis.token < 0; ++i) {
      if (node.nb[i] == source.nb[from.token] && node.ne[i] == source.ne[from.token]) axis.token = i;
    }
    if (axis.token == 2) axis.head = 1;
    return axis.token < 0 ? TokenAxis() : axis;
  }

  /// A view of a cache whose cells were filled in this step.
  static TokenAxis of_cache(const ggml_tensor& node, const Cache& cache) {
    TokenAxis axis;
    std::size_t span = SIZE_MAX;
    for (int i = 0; i < GGML_MAX_DIMS && axis.cell < 0; ++i) {
      if (node.nb[i] == cache.row_bytes && node.ne[i] > 1) axis.cell = i;
    }
    if (axis.cell < 0) return {};
    // Of values that lie transposed a row is one element, and a cell has one in each row of the view.
    if (axis.cell == 0) span = node.nb[1];
    if (axis.cell == 2) axis.head = 1;
    for (const std::int64_t row : cache.rows) {
      const std::size_t at = static_cast<std::size_t>(row) * cache.row_bytes;
      if (at < node.view_offs) return {};
      const auto cell = static_cast<std::int64_t>((at - node.view_offs) % span / cache.row_bytes);
      if (cell >= node.ne[axis.cell]) return {};
      if (span == SIZE_MAX || axis.rows.empty() || axis.rows.back() != cell) axis.rows.push_back(cell);
    }
    return axis;
  }

  TokenAxis moved(const ggml_tensor& node) const {
    TokenAxis axis = of(*node.src[0]);
    for (int* const dim : {&axis.token, &axis.head, &axis.cell}) {
      if (*dim >= 0) *dim = node.op_params[*dim];
    }
    return axis;
  }

  static TokenAxis transposed(TokenAxis axis) {
    for (int* const dim : {&axis.token, &axis.head, &axis.cell}) {
      if (*dim == 0 || *dim == 1) *dim = 1 - *dim;
    }
    return axis;
  }

  /// Dims that other dims were split into or joined from have as many elements before them as they had.
  TokenAxis reshaped(const ggml_tensor& node) const {
    const ggml_tensor& source = *node.src[0];
    const TokenAxis from = of(source);
    if (from.token < 0) return {};
    TokenAxis axis = from;
    axis.token = dim_after(node, elements_before(source, from.token), source.ne[from.token]);
    axis.head =
        from.head < 0 ? -1 : dim_after(node, elements_before(source, from.head), source.ne[from.head]);
    if (axis.token < 0) return {};
    if (from.head < 0 && axis.token == from.token + 1 && axis.token >= 2) axis.head = axis.token - 1;
    return axis;
  }

  static std::int64_t elements_before(const ggml_tensor& tensor, int dim) {
    std::int64_t elements = 1;
    for (int i = 0; i < dim; ++i) elements *= tensor.ne[i];
    return elements;
  }

  static int dim_after(const ggml_tensor& tensor, std::int64_t elements, std::int64_t count) {
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
      if (elements_before(tensor, i) == elements && tensor.ne[i] == count) return i;
    }
    return -1;
  }

  std::int64_t count_ = 0;  ///< tokens of the step
  std::unordered_map<const ggml_tensor*, TokenAxis> axes_;
  std::unordered_map<const ggml_tensor*, Cache> caches_;
  std::unordered_map<const ggml_tensor*, std::int64_t> begun_;  ///< tokens that an embedding had rows of
};

/// Without dims of one entry at the outer end, but with that of the tokens.
inline int rank_of(const ggml_tensor& tensor, const TokenAxis& axis) {
  const int rank = ggml_n_dims(&tensor);
  return axis.token < rank ? rank : axis.token + 1;
}

/// Tells where the step's tokens lie in the tensor that was added last, with its dims outermost first.
inline void tell_axes(attach::Tensors& tensors, int rank, const TokenAxis& axis) {
  const auto dim_of = [rank](int dim) { return static_cast<std::size_t>(rank - 1 - dim); };
  if (axis.token >= 0) tensors.tokens_along(dim_of(axis.token));
  if (axis.cell >= 0 && axis.cell < rank) tensors.cells_along(dim_of(axis.cell));
  if (axis.head >= 0 && axis.head < rank) tensors.heads_along(dim_of(axis.head));
  if (axis.is_selection || axis.cell >= 0) tensors.rows(axis.rows);
}

/// Adds a tensor to a card, with its dims but those of tokens and cells, which depend on the step. A dim that
/// grows with the cache leaves the shape open.
inline void add_open(attach::TensorInfos& infos, const ggml_tensor& tensor, std::int32_t dtype,
                     const TokenAxis& axis) {
  const int rank = rank_of(tensor, axis);
  std::vector<std::int64_t> dims;
  for (int i = rank - 1; i >= 0; --i) dims.push_back(i == axis.token || i == axis.cell ? -1 : tensor.ne[i]);
  if (ggml_blck_size(tensor.type) != 1)
    dims.back() = static_cast<std::int64_t>(ggml_row_size(tensor.type, tensor.ne[0]));
  if (axis.grows) {
    infos.add(tensor.name, dtype);
    return;
  }
  infos.add(tensor.name, dtype, dims);
  const auto dim_of = [rank](int dim) { return static_cast<std::size_t>(rank - 1 - dim); };
  if (axis.token >= 0) infos.tokens_along(dim_of(axis.token));
  if (axis.cell >= 0 && axis.cell < rank) infos.cells_along(dim_of(axis.cell));
  if (axis.head >= 0 && axis.head < rank) infos.heads_along(dim_of(axis.head));
}

}  // namespace opdump::ggml
