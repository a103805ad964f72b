#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "opdump/boot.hpp"
#include "opdump/config/blob.hpp"
#include "opdump/config/sealed_plan.hpp"
#include "opdump/config/write_blob.hpp"
#include "tests/support/config_cases.hpp"
#include "tests/support/config_print.hpp"
#include "tests/support/parsed_config.hpp"
#include "tests/support/session_bench.hpp"
#include "tests/unit/format/small_code_dump.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

/// A config in which every field has a value of its own.
struct FullConfig {
  const StepRange steps[2] = {{0, 3}, {0x1122334455667788, 0xffffffffffffffff}};
  const std::string_view layers[2] = {"conv1", "a layer with \xc3\xa4"};
  const OpRange ranges[1] = {{"first", "last"}};
  const TensorPosition positions[2] = {{true, 7}, {false, 0xfffffffe}};
  const TensorExclusion exclusions[2] = {{true, "Conv2D", positions}, {false, "conv2", {}}};
  const std::string_view watched[1] = {"seen"};
  const std::string_view parts[2] = {"conv", ""};
  const NameStep name_steps[2] = {{NameStep::Kind::byte, 'a', 3}, {NameStep::Kind::set, 0, 255}};
  const ByteSet sets[1] = {{1, 2, 3, 0xff}};
  const NamePattern patterns[2] = {{"a.*", name_steps, sets}, {"b", {}, {}}};
  const ModelExtras extras = {ranges, exclusions, watched, parts, patterns, true};
  const ModelRule rules[3] = {{"resnet", false, false, layers, &extras}, {"", true, true, {}, nullptr}, {}};
  const StatBits columns[2] = {kStatSha1, kStatMax};
  const std::uint32_t devices[2] = {0, 0x80000001};
  const StepRange crop[2] = {{1, 2}, {0x1122334455667788, 0xffffffffffffffff}};
  const PrivacyRule privacy[2] = {
      {patterns, crop, PrivacyRule::pack({KeptAs::digest, TensorRole::output, 201, 0, 0xfffffffe})}, {}};
  const DumpConfig config = {
      .asked = true,
      .active = true,
      .dump_path = "/flash/dump",
      .mode = DumpMode::all,
      .level = DumpLevel::kernel,
      .single_ops = true,
      .steps = {steps},
      .first_step = 102,
      .models = rules,
      .every_device = false,
      .devices = devices,
      .options = {65536, WhenFull::degrade, 250, JournalDetail::gaps, false, true, 1, 0x123456789abcdef0, 7,
                  Keep::newest, Fsync::record, 111, 112, 113000},
      .form = {.data = DumpData::full,
               .fixed_point = true,
               .statistics = kStatMd5 | kStatMin,
               .file_format = FileFormat::npy,
               .layout = Layout::mindspore_graph,
               .trailing_comma = false,
               .statistics_on_device = true,
               .world_size = 103,
               .rank = 104},
      .statistic_columns = columns,
      .sample_number = 100,
      .device_format = true,
      .save_kernel_args = true,
      .synchronous = true,
      .quant_dumpable = true,
      .overflow_number = 101,
      .net_name = "net",
      .statistics_in_dtype = true,
      .kernel_data = kKernelAssert,
      .overflow = true,
      .watch = true,
      .watch_changes_only = true,
      .exception = ExceptionDump::detail,
      .privacy_tells = true,
      .privacy = privacy};
};

struct Loaded {
  explicit Loaded(Bytes plan, std::size_t memory_bytes = 65536) : memory(memory_bytes) {
    Arena arena(memory);
    config.active = true;
    status = load_plan(plan, arena, config);
    used = arena.used();
  }
  std::vector<std::byte> memory;
  DumpConfig config;
  Status status;
  std::size_t used = 0;
};

std::vector<std::byte> with_right_checksum(std::vector<std::byte> plan) {
  store_little_endian(&plan[kPlanCrcOffset], plan_crc(plan));
  return plan;
}

}  // namespace

TEST_CASE("plan: every field comes back, at any address, with anything behind") {
  const FullConfig full;
  const std::vector<std::byte> plan = write_plan(full.config);
  for (std::size_t shift = 0; shift < 8; ++shift) {
    std::vector<std::byte> flash(shift, std::byte{0xff});
    flash.insert(flash.end(), plan.begin(), plan.end());
    flash.resize(flash.size() + 100, std::byte{0xff});
    const Loaded loaded(Bytes(flash).subspan(shift));
    REQUIRE(loaded.status == Status::ok);
    CHECK(to_text(loaded.config) == to_text(full.config));
    const char* const path = loaded.config.dump_path.data();
    CHECK(path >= reinterpret_cast<const char*>(flash.data()));
    CHECK(path < reinterpret_cast<const char*>(flash.data() + flash.size()));
  }
  CHECK(to_text(Loaded(write_plan({})).config) == to_text({}));
}

TEST_CASE("plan: one with a seal, a privacy or triggers has a feature, which small code refuses") {
  const DumpConfig plain = {.active = true, .dump_path = "/d", .options = {.history_steps = 4}};
  const PrivacyRule rules[] = {{.numbers = PrivacyRule::pack({.kept = KeptAs::stats})}};
  const TriggerRule triggers[] = {{.call = "door", .numbers = TriggerRule::pack({}), .cooldown_s = 7}};
  DumpConfig sealed = plain, with_privacy = plain, with_triggers = plain, with_digests = plain;
  sealed.options.seal = std::string_view("0123456789abcdef0123456789abcdef", 32);
  with_privacy.privacy = rules;
  with_triggers.options.triggers = triggers;
  with_triggers.options.trigger_bytes_per_boot = 5;
  with_digests.form.data = DumpData::statistics;
  with_digests.form.statistics = kDigestMd5;
  const auto bytes_with = [&](std::size_t more) {
    // What each of them has empty: a text, a list, a flag, a list, two limits.
    return write_plan(plain).size() + 4 + 4 + 1 + 4 + 8 + 4 + more;
  };
  struct Case {
    const DumpConfig& config;
    std::uint16_t features;
    std::size_t bytes;
  };
  const Case cases[] = {{plain, 0, write_plan(plain).size()},
                        {with_digests, 0, write_plan(plain).size()},
                        {sealed, kPlanGuards, bytes_with(32)},
                        {with_privacy, kPlanGuards, bytes_with(4 + 4 + 8)},
                        {with_triggers, kPlanGuards, bytes_with(4 + 4 + 4 + 32)}};
  for (const Case& one : cases) {
    const std::vector<std::byte> plan = write_plan(one.config);
    CHECK(load_little_endian<std::uint16_t>(plan.data() + kPlanVersionOffset) == 1);
    CHECK(load_little_endian<std::uint16_t>(plan.data() + kPlanFeaturesOffset) == one.features);
    CHECK(plan.size() == one.bytes);
    const Loaded loaded(plan);
    REQUIRE(loaded.status == Status::ok);
    CHECK(to_text(loaded.config) == to_text(one.config));
    const Status in_small_code = one.features == 0 ? Status::ok : Status::not_supported;
    CHECK(static_cast<Status>(plan_status_of_small_code(plan.data(), plan.size())) == in_small_code);
  }
}

namespace {

/// What becomes of a plan of `config` in which the byte that is `from` at `at` is each other value in turn;
/// its checksum is right. `known` are the values of those that are read.
template <class IsKnown>
void check_byte(const DumpConfig& config, std::size_t at, std::uint8_t from, const IsKnown& is_known) {
  const std::vector<std::byte> plan = write_plan(config);
  REQUIRE(std::to_integer<std::uint8_t>(plan[at]) == from);
  REQUIRE(Loaded(plan).status == Status::ok);
  for (unsigned value = 0; value < 256; ++value) {
    CAPTURE(value);
    std::vector<std::byte> changed = plan;
    changed[at] = static_cast<std::byte>(value);
    changed = with_right_checksum(changed);
    std::size_t bytes = 0;
    const Status expected = is_known(value) ? Status::ok : Status::malformed;
    CHECK(Loaded(changed).status == expected);
    CHECK(Loaded(changed).config.active == (expected == Status::ok));
    CHECK(measure_plan(changed, bytes) == expected);
  }
}

}  // namespace

TEST_CASE("plan: a byte that chooses what there is not is refused") {
  const DumpConfig plain = {.active = true, .dump_path = "/d"};
  const std::size_t end = write_plan(plain).size();
  const PrivacyRule rules[] = {
      {.numbers = PrivacyRule::pack({.kept = KeptAs::stats, .role = TensorRole::input})}};
  DumpConfig config = plain;
  config.privacy = rules;
  // An empty text, the list's count and two lists without elements come before the numbers.
  const std::size_t numbers = end + 4 + 4 + 4 + 4;
  check_byte(config, numbers + 6, 1, [](unsigned value) { return value <= 4; });
  // The highest bit tells what the first word is.
  check_byte(config, numbers + 7, 1, [](unsigned value) { return (value & 0x7f) <= 2; });

  const TriggerRule triggers[] = {{.numbers = TriggerRule::pack({.cause = TriggerCause::failure})}};
  config = plain;
  config.options.triggers = triggers;
  // Behind the empty text, list and flag, the list's count, an empty list, an empty text and two limits.
  check_byte(config, end + 9 + 4 + 4 + 4 + 16, 9, [](unsigned value) { return value <= 10; });

  const StatBits columns[] = {kStatSha1};
  config = plain;
  config.statistic_columns = columns;
  std::vector<std::byte> plan = write_plan(config);
  std::size_t at = 0;
  while (plan[at] == write_plan(plain)[at] || at < kPlanHeadBytes) ++at;  // the list's count
  at += 4;
  check_byte(config, at + 1, kStatSha1 >> 8, [](unsigned value) {
    return value == 1 || value == 2 || value == 4 || value == 8 || value == 16;
  });
  check_byte(config, at, 0, [](unsigned value) { return value == 0; });

  const NameStep steps[] = {{NameStep::Kind::end, 7, 8}};
  const NamePattern patterns[] = {{.text = "x", .steps = steps}};
  const ModelExtras extras = {.patterns = patterns};
  const ModelRule models[] = {{.any_model = true, .extras = &extras}};
  config = plain;
  config.models = models;
  plan = write_plan(config);
  at = kPlanHeadBytes;
  while (plan[at] != std::byte{5} || plan[at + 1] != std::byte{7} || plan[at + 2] != std::byte{8}) ++at;
  check_byte(config, at, 5, [](unsigned value) { return value <= 5; });
}

TEST_CASE("plan: more triggers than a config may have are refused") {
  const std::vector<TriggerRule> rules(kMostTriggers + 1, {.numbers = TriggerRule::pack({})});
  DumpConfig config = {.active = true, .dump_path = "/d"};
  config.options.triggers = std::span(rules).first(kMostTriggers);
  CHECK(Loaded(write_plan(config)).status == Status::ok);
  config.options.triggers = rules;
  CHECK(Loaded(write_plan(config)).status == Status::malformed);
}

TEST_CASE("plan: a config and its compiled plan are equal, for every file of the corpus") {
  const std::vector<ConfigCase> cases = accepted_configs(std::filesystem::path(OPDUMP_TEST_DATA) / "config");
  CHECK(cases.size() > 200);
  for (const ConfigCase& one : cases) {
    CAPTURE(one.name);
    const ParsedConfig parsed(one.text, check_path, one.context);
    REQUIRE(parsed.status == Status::ok);
    const std::vector<std::byte> plan = write_plan(parsed.config);
    const Loaded loaded(plan, config_memory_bytes(plan.size()));
    CHECK(loaded.status == Status::ok);
    CHECK(to_text(loaded.config) == to_text(parsed.config));
    CHECK(write_plan(loaded.config) == plan);
    const ParsedConfig recognised(as_text(plan));
    CHECK(recognised.status == Status::ok);
    CHECK(to_text(recognised.config) == to_text(parsed.config));
  }
}

TEST_CASE("plan: what is damaged is told") {
  const std::vector<std::byte> plan = write_plan(FullConfig().config);
  for (std::size_t bytes = 0; bytes < plan.size(); ++bytes) {
    const Loaded cut(Bytes(plan).first(bytes));
    CHECK(cut.status == (bytes < kPlanHeadBytes ? Status::not_a_plan : Status::truncated));
    CHECK_FALSE(cut.config.active);
  }
  for (std::size_t i = 0; i < plan.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> flipped = plan;
      flipped[i] ^= std::byte{1} << bit;
      const Loaded loaded(flipped);
      CAPTURE(i);
      CHECK_FALSE(loaded.config.active);
      if (i < kPlanCrcOffset) {
        CHECK(loaded.status == Status::not_a_plan);
      } else {
        CHECK((loaded.status == Status::damaged || loaded.status == Status::truncated));
      }
      const ParsedConfig parsed(as_text(flipped));
      CHECK(parsed.status == Status::config_refused);
      CHECK(parsed.error.fault == ConfigFault::damaged_plan);
    }
  }
}

TEST_CASE("plan: another version, and a feature that is not known, are told from damage") {
  struct Case {
    std::size_t offset;
    std::uint16_t value;
    Status status;
    std::string reason;
  };
  const Case cases[] = {{kPlanVersionOffset, 0, Status::newer_version, "another version of opdump"},
                        {kPlanVersionOffset, 2, Status::newer_version, "another version of opdump"},
                        {kPlanVersionOffset, 0x101, Status::newer_version, "another version of opdump"},
                        {kPlanFeaturesOffset, 3, Status::not_supported, "opdump cannot do"},
                        {kPlanFeaturesOffset, 0x101, Status::not_supported, "opdump cannot do"}};
  for (const Case& one : cases) {
    std::vector<std::byte> plan = write_plan(FullConfig().config);
    store_little_endian(&plan[one.offset], one.value);
    CHECK(Loaded(plan).status == Status::damaged);
    plan = with_right_checksum(plan);
    CHECK(Loaded(plan).status == one.status);
    const ParsedConfig parsed(as_text(plan));
    CHECK(parsed.error.fault == ConfigFault::newer_plan);
    CHECK(parsed.error.reason.find(one.reason) != std::string::npos);
  }
}

TEST_CASE("plan: swapped bytes are told") {
  for (const std::size_t word : {2u, 4u}) {
    std::vector<std::byte> plan = write_plan(FullConfig().config);
    plan.resize((plan.size() + 3) / 4 * 4);
    for (std::size_t i = 0; i < plan.size(); i += word)
      std::reverse(plan.begin() + static_cast<std::ptrdiff_t>(i),
                   plan.begin() + static_cast<std::ptrdiff_t>(i + word));
    CHECK(Loaded(plan).status == Status::wrong_byte_order);
    CHECK(ParsedConfig(as_text(plan)).error.fault == ConfigFault::swapped_plan);
  }
}

TEST_CASE("plan: something else is told") {
  CHECK(Loaded(Bytes{}).status == Status::not_a_plan);
  CHECK(Loaded(as_bytes(R"({"dump": {"dump_path": "x"}})")).status == Status::not_a_plan);
  CHECK(Loaded(std::vector<std::byte>(64, std::byte{0xff})).status == Status::not_a_plan);
  CHECK_FALSE(is_plan(R"({"dump": {}})"));
  CHECK_FALSE(is_plan(""));
}

TEST_CASE("plan: contents that opdump does not write do no harm") {
  const std::vector<std::byte> plan = write_plan(FullConfig().config);
  std::size_t refused = 0;
  for (std::size_t i = kPlanHeadBytes; i < plan.size(); ++i) {
    for (const int value : {0, 1, 2, 0x7f, 0x80, 0xff}) {
      std::vector<std::byte> forged = plan;
      forged[i] = static_cast<std::byte>(value);
      forged = with_right_checksum(forged);
      const Loaded loaded(forged);
      CHECK((loaded.status == Status::ok || loaded.status == Status::malformed ||
             loaded.status == Status::no_memory));
      if (loaded.status == Status::ok) CHECK_FALSE(to_text(loaded.config).empty());
      if (loaded.status != Status::ok) CHECK_FALSE(loaded.config.active);
      refused += loaded.status != Status::ok;
    }
  }
  CHECK(refused > plan.size());
  std::vector<std::byte> longer = plan;
  longer.push_back(std::byte{0});
  store_little_endian(&longer[kPlanBytesOffset], static_cast<std::uint32_t>(longer.size()));
  CHECK(Loaded(with_right_checksum(longer)).status == Status::malformed);
}

TEST_CASE("plan: memory that is too small is told") {
  const std::vector<std::byte> plan = write_plan(FullConfig().config);
  const std::size_t needed = Loaded(plan).used;
  REQUIRE(needed > 0);
  for (std::size_t bytes = 0; bytes < needed; ++bytes) {
    const Loaded loaded(plan, bytes);
    CHECK(loaded.status == Status::no_memory);
    CHECK_FALSE(loaded.config.active);
  }
  CHECK(Loaded(plan, needed).status == Status::ok);
  CHECK(ParsedConfig(plan.size(), as_text(plan)).error.fault == ConfigFault::no_memory);
}

TEST_CASE("plan: the directory is looked for as that of a text is") {
  DumpConfig config;
  config.asked = config.active = true;
  config.dump_path = "missing/dir";
  const std::vector<std::byte> plan = write_plan(config);
  const ParsedConfig parsed(as_text(plan));
  CHECK(parsed.error.fault == ConfigFault::invalid_value);
  CHECK(parsed.error.key == "dump_path");
  CHECK(parsed.error.reason == "no such directory");
  CHECK(ParsedConfig(as_text(plan), nullptr).config.dump_path == "missing/dir");
}

namespace {

std::vector<std::byte> plan_of(std::string_view dump_path) {
  return write_plan({.asked = true, .active = true, .dump_path = dump_path});
}

/// Stands for a MAC: the sum of the bytes and a key.
struct Key {
  std::byte key;
  int* calls;

  std::byte seal_of(Bytes plan) const {
    std::byte sum = key;
    for (const std::byte byte : plan) sum = (sum << 1 | sum >> 7) ^ byte;
    return sum;
  }
  Status operator()(Bytes plan, Bytes seal) const {
    ++*calls;
    return seal.size() == 1 && seal[0] == seal_of(plan) ? Status::ok : Status::damaged;
  }
};

}  // namespace

TEST_CASE("sealed plan: only a plan that the caller's check calls good is loaded") {
  alignas(8) std::byte memory[1024];
  int calls = 0;
  const Key key = {std::byte{0x5a}, &calls};
  std::vector<std::byte> sealed = plan_of("/good");
  const std::size_t plan_bytes = sealed.size();
  sealed.push_back(key.seal_of(sealed));
  const auto load = [&](Bytes bytes, DumpConfig& config) {
    Arena arena(memory);
    config.active = true;
    return load_plan(bytes, key, arena, config);
  };
  DumpConfig config;
  REQUIRE(load(sealed, config) == Status::ok);
  CHECK(calls == 1);
  CHECK(config.active);
  CHECK(config.dump_path == "/good");

  const Result<SealedPlan> parts = split_plan(sealed);
  REQUIRE(parts.ok());
  CHECK(parts.value().plan.size() == plan_bytes);
  CHECK(parts.value().seal.size() == 1);

  // Another plan, whole and with a good checksum, under the seal of this one or under none.
  std::vector<std::byte> other = plan_of("/evil");
  CHECK(load(other, config) == Status::damaged);
  CHECK_FALSE(config.active);
  other.push_back(sealed.back());
  CHECK(load(other, config) == Status::damaged);
  CHECK_FALSE(config.active);
  CHECK(calls == 3);

  // What is no whole plan is not shown to the check.
  for (std::size_t bytes = 0; bytes < plan_bytes; ++bytes) {
    CHECK(load(Bytes(sealed).first(bytes), config) != Status::ok);
    CHECK_FALSE(config.active);
  }
  CHECK(calls == 3);
}

TEST_CASE("sealed plan: a session boots from a good one alone") {
  alignas(8) std::byte memory[1024];
  int calls = 0;
  const Key key = {std::byte{0x5a}, &calls};
  std::vector<std::byte> sealed = plan_of("/good");
  sealed.push_back(key.seal_of(sealed) ^ std::byte{1});
  tests::Bench<> bench;
  Arena arena(memory);
  CHECK(boot(bench.session, bench.sink, sealed, key, arena) == Status::damaged);
  CHECK_FALSE(bench.session.initialised());
  sealed.back() ^= std::byte{1};
  REQUIRE(boot(bench.session, bench.sink, sealed, key, arena) == Status::ok);
  CHECK(bench.session.dump_time() != 0);
  CHECK(bench.session.finalize() == Status::ok);
}
