#pragma once
#include <filesystem>

namespace opdump::tests {

/// Makes `path` the working directory until it goes out of scope.
class WorkingDirectory {
 public:
  explicit WorkingDirectory(const std::filesystem::path& path) { std::filesystem::current_path(path); }
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;
  ~WorkingDirectory() { std::filesystem::current_path(before_); }

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
};

}  // namespace opdump::tests
