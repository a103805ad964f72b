#include "src/tool/export/export_file.hpp"

#include <string.h>

#include <array>

namespace opdump::tool {

bool ExportFile::create(const std::string& directory, const std::string& name) {
  if (const int error = make_directories(directory); error != 0) {
    error_ = directory + ": " + strerror(error);
    return false;
  }
  return file_.create(directory, name);
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
