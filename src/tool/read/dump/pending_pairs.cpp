#include "src/tool/read/dump/pending_pairs.hpp"

#include <utility>

#include "opdump/base/bytes.hpp"
#include "platform/posix/tree/tree_files.hpp"
#include "src/tool/read/dump/mapped_file.hpp"

namespace opdump::tool {
namespace {

bool is_note(std::string_view name) {
  if (!name.ends_with(posix::kPairSuffix)) return false;
  name.remove_suffix(posix::kPairSuffix.size());
  return !name.empty() && name.find_first_not_of("0123456789") == name.npos;
}

/// Takes what stands before the next NUL off `text`; empty when there is none.
std::string take_name(std::string_view& text) {
  const std::size_t end = text.find('\0');
  if (end == text.npos) return {};
  const std::string name(text.substr(0, end));
  text.remove_prefix(end + 1);
  return name;
}

}  // namespace

void PendingPairs::read(const std::string& directory, std::string_view name) {
  if (!is_note(name)) return;
  MappedFile file;
  if (!file.open(directory + "/" + std::string(name))) return;
  std::string_view text = as_text(file.bytes());
  const std::string first = take_name(text);
  const std::string second = take_name(text);
  if (first.empty() || second.empty() || !text.empty()) return;
  others_[first] = second;
  others_[second] = first;
}

const std::string* PendingPairs::other(std::string_view name) const {
  const auto found = others_.find(name);
  return found == others_.end() ? nullptr : &found->second;
}

}  // namespace opdump::tool
