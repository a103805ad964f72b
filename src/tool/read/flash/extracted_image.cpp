#include "src/tool/read/flash/extracted_image.hpp"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <filesystem>

#include "platform/posix/impl/trusted_variable.hpp"
#include "src/tool/read/flash/flash_image.hpp"
#include "src/tool/read/flash/image_contents.hpp"

namespace opdump::tool {

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
