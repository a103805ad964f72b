#pragma once
#include <map>
#include <string>
#include <string_view>

namespace opdump::tool {

/// Pairs of files in one directory whose writer was cut off between renaming the one and the other: neither
/// counts. See "Pairs" of `TreeSink`.
class PendingPairs {
 public:
  /// Reads the note `name` of `directory`; ignores any other file, and a note that cannot be read.
  void read(const std::string& directory, std::string_view name);

  bool empty() const { return others_.empty(); }

  /// The other file of the pair that `name` belongs to; null: it belongs to none.
  const std::string* other(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> others_;
};

}  // namespace opdump::tool
