#pragma once
#include <map>
#include <string>
#include <string_view>

namespace opdump::tool {

/// The files of one directory that were renamed two at a time by a writer that was cut off in between: neither
/// counts. See "Pairs" of `TreeSink`.
class PendingPairs {
 public:
  /// Reads the note `name` of `directory`; any other file, and one that cannot be read, is left alone.
  void read(const std::string& directory, std::string_view name);

  bool empty() const { return others_.empty(); }

  /// The other one of the pair that `name` belongs to; null when it belongs to none.
  const std::string* other(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> others_;
};

}  // namespace opdump::tool
