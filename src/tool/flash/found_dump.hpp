#pragma once
#include <memory>
#include <string>
#include <vector>

#include "src/tool/dump/found_files.hpp"
#include "src/tool/flash/extracted_image.hpp"

namespace opdump::tool {

/// The files of dumps that were named one by one: files, directories, and flash images, whose contents lie in
/// directories of their own as long as this object lives.
class FoundDump {
 public:
  /// Adds what `path` names; everything in a flash image, whatever `recursive` says.
  void add(const std::string& path, bool recursive, const SearchReport& report) {
    images_.push_back(std::make_unique<ExtractedImage>());
    const std::string there = images_.back()->open(path, report);
    find_files(there, recursive || there != path, files_, report);
  }

  std::vector<FoundFile>& files() { return files_; }

 private:
  std::vector<std::unique_ptr<ExtractedImage>> images_;
  std::vector<FoundFile> files_;
};

}  // namespace opdump::tool
