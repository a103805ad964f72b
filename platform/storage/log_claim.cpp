#include "platform/storage/log_claim.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/base/text.hpp"
#include "platform/flashlog/block.hpp"
#include "platform/flashlog/format.hpp"

namespace opdump::storage {
inline namespace OPDUMP_NAMESPACE {
namespace {

using flashlog::BlockUse;
using flashlog::Header;

constexpr std::uint32_t kHeadBytes = 4096;
constexpr std::size_t kReadBytes = 64 * 1024;

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  const char* what;
};

constexpr Signature kSignatures[] = {
    {0, "UBI#", "UBI, which manages this flash: name one of its volumes, /dev/ubiX_Y"},
    {0, "\x31\x18\x10\x06", "a UBIFS file system"},
    {0, "\x85\x19", "a JFFS2 file system"},
    {0, "\x19\x85", "a JFFS2 file system"},
    {0, "hsqs", "a SquashFS file system"},
    {0, "\x45\x3d\xcd\x28", "a CramFS file system"},
    {0, "XFSB", "an XFS file system"},
    {0, "LUKS\xba\xbe", "an encrypted LUKS volume"},
    {0, "\x27\x05\x19\x56", "a boot image of U-Boot"},
    {0, "\xd0\x0d\xfe\xed", "a device tree or FIT image"},
    {0, "ANDROID!", "an Android boot image"},
    {0,
     "\x7f"
     "ELF",
     "an ELF program"},
    {0, "\x1f\x8b\x08", "gzip data"},
    {0,
     "\xfd"
     "7zXZ",
     "xz data"},
    {512, "EFI PART", "a partition table (GPT)"},
    {1024, "\x10\x20\xf5\xf2", "an F2FS file system"},
    {1080, "\x53\xef", "an ext2, ext3 or ext4 file system"},
    {510, "\x55\xaa", "a boot sector: a FAT file system or a partition table"},
    {4086, "SWAPSPACE2", "swap space"},
};

std::string_view text_at(Bytes bytes, std::size_t offset, std::size_t size) {
  if (offset + size > bytes.size()) return {};
  return {reinterpret_cast<const char*>(bytes.data()) + offset, size};
}

const Signature* signature_of(Bytes beginning, std::size_t least_bytes) {
  for (const Signature& signature : kSignatures) {
    if (signature.bytes.size() >= least_bytes &&
        text_at(beginning, signature.offset, signature.bytes.size()) == signature.bytes)
      return &signature;
  }
  return nullptr;
}

bool is_erased_value(std::byte byte) {
  return byte == std::byte{0} || byte == std::byte{0xff};
}

}  // namespace

std::string content_text(Bytes beginning) {
  if (const Signature* const signature = signature_of(beginning, 1)) return signature->what;
  constexpr std::size_t kShown = 8;
  std::size_t first = 0;
  while (first < beginning.size() && is_erased_value(beginning[first])) ++first;
  if (first == beginning.size()) first = 0;
  std::string text = "bytes that no log wrote, such as";
  for (std::size_t i = first; i < beginning.size() && i < first + kShown; ++i) {
    const unsigned byte = std::to_integer<unsigned>(beginning[i]);
    text += {' ', hex_digit(byte >> 4), hex_digit(byte & 15)};
  }
  return text;
}

Status LogClaim::inspect(const flashlog::Device& device) {
  device_ = device;
  reason_.clear();
  of_log_ = 0;
  const flashlog::Geometry& part = device_.geometry;
  uses_.assign(part.block_count, Use::unknown);
  memory_.resize(std::min<std::size_t>(kReadBytes, part.block_bytes));
  std::uint32_t highest = 0;
  std::uint32_t newest = 0;
  Header newest_header{};
  for (std::uint32_t block = 0; block < part.block_count; ++block) {
    Header header{};
    const BlockUse use = look_at(device_, block, header);
    std::byte value{};
    if (use == BlockUse::foreign) {
      const flashlog::BlockHeader& head = header.head;
      reason_ = "at byte " + std::to_string(std::uint64_t{block} * part.block_bytes) + ": a flash log of " +
                std::to_string(head.block_count) + " blocks of " + std::to_string(head.block_bytes) +
                " bytes, programmed by " + std::to_string(head.program_bytes) + ", in version " +
                std::to_string(head.format / 2) + " of the format; here a log would have " +
                std::to_string(part.block_count) + " blocks of " + std::to_string(part.block_bytes) +
                ", programmed by " + std::to_string(part.program_bytes) + ", in version " +
                std::to_string(flashlog::kVersion) + ". Extract what it holds, then erase all of the storage";
      return Status::not_supported;
    }
    if (use == BlockUse::unreadable) {
      uses_[block] = Use::unreadable;
    } else if (use != BlockUse::none) {
      uses_[block] = Use::ours;
      ++of_log_;
      if (header.head.sequence > highest) {
        highest = header.head.sequence;
        newest = block;
        newest_header = header;
      }
    } else if (!read_erased(block, 0, std::min(kHeadBytes, part.block_bytes), value)) {
      uses_[block] = Use::foreign;
    }
  }
  if (of_log_ != 0) {
    find_torn(newest, Bytes(newest_header.rest, 2 * std::size_t{newest_header.head.retired_count}));
  } else if (uses_[0] == Use::foreign && begins_as_header(0)) {
    uses_[0] = Use::ours;
  }
  const auto foreign = std::find(uses_.begin(), uses_.end(), Use::foreign);
  return foreign == uses_.end() ? Status::ok : refuse(static_cast<std::uint32_t>(foreign - uses_.begin()));
}

Status LogClaim::may_erase(std::uint32_t block) {
  if (!reason_.empty()) return Status::already_exists;
  if (uses_[block] == Use::ours) return Status::ok;
  const std::uint32_t bytes = device_.geometry.block_bytes;
  std::byte value{};
  if (!read_erased(block, 0, bytes, value)) return refuse(block);
  uses_[block] = Use::ours;
  return Status::ok;
}

/// Behind the newest block, in the order in which a log takes them.
void LogClaim::find_torn(std::uint32_t newest, Bytes retired) {
  for (; retired.size() >= 2; retired = retired.subspan(2)) {
    const std::uint16_t block = load_little_endian<std::uint16_t>(retired.data());
    if (block < uses_.size() && uses_[block] != Use::unreadable) uses_[block] = Use::ours;
  }
  std::uint32_t left = kTornBlocks;
  for (std::size_t i = 1; i < uses_.size() && left != 0; ++i) {
    const std::uint32_t block = static_cast<std::uint32_t>((newest + i) % uses_.size());
    Use& use = uses_[block];
    if (use == Use::unreadable) continue;
    // Records that a cut-off erase has left may begin with any two bytes.
    const bool known = use == Use::foreign && read_head(block) && signature_of(memory_, 3) != nullptr;
    if ((use == Use::foreign && !known) || use == Use::unknown) use = Use::ours;
    --left;
  }
}

bool LogClaim::read_head(std::uint32_t block) {
  const std::uint32_t bytes = std::min(kHeadBytes, device_.geometry.block_bytes);
  return device_.read(device_.context, block, 0, {memory_.data(), bytes}) == Status::ok;
}

/// Whether all bytes of a piece of a block are 0xff or all are 0x00. False too when they cannot be read.
bool LogClaim::read_erased(std::uint32_t block, std::uint32_t from, std::uint32_t bytes, std::byte& value) {
  bool first = true;
  while (bytes != 0) {
    const std::uint32_t now = std::min<std::uint32_t>(bytes, static_cast<std::uint32_t>(memory_.size()));
    const MutableBytes piece(memory_.data(), now);
    std::uint32_t tries = flashlog::kReadTries;
    while (device_.read(device_.context, block, from, piece) != Status::ok) {
      if (--tries == 0) return false;
    }
    if (first) value = piece[0];
    first = false;
    if (!is_erased_value(value)) return false;
    for (const std::byte byte : piece) {
      if (byte != value) return false;
    }
    from += now;
    bytes -= now;
  }
  return true;
}

/// Whether a block may begin with a header that a loss of power cut off.
bool LogClaim::begins_as_header(std::uint32_t block) {
  const flashlog::Geometry& part = device_.geometry;
  std::byte head[4];
  std::byte magic[4];
  store_little_endian(magic, flashlog::kMagic);
  if (device_.read(device_.context, block, 0, {head, sizeof head}) != Status::ok) return false;
  for (std::size_t i = 0; i < sizeof head; ++i) {
    // Each bit is programmed or is still as it was erased.
    if (((head[i] ^ magic[i]) & (head[i] ^ part.erased)) != std::byte{0}) return false;
  }
  return true;
}

Status LogClaim::refuse(std::uint32_t block) {
  const std::uint32_t bytes = std::min(kHeadBytes, device_.geometry.block_bytes);
  std::vector<std::byte> head(bytes);
  std::uint32_t at = 0;
  std::byte value{};
  // What is told is the first piece that is not erased.
  while (at + bytes < device_.geometry.block_bytes && read_erased(block, at, bytes, value)) at += bytes;
  const bool readable = device_.read(device_.context, block, at, head) == Status::ok;
  reason_ = "at byte " + std::to_string(std::uint64_t{block} * device_.geometry.block_bytes + at) + ": " +
            (readable ? content_text(head) : std::string("what cannot be read")) +
            ". A log takes only storage that is erased (all bytes 0xff or all 0x00) or holds a log; erase it "
            "first if nobody needs that";
  return Status::already_exists;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::storage
