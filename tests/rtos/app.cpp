// An application of Zephyr or ESP-IDF that dumps into a partition of its flash.

#include "opdump/boot.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "platform/host/host_memory.hpp"
#ifdef __ZEPHYR__
#include "platform/zephyr/drain.hpp"
#include "platform/zephyr/flash_area.hpp"
#include "platform/zephyr/uptime_clock.hpp"
#else
#include "platform/esp-idf/flash_partition.hpp"
#include "platform/esp-idf/timer_clock.hpp"
#include "platform/freertos/drain.hpp"
#endif

using namespace opdump;

namespace {

using Session = BasicSession<HostMemory>;

#ifdef __ZEPHYR__
template <class... Types>
using Drain = zephyr::Drain<Types...>;
using DrainPriority = int;
zephyr::UptimeClock uptime;
zephyr::FlashArea partition;
constexpr std::uint8_t kPartition = 1;  // FIXED_PARTITION_ID(dump_partition)
#else
template <class... Types>
using Drain = freertos::Drain<Types...>;
using DrainPriority = UBaseType_t;
esp_idf::TimerClock uptime;
esp_idf::FlashPartition partition;
constexpr const char* kPartition = "dump";
#endif

constexpr OpDesc kOps[] = {{.name = "conv1", .type = "Conv2D", .task_id = 0, .stream_id = 0}};
constexpr ModelDesc kModel = {.name = "net", .id = 1, .ops = kOps};
constexpr ModelRule kRules[] = {{.model_name = "net"}};
constexpr DumpConfig kConfig = {.asked = true, .active = true, .dump_path = "/dump", .models = kRules};

flashlog::Device flash;  // known once the partition is open
std::byte page[flashlog::FlashLog::kPrefixBytes + 256];
flashlog::FlashLog flash_log(flash, page, {.policy = flashlog::Policy::overwrite_oldest});
HostMemory memory;
std::byte scratch[drain_scratch_bytes(3, 6, 5)];  // "net", "Conv2D", "conv1"
Session session({.memory = memory, .sink = flash_log, .clock = uptime, .scratch = scratch});
Drain<Session, flashlog::FlashLog> drain(session, flash_log, 1000);
alignas(8) std::byte ring[4096];
ModelPlanFor<1> plan;
Session::Recorder* recorder = nullptr;

}  // namespace

extern "C" {

/// `drain_priority`: lower than that of the task that captures.
Status dump_start(DrainPriority drain_priority) {
  recorder = session.add_recorder(ring).value();
  Status status = partition.open(kPartition);
  flash = partition.device();
  if (status == Status::ok) status = flash_log.mount();
  if (status == Status::ok) status = boot(session, flash_log, kConfig);
  if (status == Status::ok) status = session.load_model(plan, kModel);
  return status == Status::ok ? drain.start(drain_priority) : status;
}

/// After conv1 has filled `output`.
Status dump_step(const TensorView& output) {
  Status status = recorder->begin_step(plan);
  if (status == Status::ok && recorder->wants(0)) status = recorder->capture(0, {}, {&output, 1});
  return status == Status::ok ? recorder->end_step() : status;
}

Status dump_stop() {
  const Status status = drain.stop(1000);
  return status == Status::ok ? session.finalize() : status;
}
}
