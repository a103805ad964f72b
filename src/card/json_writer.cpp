#include "src/card/json_writer.hpp"

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace opdump::cards {
inline namespace OPDUMP_NAMESPACE {
namespace {

/// Bytes of the UTF-8 character at the start of `text`, 0 when it is none.
std::size_t utf8_bytes(std::string_view text) {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(0);
  const std::size_t bytes = first < 0x80   ? 1
                            : first < 0xc2 ? 0
                            : first < 0xe0 ? 2
                            : first < 0xf0 ? 3
                            : first < 0xf5 ? 4
                                           : 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
    return 0;
  return bytes;
}

/// As JSON; `is_utf8` becomes false where it is not.
std::string quoted(std::string_view text, bool& is_utf8) {
  std::string out = "\"";
  while (!text.empty()) {
    const unsigned char c = static_cast<unsigned char>(text[0]);
    const std::size_t bytes = utf8_bytes(text);
    char escaped[8];
    if (bytes == 0) {
      is_utf8 = false;
      std::snprintf(escaped, sizeof escaped, "\\udc%02x", c);
      out += escaped;
    } else if (c < 0x20 || c == 0x7f) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    } else if (c == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0) {  // C1 controls
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned char>(text[1]));
      out += escaped;
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out + '"';
}

std::string real_text(double number) {
  if (!std::isfinite(number)) return std::isnan(number) ? "\"nan\"" : number < 0 ? "\"-inf\"" : "\"inf\"";
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

}  // namespace

JsonWriter& JsonWriter::open(char bracket) {
  start();
  text_ += bracket;
  ++depth_;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  --depth_;
  if (!first_) indent();
  break_line();
  text_ += bracket;
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  start();
  text_ += quoted(name, is_utf8_) + ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::line(std::size_t blanks) {
  on_new_line_ = true;
  blanks_ = blanks;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  return json(quoted(value, is_utf8_));
}

JsonWriter& JsonWriter::flag(bool value) {
  return json(value ? "true" : "false");
}

JsonWriter& JsonWriter::number(std::uint64_t value) {
  return json(std::to_string(value));
}

JsonWriter& JsonWriter::real(double value) {
  return json(real_text(value));
}

JsonWriter& JsonWriter::reals(std::span<const double> values) {
  std::string text = "[";
  for (const double value : values) text += (text.size() == 1 ? "" : ",") + real_text(value);
  return json(text + ']');
}

JsonWriter& JsonWriter::json(std::string_view value) {
  start();
  text_ += value;
  return *this;
}

std::string JsonWriter::take() {
  return std::exchange(text_, {});
}

void JsonWriter::start() {
  if (std::exchange(after_key_, false)) return;
  if (!first_) text_ += ',';
  if (depth_ != 0) indent();
  if (!break_line() && !first_) text_ += ' ';
  first_ = false;
}

void JsonWriter::indent() {
  if (indent_ != 0) line(indent_ * depth_);
}

bool JsonWriter::break_line() {
  if (!std::exchange(on_new_line_, false)) return false;
  text_.append("\n").append(blanks_, ' ');
  return true;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::cards
