#include "src/tool/write/uuid3.hpp"

#include <cstddef>

#include "opdump/base/bytes.hpp"
#include "opdump/base/digest.hpp"
#include "src/card/hexadecimal.hpp"

namespace opdump::tool {
namespace {

constexpr std::string_view kDnsNamespace("\x6b\xa7\xb8\x10\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8",
                                         16);

}  // namespace

std::string uuid3_dns(std::string_view name) {
  Md5 md5;
  md5.add(as_bytes(kDnsNamespace));
  md5.add(as_bytes(name));
  std::byte bytes[Md5::kBytes];
  md5.finish(bytes);
  bytes[6] = (bytes[6] & std::byte{0x0f}) | std::byte{0x30};
  bytes[8] = (bytes[8] & std::byte{0x3f}) | std::byte{0x80};
  return cards::hexadecimal(bytes);
}

}  // namespace opdump::tool
