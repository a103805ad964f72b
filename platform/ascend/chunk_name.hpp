#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "opdump/base/build.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// What the name of a file that CANN's callback brings says. Refers to the name's text.
struct ChunkName {
  /// The part of the name that counts: from the dump's directory on, which the time names; without such a
  /// directory what is below the config's `dump_path`, or else the last part of an absolute name.
  std::string_view path{};
  std::string_view file{};   ///< the last part of `path`
  std::uint64_t time = 0;    ///< YYYYMMDDHHMMSS of the dump's directory; 0: there is none
  std::uint32_t device = 0;  ///< only with a time
  bool in_model = false;     ///< the next three are known
  std::string_view model{};  ///< as it stands in file names
  std::uint32_t model_id = 0;
  std::uint64_t step = 0;

  /// The file is the record of an operator or its statistics, by the place and by the name
  /// `{type}.{name}.{task}.{stream}.{microseconds}`, with a number more in front of the task where CANN
  /// counts its files. `.{task type}.{context}.{thread}.{device}` and `.csv` or `.bin` may stand behind it.
  /// Nothing of what follows is known of another file.
  bool is_record = false;
  std::string_view type{};     ///< as it stands in file names
  std::string_view op_name{};  ///< likewise
  std::uint32_t task_id = 0;
  std::uint32_t stream_id = 0;
  std::uint64_t unix_us = 0;
  std::string_view suffix{};  ///< behind the time, from the dot on

  /// Bytes of `path` in front of `file`, without the slash.
  constexpr std::size_t directory_bytes() const {
    return path.size() == file.size() ? 0 : path.size() - file.size() - 1;
  }
  /// The file begins with a head that says how long it is.
  constexpr bool has_head() const {
    return is_record && !suffix.ends_with(".csv") && !suffix.ends_with(".bin");
  }
  constexpr bool is_csv() const { return file.ends_with(".csv"); }
};

/// A number as CANN writes it in names: decimal, without a zero before it.
template <class Number>
constexpr bool parse_name_number(std::string_view text, Number& number) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return false;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' ||
        value > (std::uint64_t{static_cast<Number>(-1)} - static_cast<unsigned>(c - '0')) / 10)
      return false;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  number = static_cast<Number>(value);
  return true;
}

/// Takes the parts of names apart; a step of `parse_chunk_name`.
class ChunkNameParser {
 public:
  static constexpr bool parse(std::string_view text, std::string_view root, ChunkName& name) {
    name = {};
    text = without_address(text);
    const bool has_time = find_time(text, name);
    if (!has_time) name.path = below(text, root);
    for (std::string_view rest = name.path; !rest.empty();) {
      const std::string_view part = cut(rest, '/');
      if (part.empty() || part == "." || part == "..") return false;
      name.file = part;
    }
    if (name.path.empty() || name.path.back() == '/') return false;
    if (has_time) name.is_record = parse_place(name) && parse_file(name.file, name);
    return true;
  }

 private:
  static constexpr std::size_t kTimeDigits = 14;
  static constexpr std::size_t kLeastUsDigits = 16;

  static constexpr std::string_view cut(std::string_view& rest, char separator) {
    const std::size_t at = rest.find(separator);
    const std::string_view part = rest.substr(0, at);
    rest = at == rest.npos ? std::string_view() : rest.substr(at + 1);
    return part;
  }

  static constexpr bool are_digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  }

  /// `text` without "1.2.3.4:", which CANN cuts off too.
  static constexpr std::string_view without_address(std::string_view text) {
    constexpr std::size_t kMostAddressBytes = 15;
    std::string_view rest = text;
    std::string_view address = cut(rest, ':');
    if (address.size() == text.size() || address.size() > kMostAddressBytes) return text;
    for (int part = 0; part < 4; ++part) {
      std::uint8_t number = 0;
      if (!parse_name_number(cut(address, '.'), number)) return text;
    }
    return address.empty() ? rest : text;
  }

  /// The last part that is a time and in front of a device's directory.
  static constexpr bool find_time(std::string_view text, ChunkName& name) {
    for (std::size_t end = text.size(); end != 0;) {
      const std::size_t slash = text.rfind('/', end - 1);
      const std::size_t start = slash == text.npos ? 0 : slash + 1;
      const std::string_view part = text.substr(start, end - start);
      std::string_view behind = text.substr(end);
      if (part.size() == kTimeDigits && part[0] != '0' && parse_name_number(part, name.time) &&
          !behind.empty()) {
        behind.remove_prefix(1);
        const std::size_t slash_behind = behind.find('/');
        if (slash_behind != behind.npos && parse_name_number(behind.substr(0, slash_behind), name.device)) {
          name.path = text.substr(start);
          return true;
        }
      }
      end = slash == text.npos ? 0 : slash;
    }
    name.time = 0;
    return false;
  }

  static constexpr std::string_view below(std::string_view text, std::string_view root) {
    while (!root.empty() && root.back() == '/') root.remove_suffix(1);
    if (!root.empty() && text.size() > root.size() && text.substr(0, root.size()) == root &&
        text[root.size()] == '/') {
      text.remove_prefix(root.size());
      while (!text.empty() && text[0] == '/') text.remove_prefix(1);
      return text;
    }
    if (!text.empty() && text[0] == '/') return text.substr(text.rfind('/') + 1);
    while (text.size() > 1 && text[0] == '.' && text[1] == '/') text.remove_prefix(2);
    return text;
  }

  /// As CANN leaves a name that it puts into a path.
  static constexpr bool is_part(std::string_view text) {
    for (const char c : text) {
      if (c == ' ' || c == '.' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        return false;
    }
    return !text.empty();
  }

  /// `{time}/{device}/{file}` or `{time}/{device}/{model}/{model id}/{step}/{file}`.
  static constexpr bool parse_place(ChunkName& name) {
    std::string_view rest = name.path.substr(0, name.directory_bytes());
    cut(rest, '/');
    cut(rest, '/');
    if (rest.empty()) return true;
    name.model = cut(rest, '/');
    name.in_model = is_part(name.model) && parse_name_number(cut(rest, '/'), name.model_id) &&
                    parse_name_number(rest, name.step);
    return name.in_model;
  }

  static constexpr bool parse_file(std::string_view file, ChunkName& name) {
    std::string_view rest = file;
    name.type = cut(rest, '.');
    name.op_name = cut(rest, '.');
    std::string_view task = cut(rest, '.');
    std::string_view stream = cut(rest, '.');
    std::string_view us = cut(rest, '.');
    if (us.size() < kLeastUsDigits) {
      std::uint64_t count = 0;
      if (!parse_name_number(task, count)) return false;
      task = stream;
      stream = us;
      us = cut(rest, '.');
    }
    if (!is_part(name.type) || !is_part(name.op_name) || !parse_name_number(task, name.task_id) ||
        !parse_name_number(stream, name.stream_id) || us.size() < kLeastUsDigits || !are_digits(us))
      return false;
    if (us[0] != '0' && !parse_name_number(us, name.unix_us)) return false;
    name.suffix = file.substr(static_cast<std::size_t>(us.data() + us.size() - file.data()));
    return is_suffix(rest);
  }

  static constexpr bool is_suffix(std::string_view rest) {
    if (rest.empty() || rest == "csv" || rest == "bin") return true;
    for (int part = 0; part < 4; ++part) {
      std::uint32_t value = 0;
      const std::string_view text = cut(rest, '.');
      if (!parse_name_number(text, value) && (part != 0 || text != "FFTSPLUS")) return false;
    }
    return rest.empty() || rest == "csv" || rest == "bin";
  }
};

/// Takes the name of a chunk's file apart. `root` is the config's `dump_path`, with which a name may begin.
/// False when there is no name, or one that leads out of the directory that it lies in. Source of the names:
/// CANN's aicpu_sched and adump.
constexpr bool parse_chunk_name(std::string_view text, std::string_view root, ChunkName& name) {
  return ChunkNameParser::parse(text, root, name);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
