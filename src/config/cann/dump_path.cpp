#include "src/config/cann/dump_path.hpp"

#include <algorithm>

#include "src/config/letters.hpp"
#include "src/config/refusal.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::size_t kMaxBytes = 512;
constexpr std::string_view kRemoteSigns = "-=[];\\,./!@#$%^&*()_+{}:?";

/// As lenient as `stoi`, which CANN uses here: blanks and a sign before the digits, anything after them.
bool is_octet(std::string_view part) {
  part.remove_prefix(std::min(part.find_first_not_of(" \t\n\v\f\r"), part.size()));
  const bool negative = part.starts_with('-');
  if (negative || part.starts_with('+')) part.remove_prefix(1);
  if (part.empty() || !is_digit(part.front())) return false;
  int value = 0;
  for (std::size_t i = 0; i < part.size() && is_digit(part[i]); ++i) {
    value = value * 10 + (part[i] - '0');
    if (value > 255) return false;
  }
  return !negative || value == 0;
}

/// Four parts with dots between; CANN ignores a dot after the last part.
bool is_address(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  std::size_t parts = 1;
  for (std::size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.')) {
    if (!is_octet(text.substr(0, dot))) return false;
    text.remove_prefix(dot + 1);
    ++parts;
  }
  return parts == 4 && is_octet(text);
}

bool allowed_remotely(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kRemoteSigns.find(c) != std::string_view::npos;
}

Result<std::string_view> below_current_directory(std::string_view path, Arena& memory, std::string& reason) {
  if (!std::all_of(path.begin(), path.end(), allowed_remotely)) {
    reason = joined({"the path ", in_quotes(path), " after the address may consist of letters, digits and ",
                     kRemoteSigns, " only"});
    return Status::invalid_argument;
  }
  return memory.text(joined({"./", path}));
}

}  // namespace

Result<std::string_view> parse_dump_path(std::string_view text, const ConfigInput& input,
                                         std::string& reason) {
  if (text.size() > kMaxBytes) {
    reason = joined(
        {"the path has ", decimal(text.size()), " bytes, and at most ", decimal(kMaxBytes), " are allowed"});
    return Status::invalid_argument;
  }
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos && colon + 1 < text.size() && is_address(text.substr(0, colon)))
    return below_current_directory(text.substr(colon + 1), input.memory, reason);
  if (text.find('\0') != std::string_view::npos) {
    reason = joined({"the path ", in_quotes(text), " contains a NUL byte"});
    return Status::invalid_argument;
  }
  if (input.check_path != nullptr && !input.check_path(text, reason)) return Status::invalid_argument;
  return input.memory.text(text);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
