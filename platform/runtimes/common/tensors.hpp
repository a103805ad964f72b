#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "opdump/attach.hpp"

/// What adapters over attach.hpp have in common. C++17.
namespace opdump::runtimes {

/// Dims or strides that lie in a runtime's own array.
template <class Int>
class Numbers {
 public:
  Numbers(const Int* first, std::size_t count) : first_(first), count_(count) {}
  const Int* begin() const { return first_; }
  const Int* end() const { return first_ + count_; }

 private:
  const Int* first_;
  std::size_t count_;
};

/// Adds a tensor without elements, for one that is left out or cannot be read: those behind it keep their
/// places.
inline void add_absent(attach::Tensors& tensors, std::int32_t dtype = OPDUMP_UINT8) {
  tensors.add(nullptr, dtype, {0});
}

/// Whether two pieces of memory share a byte.
inline bool overlap(const void* one, std::size_t one_bytes, const void* other, std::size_t other_bytes) {
  const auto a = reinterpret_cast<std::uintptr_t>(one);
  const auto b = reinterpret_cast<std::uintptr_t>(other);
  return a < b + other_bytes && b < a + one_bytes;
}

/// Copies of tensors that an operator is about to write over. `clear` keeps the memory for the next operator.
class Copies {
 public:
  /// Where the copy lies until `clear`.
  const void* add(const void* data, std::size_t bytes) {
    if (used_ == blocks_.size()) blocks_.emplace_back();
    std::vector<char>& block = blocks_[used_++];
    const char* const first = static_cast<const char*>(data);
    block.assign(first, first + bytes);
    return block.data();
  }

  void clear() { used_ = 0; }

 private:
  std::vector<std::vector<char>> blocks_;
  std::size_t used_ = 0;
};

/// An operator that the open step captures, from before it runs until it has run.
struct RunningOp {
  std::uint32_t number = attach::kNoOp;
  attach::Tensors inputs;
  attach::Tensors outputs;
  Copies copies;

  void begin(std::uint32_t op) {
    number = op;
    inputs.clear();
    outputs.clear();
    copies.clear();
  }
};

/// Operators that run, each within the one before it, as those of a loop's body do.
class RunningOps {
 public:
  RunningOp& begin(std::uint32_t op) {
    if (depth_ == ops_.size()) ops_.emplace_back(new RunningOp);
    RunningOp& running = *ops_[depth_++];
    running.begin(op);
    return running;
  }
  bool empty() const { return depth_ == 0; }
  RunningOp& top() { return *ops_[depth_ - 1]; }
  void pop() { --depth_; }

 private:
  std::vector<std::unique_ptr<RunningOp>> ops_;
  std::size_t depth_ = 0;
};

}  // namespace opdump::runtimes
