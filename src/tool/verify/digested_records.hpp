#pragma once
#include <cstdint>
#include <functional>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "src/tool/read/journal/journal_line.hpp"

namespace opdump::tool {

/// One record of a file of digests, as the journal of `device` would name it.
struct DigestedPath {
  JournalPath path;
  bool has_inputs = false;
  bool has_outputs = false;
};

/// Whom the records of a file of digests are told, and what is wrong with the file.
struct DigestListener {
  std::function<void(const DigestedPath& record)> record;
  std::function<void(std::string_view problem)> problem;
};

/// Reads a file of digests, and returns how many records it has. With `may_be_cut`, the beginning or the end
/// may be missing.
std::uint64_t read_digested(Bytes file, std::uint64_t device, bool may_be_cut,
                            const DigestListener& listener);

}  // namespace opdump::tool
