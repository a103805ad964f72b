#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "examples/digits/network.hpp"
#include "opdump/base/number_text.hpp"
#include "opdump/parts/trigger_sink.hpp"
#include "opdump/parts/triggers.hpp"
#include "opdump/session.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/flash_contents.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/kept_histories.hpp"
#include "tests/support/parsed_config.hpp"

using namespace opdump;
using namespace opdump::flashlog;
using namespace opdump::tests;

namespace {

const auto sum_of = [](const auto& counts) {
  return std::accumulate(std::begin(counts), std::end(counts), 0u);
};

constexpr std::uint32_t kTriggerPage = 256, kBefore = 4, kAfter = 2, kClasses = 10;
constexpr std::uint64_t kCooldown = 600;
constexpr std::size_t kStepsToWatch = 20'000;

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

/// What a device did, and what its log holds.
struct Watched {
  std::vector<float> confidences;           ///< of all steps
  std::set<std::uint64_t> written;          ///< steps of which the log has both records
  std::uint64_t bytes = 0;                  ///< of all records
  std::map<std::uint64_t, int> records;     ///< of each step
  std::set<std::uint64_t> record_bytes[2];  ///< sizes of the records of each operator
  std::vector<std::string> fired;           ///< lines of the journal
  FiringCounts counts;
};

/// `kStepsToWatch` steps of a second each under a config with these limits.
template <class History>
Watched watch(const std::vector<ReadDigit>& read, const std::string& limits) {
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
  for (std::size_t step = 0; step < kStepsToWatch; ++step) {
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
    // Of a write-out that the limit of bytes has ended, an object may have begun.
    const bool is_cut = watched.counts.cut != 0 && object.state == ObjectState::aborted;
    CHECK((is_cut || object.state == ObjectState::committed));
    if (is_cut) continue;
    const std::string directory = object.path.substr(0, object.path.rfind('/'));
    const std::uint64_t step = std::stoull(directory.substr(directory.rfind('/') + 1));
    watched.bytes += object.bytes.size();
    ++records[step];
    watched.record_bytes[object.path.find("Softmax") != std::string::npos ? 1 : 0].insert(
        object.bytes.size());
  }
  watched.records = records;
  for (const auto& [step, count] : records) {
    if (count == 2) watched.written.insert(step);
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

}  // namespace

TEST_CASE_TEMPLATE("triggers: exactly the steps of low confidence and their histories are in flash", History,
                   HistoryInMemory, HistoryInFlash) {
  const std::vector<ReadDigit> read = read_digits();
  const Watched watched = watch<History>(read, R"({"firings_per_boot": 20})");

  std::set<std::uint64_t> expected;
  std::vector<std::uint64_t> fired;
  std::uint64_t cool_at = 0, cooling = 0, limited = 0;
  for (std::uint64_t step = 0; step < watched.confidences.size(); ++step) {
    if (!(watched.confidences[step] < 0.5f)) continue;
    if (step < cool_at) {
      ++cooling;
    } else if (fired.size() == 20) {
      ++limited;
    } else {
      fired.push_back(step);
      cool_at = step + kCooldown;
      for (std::uint64_t at = step < kBefore - 1 ? 0 : step - (kBefore - 1); at <= step + kAfter; ++at)
        if (at < watched.confidences.size()) expected.insert(at);
    }
  }
  REQUIRE(fired.size() == 20);
  REQUIRE(limited > 10);
  CHECK(watched.written == expected);
  CHECK(watched.records.size() == expected.size());
  CHECK(watched.counts.fired == fired.size());
  CHECK(watched.counts.held[static_cast<std::size_t>(HeldFiring::cooldown)] == cooling);
  CHECK(sum_of(watched.counts.held) == cooling + limited);
  CHECK(watched.counts.cut == 0);
  CHECK(watched.counts.unread == 0);
  CHECK(watched.counts.looks == watched.confidences.size());
  REQUIRE(watched.fired.size() == fired.size());
  for (std::size_t i = 0; i < fired.size(); ++i)
    CHECK(watched.fired[i].find(",max," + std::to_string(fired[i]) + ",") != std::string::npos);
}

TEST_CASE_TEMPLATE("triggers: what a boot writes into flash stays within its bytes", History, HistoryInMemory,
                   HistoryInFlash) {
  const std::vector<ReadDigit> read = read_digits();
  constexpr std::uint64_t kBudget = 40'000;
  const Watched watched = watch<History>(read, R"({"bytes_per_boot": )" + std::to_string(kBudget) + "}");
  CHECK(watched.bytes <= kBudget);
  CHECK(watched.bytes > kBudget / 2);
  std::uint64_t low = 0;
  for (const float confidence : watched.confidences) low += confidence < 0.5f ? 1 : 0;
  CHECK(watched.counts.fired + sum_of(watched.counts.held) == low);
  CHECK(watched.counts.fired == watched.fired.size());
  CHECK(watched.counts.fired > 10);
}

namespace {

/// What the device must have written under limits, by these rules alone: a firing takes the steps of its
/// history that have not been written, if their bytes and its line fit into what is left; what follows is
/// written until a record does not fit, which ends it and all firings.
struct ExpectedBoot {
  std::uint64_t bytes_per_boot;
  std::uint32_t firings_per_boot;
  std::uint64_t record_bytes[2];
  std::map<std::uint64_t, int> records{};
  std::vector<std::uint64_t> fired{};
  std::uint64_t cooling = 0, of_firings = 0, of_bytes = 0, cut = 0;

  static std::string line_of(std::uint64_t step, float confidence) {
    char memory[kMaxNumberText];
    TextWriter value(memory);
    return "fired,0,max," + std::to_string(step) + "," + std::string(add_number(value, confidence).text()) +
           ",<0.5,1,digits/Softmax.softmax";
  }

  void run(const std::vector<float>& confidences) {
    std::uint64_t used = 0, firings = 0, cool_at = 0, writes_until = 0;
    bool writes = false, is_full = false;
    std::map<std::uint64_t, int> kept;
    for (std::uint64_t step = 0; step < confidences.size(); ++step) {
      if (writes && step > writes_until) writes = false;
      // The recorder is ahead: a firing is decided on when the first record of its step comes.
      if (confidences[step] < 0.5f) {
        const std::uint64_t of = step;
        std::uint64_t history = 0;
        for (const auto& [at, count] : kept) {
          if (at + kBefore > of) history += bytes_of(count);
        }
        const std::uint64_t line = line_of(of, confidences[of]).size() + 1;
        if (of < cool_at) {
          ++cooling;
        } else if (firings == firings_per_boot) {
          ++of_firings;
        } else if (is_full || used + line + history > bytes_per_boot || used + line == bytes_per_boot) {
          ++of_bytes;
        } else {
          fired.push_back(of);
          ++firings;
          used += line + history;
          cool_at = of + kCooldown;
          for (const auto& [at, count] : kept) {
            if (at + kBefore > of) records[at] += count;
          }
          kept.clear();
          writes = true;
          writes_until = of + kAfter;
        }
      }
      for (int op = 0; op < 2; ++op) {
        if (writes && used + record_bytes[op] > bytes_per_boot) {
          writes = false;
          is_full = true;
          ++cut;
        }
        if (writes) used += record_bytes[op];
        ++(writes ? records : kept)[step];
      }
      while (!kept.empty() && kept.begin()->first + kBefore <= step) kept.erase(kept.begin());
    }
  }

 private:
  /// Of the first records of a step, or, of one that was cut, of the last.
  std::uint64_t bytes_of(int count) const {
    return count == 2 ? record_bytes[0] + record_bytes[1] : record_bytes[1];
  }
};

}  // namespace

TEST_CASE_TEMPLATE(
    "triggers: exactly what the bytes of a boot allow is in flash, with a limit of firings and without",
    History, HistoryInMemory, HistoryInFlash) {
  const std::vector<ReadDigit> read = read_digits();
  for (const std::uint32_t firings : {0xffffffffu, 15u}) {
    for (const std::uint64_t bytes : {40'000u, 41'111u}) {
      CAPTURE(firings);
      CAPTURE(bytes);
      const std::string limits = R"({"bytes_per_boot": )" + std::to_string(bytes) +
                                 R"(, "firings_per_boot": )" + std::to_string(firings) + "}";
      const Watched watched = watch<History>(read, limits);
      for (const auto& sizes : watched.record_bytes) REQUIRE(sizes.size() == 1);
      ExpectedBoot expected{
          bytes, firings, {*watched.record_bytes[0].begin(), *watched.record_bytes[1].begin()}};
      expected.run(watched.confidences);
      REQUIRE(watched.fired.size() == expected.fired.size());
      for (std::size_t i = 0; i < expected.fired.size(); ++i)
        CHECK(watched.fired[i] ==
              ExpectedBoot::line_of(expected.fired[i], watched.confidences[expected.fired[i]]));
      CHECK(watched.records == expected.records);
      CHECK(watched.counts.held[static_cast<std::size_t>(HeldFiring::cooldown)] == expected.cooling);
      CHECK(watched.counts.held[static_cast<std::size_t>(HeldFiring::firings)] == expected.of_firings);
      CHECK(watched.counts.held[static_cast<std::size_t>(HeldFiring::bytes)] == expected.of_bytes);
      CHECK(watched.counts.cut == expected.cut);
      CHECK(expected.cooling + expected.of_firings + expected.of_bytes > 100);
    }
  }
}
