#include "src/tool/cli/new_directory.hpp"

#include <filesystem>
#include <system_error>

namespace opdump::tool {

std::string occupied(const std::string& directory, bool overwrite, std::string_view advice) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(directory, error);
  if (!std::filesystem::exists(status)) return {};
  if (!std::filesystem::is_directory(status)) return directory + ": is no directory";
  const bool empty = std::filesystem::is_empty(directory, error);
  if (error) return directory + ": " + error.message();
  if (empty || overwrite) return {};
  return directory + ": there is something in it already; " + std::string(advice);
}

}  // namespace opdump::tool
