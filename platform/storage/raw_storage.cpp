#include "platform/storage/raw_storage.hpp"

namespace opdump::storage {
inline namespace OPDUMP_NAMESPACE {
namespace {

std::string size_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  std::size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && bytes >= 1024 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + kUnits[unit];
}

}  // namespace

template class BasicRawStorage<Kernel>;

std::uint64_t log_room(const StorageFacts& facts) {
  const std::uint32_t blocks = facts.geometry.block_count;
  return std::uint64_t{facts.geometry.block_bytes} * (blocks - std::min(blocks, facts.bad_blocks));
}

std::string storage_text(const StorageFacts& facts) {
  const flashlog::Geometry& part = facts.geometry;
  const std::uint64_t used = std::uint64_t{part.block_count} * part.block_bytes;
  std::string text = std::string(facts.kind) + ", " + std::to_string(part.block_count) + " blocks of " +
                     size_text(part.block_bytes) + ", " + size_text(used);
  if (facts.bad_blocks != 0) text += ", " + std::to_string(facts.bad_blocks) + " of the blocks bad";
  if (facts.bytes != used) text += "; the last " + size_text(facts.bytes - used) + " are not used";
  return text;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::storage
