/// Writes the same dump into a flash log and into a tree of files, for the tests of `opdump extract`:
///
///     flash_image_maker IMAGE TREE
///     plain|hostile|session|reboots|power_cuts|wrapped|wrapped_boots|wrapped_power|clocks|tree_clocks|history
///
/// IMAGE becomes what the flash part holds; TREE, which must exist, what the tree sink writes. "session"
/// dumps a model into the image only; "reboots" does so in three boots of a device without a calendar, whose
/// clock starts at 0 each time, with the number of the boot in the first value of each tensor; "power_cuts"
/// is likewise of five boots, of which power ends the second and the fourth in the midst of a program.
/// "wrapped" is one session larger than the part, which keeps the newest; "wrapped_boots" are six sessions,
/// together larger; "wrapped_power" is as "wrapped", and power ends before the session does. "clocks" are
/// three such boots that count milliseconds; in the first one, after a whole session, and in the last one the
/// clock is set to 2026-11-23T12:00:0B, B the number of the boot from 1, between the second step and the
/// third. "tree_clocks" is likewise with TREE in the place of the log. "history" is the area of a history of
/// two boots with ten steps each, of which the first has handed steps 4 to 6 on to TREE before power ended.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "opdump/parts/settable_clock.hpp"
#include "opdump/session.hpp"
#include "platform/baremetal/tick_clock.hpp"
#include "platform/flashlog/flash_history.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "platform/host/host_memory.hpp"
#include "platform/posix/system_clock.hpp"
#include "platform/posix/tree_sink.hpp"

using namespace opdump;

namespace {

constexpr flashlog::Geometry kGeometry = {
    .block_bytes = 4096, .block_count = 200, .program_bytes = 4, .bits_only_clear = true};

class MemoryFlash {
 public:
  MemoryFlash() : bytes_(std::size_t{kGeometry.block_bytes} * kGeometry.block_count, std::byte{0xff}) {}

  flashlog::Device device() {
    return {.geometry = kGeometry,
            .context = this,
            .read =
                [](void* self, std::uint32_t block, std::uint32_t offset, MutableBytes to) {
                  std::memcpy(to.data(), at(self, block, offset), to.size());
                  return Status::ok;
                },
            .program =
                [](void* self, std::uint32_t block, std::uint32_t offset, Bytes from) {
                  MemoryFlash& flash = *static_cast<MemoryFlash*>(self);
                  std::byte* const to = at(self, block, offset);
                  const bool cut = --flash.until_cut_ == 0;
                  for (std::size_t i = 0; i < from.size(); ++i) {
                    if (cut && i == from.size() / 2) flash.cut_ = flash.bytes_;
                    to[i] &= from[i];
                  }
                  return Status::ok;
                },
            .erase =
                [](void* self, std::uint32_t block) {
                  std::memset(at(self, block, 0), 0xff, kGeometry.block_bytes);
                  return Status::ok;
                },
            .sync = [](void*) { return Status::ok; }};
  }

  /// Power ends in the midst of the program that comes after so many.
  void cut_after(std::uint64_t programs) { until_cut_ = programs + 1; }

  /// What was done since the end of power never happened.
  void power_on() {
    if (!cut_.empty()) bytes_.swap(cut_);
    cut_.clear();
    until_cut_ = 0;
  }

  bool write_to(const char* path) const {
    std::FILE* file = std::fopen(path, "wb");
    if (file == nullptr) return false;
    const bool written = std::fwrite(bytes_.data(), 1, bytes_.size(), file) == bytes_.size();
    return std::fclose(file) == 0 && written;
  }

 private:
  static std::byte* at(void* self, std::uint32_t block, std::uint32_t offset) {
    return static_cast<MemoryFlash*>(self)->bytes_.data() + std::size_t{block} * kGeometry.block_bytes +
           offset;
  }

  std::vector<std::byte> bytes_;
  std::vector<std::byte> cut_;  // what they were when power ended
  std::uint64_t until_cut_ = 0;
};

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "flash_image_maker: %s\n", what);
  std::exit(1);
}

void need(bool done, const char* what) {
  if (!done) give_up(what);
}

/// Gives every call to both sinks.
class Both {
 public:
  Both(Sink& a, Sink& b, std::string root) : sinks_{&a, &b}, root_(std::move(root)) {}

  struct Object {
    ObjectId ids[2];
  };

  Object begin(std::string_view directory, std::string_view file) {
    Object object{};
    for (int i = 0; i < 2; ++i) {
      const Result<ObjectId> id = sinks_[i]->begin({root_, directory, file});
      need(id.ok(), "begin");
      object.ids[i] = id.value();
    }
    return object;
  }

  void append(const Object& object, std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::byte& byte : data) byte = static_cast<std::byte>((next_ = next_ * 1103515245 + 12345) >> 16);
    const Bytes part = data;
    for (int i = 0; i < 2; ++i) need(sinks_[i]->append(object.ids[i], {&part, 1}) == Status::ok, "append");
  }

  void commit(const Object& object) {
    for (int i = 0; i < 2; ++i) need(sinks_[i]->commit(object.ids[i]) == Status::ok, "commit");
  }

  void abort(const Object& object) {
    for (int i = 0; i < 2; ++i) sinks_[i]->abort(object.ids[i]);
  }

  void add_lines(std::string_view directory, std::string_view file, std::string_view text) {
    const Bytes part = as_bytes(text);
    for (Sink* sink : sinks_)
      need(sink->append_lines({root_, directory, file}, {&part, 1}) == Status::ok, "append_lines");
  }

 private:
  Sink* sinks_[2];
  std::string root_;
  std::uint32_t next_ = 1;
};

void write_plain(Both& both) {
  const std::string time = "20260131130559";
  for (int step = 0; step < 3; ++step) {
    const std::string directory = time + "/0/net/1/" + std::to_string(step);
    const auto small = both.begin(directory, "Add.add.1.0." + std::to_string(1589195081588018 + step));
    const auto large = both.begin(directory, "Conv2D.conv1.2.0." + std::to_string(1589195081588018 + step));
    both.append(small, 10);
    for (int i = 0; i < 5; ++i) both.append(large, 7000);
    both.append(small, 300);
    both.commit(small);
    both.add_lines(time, "opdump.0.1.journal", "line " + std::to_string(step) + "\n");
    both.commit(large);
    const auto given_up = both.begin(directory, "Mul.gone.3.0." + std::to_string(1589195081588018 + step));
    both.append(given_up, 5000);
    both.abort(given_up);
  }
  const auto long_name =
      both.begin(time + "/0/net/1/2", "Conv2D." + std::string(300, 'n') + ".4.0.1589195081588030");
  both.append(long_name, 100);
  both.commit(long_name);
  const auto empty = both.begin(time + "/0", "Relu.nothing.5.0.1589195081588031");
  both.commit(empty);
  both.append(both.begin(time + "/0", "Relu.torn.6.0.1589195081588032"), 3000);
}

void write_hostile(flashlog::FlashLog& log) {
  const ObjectName names[] = {
      {{}, "../escape", "a"}, {{}, "/absolute", "b"}, {{}, "ok", ".."}, {{}, "x", "y/z"}};
  for (const ObjectName& name : names) {
    const Result<ObjectId> object = log.begin(name);
    if (!object.ok()) continue;
    const Bytes part = as_bytes(std::string_view("bytes"));
    need(log.append(object.value(), {&part, 1}) == Status::ok, "append");
    need(log.commit(object.value()) == Status::ok, "commit");
  }
}

/// What happens to the clock of a session.
struct Moments {
  baremetal::TickClock* ticks = nullptr;  ///< that go on at each step
  SettableClock* set = nullptr;           ///< after two steps, to `to_us`
  std::uint64_t to_us = 0;
};

void pass_time(const Moments& moments, int step, BasicSession<HostMemory>& session) {
  constexpr int kTicks = 5;
  for (int i = 0; i < kTicks && moments.ticks != nullptr; ++i) moments.ticks->tick();
  if (moments.set == nullptr || step != 2) return;
  const Result<ClockStep> set = moments.set->set(moments.to_us);
  need(set.ok() && session.tell_clock(set.value()) == Status::ok, "tell_clock");
}

void write_session(Sink& log, Clock& clock, float first_value, int steps = 4, bool ends = true,
                   const Moments& moments = {}, std::string_view root = "/flash") {
  static std::byte scratch[4096];
  alignas(8) static std::byte ring[4096];
  HostMemory memory;
  BasicSession<HostMemory> session({.memory = memory,
                                    .sink = log,
                                    .clock = clock,
                                    .scratch = scratch,
                                    .when_full = WhenFull::inline_drain});
  BasicRecorder<HostMemory>& recorder = *session.add_recorder(ring).value();
  const OpDesc ops[] = {{.name = "conv1", .type = "Conv2D", .task_id = 1}, {.name = "fc", .type = "MatMul"}};
  const ModelDesc model = {.name = "net", .id = 1, .ops = ops};
  const ModelRule rules[] = {{.any_model = true}};
  DumpConfig config;
  config.asked = config.active = true;
  config.dump_path = root;
  config.models = rules;
  static float values[3000] = {1, 2, 3};
  values[0] = first_value;
  const Dim dims[] = {3000};
  const TensorView tensor = {
      .address = address_of(values), .bytes = sizeof values, .dtype = DType::float32, .shape = dims};
  ModelPlanFor<2> plan;
  need(session.init() == Status::ok && session.set_config(config) == Status::ok, "set_config");
  need(session.load_model(plan, model) == Status::ok, "load_model");
  for (int step = 0; step < steps; ++step) {
    pass_time(moments, step, session);
    need(recorder.begin_step(plan) == Status::ok, "begin_step");
    for (std::size_t op = 0; op < 2; ++op)
      need(recorder.capture(op, {}, {&tensor, 1}) == Status::ok, "capture");
    need(recorder.end_step() == Status::ok, "end_step");
  }
  if (ends) {
    need(session.finalize() == Status::ok, "finalize");
  } else {
    while (session.drain_some(4096)) {
    }
  }
}

void write_reboots(MemoryFlash& flash, int boots, bool cuts, int steps = 4, bool ends = true) {
  const flashlog::Device device = flash.device();
  for (int boot = 1; boot <= boots; ++boot) {
    std::byte page[flashlog::FlashLog::kPrefixBytes + 256];
    flashlog::FlashLog log(device, page, {});
    need(log.mount() == Status::ok, "mount");
    baremetal::TickClock clock(1000);
    if (cuts && boot % 2 == 0) flash.cut_after(80 * static_cast<std::uint64_t>(boot));
    write_session(log, clock, static_cast<float>(boot), steps, ends);
    need(log.sync() == Status::ok, "sync");
    std::printf("%u\n", log.boot());
    flash.power_on();
  }
}

void write_clocks(Sink& log, int boot, std::string_view root) {
  constexpr std::uint64_t kNoon = 1795435200000000;
  baremetal::TickClock ticks(1000);
  SettableClock clock(ticks);
  const float value = static_cast<float>(boot);
  if (boot == 1) write_session(log, clock, value, 2, true, {.ticks = &ticks}, root);
  for (int i = 0; i < 2000; ++i) ticks.tick();
  write_session(log, clock, value, 4, true,
                {&ticks, boot == 2 ? nullptr : &clock, kNoon + 1000000 * static_cast<std::uint64_t>(boot)},
                root);
}

void write_clocks(MemoryFlash& flash) {
  const flashlog::Device device = flash.device();
  for (int boot = 1; boot <= 3; ++boot) {
    std::byte page[flashlog::FlashLog::kPrefixBytes + 256];
    flashlog::FlashLog log(device, page, {});
    need(log.mount() == Status::ok, "mount");
    write_clocks(log, boot, "/flash");
    need(log.sync() == Status::ok, "sync");
    std::printf("%u\n", log.boot());
  }
}

void write_history(MemoryFlash& flash, const std::string& root) {
  for (int boot = 1; boot <= 2; ++boot) {
    const flashlog::Device device = flash.device();
    std::byte page[flashlog::FlashHistory::kPrefixBytes + 256];
    alignas(8) std::byte memory[flashlog::FlashHistory::memory_bytes(3)];
    posix::TreeSink tree;
    flashlog::FlashHistory history(tree, device, page);
    history.configure(memory, 3, 0);
    need(history.mount() == Status::ok, "mount");
    for (std::uint64_t step = 1; step <= 10; ++step) {
      const std::string directory =
          "2026013113050" + std::to_string(boot) + "/0/net/1/" + std::to_string(step);
      const Result<ObjectId> object =
          history.begin({root, directory, "Add.a.0.0.1769864759000000",
                         ObjectFacts{.kind = ObjectKind::record, .dump_bytes = 14, .load = 1, .step = step}});
      need(object.ok(), "begin");
      const std::string text = "boot " + std::to_string(boot) + ", step " + std::to_string(step);
      const Bytes part = as_bytes(text);
      need(history.append(object.value(), {&part, 1}) == Status::ok, "append");
      need(history.commit(object.value()) == Status::ok, "commit");
      if (boot == 1 && step == 6) history.trigger();
    }
    need(history.sync() == Status::ok, "sync");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) give_up("usage: flash_image_maker IMAGE TREE SCENE");
  MemoryFlash flash;
  const flashlog::Device device = flash.device();
  std::byte page[flashlog::FlashLog::kPrefixBytes + 256];
  flashlog::FlashLog log(device, page, {});
  need(log.mount() == Status::ok, "mount");
  static posix::TreeSink tree;
  Both both(log, tree, argv[2]);
  const std::string_view what = argv[3];
  if (what == "plain") write_plain(both);
  if (what == "hostile") write_hostile(log);
  posix::SystemClock clock;
  if (what == "session") write_session(log, clock, 1);
  if (what == "reboots") write_reboots(flash, 3, false);
  if (what == "power_cuts") write_reboots(flash, 5, true);
  if (what == "clocks") write_clocks(flash);
  for (int boot = 1; boot <= 3 && what == "tree_clocks"; ++boot) {
    posix::TreeSink of_boot;
    write_clocks(of_boot, boot, argv[2]);
  }
  if (what == "history") write_history(flash, argv[2]);
  if (what == "wrapped") write_reboots(flash, 1, false, 60);
  if (what == "wrapped_power") write_reboots(flash, 1, false, 60, false);
  if (what == "wrapped_boots") write_reboots(flash, 6, false, 9);
  need(log.sync() == Status::ok, "sync");
  need(flash.write_to(argv[1]), "the image cannot be written");
}
