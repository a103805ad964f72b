#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "opdump/opdump.h"
#include "tests/support/c_api_dump.hpp"

using namespace opdump::tests;

TEST_CASE("c api: the port's memory is asked, and what it refuses is counted") {
  struct Device {
    std::uint64_t from = 0;
    std::size_t bytes = 0;
    opdump_status answer = OPDUMP_OK;
  } device;
  opdump_memory memory = {};
  memory.struct_bytes = sizeof memory;
  memory.context = &device;
  memory.copy = [](void* self, void* to, std::uint64_t from, std::size_t bytes) {
    Device& its = *static_cast<Device*>(self);
    its.from = from;
    its.bytes = bytes;
    std::memset(to, 0x5a, bytes);
    return its.answer;
  };
  CDump dump(&memory);
  dump.start(kNet);
  opdump_tensor tensor = tensor_of_values();
  tensor.address = 0xdead0000;
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK);
  CHECK(device.from == 0xdead0000);
  CHECK(device.bytes == sizeof values);
  device.answer = OPDUMP_ERR_TIMEOUT;
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_ERR_TIMEOUT);
  device.answer = -5;
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_ERR_DEVICE_COPY_FAILED);
  device.answer = 19;
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_ERR_DEVICE_COPY_FAILED);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
  REQUIRE(opdump_session_finalize(dump.session) == OPDUMP_OK);
  CHECK(dump.received.whole.size() == 1);
  CHECK(dump.counts().lost == 3);
}

namespace {

/// Memory whose copies end when somebody waits for them, or looks for the third time.
struct Background {
  struct Transfer {
    void* to = nullptr;
    std::uint64_t from = 0;
    std::size_t bytes = 0;
    int looks = 0;
  };
  std::map<std::uint64_t, Transfer> under_way;
  std::uint64_t started = 0;
  std::size_t most = 0;
  std::size_t longest = 0;
  int misaligned = 0;
  int copies = 0;
  std::vector<std::uint32_t> fences;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> told;  ///< by `will_read`
  std::uint64_t fail_at = 0;                                  ///< number of the copy that fails; 0: none
  std::uint64_t stuck_at = 0;  ///< number of the copy that does not end; 0: none
  opdump_status fence_answer = OPDUMP_OK;

  opdump_memory port() {
    opdump_memory memory = {};
    memory.struct_bytes = sizeof memory;
    memory.context = this;
    memory.copy = [](void* self, void* to, std::uint64_t from, std::size_t bytes) {
      ++static_cast<Background*>(self)->copies;
      std::memcpy(to, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(from)), bytes);
      return opdump_status{OPDUMP_OK};
    };
    memory.start = [](void* self, opdump_copy* copy, void* to, std::uint64_t from, std::size_t bytes) {
      Background& its = *static_cast<Background*>(self);
      copy->words[0] = ++its.started;
      its.under_way[its.started] = {to, from, bytes, 0};
      its.most = std::max(its.most, its.under_way.size());
      its.longest = std::max(its.longest, bytes);
      its.misaligned += reinterpret_cast<std::uintptr_t>(to) % 32 != 0 ? 1 : 0;
      return opdump_status{OPDUMP_OK};
    };
    memory.complete = [](void* self, opdump_copy* copy, std::uint32_t limit_ms, int* over) {
      Background& its = *static_cast<Background*>(self);
      const std::uint64_t number = copy->words[0];
      const bool waits = limit_ms == 0 && ++its.under_way.at(number).looks < 3;
      *over = waits || number == its.stuck_at ? 0 : 1;
      if (*over == 0) return opdump_status{OPDUMP_OK};
      const Transfer transfer = its.under_way.at(number);
      its.under_way.erase(number);
      if (number == its.fail_at) return opdump_status{-5};
      std::memcpy(transfer.to, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(transfer.from)),
                  transfer.bytes);
      return opdump_status{OPDUMP_OK};
    };
    memory.fence = [](void* self, std::uint32_t stream_id) {
      static_cast<Background*>(self)->fences.push_back(stream_id);
      return static_cast<Background*>(self)->fence_answer;
    };
    memory.will_read = [](void* self, std::uint64_t from, std::uint64_t bytes) {
      Background& device = *static_cast<Background*>(self);
      CHECK(device.fences.size() == device.told.size() + 1);  // in this order, and before the first copy
      device.told.push_back({from, bytes});
    };
    memory.alignment = 32;
    memory.max_bytes = 512;
    return memory;
  }
};

}  // namespace

TEST_CASE("c api: copies in the background, behind a fence, by the port's rules") {
  Background device;
  const opdump_memory memory = device.port();
  CDump dump(&memory);
  REQUIRE(opdump_session_configure(dump.session, dump.config) == OPDUMP_OK);
  dump.start(kNet);
  alignas(32) static unsigned char large[20'000];
  for (std::size_t i = 0; i < sizeof large; ++i) large[i] = static_cast<unsigned char>(i * 31 >> 3);
  const std::uint64_t bytes = sizeof large;
  const opdump_tensor tensor = tensor_of_bytes(large, bytes);
  REQUIRE(opdump_begin_step(dump.recorder, dump.model) == OPDUMP_OK);
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK);
  CHECK(device.under_way.empty());
  CHECK(device.started > 20);
  CHECK(device.most >= 2);
  CHECK(device.longest <= 512);
  CHECK(device.misaligned == 0);
  CHECK(device.fences == std::vector<std::uint32_t>{0});
  CHECK(device.told == std::vector<std::pair<std::uint64_t, std::uint64_t>>{{tensor.address, sizeof large}});
  REQUIRE(opdump_session_flush(dump.session, 1000) == OPDUMP_OK);
  const std::string record = only(dump.received.whole, "Conv2D.conv1.");
  CHECK(record.ends_with(std::string(reinterpret_cast<const char*>(large), sizeof large)));

  device.fail_at = device.started + 5;
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_ERR_DEVICE_COPY_FAILED);
  CHECK(device.under_way.empty());
  device.fence_answer = OPDUMP_ERR_TIMEOUT;
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_ERR_TIMEOUT);
  device.fence_answer = OPDUMP_OK;
  device.stuck_at = device.started + 3;
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_ERR_DEVICE_COPY_FAILED);
  CHECK_FALSE(device.under_way.empty());
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_ERR_DEVICE_COPY_FAILED);
  device.stuck_at = 0;
  CHECK(opdump_capture(dump.recorder, 0, nullptr, 0, &tensor, 1) == OPDUMP_OK);
  REQUIRE(opdump_end_step(dump.recorder) == OPDUMP_OK);
  REQUIRE(opdump_session_finalize(dump.session) == OPDUMP_OK);
  CHECK(dump.received.whole.size() == 2);
  CHECK(dump.received.open.empty());
  CHECK(dump.counts().lost == 4);
}
