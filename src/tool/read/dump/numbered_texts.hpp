#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace opdump::tool {

/// Numbers texts from 0 on, each once, in the order in which they come first.
class NumberedTexts {
 public:
  NumberedTexts() = default;
  NumberedTexts(const NumberedTexts&) = delete;
  NumberedTexts& operator=(const NumberedTexts&) = delete;

  /// The number of the text; `is_new`: it is its first time.
  std::uint32_t number(std::string_view text, bool& is_new) {
    const auto [at, inserted] = numbers_.emplace(text, static_cast<std::uint32_t>(texts_.size()));
    is_new = inserted;
    if (is_new) texts_.push_back(&at->first);
    return at->second;
  }
  std::uint32_t number(std::string_view text) {
    bool is_new = false;
    return number(text, is_new);
  }

  std::size_t size() const { return texts_.size(); }
  const std::string& text(std::size_t number) const { return *texts_[number]; }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> texts_;  ///< keys of `numbers_`
};

}  // namespace opdump::tool
