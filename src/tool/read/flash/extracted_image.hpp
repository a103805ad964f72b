#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace opdump::tool
