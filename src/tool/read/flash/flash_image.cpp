#include "src/tool/read/flash/flash_image.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cstring>
#include <filesystem>

#include "platform/posix/impl/trusted_variable.hpp"
#include "src/tool/read/flash/image_contents.hpp"

namespace opdump::tool {

namespace {

/// What is tried anew behind bytes that a device cannot read.
constexpr std::size_t kUnreadableBytes = 4096;
constexpr char kMagicText[] = {'O', 'P', 'F', 'L'};

ssize_t read_file(int file, MutableBytes to, std::uint64_t at) {
  for (;;) {
    const ssize_t got = pread(file, to.data(), to.size(), static_cast<off_t>(at));
    if (got >= 0 || errno != EINTR) return got;
  }
}

/// Whether the block header of a log that begins with the file is at `at`.
bool has_header(int file, std::uint64_t at) {
  flashlog::Header header{};
  return read_file(file, {header.bytes(), sizeof header}, at) == sizeof header &&
         flashlog::is_header(header) && std::uint64_t{header.head.block} * header.head.block_bytes == at;
}

}  // namespace

bool FlashImage::is_image(const std::string& path) {
  constexpr std::uint64_t kLeastBlock = 256;
  const posix::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) return false;
  if (has_header(file.get(), 0)) return true;
  // The first block may be bad. Blocks have a power of two of bytes, so others begin at these places.
  const std::uint64_t size = S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
  for (std::uint64_t at = kLeastBlock; at < size; at *= 2) {
    if (has_header(file.get(), at)) return true;
  }
  return false;
}

bool FlashImage::open(const std::string& path, std::optional<std::uint64_t> offset) {
  path_ = path;
  // A FIFO would hold it until somebody writes.
  file_ = posix::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status {};
  if (!file_ || fstat(file_.get(), &status) != 0) return fail(strerror(errno));
  if (S_ISDIR(status.st_mode)) return fail("a directory; name the image of a flash log, or the device");
  if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode) && !S_ISCHR(status.st_mode))
    return fail("neither a regular file nor a device");
  is_device_ = !S_ISREG(status.st_mode);
  by_blocks_ = is_device_ && !S_ISBLK(status.st_mode);
  // UBI counts who has a volume open.
  if (by_blocks_) file_.reset();
  storage_.close();
  if (is_device_ && storage_.open(path, storage::Access::read) != Status::ok && by_blocks_) {
    error_ = storage_.error();
    return false;
  }
  if (by_blocks_) {
    size_ = storage_.facts().bytes;
    ecc_before_ = storage_.ecc();
  } else {
    const off_t end = lseek(file_.get(), 0, SEEK_END);
    if (end < 0) return fail(strerror(errno));
    size_ = static_cast<std::uint64_t>(end);
  }
  window_.resize(kWindowBytes);
  window_bytes_ = 0;

  flashlog::Header header{};
  std::uint64_t at = 0;
  if (!find_header(offset, header, at)) {
    return fail(offset ? "there is no valid block header of a flash log from byte " +
                             std::to_string(*offset) + " on"
                       : "there is no valid block header of a flash log in it");
  }
  const int version = header.head.format / 2;
  if (version != flashlog::kVersion) {
    return fail("its format has version " + std::to_string(version) + ", and this opdump reads version " +
                std::to_string(flashlog::kVersion) + ": use the opdump of the firmware that wrote it");
  }
  const std::uint64_t before = std::uint64_t{header.head.block} * header.head.block_bytes;
  const flashlog::Geometry geometry = {.block_bytes = header.head.block_bytes,
                                       .block_count = header.head.block_count,
                                       .program_bytes = header.head.program_bytes,
                                       .erased = header.head.erased};
  if (!flashlog::is_usable(geometry)) {
    return fail("at byte " + std::to_string(at) + ": the block header tells of " +
                std::to_string(geometry.block_count) + " blocks of " + std::to_string(geometry.block_bytes) +
                " bytes, programmed by " + std::to_string(geometry.program_bytes) + ", which no log has");
  }
  if (header.head.block >= header.head.block_count || before > at || (offset && at - before != *offset)) {
    return fail("at byte " + std::to_string(at) + ": the block header tells of a log that cannot begin " +
                (offset ? "at byte " + std::to_string(*offset) : "in this image"));
  }
  base_ = at - before;
  is_history_ = header.head.format == flashlog::kHistoryFormat;
  device_ = {.geometry = geometry, .context = this, .read = read_block};
  segments_.resize(geometry.block_count);
  names_.resize(std::max<std::size_t>(
      static_cast<std::size_t>(std::min<std::uint64_t>(geometry.block_bytes / 4, size_)), 4096));
  reader_ = std::make_unique<flashlog::LogReader>(device_, names_);
  if (const Status status_of_log = rewind(); status_of_log != Status::ok)
    return fail(std::string(to_string(status_of_log)));
  return true;
}

Status FlashImage::rewind() {
  // A small image may tell of large blocks that it does not hold.
  return reader_->open(segments_, std::min(kSearchBytes, 256 * size_) + 64 * size_);
}

std::vector<std::uint32_t> FlashImage::boots() const {
  std::vector<std::uint32_t> boots;
  for (const flashlog::Segment& segment : reader_->segments()) boots.push_back(segment.boot);
  std::sort(boots.begin(), boots.end());
  boots.erase(std::unique(boots.begin(), boots.end()), boots.end());
  return boots;
}

std::optional<std::uint32_t> FlashImage::cut_boot() {
  const std::span<const flashlog::Segment> segments = reader_->segments();
  if (segments.empty() || segments[0].starts || segments[0].behind_hole) return std::nullopt;
  const std::uint32_t blocks = geometry().block_count;
  // Each block's first use has a number up to their count, so a greater one is of a later round. Before that
  // the oldest block can only have been erased to have room ahead.
  if (segments.back().sequence <= blocks) {
    std::byte first[sizeof(flashlog::BlockHeader)];
    const std::uint32_t before = (segments[0].block + blocks - 1) % blocks;
    if (read_block(this, before, 0, first) != Status::ok) return std::nullopt;
    for (const std::byte byte : first) {
      if (byte != geometry().erased) return std::nullopt;
    }
  }
  return segments[0].boot;
}

std::vector<std::string> FlashImage::holes(std::optional<std::uint32_t> boot) const {
  std::vector<std::string> holes;
  std::uint32_t last = 0;
  std::uint32_t last_boot = 0;
  const std::span<const flashlog::Segment> segments = reader_->segments();
  for (std::uint32_t i = 0; i < segments.size(); ++i) {
    const flashlog::Segment& segment = segments[i];
    const bool concerned = !boot || (*boot >= last_boot && *boot <= segment.boot);
    if (segment.behind_hole && concerned) {
      const std::string numbers = (last + 1 < segment.previous ? std::to_string(last + 1) + " to " : "") +
                                  std::to_string(segment.previous);
      holes.push_back("a block of the log is not there, of number " + numbers + ", before the one at byte " +
                      std::to_string(byte_of({i, 0})) + ": what it held is lost");
    }
    last = segment.sequence;
    last_boot = segment.boot;
  }
  return holes;
}

std::uint64_t FlashImage::byte_of(flashlog::Position at) const {
  const flashlog::Segment& segment = reader_->segments()[at.segment];
  return base_ + std::uint64_t{segment.block} * geometry().block_bytes + at.offset;
}

std::uint64_t FlashImage::missing_bytes() const {
  const std::uint64_t end = base_ + std::uint64_t{geometry().block_bytes} * geometry().block_count;
  return end > size_ ? end - size_ : 0;
}

std::string FlashImage::device_text() {
  if (!storage_.is_open()) return {};
  std::string text = path_ + ": " + storage::storage_text(storage_.facts());
  const std::optional<storage::EccCounts> now = storage_.ecc();
  if (!now || !ecc_before_) return text;
  const std::uint32_t corrected = now->corrected - ecc_before_->corrected;
  const std::uint32_t failed = now->failed - ecc_before_->failed;
  text += "; its ECC put " + std::to_string(corrected) + (corrected == 1 ? " bit" : " bits") + " right";
  if (failed != 0) text += ", and could not " + std::to_string(failed) + (failed == 1 ? " time" : " times");
  return text;
}

/// Reads up to the next place that a device cannot read; -1 where that is `at`.
ssize_t FlashImage::read_some(MutableBytes to, std::uint64_t at) {
  if (!by_blocks_) return read_file(file_.get(), to, at);
  const flashlog::Device device = storage_.device();
  const flashlog::Geometry& part = device.geometry;
  std::size_t done = 0;
  while (done < to.size()) {
    const std::uint64_t block = (at + done) / part.block_bytes;
    if (block >= part.block_count) break;
    const std::uint32_t offset = static_cast<std::uint32_t>((at + done) % part.block_bytes);
    const std::size_t now = std::min<std::size_t>(to.size() - done, part.block_bytes - offset);
    if (device.read(device.context, static_cast<std::uint32_t>(block), offset, to.subspan(done, now)) !=
        Status::ok)
      return done == 0 ? -1 : static_cast<ssize_t>(done);
    done += now;
  }
  return static_cast<ssize_t>(done);
}

bool FlashImage::fail(const std::string& reason) {
  error_ = path_ + ": " + reason;
  return false;
}

bool FlashImage::find_header(std::optional<std::uint64_t> offset, flashlog::Header& header,
                             std::uint64_t& at) {
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min<std::uint64_t>(size_, 1024 * 1024)));
  for (std::uint64_t from = offset.value_or(0); from + sizeof(flashlog::BlockHeader) <= size_;) {
    const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), size_ - from));
    const ssize_t got = read_some(MutableBytes(piece).first(wanted), from);
    if (is_device_ && got < static_cast<ssize_t>(std::min(wanted, kUnreadableBytes))) {
      from = (from / kUnreadableBytes + 1) * kUnreadableBytes;
      continue;
    }
    if (got < static_cast<ssize_t>(sizeof kMagicText)) return false;
    const char* const text = reinterpret_cast<const char*>(piece.data());
    const char* const end = text + got;
    for (const char* found = text;
         (found = std::search(found, end, std::begin(kMagicText), std::end(kMagicText))) != end; ++found) {
      at = from + static_cast<std::uint64_t>(found - text);
      header = {};
      const std::uint64_t bytes = std::min<std::uint64_t>(sizeof header, size_ - at);
      if (read_at(at, {header.bytes(), static_cast<std::size_t>(bytes)}) && flashlog::is_header(header))
        return true;
    }
    // What begins at the end of a piece is whole in the next one.
    from += static_cast<std::uint64_t>(got) - (sizeof kMagicText - 1);
  }
  return false;
}

/// Whether a window that begins at `from` has the byte at `at`.
bool FlashImage::load_window(std::uint64_t from, std::uint64_t at, std::size_t bytes) {
  const ssize_t got = read_some(MutableBytes(window_).first(bytes), from);
  window_at_ = from;
  window_bytes_ = got > 0 ? static_cast<std::size_t>(got) : 0;
  return at < window_at_ + window_bytes_;
}

bool FlashImage::read_at(std::uint64_t at, MutableBytes to) {
  while (!to.empty()) {
    if (at >= size_) return false;
    if ((at < window_at_ || at >= window_at_ + window_bytes_) &&
        !load_window(at / kWindowBytes * kWindowBytes, at, kWindowBytes) &&
        !(is_device_ && load_window(at, at, std::min(to.size(), kUnreadableBytes))))
      return false;
    const std::size_t in_window = static_cast<std::size_t>(at - window_at_);
    const std::size_t now = std::min(to.size(), window_bytes_ - in_window);
    std::memcpy(to.data(), window_.data() + in_window, now);
    at += now;
    to = to.subspan(now);
  }
  return true;
}

Status FlashImage::read_block(void* image, std::uint32_t block, std::uint32_t offset, MutableBytes to) {
  FlashImage& self = *static_cast<FlashImage*>(image);
  const std::uint64_t at = self.base_ + std::uint64_t{block} * self.device_.geometry.block_bytes + offset;
  return self.read_at(at, to) ? Status::ok : Status::io_error;
}

ExtractedImage::~ExtractedImage() {
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

std::string ExtractedImage::open(const std::string& path, const SearchReport& report,
                                 std::optional<std::uint32_t> boot) {
  if (!FlashImage::is_image(path)) return path;
  FlashImage image;
  if (!image.open(path, std::nullopt)) {
    report.error(image.error());
    return path;
  }
  const char* const temporary = posix::trusted_variable("TMPDIR");
  std::string name = std::string(temporary != nullptr && *temporary != '\0' ? temporary : "/tmp") +
                     "/opdump-" + std::string(6, 'X');
  if (mkdtemp(name.data()) == nullptr) {
    report.error(name + ": " + strerror(errno));
    return path;
  }
  directory_ = name;
  if (const std::string problem = boot ? missing_boot_text(image, *boot) : std::string(); !problem.empty()) {
    report.error(path + ": " + problem);
    return directory_;
  }
  const auto error = [&](const std::string& message) { report.error(path + ": " + message); };
  find_losses(image, boot, error);
  extract_image(image, directory_, {.boot = boot}, !boot && image.boots().size() > 1, error);
  if (const std::optional<std::uint32_t> cut = image.cut_boot(); cut && (!boot || *boot == *cut))
    report.note(path + ": " + cut_text(*cut));
  return directory_;
}

}  // namespace opdump::tool
