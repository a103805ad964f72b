#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "src/tool/cli/json.hpp"

namespace opdump::tool {

/// JSON for a page: holds no `<`. What passes `most` bytes is counted, not kept.
class PageWriter : public JsonWriter {
 public:
  explicit PageWriter(std::size_t most) : most_(most) {}

  /// Takes over what was written since. To be called now and then.
  void pass() {
    const std::string text = take();
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('<', at), text.size());
      keep(std::string_view(text).substr(at, end - at));
      if (end < text.size()) keep("\\u003c");
      at = end + 1;
    }
  }

  /// A string that `write` gives to `put` in pieces, in which nothing is to be escaped.
  template <class Write>
  PageWriter& pieces(Write write) {
    json("\"");
    pass();
    write([this](std::string_view piece) { keep(piece); });
    keep("\"");
    return *this;
  }

  std::size_t bytes() const { return bytes_; }
  /// With `more` to come.
  bool is_too_large(std::size_t more = 0) const { return bytes_ + more > most_; }

  /// All that was passed. Not to be called where it is too large.
  const std::string& passed() const { return kept_; }

 private:
  void keep(std::string_view text) {
    bytes_ += text.size();
    if (bytes_ > most_) {
      kept_ = {};
    } else {
      kept_.append(text);
    }
  }

  const std::size_t most_;
  std::size_t bytes_ = 0;
  std::string kept_;
};

}  // namespace opdump::tool
