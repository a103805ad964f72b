#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "platform/posix/basic_file_dump.hpp"
#include "platform/posix/file_dump.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/little_endian.hpp"
#include "tests/support/temporary_directory.hpp"

namespace opdump::tests::file_dump_options {

namespace {

constexpr Dim kShape[] = {4096};
constexpr Dim kEmpty[] = {0};
const OpDesc kOps[] = {{.name = "a", .type = "Relu"}};
const ModelDesc kModel = {.name = "m", .ops = kOps};

/// What is in the dump after three steps of one tensor of 16 KiB, with a ring of 1 KiB unless `options` say otherwise.
struct Outcome {
  Status stopped;
  unsigned journals = 0;
  unsigned tables = 0;
  unsigned records = 0;
  std::string told = {};   ///< by the journals
  std::string error = {};  ///< of the stop
};

Outcome dumped(const std::string& options) {
  const TemporaryDirectory directory;
  const std::string config = (directory.path() / "acl.json").string();
  const std::filesystem::path dump_path = directory.path() / "dump";
  std::filesystem::create_directory(dump_path);
  write_file(config, R"({"dump": {"dump_path": ")" + dump_path.string() +
                         R"(", "dump_list": [{}]}, "opdump": )" + options + "}");
  HostMemory memory;
  posix::BasicFileDump<HostMemory, 1024> dump(memory, 0, WhenFull::drop);
  // Twice, so that the recorder and its ring come back whole.
  REQUIRE(dump.start(config.c_str()) == Status::ok);
  REQUIRE(dump.stop() == Status::ok);
  REQUIRE(dump.start(config.c_str()) == Status::ok);
  ModelPlanFor<1> plan;
  REQUIRE(dump.load_model(plan, kModel) == Status::ok);
  const std::vector<float> values(4096, 1.5f);
  const TensorView tensor = {.address = reinterpret_cast<std::uintptr_t>(values.data()),
                             .bytes = 4 * values.size(),
                             .dtype = DType::float32,
                             .shape = kShape};
  for (int step = 0; step < 3; ++step) {
    REQUIRE(dump.recorder().begin_step(plan) == Status::ok);
    static_cast<void>(dump.recorder().capture(0, {}, {&tensor, 1}));
    REQUIRE(dump.recorder().end_step() == Status::ok);
  }
  Outcome outcome{dump.stop()};
  outcome.error = dump.error();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dump_path)) {
    if (!entry.is_regular_file()) continue;
    const std::string extension = entry.path().extension().string();
    if (extension == ".journal") outcome.told += read_file(entry.path());
    ++(extension == ".journal" ? outcome.journals : extension == ".csv" ? outcome.tables : outcome.records);
  }
  return outcome;
}

constexpr Dim kFourDims[] = {4};
constexpr float kFourValues[] = {1.5f, 1.5f, 1.5f, 1.5f};
const TensorView kFourFloats = {.address = address_of(kFourValues),
                                .bytes = sizeof kFourValues,
                                .dtype = DType::float32,
                                .shape = kFourDims};

/// The path of a config that dumps end to end as MindSpore does, below `root`; empty where it cannot be.
std::string end_to_end_config(const TemporaryDirectory& directory, const std::string& root,
                              const std::string& iteration, const std::string& more = "") {
  if (root.find('.') != std::string::npos) {
    MESSAGE("skipped: MindSpore takes no dots in a path");
    return {};
  }
  const std::string config = (directory.path() / "data_dump.json").string();
  write_file(config, R"({"common_dump_settings": {"dump_mode": 0, "path": ")" + root +
                         R"(", "net_name": "Net", "iteration": ")" + iteration +
                         R"(", "input_output": 0, "kernels": [], "support_device": [0]},
                         "e2e_dump_settings": {"enable": true})" +
                         more + "}");
  return config;
}

/// The files of constants below the folder of a rank.
std::vector<std::filesystem::path> constants_in(const std::filesystem::path& rank) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(rank / "Net" / "0" / "constants"))
    files.push_back(entry.path());
  return files;
}

}  // namespace

TEST_CASE("file dump: a model that was loaded before the start is dumped, unless it is unloaded") {
  const TemporaryDirectory directory;
  const std::string config = (directory.path() / "acl.json").string();
  const std::filesystem::path dump_path = directory.path() / "dump";
  std::filesystem::create_directory(dump_path);
  write_file(config, R"({"dump": {"dump_path": ")" + dump_path.string() +
                         R"(", "dump_list": [{"model_name": "m", "layer": ["a", "gone"]}]}})");
  HostMemory memory;
  std::vector<std::string> said;
  posix::FileDump dump(memory);
  dump.log_to(&add_line, &said);
  ModelPlanFor<1> plan;
  {
    ModelPlanFor<1> gone;
    REQUIRE(dump.load_model(gone, kModel) == Status::ok);
    REQUIRE(dump.unload_model(gone) == Status::ok);
  }
  REQUIRE(dump.load_model(plan, kModel) == Status::ok);
  CHECK(dump.load_model(plan, kModel) == Status::model_already_loaded);
  REQUIRE(dump.recorder().begin_step(plan) == Status::ok);
  CHECK(dump.start(config.c_str()) == Status::step_open);
  REQUIRE(dump.recorder().end_step() == Status::ok);
  REQUIRE(dump.start(config.c_str()) == Status::ok);
  const std::vector<float> values(4096, 1.5f);
  const TensorView tensor = {.address = address_of(values.data()),
                             .bytes = 4 * values.size(),
                             .dtype = DType::float32,
                             .shape = kShape};
  REQUIRE(dump.recorder().begin_step(plan) == Status::ok);
  CHECK(dump.recorder().wants(0));
  CHECK(dump.recorder().capture(0, {}, {&tensor, 1}) == Status::ok);
  REQUIRE(dump.recorder().end_step() == Status::ok);
  CHECK(dump.stop() == Status::ok);
  CHECK(dump.counts().written == 1);
  unsigned told = 0;
  for (const std::string& line : said)
    told += line.find("operator \"gone\" of model \"m\": the model has no") != line.npos;
  CHECK(told == 1);
}

TEST_CASE("file dump: the log goes to stderr until it is told where") {
  const TemporaryDirectory directory;
  const std::string config = (directory.path() / "acl.json").string();
  write_file(config, R"({"dump": {"dump_path": ")" + directory.text() +
                         R"(", "dump_list": [{"model_name": "m", "layer": ["gone"]}]}})");
  const auto said = [&](bool silent) {
    const std::string log = (directory.path() / "log").string();
    const pid_t child = fork();
    if (child == 0) {
      if (std::freopen(log.c_str(), "w", stderr) == nullptr) _exit(2);
      HostMemory memory;
      posix::FileDump dump(memory);
      if (silent) dump.log_to(nullptr, nullptr);
      ModelPlanFor<1> plan;
      const bool good = dump.start(config.c_str()) == Status::ok &&
                        dump.load_model(plan, kModel) == Status::ok && dump.stop() == Status::ok;
      std::fflush(stderr);
      _exit(good ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(status == 0);
    return read_file(log);
  };
  CHECK(said(false).find("opdump: never captured: operator \"gone\" of model \"m\"") != std::string::npos);
  CHECK(said(true) == "");
}

TEST_CASE("file dump: the config's options go before what the program chose") {
  const Outcome made = dumped("{}");
  CHECK(made.stopped != Status::ok);
  CHECK(made.error == "3 of 3 records lost, because: " + std::string(to_string(Status::ring_full)) +
                          "; \"ring_bytes\" in \"opdump\" makes the ring larger");
  CHECK(made.journals >= 1);
  CHECK(made.told.find("\nop,3,0,2,3,0,0,") != std::string::npos);
  CHECK(made.told.find(",0,m/Relu.a\nclosed,3,0,") != std::string::npos);

  const Outcome large_ring = dumped(R"({"ring_bytes": 262144})");
  CHECK(large_ring.stopped == Status::ok);
  CHECK(large_ring.records == 3);

  const Outcome drained = dumped(R"({"when_full": "inline"})");
  CHECK(drained.stopped == Status::ok);
  CHECK(drained.records == 3);

  const Outcome blocked = dumped(R"({"when_full": "block", "block_limit_ms": 60000, "journal": "none"})");
  CHECK(blocked.stopped == Status::ok);
  CHECK(blocked.records == 3);
  CHECK(blocked.journals == 0);

  const Outcome degraded = dumped(R"({"when_full": "degrade", "ring_bytes": 8192})");
  CHECK(degraded.records + degraded.tables == 3);
  CHECK(degraded.tables >= 1);
}

TEST_CASE("file dump: a journal that cannot be written to its end does not pass for well") {
  const TemporaryDirectory directory;
  const std::string config = (directory.path() / "acl.json").string();
  write_file(config, R"({"dump": {"dump_path": ")" + directory.text() + R"(", "dump_list": [{}]}})");
  CHECK(in_child([&config] {
          // No file can grow beyond that: the records are smaller, the journal is not.
          const rlimit limit = {.rlim_cur = 1024, .rlim_max = RLIM_INFINITY};
          OPDUMP_CHILD_CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
          HostMemory memory;
          posix::BasicFileDump<HostMemory, 4096> dump(memory);
          OPDUMP_CHILD_CHECK(dump.start(config.c_str()) == Status::ok);
          ModelPlanFor<1> plan;
          OPDUMP_CHILD_CHECK(dump.load_model(plan, kModel) == Status::ok);
          for (int step = 0; step < 30; ++step) {
            OPDUMP_CHILD_CHECK(dump.recorder().begin_step(plan) == Status::ok);
            OPDUMP_CHILD_CHECK(dump.recorder().capture(0, {}, {&kFourFloats, 1}) == Status::ok);
            OPDUMP_CHILD_CHECK(dump.recorder().end_step() == Status::ok);
          }
          OPDUMP_CHILD_CHECK(dump.stop() == Status::file_too_large);
          OPDUMP_CHILD_CHECK(dump.error().find("the journal lacks lines") != std::string::npos);
          OPDUMP_CHILD_CHECK(!dump.active());
          OPDUMP_CHILD_CHECK(dump.counts().written == 30);
          OPDUMP_CHILD_CHECK(dump.counts().lost() == 0);
          return 0;
        }) == 0);
}

TEST_CASE("file dump: the log hears notes with their places, and what a model will cost") {
  const TemporaryDirectory directory;
  const std::string config = (directory.path() / "acl.json").string();
  write_file(config, R"({"dump": {"dump_path": ")" + directory.text() +
                         R"(", "dump_list": [{}], "dump_kernel_data": "all"}})");
  HostMemory memory;
  posix::BasicFileDump<HostMemory, 1024> dump(memory);
  std::vector<std::string> lines;
  dump.log_to(&add_line, &lines);
  REQUIRE(dump.start(config.c_str()) == Status::ok);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with(config + ":1:"));
  CHECK(lines[0].find("note: dump.dump_kernel_data: not acted on") != std::string::npos);
  const TensorView tensor = {.bytes = 16384, .dtype = DType::float32, .shape = kShape};
  const CapturedTensors tensors = {{}, {&tensor, 1}};
  ModelDesc model = kModel;
  model.tensors = {&tensors, 1};
  ModelPlanFor<1> plan;
  REQUIRE(dump.load_model(plan, model) == Status::ok);
  REQUIRE(lines.size() == 3);
  CHECK(
      lines[1].starts_with("model \"m\": 1 rule, 1 of 1 op matches, about 16.5 kB per step; the partition"));
  CHECK(
      lines[2] ==
      "ring: a tensor of 16384 bytes passes a ring of 1024 in parts, which takes longer: \"ring_bytes\": 131072 in "
      "\"opdump\" holds several");
  TensorView larger = tensor;
  larger.bytes *= 2;
  const CapturedTensors more = {{}, {&larger, 1}};
  ModelDesc second = model, third = model;
  second.id = 2;
  third.id = 3;
  second.tensors = third.tensors = {&more, 1};
  ModelPlanFor<1> second_plan, third_plan;
  REQUIRE(dump.load_model(second_plan, second) == Status::ok);
  REQUIRE(lines.size() == 5);
  CHECK(lines[4].starts_with("ring: a tensor of 32768 bytes passes a ring of 1024 in parts"));
  REQUIRE(dump.load_model(third_plan, third) == Status::ok);
  CHECK(lines.size() == 6);
  CHECK(dump.stop() == Status::ok);
}

TEST_CASE("file dump: the digest of the config is of the text in force, whatever the file holds by then") {
  const TemporaryDirectory directory;
  const std::string config = (directory.path() / "acl.json").string();
  const std::string text = R"({"dump": {"dump_path": ")" + directory.text() +
                           R"(", "dump_list": [{}], "dump_kernel_data": "all"}})";
  write_file(config, text);
  HostMemory memory;
  posix::BasicFileDump<HostMemory, 1024> dump(memory);
  CHECK(dump.set_provenance({.build_id = "00,ff"}) == Status::invalid_argument);
  CHECK(dump.error().find("the provenance: only the runtime may hold a comma") == 0);
  const std::string long_text(kMostProvenanceBytes, 'r');
  CHECK(dump.set_provenance({.runtime = long_text}) == Status::too_large);
  CHECK(dump.error() == "the provenance: its texts have more than 160 bytes in all");
  REQUIRE(dump.set_provenance({.build_id = "00ff"}) == Status::ok);
  // The note on the key is heard when the config has been read.
  dump.log_to([](void* of, std::string_view) { write_file(*static_cast<const std::string*>(of), "{}"); },
              const_cast<std::string*>(&config));
  REQUIRE(dump.start(config.c_str()) == Status::ok);
  CHECK(read_file(config) == "{}");
  ModelPlanFor<1> plan;
  REQUIRE(dump.load_model(plan, kModel) == Status::ok);
  CHECK(dump.stop() == Status::ok);
  std::string told;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
    if (entry.path().extension() == ".journal") told = read_file(entry.path());
  }
  char digest[kConfigDigestDigits];
  CAPTURE(told);
  CHECK(told.find("\nprovenance,00ff," + std::string(config_digest(as_bytes(text), digest)) + ',') !=
        told.npos);
}

TEST_CASE("file dump: two devices of one process have a folder each in MindSpore's layouts") {
  const TemporaryDirectory directory;
  const std::string config = (directory.path() / "data_dump.json").string();
  if (directory.text().find('.') != std::string::npos) {
    MESSAGE("skipped: MindSpore takes no dots in a path");
    return;
  }
  write_file(config, R"({"common_dump_settings": {"dump_mode": 0, "path": ")" + directory.text() +
                         R"(", "net_name": "Net", "iteration": "all", "input_output": 2, "kernels": [],
                         "saved_data": "statistic", "support_device": [0, 1]},
                         "e2e_dump_settings": {"enable": true}})");
  HostMemory memory;
  posix::FileDump first(memory, 0);
  posix::FileDump second(memory, 1);
  posix::FileDump* const dumps[] = {&first, &second};
  ModelPlanFor<1> plans[2];
  for (int i = 0; i < 2; ++i) {
    REQUIRE(dumps[i]->start(config.c_str()) == Status::ok);
    REQUIRE(dumps[i]->load_model(plans[i], kModel) == Status::ok);
  }
  for (int i = 0; i < 2; ++i) {
    const std::vector<float> values(4096, 1.5f + static_cast<float>(i));
    const TensorView tensor = {
        .address = address_of(values.data()), .bytes = 16384, .dtype = DType::float32, .shape = kShape};
    REQUIRE(dumps[i]->recorder().begin_step(plans[i]) == Status::ok);
    CHECK(dumps[i]->recorder().capture(0, {}, {&tensor, 1}) == Status::ok);
    REQUIRE(dumps[i]->recorder().end_step() == Status::ok);
  }
  for (int i = 0; i < 2; ++i) {
    REQUIRE(dumps[i]->stop() == Status::ok);
    const std::filesystem::path rank = directory.path() / ("rank_" + std::to_string(i));
    const std::string rows = read_file(rank / "Net" / "0" / "0" / "statistic.csv");
    CHECK(rows.find(i == 0 ? ",1.5,1.5," : ",2.5,2.5,") != rows.npos);
    CHECK(rows.find(i == 0 ? ",2.5,2.5," : ",1.5,1.5,") == rows.npos);
    CHECK(std::filesystem::exists(rank / "execution_order" / "ms_execution_order_graph_0.csv"));
  }
}

TEST_CASE("file dump: makes MindSpore's directory, and what its dumps have besides tensors") {
  const TemporaryDirectory directory;
  const std::string root = directory.text() + "/made/below";
  const std::string config = end_to_end_config(directory, root, "1|3");
  if (config.empty()) return;
  HostMemory memory;
  posix::FileDump dump(memory);
  ConfigContext context;
  context.mindspore = MindSporeMode::cpu;
  context.rank = 5;
  for (int i = 0; i < 2; ++i) {
    REQUIRE(dump.start(config.c_str(), context) == Status::ok);
    ModelPlanFor<1> plan;
    REQUIRE(dump.load_model(plan, kModel) == Status::ok);
    const std::vector<float> values(4096, 1.5f);
    const TensorView tensor = {
        .address = address_of(values.data()), .bytes = 16384, .dtype = DType::float32, .shape = kShape};
    const ConstantDesc constants[] = {{"data/1.w", tensor},
                                      {"empty", {.dtype = DType::int8, .shape = kEmpty}}};
    REQUIRE(dump.write_constants(plan, constants) == Status::ok);
    for (int step = 0; step < 3; ++step) {
      REQUIRE(dump.recorder().begin_step(plan) == Status::ok);
      static_cast<void>(dump.recorder().capture(0, {}, {&tensor, 1}));
      REQUIRE(dump.recorder().end_step() == Status::ok);
    }
    if (i == 0) REQUIRE(dump.unload_model(plan) == Status::ok);
    REQUIRE(dump.stop() == Status::ok);
  }
  const std::filesystem::path rank = std::filesystem::path(root) / "rank_5";
  CHECK(read_file(rank / "execution_order" / "ms_execution_order_graph_0.csv") ==
        "NodeExecutionOrder-FullNameWithScope\na\n");
  CHECK(read_file(rank / "execution_order" / "ms_global_execution_order_graph_0.csv") == "1\n1\n");
  CHECK(read_file(rank / ".dump_metadata" / "data_dump.json") == read_file(config));
  CHECK(std::filesystem::is_directory(rank / "Net" / "0" / "1"));
  const std::vector<std::filesystem::path> written = constants_in(rank);
  REQUIRE(written.size() == 1);  // once, although the config was in force twice, and none for what is empty
  const std::string name = written[0].filename().string();
  CHECK(name.starts_with("Parameter.data_1_w.0.0."));
  CHECK(name.ends_with(".output.0.DefaultFormat.float32.npy"));
  const std::string text = read_file(written[0]);
  REQUIRE(text.size() == 128 + 16384);
  const std::vector<float> values(4096, 1.5f);
  const std::vector<std::byte> expected = little_endian(values.data(), 16384, DType::float32);
  CHECK(std::memcmp(text.data() + 128, expected.data(), 16384) == 0);
}

TEST_CASE("file dump: writes the constants that a program which died has left out") {
  const TemporaryDirectory directory;
  const std::string root = directory.text() + "/dump";
  const std::string config = end_to_end_config(directory, root, "all");
  if (config.empty()) return;
  const std::string endless(300, 'n');  // is given a number, and a row in mapping.csv
  const ConstantDesc constants[] = {{"a", kFourFloats}, {"b", kFourFloats}, {endless, kFourFloats}};
  HostMemory memory;
  ConfigContext context;
  context.mindspore = MindSporeMode::cpu;
  const auto files = [&root](const std::string& start) {
    std::vector<std::filesystem::path> found = constants_in(root + "/rank_0");
    std::erase_if(found, [&start](const std::filesystem::path& path) {
      const std::string name = path.filename().string();
      return !name.starts_with(start) || name.ends_with(".part");
    });
    return found;
  };
  for (int i = 0; i < 3; ++i) {
    posix::FileDump dump(memory);
    REQUIRE(dump.start(config.c_str(), context) == Status::ok);
    ModelPlanFor<1> plan;
    REQUIRE(dump.load_model(plan, kModel) == Status::ok);
    REQUIRE(dump.write_constants(plan, constants) == Status::ok);
    CHECK(files("Parameter.a.0.0.").size() == 1);
    CHECK(files("Parameter.b.0.0.").size() == 1);
    CHECK(files("").size() == 4);  // with the long one and mapping.csv
    // As a crash leaves it.
    const std::filesystem::path b = files("Parameter.b.").at(0);
    std::filesystem::rename(b, b.string() + ".part");
    REQUIRE(dump.unload_model(plan) == Status::ok);
    REQUIRE(dump.stop() == Status::ok);
  }
}

TEST_CASE("file dump: a privacy holds for constants too") {
  const TemporaryDirectory directory;
  const std::string root = directory.text() + "/dump";
  const std::string config = end_to_end_config(
      directory, root, "all",
      R"(, "opdump": {"privacy": [{"op": "secret*", "keep": "nothing"}], "privacy_unmatched": "tell"})");
  if (config.empty()) return;
  const ConstantDesc constants[] = {{"secret-1", kFourFloats}, {"open-2", kFourFloats}};
  HostMemory memory;
  ConfigContext context;
  context.mindspore = MindSporeMode::cpu;
  posix::FileDump dump(memory);
  REQUIRE(dump.start(config.c_str(), context) == Status::ok);
  ModelPlanFor<1> plan;
  REQUIRE(dump.load_model(plan, kModel) == Status::ok);
  REQUIRE(dump.write_constants(plan, constants) == Status::ok);
  REQUIRE(dump.unload_model(plan) == Status::ok);
  REQUIRE(dump.stop() == Status::ok);
  const std::vector<std::filesystem::path> files = constants_in(root + "/rank_0");
  REQUIRE(files.size() == 1);
  CHECK(files[0].filename().string().starts_with("Parameter.open-2."));
}

// The tool reads the same file: tests/tool/tool_check_test.py.
TEST_CASE("file dump: describes its loaded models for the tool") {
  const TemporaryDirectory directory;
  const std::string path = (directory.path() / "run.json").string();
  constexpr std::string_view kFused[] = {"a/\"relu\"", "back\\slash\x01"};
  constexpr std::uint32_t kProducers[] = {0, 1};
  constexpr OpAttribute kAttributes[] = {{"transpose_a", "True"}, {"alpha", "1"}};
  const OpDesc ops[] = {
      {.name = "conv/1",
       .type = "Conv2D",
       .task_id = 3,
       .stream_id = 1,
       .original_names = kFused,
       .attributes = kAttributes,
       .marked = true},
      {.name = "kernel\xc3\xa9", .type = "Relu", .level = OpLevel::kernel, .producers = kProducers}};
  constexpr Dim kDims[] = {1, 2, 4, 4, 16};
  constexpr Dim kOriginal[] = {1, 20, 4, 4};
  const TensorView tensors[] = {{.bytes = 1024,
                                 .dtype = DType::float16,
                                 .format = Format::nc1hwc0,
                                 .shape = kDims,
                                 .original_shape = kOriginal},
                                {.bytes = 7, .dtype = DType::string}};
  const CapturedTensors of_ops[] = {{.inputs = tensors, .outputs = {tensors, 1}}, {}};
  const ModelDesc net = {.name = "net", .graph_name = "main", .id = 4, .ops = ops, .tensors = of_ops};
  HostMemory memory;
  auto dump = std::make_unique<posix::FileDump>(memory, 5);
  ModelPlanFor<2> plan;
  ModelPlanFor<1> other;
  REQUIRE(dump->load_model(plan, net) == Status::ok);
  REQUIRE(dump->load_model(other, kModel) == Status::ok);
  REQUIRE(dump->describe(path.c_str()) == Status::ok);
  CHECK(read_file(path) == read_file(std::filesystem::path(OPDUMP_TEST_DATA) / "run/described.json"));

  REQUIRE(dump->unload_model(plan) == Status::ok);
  REQUIRE(dump->describe(path.c_str()) == Status::ok);
  const std::string text = read_file(path);
  CHECK(text.find("net") == text.npos);
  CHECK(text.find("\"m\"") != text.npos);

  const OpDesc odd = {.name = "\xff", .type = "Relu"};
  const ModelDesc unreadable = {.name = "m", .ops = {&odd, 1}};
  REQUIRE(dump->unload_model(other) == Status::ok);
  REQUIRE(dump->load_model(other, unreadable) == Status::ok);
  CHECK(dump->describe(path.c_str()) == Status::invalid_argument);
  CHECK(read_file(path) == text);
  CHECK(dump->describe((path + "/none").c_str()) != Status::ok);
  CHECK_FALSE(dump->error().empty());
}

TEST_CASE("file dump: a stop without a loss leaves no older error") {
  const TemporaryDirectory directory;
  const std::string config = (directory.path() / "acl.json").string();
  std::filesystem::create_directory(directory.path() / "dump");
  write_file(config, R"({"dump": {"dump_path": ")" + (directory.path() / "dump").string() +
                         R"(", "dump_list": [{"model_name": "m"}]}})");
  HostMemory memory;
  auto dump = std::make_unique<posix::FileDump>(memory);
  dump->log_to(nullptr, nullptr);
  REQUIRE(dump->start(config.c_str()) == Status::ok);
  CHECK(dump->start(config.c_str()) == Status::already_initialised);
  CHECK_FALSE(dump->error().empty());
  REQUIRE(dump->stop() == Status::ok);
  CHECK(dump->error().empty());
}

}  // namespace opdump::tests::file_dump_options
