#pragma once
#include <zephyr/device.h>
#include <zephyr/drivers/flash.h>
#include <zephyr/storage/flash_map.h>

#include "platform/flashlog/partition.hpp"

namespace opdump::zephyr {
inline namespace OPDUMP_NAMESPACE {

/// A partition of Zephyr's flash map as the flash of a log. Needs CONFIG_FLASH_MAP and
/// CONFIG_FLASH_PAGE_LAYOUT, and a driver that reads at any offset. Called by one thread at a time, which may
/// sleep: not for `FlashLog::emergency`, unless the driver works with interrupts off.
class FlashArea final : public flashlog::Partition<FlashArea> {
 public:
  FlashArea() = default;
  ~FlashArea() { close(); }

  /// Opens the partition `id`, such as `FIXED_PARTITION_ID(dump_partition)`. `bits_only_clear` says that a
  /// page may be programmed more than once between two erases, as NOR flash without ECC allows; that saves
  /// flash. `already_initialised` when one is open; `not_found`, with the cause in `last_error`, when there
  /// is none or no driver; `not_supported` when its pages differ in size or no log can work with them.
  [[nodiscard]] Status open(std::uint8_t id, bool bits_only_clear = false) {
    if (area_ != nullptr) return Status::already_initialised;
    const struct flash_area* area = nullptr;
    if (const Status status = told(flash_area_open(id, &area), Status::not_found); status != Status::ok)
      return status;
    area_ = area;
    const Status status = take_geometry(bits_only_clear);
    if (status != Status::ok) close();
    return status;
  }

  /// Nothing when none is open. No log may use the device any more.
  void close() {
    if (area_ != nullptr) flash_area_close(area_);
    area_ = nullptr;
  }

 private:
  friend Partition;

  Status take_geometry(bool bits_only_clear) {
    const std::uint32_t bytes = static_cast<std::uint32_t>(area_->fa_size);
    std::uint32_t page = 0;
    for (std::uint32_t at = 0; at < bytes; at += page) {
      struct flash_pages_info info = {};
      const int error =
          flash_get_page_info_by_offs(area_->fa_dev, area_->fa_off + static_cast<off_t>(at), &info);
      if (error != 0) return told(error);
      const bool same = at == 0 || info.size == page;
      if (!same || info.size == 0 || info.start_offset != area_->fa_off + static_cast<off_t>(at))
        return Status::not_supported;
      page = static_cast<std::uint32_t>(info.size);
    }
    if (page == 0 || bytes % page != 0) return Status::not_supported;
    return use({.block_bytes = page,
                .block_count = bytes / page,
                .program_bytes = flash_area_align(area_),
                .erased = static_cast<std::byte>(flash_area_erased_val(area_)),
                .bits_only_clear = bits_only_clear});
  }

  int read(std::uint32_t offset, void* to, std::size_t bytes) {
    return flash_area_read(area_, static_cast<off_t>(offset), to, bytes);
  }
  int program(std::uint32_t offset, const void* from, std::size_t bytes) {
    return flash_area_write(area_, static_cast<off_t>(offset), from, bytes);
  }
  int erase(std::uint32_t offset, std::size_t bytes) {
    return flash_area_erase(area_, static_cast<off_t>(offset), bytes);
  }

  const struct flash_area* area_ = nullptr;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::zephyr
