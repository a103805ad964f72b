#include "src/tool/read/dump/file_list.hpp"

#include <cstring>

#include "src/tool/cli/progress.hpp"
#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {
namespace {

/// What stands before the path in the text of a file.
struct StoredHead {
  FileKey key;
  std::uint32_t path_bytes;
  std::uint32_t below_bytes;
  std::uint32_t real_name_bytes;  ///< 0: it is the path's last part
  std::uint32_t named;
};

StoredHead head_of(std::string_view text) {
  StoredHead head;
  std::memcpy(&head, text.data(), sizeof head);
  return head;
}

std::string_view path_in(std::string_view text, const StoredHead& head) {
  return text.substr(sizeof head, head.path_bytes);
}

std::string_view real_name_in(std::string_view text, const StoredHead& head) {
  if (head.real_name_bytes != 0) return text.substr(text.size() - head.real_name_bytes);
  const std::string_view path = path_in(text, head);
  return path.substr(path.rfind('/') + 1);
}

int order_of(const FileKey& a, const FileKey& b) {
  if (a.high != b.high) return a.high < b.high ? -1 : 1;
  return a.low == b.low ? 0 : a.low < b.low ? -1 : 1;
}

bool key_less(std::string_view a, std::string_view b) {
  return order_of(head_of(a).key, head_of(b).key) < 0;
}

bool key_and_name_less(std::string_view a, std::string_view b) {
  const StoredHead first = head_of(a);
  const StoredHead second = head_of(b);
  const int order = order_of(first.key, second.key);
  return order != 0 ? order < 0 : natural_less(real_name_in(a, first), real_name_in(b, second));
}

}  // namespace

FileList::FileList(SameKey same_key)
    : sort_(same_key == SameKey::by_real_name ? key_and_name_less : key_less) {}

void FileList::add(const FoundFile& file, const FileKey& key) {
  StoredHead head{};
  const std::string_view path = file.path;
  const std::string_view real_name = path.substr(path.rfind('/') + 1) == file.real_name
                                         ? std::string_view()
                                         : std::string_view(file.real_name);
  head.key = key;
  head.path_bytes = static_cast<std::uint32_t>(path.size());
  head.below_bytes = static_cast<std::uint32_t>(file.below.size());
  head.real_name_bytes = static_cast<std::uint32_t>(real_name.size());
  head.named = file.named ? 1 : 0;
  text_.assign(reinterpret_cast<const char*>(&head), sizeof head);
  text_.append(path).append(file.below).append(real_name);
  // What does not fit is told by `error`.
  static_cast<void>(sort_.add(text_));
}

bool FileList::Reader::next(FoundFile& file) {
  std::string_view text;
  if (!reader_.next(text)) return false;
  const StoredHead head = head_of(text);
  file.path = path_in(text, head);
  file.below = text.substr(sizeof head + head.path_bytes, head.below_bytes);
  file.real_name = real_name_in(text, head);
  file.named = head.named != 0;
  return true;
}

std::uint64_t total_bytes(const FileList& files) {
  std::uint64_t bytes = 0;
  Progress progress(files.size(), "measuring files");
  for (const FoundFile& file : files) {
    bytes += bytes_of(file);
    progress.add();
  }
  return bytes;
}

}  // namespace opdump::tool
