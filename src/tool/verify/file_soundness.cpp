#include "src/tool/verify/file_soundness.hpp"

#include <optional>

#include "src/tool/dump/lite_name.hpp"
#include "src/tool/dump/record_name.hpp"

namespace opdump::tool {
namespace {

/// Of a file whose name tells shape and dtype.
bool is_lite_sound(RecordFile& file, const std::string& path, std::string_view suffix) {
  const std::string any_op = "op" + std::string(suffix);
  const std::optional<LiteName> name = parse_lite_name(any_op);
  return name && file.open_bytes(path, named_tensor(*name), name->padded()) == RecordFile::Opened::ok;
}

}  // namespace

bool is_sound(RecordFile& file, const std::string& path, std::string_view suffix) {
  if (suffix.ends_with(".npy")) return file.open_array(path, {}) == RecordFile::Opened::ok;
  if (suffix.ends_with(".bin")) return is_lite_sound(file, path, suffix);
  return !is_record_suffix(suffix) || file.open(path) == RecordFile::Opened::ok;
}

}  // namespace opdump::tool
