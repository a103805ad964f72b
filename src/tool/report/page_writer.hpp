#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "src/tool/cli/json.hpp"

namespace opdump::tool {

/// JSON for a page: holds no `<`. What passes `most` bytes is counted, not kept.
class PageWriter : public JsonWriter {
 public:
  explicit PageWriter(std::size_t most) : most_(most) { kept_.reserve(std::min(most, kReserved)); }

  /// Takes over what was written since. To be called now and then.
  void pass() {
    for (const char letter : take()) {
      const bool escaped = letter == '<';
      bytes_ += escaped ? 6 : 1;
      if (bytes_ <= most_) escaped ? kept_.append("\\u003c") : kept_.append(1, letter);
    }
    if (bytes_ > most_) kept_ = {};
  }

  std::size_t bytes() const { return bytes_; }

  /// All that was passed; empty where that is more than `most`.
  const std::string& kept() const { return kept_; }

  /// What is wrong with a temporary file, so that values are missing; else empty.
  const std::string& error() const { return error_; }
  void fail(const std::string& error) {
    if (error_.empty()) error_ = error;
  }

 private:
  static constexpr std::size_t kReserved = std::size_t{8} << 20;

  const std::size_t most_;
  std::size_t bytes_ = 0;
  std::string kept_;
  std::string error_;
};

}  // namespace opdump::tool
