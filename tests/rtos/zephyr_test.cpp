// The port for Zephyr over declarations of our own, and a kernel of threads and a flash map made of those.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "platform/wire/wire_sink.hpp"
#include "platform/zephyr/drain.hpp"
#include "platform/zephyr/flash_area.hpp"
#include "platform/zephyr/uart_port.hpp"
#include "platform/zephyr/uptime_clock.hpp"
#include "tests/rtos/port_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

struct Semaphore {
  std::mutex mutex;
  std::condition_variable given;
  unsigned count = 0, limit = 0;
};

struct Thread {
  std::thread thread;
  std::mutex mutex;
  std::condition_variable ended;
  bool over = false;
};

std::chrono::steady_clock::time_point now() {
  return std::chrono::steady_clock::now();
}
const auto kBoot = now();

constexpr flashlog::Geometry kPart = {.block_bytes = 4096, .block_count = 64, .program_bytes = 8};
constexpr off_t kStart = 0x20000;  // of the partition on its device

/// What the flash map has: one partition, of pages that may differ in size.
struct FlashMap {
  FakePartition partition{kPart, 256};
  struct device device = {"flash"};
  struct flash_area area = {3, 0, 0, kStart, std::size_t{kPart.block_bytes} * kPart.block_count, &device};
  std::uint32_t odd_page = UINT32_MAX;  ///< has half the size
  int page_error = 0;
  int opened = 0;
};
FlashMap* map = nullptr;

/// A serial device.
struct SerialLine {
  std::vector<unsigned char> sent;
  std::vector<unsigned char> heard;  ///< the last one first
};
SerialLine* serial_line = nullptr;

}  // namespace

extern "C" {
void uart_poll_out(const struct device*, unsigned char byte) {
  serial_line->sent.push_back(byte);
}

int uart_poll_in(const struct device*, unsigned char* byte) {
  if (serial_line->heard.empty()) return -1;
  *byte = serial_line->heard.back();
  serial_line->heard.pop_back();
  return 0;
}

int k_sem_init(struct k_sem* sem, unsigned int initial_count, unsigned int limit) {
  static std::vector<std::unique_ptr<Semaphore>> all;
  all.push_back(std::make_unique<Semaphore>());
  all.back()->count = initial_count;
  all.back()->limit = limit;
  sem->fake = all.back().get();
  return 0;
}

int k_sem_take(struct k_sem* sem, k_timeout_t timeout) {
  Semaphore& semaphore = *static_cast<Semaphore*>(sem->fake);
  std::unique_lock lock(semaphore.mutex);
  const auto limit = std::chrono::milliseconds(timeout.ticks);
  if (!semaphore.given.wait_for(lock, limit, [&] { return semaphore.count != 0; })) return -11;
  --semaphore.count;
  return 0;
}

void k_sem_give(struct k_sem* sem) {
  Semaphore& semaphore = *static_cast<Semaphore*>(sem->fake);
  {
    const std::lock_guard lock(semaphore.mutex);
    if (semaphore.count < semaphore.limit) ++semaphore.count;
  }
  semaphore.given.notify_one();
}

k_tid_t k_thread_create(struct k_thread* thread, k_thread_stack_t* stack, size_t stack_size,
                        k_thread_entry_t entry, void* p1, void* p2, void* p3, int, uint32_t options,
                        k_timeout_t delay) {
  CHECK(reinterpret_cast<std::uintptr_t>(stack) % 8 == 0);
  CHECK(stack_size >= 1024);
  CHECK(options == 0);
  CHECK(delay.ticks == 0);
  auto* const fake = new Thread;
  thread->fake = fake;
  fake->thread = std::thread([=] {
    entry(p1, p2, p3);
    {
      const std::lock_guard lock(fake->mutex);
      fake->over = true;
    }
    fake->ended.notify_all();
  });
  return thread;
}

int k_thread_join(struct k_thread* thread, k_timeout_t timeout) {
  Thread* const fake = static_cast<Thread*>(thread->fake);
  {
    std::unique_lock lock(fake->mutex);
    const auto limit = std::chrono::milliseconds(timeout.ticks);
    if (!fake->ended.wait_for(lock, limit, [&] { return fake->over; })) return -11;
  }
  fake->thread.join();
  delete fake;
  return 0;
}

int32_t k_sleep(k_timeout_t timeout) {
  CHECK(timeout.ticks > 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(timeout.ticks));
  return 0;
}

int64_t k_uptime_ticks(void) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(now() - kBoot).count();
}
uint32_t k_uptime_get_32(void) {
  return static_cast<uint32_t>(k_uptime_ticks());
}
uint64_t k_ticks_to_us_floor64(uint64_t ticks) {
  return ticks * 1000;
}

int flash_area_open(uint8_t id, const struct flash_area** area) {
  if (id != map->area.fa_id) return -2;
  ++map->opened;
  *area = &map->area;
  return 0;
}
void flash_area_close(const struct flash_area*) {
  --map->opened;
}
int flash_area_read(const struct flash_area* area, off_t offset, void* to, size_t bytes) {
  CHECK(area == &map->area);
  return map->partition.read(static_cast<std::uint64_t>(offset), to, bytes);
}
int flash_area_write(const struct flash_area*, off_t offset, const void* from, size_t bytes) {
  return map->partition.program(static_cast<std::uint64_t>(offset), from, bytes);
}
int flash_area_erase(const struct flash_area*, off_t offset, size_t bytes) {
  return map->partition.erase(static_cast<std::uint64_t>(offset), bytes);
}
uint32_t flash_area_align(const struct flash_area*) {
  return kPart.program_bytes;
}
uint8_t flash_area_erased_val(const struct flash_area*) {
  return 0xff;
}

int flash_get_page_info_by_offs(const struct device* device, off_t offset, struct flash_pages_info* info) {
  CHECK(device == &map->device);
  const auto page = static_cast<std::uint32_t>(offset - kStart) / kPart.block_bytes;
  info->size = page == map->odd_page ? kPart.block_bytes / 2 : kPart.block_bytes;
  info->start_offset = kStart + static_cast<off_t>(page * kPart.block_bytes);
  info->index = page;
  return map->page_error;
}
}

TEST_CASE("zephyr: a partition of the flash map is a flash device") {
  FlashMap here;
  map = &here;
  {
    zephyr::FlashArea area;
    REQUIRE(area.open(3) == Status::ok);
    CHECK(area.open(3) == Status::already_initialised);
    const flashlog::Geometry part = area.device().geometry;
    CHECK(part.block_bytes == kPart.block_bytes);
    CHECK(part.block_count == kPart.block_count);
    CHECK(part.program_bytes == kPart.program_bytes);
    CHECK(part.erased == std::byte{0xff});
    CHECK_FALSE(part.bits_only_clear);
    check_device(area, here.partition);
    CHECK(here.opened == 1);
  }
  CHECK(here.opened == 0);
}

TEST_CASE("zephyr: what is no partition for a log is refused and closed") {
  FlashMap here;
  map = &here;
  zephyr::FlashArea area;
  CHECK(area.open(4) == Status::not_found);
  CHECK(area.last_error() == -2);
  here.odd_page = 5;
  CHECK(area.open(3) == Status::not_supported);
  here.odd_page = UINT32_MAX;
  here.area.fa_size -= 1;
  CHECK(area.open(3) == Status::not_supported);
  here.area.fa_size = 2 * kPart.block_bytes;
  CHECK(area.open(3) == Status::not_supported);  // a log has three blocks
  here.area.fa_size = std::size_t{kPart.block_bytes} * kPart.block_count;
  here.area.fa_off += 16;  // not at the beginning of a page
  CHECK(area.open(3) == Status::not_supported);
  here.area.fa_off -= 16;
  here.page_error = -22;
  CHECK(area.open(3) == Status::io_error);
  CHECK(area.last_error() == -22);
  CHECK(here.opened == 0);
  here.page_error = 0;
  CHECK(area.open(3, true) == Status::ok);
  CHECK(area.device().geometry.bits_only_clear);
  area.close();
  area.close();
  CHECK(here.opened == 0);
}

TEST_CASE("zephyr: a thread drains a session into the flash map") {
  FlashMap here;
  map = &here;
  zephyr::FlashArea area;
  REQUIRE(area.open(3) == Status::ok);
  zephyr::UptimeClock clock(1'700'000'000'000'000);
  using Log = flashlog::FlashLog;
  check_dump<zephyr::Drain<BasicSession<HostMemory>, Log>, Log>(area, here.partition, clock);
  CHECK(clock.unix_us() >= 1'700'000'000'000'000);
  CHECK(clock.unix_us() < 1'700'000'000'000'000 + 600'000'000);
}

TEST_CASE("zephyr: a UART carries a wire in both directions") {
  SerialLine here;
  serial_line = &here;
  struct device device = {"uart"};
  zephyr::UartPort port(&device);
  static_assert(wire::BytePort<zephyr::UartPort>);
  here.heard = {3, 2, 1};
  std::byte got[2];
  CHECK(port.read(got) == 2);
  CHECK(got[1] == std::byte{2});
  CHECK(port.read(got) == 1);
  CHECK(port.read(got) == 0);
  static std::byte window[600];
  wire::WireSink<zephyr::UartPort> sink(port, window, 1);
  REQUIRE(sink.begin({.directory = "time", .file = "op"}).ok());
  // Between two zeros, and none within.
  REQUIRE(here.sent.size() > 20);
  CHECK(here.sent.front() == 0);
  CHECK(here.sent.back() == 0);
  CHECK(std::count(here.sent.begin(), here.sent.end(), 0) == 2);
}
