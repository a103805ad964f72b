#include "src/tool/judge/diff/digest_columns.hpp"

#include <algorithm>
#include <span>

namespace opdump::tool {

void DigestColumns::begin_column() {
  columns_.push_back({.first = count_});
}

void DigestColumns::push_back(const RunDigest& digest) {
  unwritten_.push_back(digest);
  ++columns_.back().count;
  ++count_;
  if (unwritten_.size() == kWritten) write();
}

void DigestColumns::write() {
  static_cast<void>(file_.append(std::as_bytes(std::span(unwritten_))));
  unwritten_.clear();
}

/// What fits into memory at once stays there.
void DigestColumns::finish() {
  if (file_.size() != 0) write();
}

RunDigest DigestColumns::at(std::size_t column, std::size_t row) const {
  Column& here = columns_[column];
  if (row >= here.count) return {};
  if (count_ == unwritten_.size()) return unwritten_[static_cast<std::size_t>(here.first) + row];
  if (row < here.kept_first || row - here.kept_first >= here.kept.size()) {
    here.kept_first = row;
    here.kept.resize(std::min(kKept, here.count - row));
    if (!file_.read((here.first + row) * sizeof(RunDigest), std::as_writable_bytes(std::span(here.kept)))) {
      here.kept.clear();
      return {};
    }
  }
  return here.kept[row - here.kept_first];
}

}  // namespace opdump::tool
