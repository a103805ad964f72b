#include "platform/host/host_memory.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

using namespace opdump;

TEST_CASE("host memory: copies exactly the bytes asked for") {
  std::vector<std::byte> from(100);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i + 1);
  std::vector<std::byte> to(from.size());
  HostMemory memory;
  CHECK(memory.copy(to.data() + 3, address_of(from.data() + 10), 7) == Status::ok);
  for (std::size_t i = 0; i < to.size(); ++i) CHECK(to[i] == (i >= 3 && i < 10 ? from[i + 7] : std::byte{0}));
}

TEST_CASE("host memory: nothing from nowhere is fine, something is not") {
  std::byte to{0x5a};
  HostMemory memory;
  CHECK(memory.copy(&to, 0, 0) == Status::ok);
  CHECK(memory.copy(&to, 0, 1) == Status::device_copy_failed);
  CHECK(to == std::byte{0x5a});
}
