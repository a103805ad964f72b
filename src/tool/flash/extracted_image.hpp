#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "src/tool/dump/found_files.hpp"

namespace opdump::tool {

/// The dump behind a path, which may be a flash image: its contents then lie in a directory of their own as
/// long as this object lives.
class ExtractedImage {
 public:
  ExtractedImage() = default;
  ExtractedImage(const ExtractedImage&) = delete;
  ExtractedImage& operator=(const ExtractedImage&) = delete;
  ~ExtractedImage();

  /// The directory to look at in place of `path`; `path` itself when that is no flash image. What the image
  /// lacks is told to `report`.
  /// With `boot`, that of boot `boot` alone is there.
  std::string open(const std::string& path, const SearchReport& report,
                   std::optional<std::uint32_t> boot = std::nullopt);

 private:
  std::string directory_;
};

}  // namespace opdump::tool
