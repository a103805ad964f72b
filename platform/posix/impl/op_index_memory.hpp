#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "opdump/impl/plan/op_index.hpp"
#include "platform/posix/impl/name_search.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// An index of a model's operators, on the heap.
class OpIndexMemory {
 public:
  /// Empty when there is no memory, and with OPDUMP_SMALL_CODE. `ops` must stay as long as the index is used.
  explicit OpIndexMemory(std::span<const OpDesc> ops) : search_(ops) {
    if (build::kLean) return;
    std::size_t count = 0;
    for (const OpDesc& op : ops) count += 1 + op.original_names.size();
    names_.reset(new (std::nothrow) IndexedName[count]);
    by_type_.reset(new (std::nothrow) std::uint32_t[ops.size()]);
    if (names_ == nullptr || by_type_ == nullptr) return;
    IndexedName* to = names_.get();
    for (std::uint32_t op = 0; op < ops.size(); ++op) {
      by_type_[op] = op;
      for (std::uint32_t i = 0; i <= ops[op].original_names.size(); ++i) *to++ = {.op = op, .original = i};
    }
    std::sort(names_.get(), to,
              [ops](const IndexedName& a, const IndexedName& b) { return OpIndex::before(ops, a, b); });
    std::sort(by_type_.get(), by_type_.get() + ops.size(),
              [ops](std::uint32_t a, std::uint32_t b) { return ops[a].type < ops[b].type; });
    index_ = OpIndex(ops, {names_.get(), count}, {by_type_.get(), ops.size()}, &search_);
  }

  OpIndexMemory(const OpIndexMemory&) = delete;
  OpIndexMemory& operator=(const OpIndexMemory&) = delete;

  /// For one `load_model`.
  const OpIndex& index() const { return index_; }

 private:
  std::unique_ptr<IndexedName[]> names_;
  std::unique_ptr<std::uint32_t[]> by_type_;
  NameSearch search_;
  OpIndex index_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
