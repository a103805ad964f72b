#include "findings.hpp"

#include <cstdio>

#include "human_text.hpp"
#include "table.hpp"

namespace opdump::tool {
namespace {

struct KindTexts {
  std::string_view name;     ///< in JSON
  std::string_view heading;  ///< for people
};

constexpr KindTexts kKinds[] = {
    {"missing", "not there, though the journal says it was written"},
    {"bad_file", "there, but not what was written"},
    {"lost", "lost"},
    {"reduced", "only a reduced form was kept"},
    {"gap", "lost, and only their numbers are known"},
    {"by_op", "the same losses, as they were counted for each operator"},
    {"removed", "removed to make room"},
    {"absent",
     "never captured: the runtime did not offer it, it has another name there, or its model did not run"},
    {"journal", "the journal cannot be trusted"},
    {"not_final", "not finalized"},
    {"no_journal", "no journal"},
    {"unlisted", "in no journal"},
    {"part", "not finished"},
    {"damage", "lost with bytes of the image"},
    {"rotated", "older dumps, removed to make room"},
};
static_assert(std::size(kKinds) == static_cast<std::size_t>(FindingKind::kCount));

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

}  // namespace

std::string json_text(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const unsigned char c = static_cast<unsigned char>(text[0]);
    const std::size_t bytes = utf8_bytes(text);
    char escaped[8];
    if (bytes == 0) {
      std::snprintf(escaped, sizeof escaped, "\\udc%02x", c);
      out += escaped;
    } else if (c < 0x20 || c == 0x7f) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out + '"';
}

Findings::Findings(bool json) : json_(json) {
  if (json_) std::fputs("{\"findings\": [", stdout);
}

void Findings::add(FindingKind kind, bool wrong, std::vector<std::string> row,
                   const std::vector<FindingField>& fields) {
  complete_ &= !wrong;
  if (json_) return print_json(kind, wrong, fields);
  if (!wrong) row.push_back("(nothing wrong by itself)");
  ++groups_[static_cast<std::size_t>(kind)].findings;
  add_row(kind, std::move(row));
}

void Findings::add_summed(FindingKind kind, const std::vector<FindingField>& fields, std::uint64_t count) {
  complete_ = false;
  if (json_) return print_json(kind, true, fields);
  groups_[static_cast<std::size_t>(kind)].findings += count;
}

void Findings::add_row(FindingKind kind, std::vector<std::string> row) {
  if (json_) return;
  Group& group = groups_[static_cast<std::size_t>(kind)];
  ++group.lines;
  if (group.rows.size() >= kMostRows) return;
  for (std::string& cell : row) cell = printable(cell);
  group.rows.push_back(std::move(row));
}

void Findings::print_json(FindingKind kind, bool wrong, const std::vector<FindingField>& fields) {
  std::string out = first_ ? "\n" : ",\n";
  first_ = false;
  out += "  {\"kind\": " + json_text(kKinds[static_cast<std::size_t>(kind)].name);
  out += wrong ? ", \"wrong\": true" : ", \"wrong\": false";
  for (const FindingField& field : fields) {
    out += ", " + json_text(field.name) + ": ";
    out += field.is_number ? std::to_string(field.number) : json_text(field.text);
  }
  out += '}';
  std::fputs(out.c_str(), stdout);
}

void Findings::print() {
  if (json_) {
    std::fputs(first_ ? "]" : "\n]", stdout);
    return;
  }
  std::puts(complete_ ? "complete" : "not complete");
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    if (group.lines == 0) continue;
    std::printf("\n%s (%llu)\n", std::string(kKinds[i].heading).c_str(),
                static_cast<unsigned long long>(group.findings));
    Table table("  ", "llll");
    for (std::vector<std::string>& row : group.rows) table.add(std::move(row));
    table.print();
    if (group.lines > group.rows.size()) {
      std::printf("  and %llu more such lines; '--json' gives all\n",
                  static_cast<unsigned long long>(group.lines - group.rows.size()));
    }
  }
  std::puts("");
}

}  // namespace opdump::tool
