#include "src/tool/read/dump/sealed_notice.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "platform/posix/base/unique_fd.hpp"
#include "src/tool/read/dump/sealed_head.hpp"

namespace opdump::tool {

std::vector<std::byte> sealed_head_of(const std::string& path) {
  const posix::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::vector<std::byte> head(sealed::kHeadBytes);
  if (!file || read(file.get(), head.data(), head.size()) != static_cast<ssize_t>(head.size()) ||
      !begins_stream(head))
    return {};
  return head;
}

std::string sealed_for(const std::string& path) {
  const std::vector<std::byte> head = sealed_head_of(path);
  return head.empty() ? std::string() : cards::hexadecimal(SealedHead(head).key_id());
}

std::string sealed_text(const std::string& path, const std::string& key_id) {
  return path + ": sealed for key " + key_id + ": 'opdump open --key FILE " + path +
         " -o DIR' opens it first";
}

}  // namespace opdump::tool
