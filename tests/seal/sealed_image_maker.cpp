/// Dumps into a flash log as a device does that has a compiled config with "seal":
///
///     sealed_image_maker PLAN IMAGE BLOCKS BOOTS [history]
///
/// IMAGE becomes what a part of that many blocks of 4 KiB holds after so many boots of ten steps each; with "history"
/// the four steps around the eighth of each, by way of a history in another part, which becomes IMAGE.history. Seals by
/// mbed TLS if OPDUMP_BY_PSA is defined, else by libsodium. Exit status 3: the config is refused.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "opdump/boot.hpp"
#include "opdump/parts/sealed_sink.hpp"
#include "platform/baremetal/tick_clock.hpp"
#include "platform/flashlog/flash_history.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "platform/host/host_memory.hpp"
#ifdef OPDUMP_BY_PSA
#include "platform/psa/psa_sealer.hpp"
#else
#include "platform/sodium/sodium_sealer.hpp"
#endif

using namespace opdump;
using flashlog::FlashHistory;
using flashlog::FlashLog;

namespace {

constexpr std::uint32_t kBlockBytes = 4096;

struct Part {
  std::vector<std::byte> bytes;

  static std::byte* at(void* part, std::uint32_t block, std::uint32_t offset) {
    return static_cast<Part*>(part)->bytes.data() + std::size_t{block} * kBlockBytes + offset;
  }

  flashlog::Device device() {
    return {.geometry = {.block_bytes = kBlockBytes,
                         .block_count = static_cast<std::uint32_t>(bytes.size() / kBlockBytes),
                         .bits_only_clear = true},
            .context = this,
            .read =
                [](void* part, std::uint32_t block, std::uint32_t offset, MutableBytes to) {
                  std::memcpy(to.data(), at(part, block, offset), to.size());
                  return Status::ok;
                },
            .program =
                [](void* part, std::uint32_t block, std::uint32_t offset, Bytes from) {
                  std::memcpy(at(part, block, offset), from.data(), from.size());
                  return Status::ok;
                },
            .erase =
                [](void* part, std::uint32_t block) {
                  std::memset(at(part, block, 0), 0xff, kBlockBytes);
                  return Status::ok;
                },
            .sync = [](void*) { return Status::ok; }};
  }
};

/// What is between the session and the log.
template <class To>
Status run(FlashLog& log, To& behind, Bytes plan, FlashHistory* history) {
#ifdef OPDUMP_BY_PSA
  psa::PsaSealer sealer;
#else
  sodium::SodiumLibrary library;
  if (const Status status = library.load(); status != Status::ok) return status;
  sodium::SodiumSealer sealer(library);
#endif
  std::vector<std::byte> chunks(SealedSink<To>::bytes_for(256));
  SealedSink<To> sink(behind, sealer, chunks);
  baremetal::TickClock ticks(1000);
  HostMemory memory;
  std::byte scratch[drain_scratch_bytes(3, 6, 5)];
  BasicSession<HostMemory> session({.memory = memory, .sink = sink, .clock = ticks, .scratch = scratch});
  alignas(8) std::byte ring[4096];
  BasicRecorder<HostMemory>& recorder = *session.add_recorder(ring).value();
  alignas(8) std::byte lists[4096];
  Arena arena(lists);
  Status status = log.mount();
  if (status == Status::ok) status = boot(session, sink, plan, arena);
  if (status != Status::ok) return status;
  static const OpDesc ops[] = {{.name = "conv1", .type = "Conv2D", .task_id = 0, .stream_id = 0}};
  static const ModelDesc model = {.name = "net", .id = 1, .ops = ops};
  ModelPlanFor<1> loaded;
  status = session.load_model(loaded, model);
  const std::vector<std::uint32_t> values(200, 0x5ec4e7);
  const Dim dims[] = {200};
  const TensorView tensor = {address_of(values.data()), 800, DType::uint32, Format::nd, dims};
  for (int step = 0; step < 10; ++step) {
    ticks.tick();
    recorder.begin_step(loaded);
    recorder.capture(0, {&tensor, 1}, {&tensor, 1});
    recorder.end_step();
    session.drain_some(SIZE_MAX);
    if (history != nullptr && step == 7) history->trigger();
  }
  const Status ended = session.finalize();
  return status == Status::ok ? ended : status;
}

Status run_plain(const flashlog::Device& device, Bytes plan) {
  std::byte page[FlashLog::kPrefixBytes + 256];
  FlashLog log(device, page, {.policy = flashlog::Policy::overwrite_oldest});
  return run(log, log, plan, nullptr);
}

Status run_history(const flashlog::Device& device, const flashlog::Device& area, Bytes plan) {
  std::byte page[FlashLog::kPrefixBytes + 256], history_page[FlashHistory::kPrefixBytes + 256];
  alignas(8) std::byte kept[FlashHistory::memory_bytes(3)];
  FlashLog log(device, page, {.policy = flashlog::Policy::overwrite_oldest});
  FlashHistory history(log, area, history_page);
  history.configure(kept, 3, 1);
  const Status status = history.mount();
  return status == Status::ok ? run(log, history, plan, &history) : status;
}

void write_image(const std::string& path, const Part& part) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(part.bytes.data()),
             static_cast<std::streamsize>(part.bytes.size()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) return 2;
  std::ifstream file(argv[1], std::ios::binary);
  const std::string plan{std::istreambuf_iterator<char>(file), {}};
  const std::size_t bytes = std::strtoul(argv[3], nullptr, 10) * kBlockBytes;
  Part part{std::vector<std::byte>(bytes, std::byte{0xff})};
  Part area{std::vector<std::byte>(bytes, std::byte{0xff})};
  for (unsigned long i = 0; i < std::strtoul(argv[4], nullptr, 10); ++i) {
    const Status status = argc == 5 ? run_plain(part.device(), as_bytes(plan))
                                    : run_history(part.device(), area.device(), as_bytes(plan));
    if (status == Status::ok) continue;
    std::printf("%s\n", std::string(to_string(status)).c_str());
    return 3;
  }
  write_image(argv[2], part);
  if (argc == 6) write_image(std::string(argv[2]) + ".history", area);
  return 0;
}
