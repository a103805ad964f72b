#pragma once
#include <cstdlib>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/config/parse.hpp"
#include "tests/support/temporary_directory.hpp"

#ifndef OPDUMP_TEST_DATA
#error "compile with -DOPDUMP_TEST_DATA=\"<the folder tests/data>\""
#endif

namespace opdump::tests {

/// A config of tests/data/config/DIALECT.txt, and the expectation beside it.
struct PackedConfig {
  std::string folder;  ///< "accept", "inactive", "warn" or "refuse"
  std::string name;
  std::string text;
  ConfigFault fault = ConfigFault::none;  ///< of "refuse", with line and column
  unsigned line = 0;
  unsigned column = 0;
  std::string key;    ///< of "refuse" and "warn": the key that the error or the note is about
  std::string words;  ///< a piece of the reason or of the note
};

/// The value of the enumerator `name`; throws for a name that no case may have.
inline ConfigFault fault_of(std::string_view name) {
  static const std::map<std::string_view, ConfigFault> kFaults = {
      {"too_deep", ConfigFault::too_deep},
      {"syntax", ConfigFault::syntax},
      {"missing", ConfigFault::missing},
      {"wrong_type", ConfigFault::wrong_type},
      {"empty", ConfigFault::empty},
      {"not_in_list", ConfigFault::not_in_list},
      {"invalid_value", ConfigFault::invalid_value},
      {"conflict", ConfigFault::conflict}};
  return kFaults.at(name);
}

/// Splits `text` at " | " into at most `most` fields; the last one may contain the separator.
inline std::vector<std::string> bar_fields(std::string text, std::size_t most) {
  std::vector<std::string> fields;
  text += ' ';
  for (std::size_t end; fields.size() + 1 < most && (end = text.find(" | ")) != std::string::npos;) {
    fields.push_back(text.substr(0, end));
    text.erase(0, end + 3);
  }
  if (!text.empty()) text.pop_back();
  fields.push_back(text);
  return fields;
}

inline std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  std::istringstream words(hex);
  for (std::string word; words >> word;) bytes += static_cast<char>(std::strtoul(word.c_str(), nullptr, 16));
  return bytes;
}

/// Parses the head of a case, without its "== ":
///   refuse/NAME [hex] | FAULT | LINE:COLUMN | KEY | PIECE OF THE REASON
///   warn/NAME [hex] | KEY | PIECE OF THE NOTE
///   FOLDER/NAME [hex]
inline PackedConfig packed_head(const std::string& head, bool& hex) {
  const bool refused = head.starts_with("refuse/");
  std::vector<std::string> fields = bar_fields(head, refused ? 5 : 3);
  PackedConfig config;
  hex = fields[0].ends_with(" hex");
  if (hex) fields[0].resize(fields[0].size() - 4);
  const std::size_t slash = fields[0].find('/');
  config.folder = fields[0].substr(0, slash);
  config.name = fields[0].substr(slash + 1);
  if (refused) {
    config.fault = fault_of(fields.at(1));
    config.line = static_cast<unsigned>(std::stoul(fields.at(2)));
    config.column = static_cast<unsigned>(std::stoul(fields[2].substr(fields[2].find(':') + 1)));
  }
  if (fields.size() > 1) {
    config.key = fields.at(fields.size() - 2);
    config.words = fields.back();
  }
  return config;
}

/// Returns `text` in braces if a key begins it two blanks from the left, and in those of "dump" too if it begins four.
inline std::string framed(const std::string& text) {
  if (text.starts_with("    \"")) return "{\n  \"dump\": {\n" + text + "  }\n}\n";
  return text.starts_with("  \"") ? "{\n" + text + "}\n" : text;
}

/// Reads the cases of one file: a head begins with "== ", its text follows, up to the next head, perhaps without its
/// outer braces (`framed`). A last line "\" takes away the line break before it; a text of a "hex" case stands in
/// hexadecimal. Lines before the first head are for people.
inline std::vector<PackedConfig> read_packed_configs(const std::filesystem::path& path) {
  std::vector<PackedConfig> configs;
  bool hex = false;
  const auto finish = [&] {
    if (configs.empty()) return;
    std::string& text = configs.back().text;
    if (hex)
      text = bytes_of_hex(text);
    else if (text.ends_with("\n\\\n"))
      text.resize(text.size() - 3);
    else
      text = framed(text);
  };
  std::istringstream file(read_file(path));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== ")) {
      finish();
      configs.push_back(packed_head(line.substr(3), hex));
    } else if (!configs.empty()) {
      configs.back().text += line + '\n';
    }
  }
  finish();
  return configs;
}

/// The cases of a dialect, "cann", "lite", "mindspore" or "torchair", in the order of its file.
inline const std::vector<PackedConfig>& packed_configs(const std::string& dialect) {
  static std::map<std::string, std::vector<PackedConfig>> read;
  std::vector<PackedConfig>& configs = read[dialect];
  if (configs.empty())
    configs = read_packed_configs(std::filesystem::path(OPDUMP_TEST_DATA) / "config" / (dialect + ".txt"));
  return configs;
}

/// The text of the case `path`, as "mindspore/accept/o2_bin"; throws when there is none.
inline const std::string& packed_text(std::string_view path) {
  const std::size_t slash = path.find('/');
  for (const PackedConfig& config : packed_configs(std::string(path.substr(0, slash)))) {
    if (config.folder + '/' + config.name == path.substr(slash + 1)) return config.text;
  }
  throw std::runtime_error("no config " + std::string(path));
}

}  // namespace opdump::tests
