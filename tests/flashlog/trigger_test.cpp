#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "examples/digits/network.hpp"
#include "opdump/parts/history_sink.hpp"
#include "opdump/parts/trigger_sink.hpp"
#include "opdump/parts/triggers.hpp"
#include "opdump/session.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "platform/flashlog/triggered_flash_history.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/parsed_config.hpp"

using namespace opdump;
using namespace opdump::flashlog;
using namespace opdump::tests;

namespace {

constexpr std::uint32_t kTriggerPage = 256, kBefore = 4, kAfter = 2, kClasses = 10;
constexpr std::uint64_t kDaySeconds = 86400, kCooldown = 600;

/// What the last two operators of the digits network make of an image.
struct ReadDigit {
  std::array<float, kClasses> logits;
  std::array<float, kClasses> shares;

  float confidence() const { return *std::max_element(shares.begin(), shares.end()); }
};

std::size_t op_called(const digits::Network& network, std::string_view name) {
  for (std::size_t i = 0; i < network.ops().size(); ++i) {
    if (network.ops()[i].name == name) return i;
  }
  FAIL("no such operator");
  return 0;
}

/// All images, and as many with some of their pixels replaced by noise.
std::vector<ReadDigit> read_digits() {
  digits::Network network;
  const std::size_t last = op_called(network, "softmax");
  const digits::Tensor& image = network.ops()[0].inputs[0];
  REQUIRE(image.type == digits::ElementType::kFloat16);
  std::minstd_rand random(3);
  std::vector<ReadDigit> all;
  for (std::size_t i = 0; i < 720; ++i) {
    network.load_image(i % 360);
    auto* const pixels = static_cast<digits::Float16*>(const_cast<void*>(image.data));
    for (std::size_t noise = i < 360 ? 0 : random() % 12; noise != 0; --noise)
      pixels[random() % 64] = digits::to_float16(static_cast<float>(random() % 17) / 16);
    for (std::size_t op = 0; op < network.ops().size(); ++op) network.run_op(op);
    ReadDigit read{};
    const auto copy = [&](std::size_t op, std::array<float, kClasses>& to) {
      const digits::Tensor& from = network.ops()[op].outputs[0];
      REQUIRE(from.type == digits::ElementType::kFloat32);
      REQUIRE(from.bytes == sizeof to);
      std::memcpy(to.data(), from.data, sizeof to);
    };
    copy(last - 1, read.logits);
    copy(last, read.shares);
    all.push_back(read);
  }
  return all;
}

/// A history in memory or in flash, as a device has one.
struct InMemory {
  explicit InMemory(Sink& sink) : history(sink, std::as_writable_bytes(std::span(memory))) {}
  void between_steps() {}

  std::vector<std::uint64_t> memory = std::vector<std::uint64_t>(2048);
  HistorySink history;
};

struct InFlash {
  explicit InFlash(Sink& sink) : area(sink, device, page) {
    part.power_on();
    area.configure(memory, 0, 0);
    REQUIRE(area.mount() == Status::ok);
  }
  void between_steps() {
    while (area.prepare().value()) continue;
  }

  FlashEmulator part{{.block_bytes = 4096, .block_count = 8, .program_bytes = 4, .bits_only_clear = true},
                     kTriggerPage};
  Device device = part.device();
  std::byte page[FlashHistory::kPrefixBytes + kTriggerPage];
  alignas(8) std::byte memory[FlashHistory::memory_bytes(kBefore)];
  FlashHistory area;
  TriggeredFlashHistory history{area};
};

/// What a device did, and what its log holds.
struct Watched {
  std::vector<float> confidences;                  ///< of all steps
  std::set<std::uint64_t> written;                 ///< steps of which the log has both records
  std::map<std::uint64_t, std::uint64_t> per_day;  ///< bytes of records, by the day of their step
  std::vector<std::string> fired;                  ///< lines of the journal
  FiringCounts counts;
};

/// `steps` steps of a second each under a config with these limits of a day.
template <class History>
Watched watch(const std::vector<ReadDigit>& read, std::size_t steps, const std::string& limits) {
  const ParsedConfig parsed(R"({"dump": {"dump_path": "/d", "dump_mode": "output",
      "dump_list": [{"model_name": "digits", "layer": ["bias3", "softmax"]}]},
      "opdump": {"history_steps": 4, "after_steps": 2, "trigger_limits": )" +
                            limits + R"(,
      "trigger": [{"op": "softmax", "output": 0, "stat": "max", "below": 0.5, "cooldown_s": 600}]}})");
  CAPTURE(parsed.error.key);
  REQUIRE(parsed.status == Status::ok);
  FlashEmulator part({.block_bytes = 4096, .block_count = 512, .program_bytes = 1, .bits_only_clear = true},
                     kTriggerPage);
  const Device device = part.device();
  part.power_on();
  std::byte page[FlashLog::kPrefixBytes + kTriggerPage];
  FlashLog log(device, page, {});
  REQUIRE(log.mount() == Status::ok);
  FakeMemory memory;
  FakeClock clock;
  clock.now_us = 1'767'225'600'000'000;  // the first second of 2026
  clock.us_per_reading = 0;
  const auto kept = std::make_unique<History>(log);
  TriggerMemory<1, 2, 4> room;
  TriggerSink sink(kept->history, log, clock, room.room());
  Triggers<FakeMemory> looks(sink);
  std::byte scratch[1024];
  alignas(8) std::byte ring[8192];
  BasicSession<FakeMemory> session({.memory = memory,
                                    .sink = sink,
                                    .clock = clock,
                                    .scratch = scratch,
                                    .when_full = WhenFull::drop,
                                    .triggers = &looks});
  BasicRecorder<FakeMemory>& recorder = *session.add_recorder(ring).value();
  const OpDesc ops[] = {{.name = "bias3", .type = "BiasAdd", .task_id = 1},
                        {.name = "softmax", .type = "Softmax", .task_id = 2}};
  const ModelDesc model = {.name = "digits", .id = 1, .ops = ops};
  ModelPlanFor<2> plan;
  REQUIRE(session.configure(parsed.config.options) == Status::ok);
  REQUIRE(sink.follow(parsed.config.options, session.journal()) == Status::ok);
  REQUIRE(session.init() == Status::ok);
  REQUIRE(session.set_config(parsed.config) == Status::ok);
  REQUIRE(session.load_model(plan, model) == Status::ok);

  Watched watched;
  std::minstd_rand random(7);
  const Dim dims[] = {1, kClasses};
  for (std::size_t step = 0; step < steps; ++step) {
    const ReadDigit& digit = read[random() % read.size()];
    watched.confidences.push_back(digit.confidence());
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    for (const std::size_t op : {0u, 1u}) {
      const std::array<float, kClasses>& values = op == 0 ? digit.logits : digit.shares;
      const TensorView output = {.address = address_of(values.data()),
                                 .bytes = sizeof values,
                                 .dtype = DType::float32,
                                 .shape = dims};
      if (recorder.wants(op)) REQUIRE(recorder.capture(op, {}, {&output, 1}) == Status::ok);
    }
    REQUIRE(recorder.end_step() == Status::ok);
    session.drain_some(SIZE_MAX);
    kept->between_steps();
    clock.now_us += 1'000'000;
    clock.now_ms += 1000;
  }
  REQUIRE(session.finalize() == Status::ok);
  watched.counts = sink.counts(0);
  CHECK(part.violation == nullptr);

  std::map<std::uint64_t, int> records;
  const FlashContents contents = read_flash(device);
  for (const FlashContents::Object& object : contents.objects) {
    CHECK(object.state == ObjectState::committed);
    const std::string directory = object.path.substr(0, object.path.rfind('/'));
    const std::uint64_t step = std::stoull(directory.substr(directory.rfind('/') + 1));
    watched.per_day[step / kDaySeconds] += object.bytes.size();
    ++records[step];
  }
  for (const auto& [step, count] : records) {
    CHECK(count == 2);
    watched.written.insert(step);
  }
  for (const auto& [path, text] : contents.journals) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      if (text.compare(at, 6, "fired,") == 0) watched.fired.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }
  return watched;
}

std::size_t steps_to_watch() {
  return OPDUMP_TEST_SHARE == 1 ? 100'000 : kDaySeconds + 3600;
}

}  // namespace

TEST_CASE_TEMPLATE("triggers: exactly the steps of low confidence and their histories are in flash", History,
                   InMemory, InFlash) {
  const std::vector<ReadDigit> read = read_digits();
  const Watched watched = watch<History>(read, steps_to_watch(), R"({"firings_per_day": 100})");

  std::set<std::uint64_t> expected;
  std::vector<std::uint64_t> fired;
  std::uint64_t cool_at = 0, of_day = 0, day = 0, cooling = 0, limited = 0;
  for (std::uint64_t step = 0; step < watched.confidences.size(); ++step) {
    if (step / kDaySeconds != day) {
      day = step / kDaySeconds;
      of_day = 0;
    }
    if (!(watched.confidences[step] < 0.5f)) continue;
    if (step < cool_at) {
      ++cooling;
    } else if (of_day == 100) {
      ++limited;
    } else {
      ++of_day;
      fired.push_back(step);
      cool_at = step + kCooldown;
      for (std::uint64_t at = step < kBefore - 1 ? 0 : step - (kBefore - 1); at <= step + kAfter; ++at)
        if (at < watched.confidences.size()) expected.insert(at);
    }
  }
  REQUIRE(fired.size() > 100);
  REQUIRE(limited > 10);
  CHECK(watched.written == expected);
  CHECK(watched.counts.fired == fired.size());
  CHECK(watched.counts.held[static_cast<std::size_t>(HeldFiring::cooldown)] == cooling);
  CHECK(watched.counts.held_back() == cooling + limited);
  CHECK(watched.counts.cut == 0);
  CHECK(watched.counts.unread == 0);
  CHECK(watched.counts.looks == watched.confidences.size());
  REQUIRE(watched.fired.size() == fired.size());
  for (std::size_t i = 0; i < fired.size(); ++i)
    CHECK(watched.fired[i].find(",max," + std::to_string(fired[i]) + ",") != std::string::npos);
}

TEST_CASE_TEMPLATE("triggers: what a day writes into flash stays within the day's bytes", History, InMemory,
                   InFlash) {
  const std::vector<ReadDigit> read = read_digits();
  constexpr std::uint64_t kBudget = 60'000;
  const Watched watched =
      watch<History>(read, steps_to_watch(), R"({"bytes_per_day": )" + std::to_string(kBudget) + "}");
  REQUIRE(watched.per_day.size() == 2);
  for (const auto& [day, bytes] : watched.per_day) CHECK(bytes <= kBudget);
  CHECK(watched.per_day.at(0) > kBudget / 2);
  std::uint64_t low = 0;
  for (const float confidence : watched.confidences) low += confidence < 0.5f ? 1 : 0;
  CHECK(watched.counts.fired + watched.counts.held_back() == low);
  CHECK(watched.counts.fired == watched.fired.size());
  CHECK(watched.counts.fired > 20);
}
