#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/parts/trigger_days.hpp"
#include "platform/flashlog/device.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

/// A DayStore in two blocks of flash that nothing else uses: one record behind the other, in the other block
/// when one is full. The block with the latest record is never erased. The first save of a boot begins in the
/// other block, as power may have failed behind the latest record: an erase for each boot that saves, and for
/// each block that is full.
class DayBlocks final : public DayStore {
 public:
  /// `device` outlives this object and has blocks `first` and `first + 1`. `page` is one of its pages, at
  /// least `program_bytes`; no program crosses a multiple of its size.
  DayBlocks(const Device& device, std::uint32_t first, MutableBytes page)
      : device_(device), first_(first), page_(page) {}
  DayBlocks(const DayBlocks&) = delete;
  DayBlocks& operator=(const DayBlocks&) = delete;

  std::size_t load(MutableBytes to) override {
    std::size_t bytes = 0;
    std::uint32_t number = 0;
    block_ = next_ = first_;
    end_ = device_.geometry.block_bytes;
    for (std::uint32_t block = first_; block < first_ + 2; ++block) {
      for (std::uint32_t at = 0; at + DayRecord::kHeadBytes <= device_.geometry.block_bytes;) {
        std::byte record[DayRecord::kMostBytes];
        const std::size_t found = read(block, at, record);
        if (found == 0) break;
        const std::uint32_t its_number = DayRecord::number({record, found});
        // The numbers go round.
        if (found <= to.size() && (bytes == 0 || static_cast<std::int32_t>(its_number - number) > 0)) {
          copy_bytes(to.data(), {record, found});
          bytes = found;
          number = its_number;
          block_ = block;
        }
        at += padded(found);
      }
    }
    return bytes;
  }

  [[nodiscard]] Status save(Bytes bytes) override {
    if (padded(bytes.size()) > device_.geometry.block_bytes - end_) {
      const std::uint32_t other = block_ == first_ ? first_ + 1 : first_;
      if (const Status status = writing([&] { return device_.erase(device_.context, other); });
          status != Status::ok)
        return status;
      next_ = other;
      end_ = 0;
    }
    Status status = program(bytes);
    if (status == Status::ok) status = device_.sync(device_.context);
    // What a program that failed has left cannot be programmed again.
    if (status != Status::ok) end_ = device_.geometry.block_bytes;
    if (status == Status::ok) block_ = next_;
    return status;
  }

 private:
  std::uint32_t padded(std::size_t bytes) const {
    const std::uint32_t unit = device_.geometry.program_bytes;
    return (static_cast<std::uint32_t>(bytes) + unit - 1) / unit * unit;
  }

  template <class Write>
  Status writing(const Write& write) {
    if (device_.protect != nullptr) device_.protect(device_.context, false);
    const Status status = write();
    if (device_.protect != nullptr) device_.protect(device_.context, true);
    return status;
  }

  /// A record that is whole; 0: there is none.
  std::size_t read(std::uint32_t block, std::uint32_t at, std::byte (&record)[DayRecord::kMostBytes]) const {
    const auto get = [&](std::size_t bytes) {
      return device_.read(device_.context, block, at, {record, bytes}) == Status::ok;
    };
    if (!get(DayRecord::kHeadBytes)) return 0;
    const std::size_t bytes = DayRecord::bytes_of({record, DayRecord::kHeadBytes});
    const bool fits = bytes != 0 && bytes <= device_.geometry.block_bytes - at;
    return fits && get(bytes) && DayRecord::is_sound({record, bytes}) ? bytes : 0;
  }

  Status program(Bytes bytes) {
    const std::uint32_t page = static_cast<std::uint32_t>(page_.size());
    while (!bytes.empty()) {
      const std::uint32_t room = page - end_ % page;
      const std::size_t now = bytes.size() < room ? bytes.size() : room;
      copy_bytes(page_.data(), bytes.first(now));
      for (std::size_t i = now; i < padded(now); ++i) page_[i] = device_.geometry.erased;
      const Status status =
          writing([&] { return device_.program(device_.context, next_, end_, page_.first(padded(now))); });
      if (status != Status::ok) return status;
      end_ += padded(now);
      bytes = bytes.subspan(now);
    }
    return Status::ok;
  }

  const Device& device_;
  const std::uint32_t first_;
  MutableBytes page_;
  std::uint32_t block_ = first_;                      ///< that has the latest record
  std::uint32_t next_ = first_;                       ///< that gets the next one
  std::uint32_t end_ = device_.geometry.block_bytes;  ///< of its records; full until a save of this boot
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
