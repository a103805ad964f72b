#pragma once
#include <cstdint>
#include <optional>
#include <string>

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

}  // namespace opdump::tool
