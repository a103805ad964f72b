#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "opdump/port/device_memory.hpp"
#include "opdump/port/plain_memory.hpp"
#include "src/attach/attach_layout.hpp"

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {

/// A tensor that does not lie dense where the CPU reads it. Its elements, one behind the other, have the
/// addresses from `address` on for the time of one capture.
struct StridedSource {
  Address address = 0;
  std::uint64_t bytes = 0;      ///< of the dense tensor
  std::uint64_t run_bytes = 0;  ///< that lie one behind the other, not 0
  std::span<const Dim> dims{};  ///< of the runs, outermost first
  std::span<const std::int64_t> strides{};
  const std::byte* data = nullptr;
  opdump_status (*read)(void*, void*, std::uint64_t, std::size_t) = nullptr;  ///< null: the CPU reads
  void* context = nullptr;

  bool holds(Address at) const { return at - address < bytes; }

  /// Copies from the dense tensor's byte `offset` on. Errors of `read`.
  [[nodiscard]] Status copy(std::byte* to, std::uint64_t offset, std::size_t count) const;
};

/// Sets up runs and dims of `source` for a tensor of `element_bytes` and these strides: as few runs as there
/// can be. `invalid_tensor` when an element lies before `data` or, with `readable` not 0, ends behind
/// `data + readable`, or when an offset has more than 63 bits. `dims` and `strides` must stay.
[[nodiscard]] Status set_runs(StridedSource& source, std::uint64_t element_bytes, std::span<const Dim> dims,
                              std::span<const std::int64_t> strides, std::uint64_t readable);

/// Memory of a runtime: what the CPU reads, and the tensors of the capture under way on this thread, as
/// `during` says.
class AttachMemory final : public DeviceMemory {
 public:
  /// While it lives, `sources` are known on this thread. They do not overlap.
  class During {
   public:
    explicit During(std::span<const StridedSource> sources) { known() = sources; }
    During(const During&) = delete;
    During& operator=(const During&) = delete;
    ~During() { known() = {}; }
  };

  [[nodiscard]] Status copy(std::byte* to, Address from, std::size_t bytes) override {
    const StridedSource* const source = find(from);
    return source == nullptr ? copy_plain(to, from, bytes) : source->copy(to, from - source->address, bytes);
  }

  /// Empty for tensors that do not lie where the CPU reads them one element behind the other.
  Bytes view(Address from, std::uint64_t bytes) const {
    return find(from) == nullptr ? view_plain(from, bytes) : Bytes();
  }

 private:
  static std::span<const StridedSource>& known() {
    thread_local std::span<const StridedSource> sources;
    return sources;
  }

  static const StridedSource* find(Address at) {
    for (const StridedSource& source : known()) {
      if (source.holds(at)) return &source;
    }
    return nullptr;
  }
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
