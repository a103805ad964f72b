#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/read/dump/file_list.hpp"
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
      if (all || boot_of(file.path) == boot) files_.add(file);
    };
    find_files(there, recursive || there != path, take, report, sealed);
  }

  /// To be called once after all `add`: the files in the order in which they were found.
  const FileList& files() {
    files_.finish();
    return files_;
  }

  /// To be called once all files were read: tells `report` when some are missing, as there was no room for
  /// the list of them.
  void tell_missing(const SearchReport& report) const {
    if (!files_.error().empty()) report.error(files_.error());
  }

 private:
  std::vector<std::unique_ptr<ExtractedImage>> images_;
  FileList files_;
};

}  // namespace opdump::tool
