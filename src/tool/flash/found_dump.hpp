#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/dump/found_files.hpp"
#include "src/tool/flash/extracted_image.hpp"

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
    const std::size_t first = files_.size();
    find_files(there, recursive || there != path, files_, report, sealed);
    if (boot && there == path)
      files_.erase(std::remove_if(files_.begin() + static_cast<std::ptrdiff_t>(first), files_.end(),
                                  [&](const FoundFile& file) { return boot_of(file.path) != boot; }),
                   files_.end());
  }

  std::vector<FoundFile>& files() { return files_; }

 private:
  std::vector<std::unique_ptr<ExtractedImage>> images_;
  std::vector<FoundFile> files_;
};

}  // namespace opdump::tool
