#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "src/tool/cli/json.hpp"
#include "src/tool/read/dump/temporary_file.hpp"

namespace opdump::tool {

/// JSON for a page: holds no `<`. In bounded memory: what passes 1 MiB lies in a temporary file. What passes
/// `most` bytes is counted, not kept.
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

  /// Gives all that was passed to `put`, piece by piece, until that returns false. False, then too, and with
  /// `error()` when the temporary file cannot be read. Not to be called where it is too large.
  template <class Put>
  bool give(Put put) {
    std::string piece;
    for (std::uint64_t at = 0; at < file_.size(); at += piece.size()) {
      piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kBuffered, file_.size() - at)));
      if (!file_.read(at, std::as_writable_bytes(std::span(piece)))) {
        fail(file_.error());
        return false;
      }
      if (!put(piece)) return false;
    }
    return put(kept_);
  }

  /// What is wrong with a temporary file, so that values are missing; else empty.
  const std::string& error() const { return error_; }
  void fail(const std::string& error) {
    if (error_.empty()) error_ = error;
  }

 private:
  static constexpr std::size_t kBuffered = std::size_t{1} << 20;

  void keep(std::string_view text) {
    bytes_ += text.size();
    if (bytes_ > most_) {
      kept_ = {};
      file_ = {};
      return;
    }
    kept_.append(text);
    if (kept_.size() < kBuffered) return;
    if (!file_.append(as_bytes(kept_))) fail(file_.error());
    kept_.clear();
  }

  const std::size_t most_;
  std::size_t bytes_ = 0;
  std::string kept_;
  TemporaryFile file_;
  std::string error_;
};

}  // namespace opdump::tool
