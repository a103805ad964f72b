// Flash images: what the reader gives out lies in the image, each byte of it once. As nothing gets past a CRC
// by chance, the first byte of the input says which CRCs are made right before.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "record_use.hpp"
#include "src/tool/read/flash/flash_image.hpp"

namespace {

using namespace opdump;
using opdump::fuzz::require;

enum Repair : unsigned { kHeaders = 1, kStarts = 2, kEntries = 4 };

std::size_t rounded(std::size_t at, std::size_t step) {
  return step == 0 ? at : (at + step - 1) / step * step;
}

void seal(std::vector<std::byte>& image, std::size_t begin, std::size_t end) {
  store_little_endian(image.data() + end, crc32(0, Bytes(image).subspan(begin, end - begin)));
}

/// Entries from `at` to the end of the block, as far as they are some.
void repair_entries(std::vector<std::byte>& image, std::size_t at, std::size_t end, std::size_t granule,
                    std::byte erased, std::uint32_t crc) {
  while (at + sizeof(flashlog::EntryHead) <= end) {
    if (image[at] == erased) {
      if (granule == 0 || rounded(at, granule) == at) return;
      at = rounded(at, granule);
      continue;
    }
    flashlog::EntryHead head;
    std::memcpy(static_cast<void*>(&head), image.data() + at, sizeof head);
    const std::size_t bytes = sizeof head + head.body_bytes();
    if (end - at < bytes + flashlog::kCrcBytes) return;
    crc = crc32(crc, Bytes(image).subspan(at, bytes));
    at += bytes;
    if (!head.sealed()) continue;
    store_little_endian(image.data() + at, crc);
    at += flashlog::kCrcBytes;
    crc = 0;
  }
}

void repair(std::vector<std::byte>& image, unsigned what) {
  constexpr char kMagic[] = {'O', 'P', 'F', 'L'};
  for (std::size_t at = 0; at + flashlog::kMaxHeaderBytes <= image.size(); ++at) {
    if (std::memcmp(image.data() + at, kMagic, sizeof kMagic) != 0) continue;
    flashlog::BlockHeader header;
    std::memcpy(static_cast<void*>(&header), image.data() + at, sizeof header);
    const std::size_t bytes = header.bytes;
    if (bytes < sizeof header + flashlog::kCrcBytes || bytes > flashlog::kMaxHeaderBytes) continue;
    if (what & kHeaders) seal(image, at, at + bytes - flashlog::kCrcBytes);
    const std::size_t end = std::min<std::size_t>(image.size(), at + header.block_bytes);
    for (const std::size_t start_at : {at + bytes, at + rounded(bytes, header.program_bytes)}) {
      flashlog::BlockStart start;
      if (start_at + sizeof start > end) continue;
      std::memcpy(static_cast<void*>(&start), image.data() + start_at, sizeof start);
      if (start.head.kind() != flashlog::Kind::start) continue;
      if (what & kStarts) seal(image, start_at, start_at + sizeof start - flashlog::kCrcBytes);
      const std::uint32_t left = start.left;
      const std::size_t entries = start_at + sizeof start + left / 2;
      if ((what & kEntries) && left != flashlog::kUnknownLeft && entries < end) {
        const std::uint32_t crc =
            left % 2 == 0 ? crc32(start.run_crc, Bytes(image).subspan(start_at + sizeof start, left / 2)) : 0;
        repair_entries(image, entries, end, header.program_bytes, header.erased, crc);
      }
      break;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  static const int file = memfd_create("image", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  const std::byte* const first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(first + 1, first + size);
  repair(bytes, data[0]);
  require(file >= 0 && ftruncate(file, 0) == 0);
  require(pwrite(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));

  tool::FlashImage image;
  tool::FlashImage::is_image(path);
  if (!image.open(path, std::nullopt)) {
    require(!image.error().empty());
    return 0;
  }
  require(image.offset() + image.missing_bytes() <= bytes.size() + image.missing_bytes());
  std::uint64_t objects = 0, whole = 0;
  std::array<std::byte, 64> memory;
  for (flashlog::LogReader::Object object; image.reader().next(object);) {
    // Nothing that is given out takes less room than the head of an entry.
    require(++objects * sizeof(flashlog::EntryHead) <= bytes.size());
    require(object.bytes <= bytes.size());
    std::uint64_t given = 0;
    const Status status = image.reader().read(object, memory, [&](Bytes piece) {
      given += piece.size();
      return true;
    });
    require(given <= object.bytes);
    if (object.state != flashlog::ObjectState::committed && object.state != flashlog::ObjectState::lines)
      continue;
    require(status == Status::ok && given == object.bytes);
    whole += given;
    require(whole <= bytes.size());
  }
  return 0;
}
