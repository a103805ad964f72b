#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/flash/extracted_image.hpp"

namespace opdump::tool {

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
