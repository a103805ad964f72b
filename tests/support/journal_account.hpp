#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace opdump::tests {

/// What a journal says became of the records, every sequence number once.
struct JournalAccount {
  std::uint32_t written = 0;  ///< whole
  std::uint32_t reduced = 0;
  std::uint32_t lost = 0;
  std::uint32_t in_gaps = 0;
  std::string_view last_line{};
  std::string wrong{};  ///< empty: between `from` and `to` every number has exactly one fate
};

inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

inline JournalAccount account_of(std::string_view journal) {
  struct Stream {
    bool open = false;
    std::uint32_t next = 0;
    std::map<std::uint32_t, std::string_view> fates{};
  };
  JournalAccount account;
  std::map<std::uint32_t, Stream> streams;
  const auto number = [&account](std::string_view text) {
    std::uint32_t value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ptr != text.data() + text.size())
      account.wrong = "not a number: " + std::string(text);
    return value;
  };
  if (!journal.ends_with('\n')) {
    account.wrong = "no whole line at the end";
    return account;
  }
  for (const std::string_view line : split(journal.substr(0, journal.size() - 1), '\n')) {
    account.last_line = line;
    const std::vector<std::string_view> fields = split(line, ',');
    const std::string_view what = fields[0];
    if (what == "opdump-journal" || what == "closed" || what == "begun" || what == "op" || what == "never" ||
        what == "chunk" || what == "driver" || what == "provenance" || what == "clock")
      continue;
    if (fields.size() < (what == "gap" ? 4 : 3)) {
      account.wrong = "a line too short: " + std::string(line);
      return account;
    }
    Stream& stream = streams[number(fields[1])];
    const std::uint32_t first = number(fields[2]);
    if (what == "from") {
      stream = {true, first, {}};
    } else if (what == "to") {
      for (; stream.next < first; ++stream.next) {
        if (stream.fates.erase(stream.next) == 0) account.wrong = "no fate before: " + std::string(line);
      }
      if (!stream.fates.empty()) account.wrong = "a fate after its end: " + std::string(line);
      stream.open = false;
    } else if (what == "written" || what == "reduced" || what == "lost" || what == "gap" ||
               what == "digests") {
      const std::uint32_t last = what == "gap" || what == "digests" ? number(fields[3]) : first;
      for (std::uint32_t sequence = first; sequence <= last; ++sequence) {
        if (!stream.open || !stream.fates.emplace(sequence, what).second)
          account.wrong = "a second fate: " + std::string(line);
        account.written += what == "written" || what == "digests" ? 1 : 0;
        account.reduced += what == "reduced" ? 1 : 0;
        account.lost += what == "lost" ? 1 : 0;
        account.in_gaps += what == "gap" ? 1 : 0;
      }
    } else {
      account.wrong = "an unknown line: " + std::string(line);
    }
  }
  for (const auto& [recorder, stream] : streams) {
    if (stream.open) account.wrong = "no end of recorder " + std::to_string(recorder);
  }
  return account;
}

}  // namespace opdump::tests
