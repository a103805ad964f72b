#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "opdump/impl/capture/private_tensors.hpp"
#include "opdump/parts/history_sink.hpp"
#include "opdump/read/nano_reader.hpp"
#include "platform/flashlog/flash_log.hpp"
#include "platform/host/host_memory.hpp"
#include "tests/support/fake_async_memory.hpp"
#include "tests/support/flash_emulator.hpp"
#include "tests/support/parsed_config.hpp"
#include "tests/support/random.hpp"
#include "tests/support/session_bench.hpp"

using namespace opdump;
using namespace opdump::tests;

namespace {

constexpr std::size_t kTensors = 5;  ///< two inputs and three outputs of each operator
const Dim kShape[] = {3, 4, 5};
constexpr std::size_t kElements = 60;

/// Random numbers of 8 bytes, so that none of them turns up in a file by chance.
struct Secrets {
  explicit Secrets(std::uint32_t seed) {
    std::mt19937_64 engine(seed);
    for (auto& op : values)
      for (auto& tensor : op)
        for (std::uint64_t& value : tensor) value = engine();
  }

  TensorView view(std::size_t op, std::size_t tensor) const {
    return {.address = address_of(values[op][tensor].data()),
            .bytes = 8 * kElements,
            .dtype = DType::uint64,
            .shape = kShape};
  }

  std::array<std::array<std::array<std::uint64_t, kElements>, kTensors>, 3> values;
};

/// Every 8 bytes in a row of what a session has written.
class Windows {
 public:
  void add(const char* data, std::size_t size) {
    std::uint64_t window = 0;
    for (std::size_t i = 0; i + sizeof window <= size; ++i) {
      std::memcpy(&window, data + i, sizeof window);
      all_.insert(window);
    }
  }
  void add(const FakeSink& sink) {
    for (const auto& [path, bytes] : sink.objects)
      add(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (const auto& [path, text] : sink.journals) add(text.data(), text.size());
  }
  bool has(std::uint64_t value) const { return all_.contains(value); }

 private:
  std::set<std::uint64_t> all_;
};

template <class Memory, std::size_t RingBytes = 65536>
struct PrivacyBench {
  explicit PrivacyBench(WhenFull when_full = WhenFull::inline_drain, SessionLog* log = nullptr,
                        Sink* to = nullptr)
      : session(parts.added_to({.memory = memory,
                                .sink = to != nullptr ? *to : sink,
                                .clock = clock,
                                .scratch = scratch,
                                .device_id = 2,
                                .when_full = when_full,
                                .log = log,
                                .watch_memory = watch_memory})),
        recorder(*session.add_recorder(ring, heads).value()) {}

  Status start(const DumpConfig& config, const ModelDesc& model = kModel) {
    REQUIRE(session.init() == Status::ok);
    REQUIRE(session.set_config(config) == Status::ok);
    return session.load_model(plan, model, bits);
  }

  void step(const Secrets& secrets) {
    REQUIRE(recorder.begin_step(plan) == Status::ok);
    for (std::size_t op = 0; op < 3; ++op) {
      TensorView views[kTensors];
      for (std::size_t i = 0; i < kTensors; ++i) views[i] = secrets.view(op, i);
      if (recorder.wants(op)) static_cast<void>(recorder.capture(op, {views, 2}, {views + 2, 3}));
    }
    REQUIRE(recorder.end_step() == Status::ok);
  }

  /// The only file whose name contains `part`.
  std::string file(std::string_view part) const {
    std::string found;
    for (const auto& [path, bytes] : sink.objects) {
      if (path.find(part) == path.npos) continue;
      CHECK(found.empty());
      found = as_text(bytes);
    }
    return found;
  }

  std::string journal() const {
    REQUIRE(sink.journals.size() == 1);
    return sink.journals.begin()->second;
  }

  Memory memory;
  FakeSink sink;
  FakeClock clock;
  AllParts<Memory, 1, 4096> parts{memory};
  std::byte scratch[1024];
  alignas(8) std::byte ring[RingBytes];
  alignas(8) std::byte watch_memory[8192];
  alignas(8) std::byte heads[head_memory_bytes(16)];
  BasicSession<Memory> session;
  BasicRecorder<Memory>& recorder;
  ModelPlan plan;
  std::uint8_t bits[16] = {};
};

std::string config_text(const std::string& privacy, const std::string& options = "") {
  return R"({"dump": {"dump_path": "/dump", "dump_mode": "all", "dump_list": [{"model_name": "net"}]},)"
         R"("opdump": {"privacy": [)" +
         privacy + "]" + options + "}}";
}

/// A rule as the test understands it, and its text.
struct Rule {
  int op = -1;      ///< -1: any
  int tensor = -1;  ///< of kTensors; -1: any
  KeptAs kept = KeptAs::nothing;
  std::vector<std::array<std::size_t, 2>> crop{};
  std::size_t every = 0;
  std::size_t elements = 0;

  std::string text() const {
    static const std::string_view kNames[] = {"relu1", "poo*", "?c"};  // relu1 is fused
    std::string text = R"({"keep": ")" + std::string(kKeptWords[static_cast<std::size_t>(kept)]) + '"';
    if (op >= 0) text += R"(, "op": ")" + std::string(kNames[op]) + '"';
    if (tensor >= 2) text += R"(, "output": )" + std::to_string(tensor - 2);
    if (tensor >= 0 && tensor < 2) text += R"(, "input": )" + std::to_string(tensor);
    if (every != 0) text += R"(, "every": )" + std::to_string(every);
    if (elements != 0) text += R"(, "elements": )" + std::to_string(elements);
    for (std::size_t i = 0; i < crop.size(); ++i)
      text += (i == 0 ? R"(, "crop": [[)" : ", [") + std::to_string(crop[i][0]) + ", " +
              std::to_string(crop[i][1]) + "]";
    return text + (crop.empty() ? "}" : "]}");
  }

  bool names(int an_op, int a_tensor) const {
    return (op < 0 || op == an_op) && (tensor < 0 || tensor == a_tensor);
  }

  /// Whether element `at` of a tensor that is kept is kept.
  std::vector<std::size_t> left() const {
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < kElements; ++i) {
      const std::size_t axes[] = {i / 20, i / 5 % 4, i % 5};
      bool inside = true;
      for (std::size_t axis = 0; axis < crop.size(); ++axis)
        inside = inside && axes[axis] >= crop[axis][0] && axes[axis] < crop[axis][1];
      if (inside) left.push_back(i);
    }
    const std::size_t stride = elements != 0 ? (left.empty() ? 1 : (left.size() + elements - 1) / elements)
                               : every != 0  ? every
                                             : 1;
    std::vector<std::size_t> sampled;
    for (std::size_t i = 0; i < left.size(); i += stride) sampled.push_back(left[i]);
    return sampled;
  }
};

/// `digests`: statistics are not kept, which are then refused.
std::vector<Rule> random_rules(Random& random, bool digests) {
  std::vector<Rule> rules(1 + random.below(4));
  for (Rule& rule : rules) {
    rule.op = static_cast<int>(random.below(4)) - 1;
    rule.tensor = static_cast<int>(random.below(kTensors + 1)) - 1;
    rule.kept = static_cast<KeptAs>(random.below(5));
    if (digests && rule.kept == KeptAs::stats) rule.kept = KeptAs::digest;
    if (rule.op < 0 && rule.tensor < 0 && &rule != &rules.back()) rule.op = 0;
    if (rule.kept >= KeptAs::shape) continue;
    for (std::size_t axis = random.below(4); axis > 0; --axis) {
      const std::size_t first = random.below(4);
      rule.crop.push_back({first, first + 1 + random.below(3)});
    }
    const std::size_t sample = random.below(3);
    if (sample == 1) rule.every = 2 + random.below(6);
    if (sample == 2) rule.elements = 1 + random.below(20);
  }
  return rules;
}

/// Captures three steps under random rules, and looks for what they leave out in all that was written.
template <class Memory, std::size_t RingBytes>
void search(std::uint32_t seed) {
  Random random(seed);
  const bool digests = random.below(5) == 0;
  const std::vector<Rule> rules = random_rules(random, digests);
  std::string text;
  for (const Rule& rule : rules) text += (text.empty() ? "" : ",") + rule.text();
  const std::string_view formats[] = {"nano", "protobuf", "npy"};
  std::string options = R"(,"privacy_unmatched": "tell")";
  if (digests) {
    options += R"(,"digest": "xxh3")";
  } else {
    options += R"(,"file_format": ")" + std::string(formats[random.below(3)]) + '"';
  }
  CAPTURE(seed);
  CAPTURE(text);
  CAPTURE(options);
  ParsedConfig parsed(config_text(text, options));
  REQUIRE(parsed.error.reason == "");
  if (!digests) parsed.config.form.data = static_cast<DumpData>(random.below(3));
  const WhenFull policies[] = {WhenFull::inline_drain, WhenFull::drop, WhenFull::degrade};
  PrivacyBench<Memory, RingBytes> bench(policies[random.below(3)]);
  REQUIRE(bench.start(parsed.config) == Status::ok);
  const Secrets secrets(seed);
  for (int i = 0; i < 3; ++i) bench.step(secrets);
  REQUIRE(bench.session.finalize() == Status::ok);
  const DumpCounts counts = bench.session.counts();
  check_adds_up(counts);
  Windows written;
  written.add(bench.sink);
  const bool all_there = counts.captured + counts.empty == counts.wanted;
  const bool has_tensors = parsed.config.form.data != DumpData::statistics;
  for (int op = 0; op < 3; ++op) {
    for (int tensor = 0; tensor < static_cast<int>(kTensors); ++tensor) {
      const Rule* decides = nullptr;
      for (const Rule& rule : rules)
        if (decides == nullptr && rule.names(op, tensor)) decides = &rule;
      const bool elements = decides == nullptr || decides->kept == KeptAs::tensor;
      std::set<std::size_t> left;
      for (std::size_t i = 0; i < kElements; ++i)
        if (decides == nullptr) left.insert(i);
      if (elements && decides != nullptr)
        for (const std::size_t i : decides->left()) left.insert(i);
      for (std::size_t i = 0; i < kElements; ++i) {
        const std::uint64_t value = secrets.values[op][tensor][i];
        if (!left.contains(i) || !has_tensors) REQUIRE_FALSE(written.has(value));
        if (left.contains(i) && has_tensors && all_there) REQUIRE(written.has(value));
      }
    }
  }
}

}  // namespace

TEST_CASE("privacy: nothing that a rule leaves out is in any file, and all that it keeps is") {
  for (std::uint32_t seed = 0; seed < 150; ++seed) search<FakeMemory, 65536>(seed);
}

TEST_CASE("privacy: nor where the ring is too small for a record, or a device copies in the background") {
  for (std::uint32_t seed = 1000; seed < 1060; ++seed) {
    search<FakeMemory, 2048>(seed);
    search<FakeAsyncMemory, 2048>(seed);
    search<FakeAsyncMemory, 65536>(seed);
    search<HostMemory, 2048>(seed);
  }
}

TEST_CASE("privacy: the table tells what is kept of each tensor, and the record has the others") {
  const ParsedConfig parsed(config_text(
      R"({"op": "fc", "input": 0, "keep": "stats"}, {"op": "fc", "input": 1, "keep": "digest"},
         {"op": "fc", "output": 0, "keep": "shape"}, {"op": "fc", "output": 1, "keep": "nothing"},
         {"op": "fc", "output": 2, "keep": "tensor", "crop": [1, [2, 4]], "every": 3})"));
  REQUIRE(parsed.error.reason == "");
  PrivacyBench<HostMemory> bench;
  REQUIRE(bench.start(parsed.config) == Status::ok);
  Secrets secrets(1);
  for (std::size_t i = 0; i < kElements; ++i) secrets.values[2][0][i] = i;
  for (std::size_t i = 0; i < kElements; ++i) secrets.values[2][1][i] = 0;
  bench.step(secrets);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.file(".csv") ==
        "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
        "Negative Inf Count,Positive Inf Count,MD5,Kept\n"
        "Input,0,480,DT_UINT64,ND,3x4x5,59,0,29.5,60,0,0,0,,stats\n"
        "Input,1,480,DT_UINT64,ND,3x4x5,,,,,,,,90947e3479154523f3bdf3ea242538c8,digest\n"
        "Output,0,480,DT_UINT64,ND,3x4x5,,,,,,,,,shape\n"
        "Output,2,480,DT_UINT64,ND,3x4x5,,,,,,,,,tensor of 0:1x2:4 every 3\n");
  const std::string record = bench.file("MatMul.fc.5.2.1700000000000004");
  NanoReader reader;
  REQUIRE(reader.open(as_bytes(record), record.size()) == Status::ok);
  RecordTensor tensor;
  REQUIRE(reader.next(tensor));
  CHECK(tensor.is_output);
  CHECK(tensor.index == 2);
  CHECK(tensor.bytes == 32);
  REQUIRE(tensor.shape().size() == 1);
  CHECK(tensor.shape()[0] == 4);
  CHECK_FALSE(reader.next(tensor));
  CHECK(reader.status() == Status::ok);
  // Elements [0,2,0], [0,2,3], [0,3,1] and [0,3,4].
  const std::uint64_t kept[] = {secrets.values[2][4][10], secrets.values[2][4][13], secrets.values[2][4][16],
                                secrets.values[2][4][19]};
  CHECK(record.ends_with(as_text(std::as_bytes(std::span(kept)))));
  CHECK(bench.session.counts().written == 4);
  check_adds_up(bench.session.counts());
}

TEST_CASE("privacy: what cannot be cut is told and not kept") {
  const ParsedConfig parsed(config_text(
      R"({"op": "fc", "input": "all", "keep": "tensor", "crop": [1, 1, 1, 1]},
         {"op": "fc", "output": "all", "keep": "nothing"}, {"keep": "nothing"})"));
  PrivacyBench<HostMemory> bench;
  REQUIRE(bench.start(parsed.config) == Status::ok);
  bench.step(Secrets(1));
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.sink.objects.size() == 1);
  const std::string table = bench.file(".csv");
  CHECK(table.find("Input,0,480,DT_UINT64,ND,3x4x5,,,,,,,,,shape\nInput,1,") != table.npos);
  CHECK(bench.session.counts().empty == 2);
}

TEST_CASE("privacy: operators outside models obey the rules that name no model") {
  ParsedConfig parsed(
      R"({"dump": {"dump_path": "/dump", "dump_mode": "all", "dump_op_switch": "on",
          "dump_list": [{"model_name": "net"}]},
          "opdump": {"privacy": [{"model": "net", "keep": "tensor"}, {"type": "Mat*", "keep": "nothing"}]}})");
  REQUIRE(parsed.error.reason == "");
  PrivacyBench<HostMemory> bench;
  REQUIRE(bench.session.init() == Status::ok);
  REQUIRE(bench.session.set_config(parsed.config) == Status::ok);
  const Secrets secrets(5);
  const TensorView views[] = {secrets.view(0, 0), secrets.view(1, 0)};
  REQUIRE(bench.recorder.capture_single_op(kOps[2], {views, 1}, {}) == Status::ok);
  REQUIRE(bench.recorder.capture_single_op(kOps[1], {views + 1, 1}, {}) == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  Windows written;
  written.add(bench.sink);
  CHECK_FALSE(written.has(secrets.values[0][0][7]));
  CHECK(written.has(secrets.values[1][0][7]));
}

TEST_CASE("privacy: an operator's name counts as names of files have it, too") {
  const OpDesc ops[] = {{.name = "block/embed", .type = "Gather"}};
  const ModelDesc model = {.name = "net", .id = 1, .ops = ops};
  const ParsedConfig parsed(config_text(R"({"op": "block_emb*", "keep": "nothing"})"));
  PrivacyBench<HostMemory> bench;
  REQUIRE(bench.start(parsed.config, model) == Status::ok);
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  const Secrets secrets(5);
  const TensorView view = secrets.view(0, 0);
  REQUIRE(bench.recorder.capture(0, {}, {&view, 1}) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.sink.objects.empty());
}

TEST_CASE("privacy: a rule that names no tensor refuses the model, or is only told") {
  const std::string typo = R"({"op": "embde*", "keep": "nothing"}, {"keep": "tensor"})";
  for (const bool tells : {false, true}) {
    const ParsedConfig parsed(config_text(typo, tells ? R"(, "privacy_unmatched": "tell")" : ""));
    PrivacyBench<HostMemory> bench;
    CHECK(bench.start(parsed.config) == (tells ? Status::ok : Status::config_refused));
    bench.step(Secrets(1));
    REQUIRE(bench.session.finalize() == Status::ok);
    CHECK(bench.sink.objects.empty() == !tells);
    CHECK(bench.journal().find("never,no_private,0,0,9,net/_/embde*\n") != std::string::npos);
    CHECK(bench.journal().find("no_model") == std::string::npos);
  }
}

TEST_CASE("privacy: a rule for a tensor that the operator has not refuses the model where tensors are told") {
  const TensorView one{};
  const CapturedTensors tensors[] = {{{&one, 1}, {&one, 1}}, {{&one, 1}, {&one, 1}}, {{&one, 1}, {&one, 1}}};
  ModelDesc model = kModel;
  model.tensors = tensors;
  const ParsedConfig parsed(config_text(R"({"op": "fc", "input": 1, "keep": "nothing"})"));
  PrivacyBench<HostMemory> bench;
  CHECK(bench.start(parsed.config, model) == Status::config_refused);
  REQUIRE(bench.session.unload_model(bench.plan) == Status::ok);
  CHECK(bench.session.load_model(bench.plan, kModel, bench.bits) == Status::ok);
}

TEST_CASE("privacy: where each rule is for a model, a model that none is for is refused") {
  const std::string list =
      R"({"dump": {"dump_path": "/dump", "dump_list": [{"model_name": "net"}, {"model_name": "other"}]},
          "opdump": {"privacy": [{"model": "oth*", "keep": "nothing"})";
  for (const bool all : {false, true}) {
    const ParsedConfig parsed(list + (all ? R"(, {"model": "*", "keep": "tensor"}]}})" : "]}}"));
    REQUIRE(parsed.error.reason == "");
    PrivacyBench<HostMemory> bench;
    CHECK(bench.start(parsed.config) == (all ? Status::ok : Status::config_refused));
    REQUIRE(bench.session.finalize() == Status::ok);
    const std::string journal = bench.journal();
    CHECK((journal.find("never,no_private_model,0,0,9,net/_/\n") == journal.npos) == all);
    CHECK(journal.find("never,no_private_model,0,0,0,_/_/oth*\n") != journal.npos);
  }
}

TEST_CASE("privacy: a model whose operators come later is refused, unless rules without effect are told") {
  for (const bool tells : {false, true}) {
    const ParsedConfig parsed(
        config_text(R"({"keep": "stats"})", tells ? R"(, "privacy_unmatched": "tell")" : ""));
    PrivacyBench<HostMemory> bench;
    REQUIRE(bench.session.init() == Status::ok);
    REQUIRE(bench.session.set_config(parsed.config) == Status::ok);
    CHECK(bench.session.load_growing_model(bench.plan, kModel, bench.bits) ==
          (tells ? Status::ok : Status::not_supported));
    REQUIRE(bench.session.finalize() == Status::ok);
  }
}

TEST_CASE("privacy: a session without the part refuses the config") {
  const ParsedConfig parsed(config_text(R"({"keep": "nothing"})"));
  HostMemory memory;
  FakeSink sink;
  FakeClock clock;
  std::byte scratch[1024];
  BasicSession<HostMemory> session({.memory = memory, .sink = sink, .clock = clock, .scratch = scratch});
  REQUIRE(session.init() == Status::ok);
  CHECK(session.set_config(parsed.config) == Status::not_supported);
  REQUIRE(session.finalize() == Status::ok);
}

TEST_CASE("privacy: overflows, with their reports") {
  for (const std::string_view format : {"nano", "protobuf", "npy"}) {
    CAPTURE(format);
    ParsedConfig parsed(R"({"dump": {"dump_path": "/dump", "dump_debug": "on"},
                            "opdump": {"file_format": ")" +
                        std::string(format) +
                        R"(", "privacy": [{"op": "fc", "input": 0, "keep": "stats"},
                                          {"op": "fc", "input": 1, "keep": "tensor"},
                                          {"keep": "nothing"}]}})");
    REQUIRE(parsed.error.reason == "");
    PrivacyBench<HostMemory> bench;
    REQUIRE(bench.start(parsed.config) == Status::ok);
    const Secrets secrets(9);
    REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
    for (std::size_t op = 0; op < 3; ++op) {
      TensorView views[kTensors];
      for (std::size_t i = 0; i < kTensors; ++i) views[i] = secrets.view(op, i);
      REQUIRE(bench.recorder.capture_overflow(op, {views, 2}, {views + 2, 3}, {.status = {1}}) == Status::ok);
    }
    REQUIRE(bench.recorder.end_step() == Status::ok);
    REQUIRE(bench.session.finalize() == Status::ok);
    check_adds_up(bench.session.counts());
    Windows written;
    written.add(bench.sink);
    for (std::size_t op = 0; op < 3; ++op)
      for (std::size_t i = 0; i < kTensors; ++i)
        CHECK(written.has(secrets.values[op][i][33]) == (op == 2 && i == 1));
    std::size_t reports = 0;
    for (const std::string& path : bench.sink.order) reports += path.find("Opdebug") != path.npos;
    CHECK(reports == 3);
    CHECK(bench.file(".csv").find("stats") != std::string::npos);
  }
}

TEST_CASE("privacy: operators that failed, with their arguments and workspaces") {
  for (const ExceptionDump scene : {ExceptionDump::brief, ExceptionDump::norm, ExceptionDump::detail}) {
    ParsedConfig parsed(
        config_text(R"({"op": "fc", "input": 1, "keep": "stats"}, {"op": "fc", "keep": "shape",
                                        "output": "all"}, {"op": "pool1", "type": "*", "keep": "tensor"})"));
    REQUIRE(parsed.error.reason == "");
    parsed.config.exception = scene;
    PrivacyBench<HostMemory> bench;
    REQUIRE(bench.start(parsed.config) == Status::ok);
    const Secrets secrets(11);
    REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
    for (const std::size_t op : {std::size_t{1}, std::size_t{2}}) {
      TensorView views[kTensors];
      for (std::size_t i = 0; i < kTensors; ++i) views[i] = secrets.view(op, i);
      // The last two outputs are an argument and a workspace here.
      const OpMemory memory = {.arguments = {views + 3, 1}, .workspaces = {views + 4, 1}};
      bench.recorder.begin_op(op, {views, 2}, {views + 2, 1}, &memory);
      REQUIRE(bench.recorder.capture_failure() == Status::ok);
      bench.recorder.end_op();
    }
    REQUIRE(bench.recorder.end_step() == Status::ok);
    REQUIRE(bench.session.finalize() == Status::ok);
    Windows written;
    written.add(bench.sink);
    const bool norm = scene == ExceptionDump::norm;
    for (std::size_t i = 0; i < kTensors; ++i) {
      CHECK(written.has(secrets.values[1][i][20]) == (norm || i != 4));
      CHECK(written.has(secrets.values[2][i][20]) == (i == 0));
    }
    CHECK(bench.file(".csv").find("shape") != std::string::npos);
  }
}

TEST_CASE("privacy: watched outputs obey the rules of the operator whose they are") {
  static constexpr std::string_view kWatched[] = {"fc"};
  const ModelExtras extras = {.watched = kWatched};
  const ModelRule rules[] = {{.model_name = "net", .extras = &extras}};
  const ParsedConfig parsed(config_text(R"({"op": "fc", "output": 0, "keep": "nothing"},
                                           {"op": "fc", "output": 1, "keep": "digest"})"));
  DumpConfig config = parsed.config;
  config.models = rules;
  config.watch = true;
  PrivacyBench<HostMemory> bench;
  REQUIRE(bench.start(config) == Status::ok);
  const Secrets secrets(13);
  bench.step(secrets);
  bench.step(secrets);
  REQUIRE(bench.session.finalize() == Status::ok);
  Windows written;
  written.add(bench.sink);
  std::size_t records = 0;
  for (const std::string& path : bench.sink.order) records += !path.ends_with(".csv");
  CHECK(records > 2);
  CHECK_FALSE(written.has(secrets.values[2][2][20]));
  CHECK_FALSE(written.has(secrets.values[2][3][20]));
  CHECK(written.has(secrets.values[2][4][20]));
}

TEST_CASE("privacy: a history never has what is not kept, not even in its memory") {
  std::vector<std::uint64_t> memory(8192);
  FakeSink behind;
  HistorySink history(behind, std::as_writable_bytes(std::span(memory)), 4, 1);
  ParsedConfig parsed(config_text(R"({"op": "fc", "keep": "digest"}, {"input": 1, "keep": "nothing"})"));
  PrivacyBench<HostMemory> bench(WhenFull::inline_drain, nullptr, &history);
  REQUIRE(bench.start(parsed.config) == Status::ok);
  const Secrets secrets(17);
  for (int i = 0; i < 3; ++i) bench.step(secrets);
  while (bench.session.drain_some(SIZE_MAX) != 0) continue;
  Windows kept;
  kept.add(reinterpret_cast<const char*>(memory.data()), memory.size() * 8);
  kept.add(reinterpret_cast<const char*>(bench.ring), sizeof bench.ring);
  for (std::size_t i = 0; i < kTensors; ++i) {
    CHECK_FALSE(kept.has(secrets.values[2][i][20]));
    CHECK(kept.has(secrets.values[0][i][20]) == (i != 1));
  }
  REQUIRE(bench.session.finalize() == Status::ok);
}

TEST_CASE("privacy: raw flash holds nothing of what is not kept") {
  constexpr flashlog::Geometry kPart = {
      .block_bytes = 4096, .block_count = 32, .program_bytes = 1, .bits_only_clear = true};
  FlashEmulator flash(kPart, 256);
  const flashlog::Device device = flash.device();
  std::vector<std::byte> page(flashlog::FlashLog::kPrefixBytes + 256);
  flashlog::FlashLog log(device, page, {});
  REQUIRE(log.mount() == Status::ok);
  const ParsedConfig parsed(config_text(
      R"({"op": "fc", "keep": "digest"}, {"input": 1, "keep": "nothing"}, {"input": 0, "keep": "tensor", "every": 7})"));
  PrivacyBench<HostMemory> bench(WhenFull::inline_drain, nullptr, &log);
  REQUIRE(bench.start(parsed.config) == Status::ok);
  const Secrets secrets(23);
  for (int i = 0; i < 2; ++i) bench.step(secrets);
  REQUIRE(bench.session.finalize() == Status::ok);
  std::vector<std::byte> image(std::size_t{kPart.block_bytes} * kPart.block_count);
  for (std::uint32_t block = 0; block < kPart.block_count; ++block)
    REQUIRE(device.read(device.context, block, 0,
                        MutableBytes(image).subspan(std::size_t{block} * kPart.block_bytes,
                                                    kPart.block_bytes)) == Status::ok);
  Windows kept;
  kept.add(reinterpret_cast<const char*>(image.data()), image.size());
  for (std::size_t i = 0; i < kTensors; ++i) {
    CHECK_FALSE(kept.has(secrets.values[2][i][20]));
    // A log may part the numbers of a tensor where a page ends, but not all of them.
    bool any = false;
    for (std::size_t at = 0; at < kElements; ++at) {
      const bool has = kept.has(secrets.values[0][i][at]);
      any = any || has;
      if (i == 1 || (i == 0 && at % 7 != 0)) CHECK_FALSE(has);
    }
    CHECK(any == (i != 1));
  }
}

TEST_CASE("privacy: an operator with more tensors than can be looked at is lost, and counted") {
  std::vector<TensorView> views(PrivateTensors<HostMemory>::kMost + 1);
  const Secrets secrets(19);
  for (TensorView& view : views) view = secrets.view(0, 0);
  const ParsedConfig parsed(config_text(R"({"input": 3, "keep": "nothing"})"));
  PrivacyBench<HostMemory> bench;
  REQUIRE(bench.start(parsed.config) == Status::ok);
  REQUIRE(bench.recorder.begin_step(bench.plan) == Status::ok);
  CHECK(bench.recorder.capture(0, views, {}) == Status::too_many_tensors);
  CHECK(bench.recorder.capture(0, std::span(views).first(3), {}) == Status::ok);
  REQUIRE(bench.recorder.end_step() == Status::ok);
  REQUIRE(bench.session.finalize() == Status::ok);
  CHECK(bench.session.counts().invalid == 1);
  CHECK(bench.sink.objects.size() == 1);
}
