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

bool Base64::write(Bytes bytes) {
  text_.clear();
  for (const std::byte byte : bytes) {
    bits_ = bits_ << 8 | static_cast<std::uint32_t>(byte);
    if (++held_ == 3) put(4);
  }
  return file_.write(text_);
}

bool Base64::finish() {
  if (held_ == 0) return true;
  text_.clear();
  const unsigned held = held_;
  bits_ <<= 8 * (3 - held);
  put(held + 1);
  text_.append(3 - held, '=');
  return file_.write(text_);
}

void Base64::put(unsigned letters) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (unsigned i = 0; i < letters; ++i) text_ += kLetters[bits_ >> (18 - 6 * i) & 0x3f];
  bits_ = held_ = 0;
}

}  // namespace opdump::tool
