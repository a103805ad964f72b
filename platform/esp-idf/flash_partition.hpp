#pragma once
#include "esp_partition.h"
#include "platform/flashlog/partition.hpp"

namespace opdump::esp_idf {
inline namespace OPDUMP_NAMESPACE {

/// A data partition of ESP-IDF as the flash of a log. Called by one task at a time. Not for
/// `FlashLog::emergency`: the flash driver takes locks.
class FlashPartition final : public flashlog::Partition<FlashPartition> {
 public:
  FlashPartition() = default;

  /// Finds the partition of that label. `already_initialised` when one is open; `not_found` when the
  /// partition table has none; `not_supported` for an encrypted one, whose erased bytes read as others, and
  /// for one that no log can work with, such as one of less than three sectors.
  [[nodiscard]] Status open(const char* label) {
    if (partition_ != nullptr) return Status::already_initialised;
    const esp_partition_t* const found =
        esp_partition_find_first(ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_ANY, label);
    if (found == nullptr) return Status::not_found;
    if (found->encrypted || found->erase_size == 0) return Status::not_supported;
    const Status status = use({.block_bytes = found->erase_size,
                               .block_count = found->size / found->erase_size,
                               .program_bytes = 1,
                               .erased = std::byte{0xff},
                               .bits_only_clear = true});
    if (status == Status::ok) partition_ = found;
    return status;
  }

 private:
  friend Partition;

  int read(std::uint32_t offset, void* to, std::size_t bytes) {
    return esp_partition_read(partition_, offset, to, bytes);
  }
  int program(std::uint32_t offset, const void* from, std::size_t bytes) {
    return esp_partition_write(partition_, offset, from, bytes);
  }
  int erase(std::uint32_t offset, std::size_t bytes) {
    return esp_partition_erase_range(partition_, offset, bytes);
  }

  const esp_partition_t* partition_ = nullptr;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::esp_idf
