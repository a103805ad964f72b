#include "src/tool/verify/mapped_names.hpp"

#include <errno.h>
#include <sys/stat.h>

#include "src/tool/read/dump/directory_entries.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/mapping_file.hpp"

namespace opdump::tool {

std::string MappedNames::find(const std::string& full) {
  struct stat status {};
  if (look_at(full, status) || (errno != ENOENT && errno != ENAMETOOLONG)) return full;
  const std::size_t slash = full.rfind('/');
  const ByRealName& names = in(full.substr(0, slash));
  const auto found = names.find(full.substr(slash + 1));
  return found == names.end() ? full : full.substr(0, slash + 1) + found->second;
}

const MappedNames::ByRealName& MappedNames::in(const std::string& directory) {
  constexpr std::size_t kMostMappings = 16;
  const auto found = mappings_.find(directory);
  if (found != mappings_.end()) return found->second;
  if (mappings_.size() == kMostMappings) mappings_.clear();
  MappingFile mapping;
  // A row that cannot be read is told by the walk.
  static_cast<void>(mapping.read(path_of(directory, kMappingFileName)));
  ByRealName& names = mappings_[directory];
  for (const auto& [file, real] : mapping.rows()) names[real] = file;
  return names;
}

}  // namespace opdump::tool
