#include "src/tool/convert/export_file.hpp"

#include <string.h>

#include <array>

namespace opdump::tool {

bool ExportFile::create(const std::string& directory, const std::string& name) {
  return make(directory) && file_.create(directory, name);
}

bool ExportFile::create_at(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return (slash == std::string::npos || make(path.substr(0, slash + 1))) && file_.create_at(path);
}

bool ExportFile::make(const std::string& directory) {
  const int error = make_directories(directory);
  if (error != 0) error_ = directory + ": " + strerror(error);
  return error == 0;
}

bool ExportFile::flush() {
  const Bytes all = pending_;
  const bool written = file_.write({&all, 1});
  pending_.clear();
  return written;
}

bool ExportFile::write(Bytes bytes) {
  if (pending_.size() + bytes.size() < kBufferBytes) {
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
    return true;
  }
  const std::array<Bytes, 2> parts = {pending_, bytes};
  const bool written = file_.write(parts);
  pending_.clear();
  return written;
}

bool ExportFile::commit() {
  return flush() && file_.commit();
}

}  // namespace opdump::tool
