#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/read/dump/spilled_table.hpp"

namespace opdump::tool {

/// Numbers texts from 0 on, each once, in the order in which they come first. In bounded memory but for 8 to
/// 16 bytes for each.
class NumberedTexts {
 public:
  /// The number of the text; `is_new`: it is its first time.
  std::uint32_t number(std::string_view text, bool& is_new);
  std::uint32_t number(std::string_view text) {
    bool is_new = false;
    return number(text, is_new);
  }

  std::size_t size() const { return texts_.size(); }

  /// Empty, with `error()`, where the temporary file cannot be read.
  std::string text(std::size_t number) const;

  /// What is wrong with the temporary file; else empty.
  const std::string& error() const { return texts_.error(); }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t number = UINT32_MAX;  ///< UINT32_MAX: it is free
  };

  std::size_t next(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }
  void grow();

  SpilledTable texts_;
  std::vector<Slot>
      slots_;  ///< their number is a power of 2; a text is in the first free one from its hash on
  std::string found_;
};

}  // namespace opdump::tool
