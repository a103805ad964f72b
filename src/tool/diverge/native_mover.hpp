#pragma once
#include <cstring>
#include <utility>

#include "src/tool/diverge/native_call.hpp"

namespace opdump::tool {

/// Elements that keep their bytes, and only change places.
class NativeMover {
 public:
  explicit NativeMover(NativeCall& call) : call_(call) {}

  /// Makes output `i` of the input's dtype.
  bool begin(std::size_t i, DType dtype, std::vector<Dim> dims) {
    if (info(dtype).bits % 8 != 0)
      return call_.refuse("elements of " + std::string(info(dtype).name) + " share bytes");
    item_ = info(dtype).bits / 8;
    to_ = &call_.output(i);
    to_->dtype = dtype;
    if (!call_.fits(dims, count_)) return false;
    to_->dims = std::move(dims);
    to_->bytes.assign(count_ * item_, std::byte{0});
    return true;
  }

  std::size_t count() const { return count_; }

  void put(std::size_t to, const ReplayTensor& from, std::size_t element, std::size_t elements = 1) {
    if (elements != 0)
      std::memcpy(to_->bytes.data() + to * item_, from.bytes.data() + element * item_, elements * item_);
  }

  /// Element `i` of the output gets the element of `from` that `source(index of the output)` tells.
  template <class Source>
  void gather(const ReplayTensor& from, Source source) {
    std::vector<std::size_t> at(to_->dims.size());
    for (std::size_t i = 0; i < count_; ++i, step(to_->dims, at)) put(i, from, source(at));
  }

 private:
  NativeCall& call_;
  ReplayTensor* to_ = nullptr;
  std::size_t item_ = 0;
  std::size_t count_ = 0;
};

}  // namespace opdump::tool
