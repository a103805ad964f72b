/// A firmware in small code, as the knobs make it, over a flash part in a file:
///
///     small_code_maker IMAGE SCENARIO [PROGRAMS]
///
///     plain      all is captured
///     losses     a ring that is full loses records in between and at the end
///     degrade    such records are kept as statistics instead
///     configs    two recorders and two configs, one after the other, with losses
///     full       a part that is full refuses the rest
///     overwrite  a part that is too small keeps the newest
///     provenance all is captured, and the journal tells what the dump comes from
///     endless    until it is killed or the power fails; "synced N" after each sync of N records
///
/// With PROGRAMS power ends in the midst of the program that comes after so many. At the end it prints what
/// was written, reduced and lost, and what `finalize` returned.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "opdump/parts/statistics.hpp"
#include "opdump/session.hpp"
#include "platform/baremetal/tick_clock.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "platform/host/host_memory.hpp"

static_assert(OPDUMP_SMALL_CODE);

using namespace opdump;

namespace {

void need(bool done, const char* what) {
  if (done) return;
  std::fprintf(stderr, "small_code_maker: %s failed\n", what);
  std::exit(1);
}

class FileFlash {
 public:
  FileFlash(const char* path, std::uint32_t blocks, std::uint64_t programs)
      : geometry_{.block_bytes = 4096, .block_count = blocks, .program_bytes = 4, .bits_only_clear = true},
        file_(open(path, O_RDWR | O_CREAT | O_TRUNC, 0600)),
        until_cut_(programs) {
    for (std::uint32_t block = 0; block < blocks; ++block) need(erase(this, block) == Status::ok, "image");
  }

  flashlog::Device device() {
    return {.geometry = geometry_,
            .context = this,
            .read = read,
            .program = program,
            .erase = erase,
            .sync = [](void*) { return Status::ok; }};
  }

 private:
  static FileFlash& of(void* self) { return *static_cast<FileFlash*>(self); }
  static off_t place(std::uint32_t block, std::uint32_t offset) { return off_t{block} * 4096 + offset; }

  Status write(std::uint32_t block, std::uint32_t offset, Bytes from) const {
    const ssize_t bytes = pwrite(file_, from.data(), from.size(), place(block, offset));
    return bytes == static_cast<ssize_t>(from.size()) ? Status::ok : Status::io_error;
  }

  static Status read(void* self, std::uint32_t block, std::uint32_t offset, MutableBytes to) {
    const ssize_t bytes = pread(of(self).file_, to.data(), to.size(), place(block, offset));
    return bytes == static_cast<ssize_t>(to.size()) ? Status::ok : Status::io_error;
  }

  static Status program(void* self, std::uint32_t block, std::uint32_t offset, Bytes from) {
    FileFlash& flash = of(self);
    if (flash.off_) return Status::io_error;
    flash.off_ = flash.until_cut_ != 0 && --flash.until_cut_ == 0;
    std::vector<std::byte> bytes(from.size());
    if (read(self, block, offset, bytes) != Status::ok) return Status::io_error;
    if (flash.off_) from = from.first(from.size() / 2);
    for (std::size_t i = 0; i < from.size(); ++i) bytes[i] &= from[i];
    const Status status = flash.write(block, offset, bytes);
    return flash.off_ ? Status::io_error : status;
  }

  static Status erase(void* self, std::uint32_t block) {
    const std::vector<std::byte> bytes(4096, std::byte{0xff});
    return of(self).off_ ? Status::io_error : of(self).write(block, 0, bytes);
  }

  const flashlog::Geometry geometry_;
  const int file_;
  std::uint64_t until_cut_;
  bool off_ = false;
};

constexpr OpDesc kOps[] = {{.name = "conv1", .type = "Conv2D", .task_id = 1},
                           {.name = "fc", .type = "MatMul"}};
constexpr ModelDesc kModel = {.name = "net", .id = 1, .ops = kOps};
constexpr ModelRule kRules[] = {{.any_model = true}};
constexpr Dim kDims[] = {100};

class Firmware {
 public:
  Firmware(flashlog::FlashLog& log, WhenFull when_full)
      : log_(log),
        session_({.memory = memory_,
                  .sink = log,
                  .clock = clock_,
                  .scratch = scratch_,
                  .when_full = when_full,
                  .reduction = &reduction_}) {
    for (int i = 0; i < 2; ++i) recorders_[i] = session_.add_recorder(rings_[i]).value();
    need(session_.init() == Status::ok, "init");
    load();
  }

  /// Sets a config, and loads the model under it.
  void load() {
    static_cast<void>(session_.unload_model(plan_));
    DumpConfig config;
    config.asked = config.active = config.single_ops = true;
    config.dump_path = "/flash";
    config.models = kRules;
    clock_.tick();
    need(session_.set_config(config) == Status::ok, "set_config");
    need(session_.load_model(plan_, kModel) == Status::ok, "load_model");
  }

  /// A step of the model, and a single operator on the other recorder.
  void step() {
    const TensorView tensor = {
        .address = address_of(values_), .bytes = sizeof values_, .dtype = DType::float32, .shape = kDims};
    need(recorders_[0]->begin_step(plan_) == Status::ok, "begin_step");
    for (std::size_t op = 0; op < 2; ++op) static_cast<void>(recorders_[0]->capture(op, {}, {&tensor, 1}));
    need(recorders_[0]->end_step() == Status::ok, "end_step");
    static_cast<void>(recorders_[1]->capture_single_op({.name = "timer", .type = "Timer"}, {}, {&tensor, 1}));
    clock_.tick();
  }

  void drain() {
    while (session_.drain_some(512) != 0) {
    }
  }

  void steps(int count) {
    for (int i = 0; i < count; ++i) {
      step();
      drain();
    }
  }

  void tell_provenance() {
    const Provenance provenance = {.build_id = "00ff", .config = "9a3b12cd", .runtime = "tflm 2.1, own"};
    need(session_.tell_provenance(provenance) == Status::ok, "tell_provenance");
  }

  void endless() {
    for (;;) {
      steps(3);
      need(session_.sync() == Status::ok && session_.last_sink_failure() == Status::ok, "sync");
      std::printf("synced %u\n", session_.counts().written);
      std::fflush(stdout);
    }
  }

  void finalize() {
    const Status status = session_.finalize();
    const DumpCounts counts = session_.counts();
    const std::string_view text = to_string(status);
    std::printf("%u %u %u %.*s\n", counts.written, counts.degraded, counts.lost(),
                static_cast<int>(text.size()), text.data());
  }

 private:
  flashlog::FlashLog& log_;
  baremetal::TickClock clock_{1000};
  HostMemory memory_;
  StatisticsReduction<HostMemory> reduction_{memory_};
  std::byte scratch_[drain_scratch_bytes(3, 6, 5)];
  alignas(8) std::byte rings_[2][4096];
  float values_[100] = {1, 2, 3};
  BasicSession<HostMemory> session_;
  BasicRecorder<HostMemory>* recorders_[2] = {};
  ModelPlanFor<2> plan_;
};

void lose_some(Firmware& firmware) {
  for (int i = 0; i < 12; ++i) firmware.step();
  firmware.drain();
}

}  // namespace

int main(int argc, char** argv) {
  need(argc == 3 || argc == 4, "usage: small_code_maker IMAGE SCENARIO [PROGRAMS]:");
  const std::string_view what = argv[2];
  const bool tight = what == "overwrite" || what == "full";
  FileFlash flash(argv[1], tight ? 8 : 256, argc == 4 ? std::strtoull(argv[3], nullptr, 10) + 1 : 0);
  const flashlog::Device device = flash.device();
  std::byte page[flashlog::FlashLog::kPrefixBytes + 256];
  flashlog::FlashLog log(
      device, page,
      {.policy = what == "full" ? flashlog::Policy::stop_when_full : flashlog::Policy::overwrite_oldest});
  need(log.mount() == Status::ok, "mount");
  static Firmware firmware(log, what == "degrade" ? WhenFull::degrade : WhenFull::drop);
  if (what == "endless") firmware.endless();
  if (what == "provenance") firmware.tell_provenance();
  firmware.steps(tight ? 60 : 5);
  if (what == "losses" || what == "degrade" || what == "configs") {
    lose_some(firmware);
    firmware.steps(2);
    if (what == "configs") firmware.load();
    lose_some(firmware);
    if (what == "configs") firmware.steps(3);
  }
  firmware.finalize();
}
