// The port for ESP-IDF over declarations of our own, and a kernel of threads and a partition table made of those.

#include <doctest/doctest.h>
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "platform/esp-idf/flash_partition.hpp"
#include "platform/esp-idf/timer_clock.hpp"
#include "platform/freertos/drain.hpp"
#include "tests/rtos/port_bench.hpp"

struct tskTaskControlBlock {
  std::thread thread;
  std::mutex mutex;
  std::condition_variable changed;
  std::uint32_t notified = 0;
  bool suspended = false, deleted = false;
};

using namespace opdump;
using namespace opdump::tests;

namespace {

thread_local TaskHandle_t current = nullptr;
thread_local bool in_interrupt = false;
int from_interrupts = 0;

constexpr flashlog::Geometry kPart = {.block_bytes = 4096, .block_count = 64, .bits_only_clear = true};

struct Table {
  FakePartition partition{kPart, 256};
  esp_partition_t entry = {.flash_chip = nullptr,
                           .type = ESP_PARTITION_TYPE_DATA,
                           .subtype = ESP_PARTITION_SUBTYPE_ANY,
                           .address = 0x110000,
                           .size = kPart.block_bytes * kPart.block_count,
                           .erase_size = kPart.block_bytes,
                           .label = "dump",
                           .encrypted = false};
};
Table* table = nullptr;

std::int64_t since_boot_us() {
  static const auto boot = std::chrono::steady_clock::now();
  const auto time = std::chrono::steady_clock::now() - boot;
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

std::chrono::milliseconds time_of(TickType_t ticks) {
  return std::chrono::milliseconds(ticks * portTICK_PERIOD_MS);
}

}  // namespace

extern "C" {
TaskHandle_t xTaskCreateStatic(TaskFunction_t code, const char* const name, const uint32_t stack_depth,
                               void* const argument, UBaseType_t, StackType_t* const stack,
                               StaticTask_t* const) {
  CHECK(std::string_view(name) == "opdump");
  CHECK(stack_depth >= 1024);
  CHECK(reinterpret_cast<std::uintptr_t>(stack) % 8 == 0);
  auto* const task = new tskTaskControlBlock;
  task->thread = std::thread([=] {
    current = task;
    code(argument);
  });
  return task;
}

void vTaskDelete(TaskHandle_t task) {
  REQUIRE(task != nullptr);
  {
    const std::lock_guard lock(task->mutex);
    CHECK(task->suspended);
    task->deleted = true;
  }
  task->changed.notify_all();
  task->thread.join();
  delete task;
}

void vTaskSuspend(TaskHandle_t task) {
  CHECK(task == nullptr);
  {
    std::unique_lock lock(current->mutex);
    current->suspended = true;
    current->changed.wait(lock, [] { return current->deleted; });
  }
  pthread_exit(nullptr);
}

eTaskState eTaskGetState(TaskHandle_t task) {
  const std::lock_guard lock(task->mutex);
  return task->suspended ? eSuspended : eReady;
}

void vTaskDelay(const TickType_t ticks) {
  CHECK(ticks > 0);
  std::this_thread::sleep_for(time_of(ticks));
}

TickType_t xTaskGetTickCount(void) {
  return static_cast<TickType_t>(since_boot_us() / 1000 / portTICK_PERIOD_MS);
}

BaseType_t xPortInIsrContext(void) {
  return in_interrupt ? pdTRUE : pdFALSE;
}

BaseType_t xTaskNotifyGive(TaskHandle_t task) {
  CHECK_FALSE(in_interrupt);
  {
    const std::lock_guard lock(task->mutex);
    ++task->notified;
  }
  task->changed.notify_all();
  return pdTRUE;
}

void vTaskNotifyGiveFromISR(TaskHandle_t task, BaseType_t* yield) {
  CHECK(in_interrupt);
  ++from_interrupts;
  *yield = pdTRUE;
  in_interrupt = false;
  xTaskNotifyGive(task);
  in_interrupt = true;
}

uint32_t ulTaskNotifyTake(BaseType_t clear, TickType_t ticks) {
  CHECK(clear == pdTRUE);
  CHECK(ticks > 0);  // else it would not sleep at all
  std::unique_lock lock(current->mutex);
  current->changed.wait_for(lock, time_of(ticks), [] { return current->notified != 0; });
  const std::uint32_t notified = current->notified;
  current->notified = 0;
  return notified;
}

int64_t esp_timer_get_time(void) {
  return since_boot_us();
}

const esp_partition_t* esp_partition_find_first(esp_partition_type_t type, esp_partition_subtype_t subtype,
                                                const char* label) {
  CHECK(type == ESP_PARTITION_TYPE_DATA);
  CHECK(subtype == ESP_PARTITION_SUBTYPE_ANY);
  return std::string_view(label) == table->entry.label ? &table->entry : nullptr;
}
esp_err_t esp_partition_read(const esp_partition_t* partition, size_t offset, void* to, size_t bytes) {
  CHECK(partition == &table->entry);
  return table->partition.read(offset, to, bytes);
}
esp_err_t esp_partition_write(const esp_partition_t*, size_t offset, const void* from, size_t bytes) {
  return table->partition.program(offset, from, bytes);
}
esp_err_t esp_partition_erase_range(const esp_partition_t*, size_t offset, size_t bytes) {
  return table->partition.erase(offset, bytes);
}
}

TEST_CASE("esp-idf: a data partition is a flash device") {
  Table here;
  table = &here;
  esp_idf::FlashPartition partition;
  CHECK(partition.open("nowhere") == Status::not_found);
  here.entry.encrypted = true;
  CHECK(partition.open("dump") == Status::not_supported);
  here.entry.encrypted = false;
  here.entry.size = 2 * kPart.block_bytes;
  CHECK(partition.open("dump") == Status::not_supported);  // a log has three blocks
  here.entry.size = kPart.block_bytes * kPart.block_count + 100;
  REQUIRE(partition.open("dump") == Status::ok);
  CHECK(partition.open("dump") == Status::already_initialised);
  const flashlog::Geometry part = partition.device().geometry;
  CHECK(part.block_bytes == kPart.block_bytes);
  CHECK(part.block_count == kPart.block_count);
  CHECK(part.program_bytes == 1);
  CHECK(part.bits_only_clear);
  check_device(partition, here.partition);
}

TEST_CASE("esp-idf: a task drains a session into a partition") {
  Table here;
  table = &here;
  esp_idf::FlashPartition partition;
  REQUIRE(partition.open("dump") == Status::ok);
  esp_idf::TimerClock clock(1'700'000'000'000'000);
  using Log = flashlog::FlashLog;
  check_dump<freertos::Drain<BasicSession<HostMemory>, Log>, Log>(partition, here.partition, clock);
  CHECK(clock.unix_us() >= 1'700'000'000'000'000);
  CHECK(clock.unix_us() < 1'700'000'000'000'000 + 600'000'000);
  CHECK(clock.monotonic_ms() < 600'000);
}

TEST_CASE("freertos: notifies from interrupts by their own call, and nobody before there is a task") {
  freertos::Kernel kernel;
  kernel.notify();
  auto task = std::make_unique<tskTaskControlBlock>();
  kernel.set_task(task.get());
  in_interrupt = true;
  from_interrupts = 0;
  kernel.notify();
  in_interrupt = false;
  CHECK(from_interrupts == 1);
  kernel.notify();
  CHECK(task->notified == 2);
  current = task.get();
  kernel.wait(0);  // a notification is waiting
  CHECK(task->notified == 0);
  const std::uint32_t before = kernel.now_ms();
  kernel.wait(1);  // less than a tick
  CHECK(kernel.now_ms() - before <= kWaitLimitMs);
  current = nullptr;
}
