#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "src/tool/read/dump/spilled_sort.hpp"

namespace opdump::tool {

/// The directories of any number of files, in bounded memory.
class FileDirectories {
 public:
  void add(std::string_view directory) {
    if (is_new(directory)) static_cast<void>(sort_.add(directory));
  }

  /// Gives each of them once to `take`, in the order of their bytes. To be called once, after all `add`.
  void for_each(const std::function<void(const std::string& directory)>& take) {
    static_cast<void>(sort_.finish());
    last_.reset();
    SpilledSort::Reader reader(sort_);
    for (std::string_view directory; reader.next(directory);) {
      if (is_new(directory)) take(*last_);
    }
  }

  /// What is wrong with the temporary file; else empty.
  const std::string& error() const { return sort_.error(); }

 private:
  bool is_new(std::string_view directory) {
    if (last_ == directory) return false;
    last_ = directory;
    return true;
  }

  SpilledSort sort_{[](std::string_view a, std::string_view b) { return a < b; }};
  std::optional<std::string> last_;
};

}  // namespace opdump::tool
