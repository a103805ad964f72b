#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "platform/flashlog/log_reader.hpp"
#include "platform/posix/base/unique_fd.hpp"
#include "platform/storage/raw_storage.hpp"
#include "src/tool/read/dump/found_files.hpp"

namespace opdump::tool {

/// The dump at a path. If the path is a flash image, its contents lie in a temporary directory as long as
/// this object lives.
class ExtractedImage {
 public:
  ExtractedImage() = default;
  ExtractedImage(const ExtractedImage&) = delete;
  ExtractedImage& operator=(const ExtractedImage&) = delete;
  ~ExtractedImage();

  /// The directory to read in place of `path`; `path` itself if it is not a flash image. `report` gets what
  /// the image lacks. With `boot`, only the contents of that boot are extracted.
  std::string open(const std::string& path, const SearchReport& report,
                   std::optional<std::uint32_t> boot = std::nullopt);

 private:
  std::string directory_;
};

/// The files of dumps named one by one: files, directories and flash images. The contents of an image lie in
/// a temporary directory as long as this object lives.
class FoundDump {
 public:
  /// Adds the files at `path`; from a flash image all files, even if not `recursive`. With `boot`, adds only
  /// the files of that boot, in an image or below the boot's folder.
  void add(const std::string& path, bool recursive, const SearchReport& report,
           std::optional<std::uint32_t> boot = std::nullopt, SealedFiles sealed = SealedFiles::passed_over) {
    images_.push_back(std::make_unique<ExtractedImage>());
    const std::string there = images_.back()->open(path, report, boot);
    const bool all = !boot || there != path;
    const auto take = [&](const FoundFile& file) {
      if (all || boot_of(file.path) == boot) files_.push_back(file);
    };
    find_files(there, recursive || there != path, take, report, sealed);
  }

  /// In the order in which they were found.
  const std::vector<FoundFile>& files() const { return files_; }

 private:
  std::vector<std::unique_ptr<ExtractedImage>> images_;
  std::vector<FoundFile> files_;
};

/// An untrusted flash log in an image file, or on an MTD device, a UBI volume or a block device. Nothing is
/// written to it.
class FlashImage {
 public:
  FlashImage() = default;
  FlashImage(const FlashImage&) = delete;
  FlashImage& operator=(const FlashImage&) = delete;

  /// Whether `path` is a file that begins with a log, of which the first block, and those up to the next
  /// power of two, may be bad.
  static bool is_image(const std::string& path);

  /// Finds the log in `path`. Its first block lies at byte `offset`; without `offset`, the first valid block
  /// header says where. On false `error()` says why there is none.
  bool open(const std::string& path, std::optional<std::uint64_t> offset);

  /// Reads the log from its beginning; the image must stay.
  flashlog::LogReader& reader() { return *reader_; }

  /// The reader begins again.
  [[nodiscard]] Status rewind();

  /// Numbers of the boots that have blocks in the log, in ascending order.
  std::vector<std::uint32_t> boots() const;

  /// The boot whose beginning newer blocks have overwritten when the log wrapped; nothing if no beginning is
  /// missing, or if it is missing for another reason.
  std::optional<std::uint32_t> cut_boot();

  /// A line for each place where blocks of the log are not there, though it did not go round; with `boot`,
  /// only where they may have been of that boot.
  std::vector<std::string> holes(std::optional<std::uint32_t> boot) const;

  /// Byte of the image.
  std::uint64_t byte_of(flashlog::Position at) const;

  const flashlog::Geometry& geometry() const { return device_.geometry; }

  /// Whether a FlashHistory has written there.
  bool is_history() const { return is_history_; }
  std::uint64_t offset() const { return base_; }
  std::uint64_t bytes() const { return size_; }

  /// Of a device: what it is, and what reading it has told so far. Empty for a file.
  std::string device_text();

  /// Bytes of the last blocks that the image lacks; 0 when it is whole.
  std::uint64_t missing_bytes() const;

  /// "FILE: reason".
  const std::string& error() const { return error_; }

 private:
  static constexpr std::size_t kWindowBytes = 64 * 1024;
  static constexpr std::uint64_t kSearchBytes = std::uint64_t{256} << 20;

  bool fail(const std::string& reason);
  bool find_header(std::optional<std::uint64_t> offset, flashlog::Header& header, std::uint64_t& at);
  ssize_t read_some(MutableBytes to, std::uint64_t at);
  bool load_window(std::uint64_t from, std::uint64_t at, std::size_t bytes);
  bool read_at(std::uint64_t at, MutableBytes to);
  static Status read_block(void* image, std::uint32_t block, std::uint32_t offset, MutableBytes to);

  std::string path_;
  std::string error_;
  posix::UniqueFd file_;
  bool is_device_ = false;
  bool by_blocks_ = false;       ///< `storage_` reads, and passes over bad blocks; else `file_` does
  storage::RawStorage storage_;  ///< open if the image is a device
  std::optional<storage::EccCounts> ecc_before_;
  bool is_history_ = false;
  std::uint64_t size_ = 0;
  std::uint64_t base_ = 0;
  std::vector<std::byte> window_;  ///< the bytes of the image that were read last, from `window_at_` on
  std::uint64_t window_at_ = 0;
  std::size_t window_bytes_ = 0;
  flashlog::Device device_{};
  std::vector<flashlog::Segment> segments_;
  std::vector<char> names_;
  std::unique_ptr<flashlog::LogReader> reader_;
};

}  // namespace opdump::tool
