// FreeRTOS on a Cortex-M3: a task and an interrupt capture, a task of lower priority drains into a flash log,
// and a task of higher priority than both stops it.
//
// usage: main STEPS INTERRUPTS_PER_SECOND
// Prints what was captured, written and lost. Exit status 0 if each record is in the counts, once.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "examples/firmware/flash/memory_nor.hpp"
#include "opdump/boot.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "platform/freertos/clock.hpp"
#include "platform/freertos/drain.hpp"
#include "platform/host/host_memory.hpp"

using namespace opdump;

extern "C" {
// Of FreeRTOS's port, and of start-up.
void vPortSVCHandler();
void xPortPendSVHandler();
void xPortSysTickHandler();
extern const std::uintptr_t vectors[16];
}

namespace {

using Session = BasicSession<HostMemory>;
using Recorder = Session::Recorder;

constexpr UBaseType_t kDrainPriority = 1, kCapturePriority = 2, kControlPriority = 3;

/// A log that counts what the drain task asks of it.
class CountedLog {
 public:
  explicit CountedLog(flashlog::FlashLog& log) : log_(log) {}
  Result<bool> prepare() {
    ++prepares;
    return log_.prepare();
  }
  Status sync() {
    ++syncs;
    return log_.sync();
  }

  unsigned prepares = 0;
  unsigned syncs = 0;

 private:
  flashlog::FlashLog& log_;
};

constexpr OpDesc kOps[] = {{.name = "conv1", .type = "Conv2D", .task_id = 0, .stream_id = 0},
                           {.name = "relu1", .type = "Relu", .task_id = 1, .stream_id = 0},
                           {.name = "dense1", .type = "MatMul", .task_id = 2, .stream_id = 0}};
constexpr ModelDesc kModel = {.name = "net", .id = 1, .ops = kOps};
constexpr ModelRule kRules[] = {{.any_model = true}};
constexpr DumpConfig kConfig = {
    .asked = true, .active = true, .dump_path = "/dump", .single_ops = true, .models = kRules};

freertos::TickClock ticks;
HostMemory memory;
firmware::MemoryNor nor(reinterpret_cast<std::byte*>(0x21000000));
std::byte page[flashlog::FlashLog::kPrefixBytes + 256];
const flashlog::Device flash = nor.device(64 * 1024, 256);
flashlog::FlashLog flash_log(flash, page, {.policy = flashlog::Policy::stop_when_full});
CountedLog counted_log(flash_log);
std::byte scratch[drain_scratch_bytes(3, 7, 6)];
Session session({.memory = memory, .sink = flash_log, .clock = ticks, .scratch = scratch});
freertos::Drain<Session, CountedLog, 4096> drain(session, counted_log, 20);
ModelPlanFor<std::size(kOps)> plan;
alignas(8) std::byte task_ring[2048];
alignas(8) std::byte timer_ring[1024];
Recorder* task_recorder = nullptr;
Recorder* timer_recorder = nullptr;

std::uint32_t steps = 0, interrupts_per_second = 0;
std::uint32_t task_records = 0, refused = 0;
std::atomic<std::uint32_t> timer_records{0};
TaskHandle_t control_task = nullptr;

/// A timer of the board, in registers.
struct Timer {
  volatile std::uint32_t control, value, reload, interrupt;
};
Timer& timer = *reinterpret_cast<Timer*>(0x40000000);
constexpr unsigned kTimerIrq = 8;
constexpr std::uint32_t kTimerHz = 25'000'000;

[[noreturn]] void fail(const char* what) {
  std::printf("failed: %s\n", what);
  std::exit(1);
}

void require(Status status, const char* what) {
  if (status == Status::ok) return;
  std::printf("%s: ", to_string(status).data());
  fail(what);
}

TensorView tensor_of(const std::uint32_t (&values)[16]) {
  static constexpr Dim kDims[] = {16};
  return {.address = address_of(values), .bytes = sizeof values, .dtype = DType::uint32, .shape = kDims};
}

void on_timer() {
  timer.interrupt = 1;
  static std::uint32_t readings[16] = {};
  for (std::uint32_t& reading : readings) ++reading;
  const TensorView tensor = tensor_of(readings);
  // Refused records are counted as lost.
  static_cast<void>(
      timer_recorder->capture_single_op({.name = "timer", .type = "Reading"}, {}, {&tensor, 1}));
  timer_records.store(timer_records.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void start_timer() {
  volatile std::uint32_t& enable = *reinterpret_cast<volatile std::uint32_t*>(0xe000e100);
  volatile std::uint8_t& priority = *reinterpret_cast<volatile std::uint8_t*>(0xe000e400 + kTimerIrq);
  priority = 0xc0;  // low enough to call FreeRTOS
  timer.reload = kTimerHz / interrupts_per_second;
  timer.value = timer.reload;
  enable = 1u << kTimerIrq;
  timer.control = 0x9;  // runs, interrupts
}

void capture(void*) {
  static std::uint32_t output[16] = {};
  for (std::uint32_t step = 0; step < steps; ++step) {
    require(task_recorder->begin_step(plan), "begin_step");
    for (std::size_t op = 0; op < std::size(kOps); ++op) {
      output[0] = step;
      output[1] = static_cast<std::uint32_t>(op);
      const TensorView tensor = tensor_of(output);
      if (!task_recorder->wants(op)) fail("an operator is not wanted");
      if (task_recorder->capture(op, {}, {&tensor, 1}) != Status::ok) ++refused;
      ++task_records;
    }
    require(task_recorder->end_step(), "end_step");
    if (step % 16 == 15) vTaskDelay(2);  // rings are empty now and then, and never for long
  }
  xTaskNotifyGive(control_task);
  for (;;) vTaskSuspend(nullptr);
}

void control(void*) {
  static StaticTask_t block;
  static StackType_t stack[1024];
  // The drain task has a lower priority than this one and the capturing one: it runs only while both wait.
  if (drain.stop(0) != Status::not_initialised) fail("what does not run was stopped");
  require(drain.start(kDrainPriority), "start");
  if (drain.start(kDrainPriority) != Status::already_initialised) fail("a task was made twice");
  if (session.attach_drainer() != Status::drainer_attached) fail("two drainers are attached");
  start_timer();
  xTaskCreateStatic(capture, "capture", std::size(stack), nullptr, kCapturePriority, stack, &block);
  ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
  timer.control = 0;
  if (drain.stop(0) != Status::timeout) fail("a stop without time should time out");
  const TickType_t before = xTaskGetTickCount();
  require(drain.stop(10'000), "stop");
  const TickType_t took = xTaskGetTickCount() - before;
  require(drain.log_failure(), "the log");
  require(session.finalize(), "finalize");

  const DumpCounts counts = session.counts();
  const std::uint32_t captured = task_records + timer_records.load(std::memory_order_relaxed);
  std::printf("%lu captured by a task, %lu by an interrupt; %lu written, %lu lost\n",
              static_cast<unsigned long>(task_records), static_cast<unsigned long>(captured - task_records),
              static_cast<unsigned long>(counts.written), static_cast<unsigned long>(counts.lost()));
  std::printf("%u prepares, %u syncs, stopped in %lu ms, %lu ticks\n", counted_log.prepares,
              counted_log.syncs, static_cast<unsigned long>(took), static_cast<unsigned long>(before));
  if (counts.written + counts.lost() != captured) fail("records are in no count");
  if (refused != 0) fail("the task, which waits for room, lost records");
  if (counted_log.syncs == 0) fail("the log was not synced");
  std::exit(0);
}

/// FreeRTOS wants to be in the vectors, and so does the timer.
void set_vectors() {
  alignas(256) static std::uintptr_t table[32];
  for (std::size_t i = 0; i < std::size(vectors); ++i) table[i] = vectors[i];
  const auto place = [](std::size_t at, void (*handler)()) {
    table[at] = reinterpret_cast<std::uintptr_t>(handler);
  };
  place(11, vPortSVCHandler);
  place(14, xPortPendSVHandler);
  place(15, xPortSysTickHandler);
  place(16 + kTimerIrq, on_timer);
  *reinterpret_cast<volatile std::uintptr_t*>(0xe000ed08) = reinterpret_cast<std::uintptr_t>(table);
}

}  // namespace

extern "C" {
void assert_failed(const char* file, int line);
void assert_failed(const char* file, int line) {
  std::printf("%s:%d: ", file, line);
  fail("an assertion of FreeRTOS");
}

void vApplicationTickHook() {
  ticks.tick();
}
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  steps = static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10));
  interrupts_per_second = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
  task_recorder = session.add_recorder(task_ring, {}, WhenFull::block).value();
  timer_recorder = session.add_recorder(timer_ring, {}, WhenFull::drop).value();
  require(flash_log.mount(), "mount");
  require(boot(session, flash_log, kConfig), "boot");
  require(session.load_model(plan, kModel), "load_model");
  set_vectors();
  static StaticTask_t block;
  static StackType_t stack[2048];
  control_task =
      xTaskCreateStatic(control, "control", std::size(stack), nullptr, kControlPriority, stack, &block);
  vTaskStartScheduler();
  return 1;
}
