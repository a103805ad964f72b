#include <doctest/doctest.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include "opdump/attach.hpp"
#include "platform/posix/file_dump.hpp"
#include "tests/support/attach_run.hpp"

using namespace opdump;
using namespace opdump::tests;
using attach::Tensors;
using Keys = std::vector<std::string>;

namespace {

const std::vector<float> kMatrix = {1, 2, 3, 4, 5, 6};

Tensors one(const std::vector<float>& values = kMatrix) {
  return std::move(Tensors().add(values.data(), OPDUMP_FLOAT32, {2, 3}));
}

/// Three steps of a model with a, b and c, of which each reads what the last one wrote.
void run(attach::Model& model, int steps = 3) {
  for (int i = 0; i < steps; ++i) {
    const auto step = model.step();
    for (std::uint32_t op = 0; op < 3; ++op) {
      if (model.wants(op)) model.capture(op, one(), one());
    }
  }
}

void describe(attach::Model& model) {
  for (const char* name : {"a", "b", "c"}) model.add_op(name, "Relu");
}

}  // namespace

TEST_CASE("attach: a fixed model is dumped as the config says, whatever comes first") {
  AttachRun asked(R"("dump_step": "0|2", "dump_list": [{"model_name": "net", "layer": ["a", "c"]}])");
  const Keys wanted = {"0/Relu.a", "0/Relu.c", "2/Relu.a", "2/Relu.c"};
  SUBCASE("the dump is on before the model is described") {
    attach::Dump dump(asked.config().c_str(), asked.options());
    attach::Model model(dump, "net");
    describe(model);
    CHECK(model.wanted_ops() == std::vector<std::uint32_t>{0, 2});
    run(model);
    CHECK(dump.stop() == OPDUMP_OK);
  }
  SUBCASE("the model is described before the dump starts") {
    attach::Dump dump(attach::Dump::later, asked.options());
    attach::Model model(dump, "net");
    describe(model);
    CHECK(model.wanted_ops().empty());
    CHECK(dump.start(asked.config().c_str()) == OPDUMP_OK);
    run(model);
  }
  SUBCASE("steps have run before the dump starts, and nobody stops it") {
    attach::Dump dump(attach::Dump::later, asked.options());
    attach::Model model(dump, "net");
    describe(model);
    run(model);
    CHECK(dump.start(asked.config().c_str()) == OPDUMP_OK);
    run(model);
  }
  SUBCASE("the model goes before the dump ends") {
    attach::Dump dump(asked.config().c_str(), asked.options());
    {
      attach::Model model(dump, "net");
      describe(model);
      run(model);
    }
  }
  SUBCASE("the dump is stopped and starts again") {
    attach::Dump dump(asked.config().c_str(), asked.options());
    attach::Model model(dump, "net");
    describe(model);
    run(model);
    CHECK(dump.stop() == OPDUMP_OK);
    CHECK(model.wanted_ops().empty());
    run(model);
    CHECK(keys(asked.records()) == wanted);
    std::filesystem::remove_all(asked.dump_path());
    std::filesystem::create_directory(asked.dump_path());
    CHECK(dump.start(asked.config().c_str()) == OPDUMP_OK);
    run(model);
    CHECK(dump.counts().failed_calls == 0);
  }
  CHECK(keys(asked.records()) == wanted);
  for (const auto& record : asked.records()) CHECK(ends_with(record.second, kMatrix));
  CHECK(asked.told("refused") == 0);
}

TEST_CASE("attach: the dump has the bytes that a FileDump used by hand writes") {
  AttachRun by_hand(R"("dump_mode": "all", "dump_list": [{}])");
  AttachRun attached(R"("dump_mode": "all", "dump_list": [{}])");
  {
    HostMemory memory;
    posix::FileDump dump(memory);
    dump.log_to(nullptr, nullptr);
    const OpDesc ops[] = {
        {.name = "a", .type = "Relu"}, {.name = "b", .type = "Relu"}, {.name = "c", .type = "Relu"}};
    const ModelDesc model = {.name = "net", .id = 7, .ops = ops};
    ModelPlanFor<3> plan;
    REQUIRE(dump.start(by_hand.config().c_str()) == Status::ok);
    REQUIRE(dump.load_model(plan, model) == Status::ok);
    const Dim dims[] = {2, 3};
    const TensorView tensor = {address_of(kMatrix.data()), 24, DType::float32, Format::nd, dims};
    for (int step = 0; step < 3; ++step) {
      dump.recorder().begin_step(plan);
      for (std::size_t op = 0; op < 3; ++op) dump.recorder().capture(op, {&tensor, 1}, {&tensor, 1});
      dump.recorder().end_step();
    }
    REQUIRE(dump.stop() == Status::ok);
  }
  {
    attach::Dump dump(attached.config().c_str(), attached.options());
    attach::Model model(dump, "net", 7);
    describe(model);
    run(model);
  }
  CHECK(by_hand.records().size() == 9);
  CHECK(by_hand.records() == attached.records());
}

TEST_CASE("attach: by name, with numbers of the program's own, and shapes that change with the steps") {
  AttachRun asked;
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::Model model(dump, "net");
  describe(model);
  for (std::uint64_t number : {10u, 12u}) {
    auto step = model.step(number);
    const std::vector<std::int64_t> dims = {static_cast<std::int64_t>(number), 1};
    const std::vector<float> values(number, 0.5f);
    model.capture("b", {}, Tensors().add(values.data(), OPDUMP_FLOAT32, dims));
    step.end();
  }
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(keys(asked.records()) == Keys{"10/Relu.b", "12/Relu.b"});
  CHECK(ends_with(asked.records().at("10/Relu.b"), std::vector<float>(10, 0.5f)));
  CHECK(ends_with(asked.records().at("12/Relu.b"), std::vector<float>(12, 0.5f)));
}

TEST_CASE("attach: names that repeat get numbers, and one name in a config stands for all of them") {
  AttachRun asked(R"("dump_list": [{"model_name": "net", "layer": ["k", "k#4"]}])");
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::Model model(dump, "net");
  for (const char* name : {"k", "k#3", "k", "k", "other", "k#4"}) model.add_op(name, "Rope");
  CHECK(model.wanted_ops() == std::vector<std::uint32_t>{0, 2, 3, 5});
  CHECK(model.find("k") == 0);
  CHECK(model.find("k#2") == 2);
  CHECK(model.find("k#4") == 3);  // k#3 is there already
  CHECK(model.find("k#4#2") == 5);
  CHECK(model.find("k#5") == attach::kNoOp);
  CHECK(dump.counts().repeated_names == 3);
  CHECK(asked.told("operators share a name") == 1);
}

TEST_CASE("attach: what was asked for and never ran is told at the end, and in the journal") {
  AttachRun asked(
      R"("dump_list": [{"model_name": "net", "layer": ["a", "b", "nowhere"]}, {"model_name": "absent"}])");
  {
    attach::Dump dump(asked.config().c_str(), asked.options());
    attach::Model model(dump, "net");
    describe(model);
    const auto step = model.step();
    model.capture(0, {}, one());
  }
  CHECK(asked.told("never captured: operator \"b\" of model \"net\"") == 1);
  CHECK(asked.told("never captured: operator \"nowhere\" of model \"net\": the model has no operator") == 1);
  CHECK(asked.told("never captured: model \"absent\": no such model") == 1);
  CHECK(asked.journal().find("nowhere") != std::string::npos);
}

TEST_CASE("attach: a model that never ran is accounted for all the same") {
  AttachRun asked(R"("dump_list": [{"model_name": "net", "layer": ["a", "nowhere"]}])");
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::Model model(dump, "net");
  describe(model);
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(asked.told("nowhere") == 1);
  CHECK(asked.told("none of its operators was captured") == 1);
}

TEST_CASE("attach: the environment names the config, and without it nothing is on") {
  AttachRun asked;
  SUBCASE("unset") {
    unsetenv("OPDUMP_CONFIG");
    unsetenv("MINDSPORE_DUMP_CONFIG");
    attach::Dump dump;
    CHECK(!dump.is_on());
    attach::Model model(dump, "net");
    describe(model);
    run(model);
    CHECK(model.wanted_ops().empty());
    CHECK(dump.counts().failed_calls == 0);
    CHECK(dump.stop() == OPDUMP_OK);
  }
  SUBCASE("set") {
    const char* variable = "OPDUMP_CONFIG";
    SUBCASE("for opdump, which goes first") {
      setenv("MINDSPORE_DUMP_CONFIG", "nowhere.json", 1);
    }
    SUBCASE("for MindSpore") {
      variable = "MINDSPORE_DUMP_CONFIG";
    }
    setenv(variable, asked.config().c_str(), 1);
    attach::Dump dump(nullptr, asked.options());
    unsetenv("OPDUMP_CONFIG");
    unsetenv("MINDSPORE_DUMP_CONFIG");
    CHECK(dump.is_on());
    attach::Model model(dump, "net");
    describe(model);
    run(model);
    CHECK(dump.stop() == OPDUMP_OK);
    CHECK(asked.records().size() == 9);
  }
}

TEST_CASE("attach: failures are counted, told once, and end nothing") {
  SUBCASE("a config that is refused") {
    AttachRun asked(R"("dump_list": 3)");
    attach::Dump dump(asked.config().c_str(), asked.options());
    CHECK(!dump.is_on());
    CHECK(std::string(dump.error()).find("dump_list") != std::string::npos);
    CHECK(asked.told("no dump: ") == 1);
    CHECK(dump.counts().first_failure == OPDUMP_ERR_CONFIG_REFUSED);
    attach::Model model(dump, "net");
    describe(model);
    run(model);
    CHECK(dump.counts().failed_calls == 1);
  }
  SUBCASE("a config that is not there") {
    AttachRun asked;
    attach::Dump dump(asked.path("none.json").c_str(), asked.options());
    CHECK(!dump.is_on());
    CHECK(asked.told("no dump: ") == 1);
    CHECK(asked.told("none.json") != 0);
  }
  SUBCASE("calls out of order, and operators that the model has not") {
    AttachRun asked;
    attach::Dump dump(asked.config().c_str(), asked.options());
    attach::Model model(dump, "net");
    describe(model);
    {
      const auto step = model.step();
      const auto second = model.step();
      CHECK(dump.counts().first_failure == OPDUMP_ERR_STEP_OPEN);
      model.capture(99, {}, one());
      model.capture("nowhere", {}, one());
      model.capture(0, {}, one());
      CHECK(dump.counts().failed_calls == 3);
      CHECK(dump.start(asked.config().c_str()) == OPDUMP_ERR_ALREADY_INITIALISED);
    }
    CHECK(opdump_attach_end_step(model.handle()) == OPDUMP_ERR_STEP_NOT_OPEN);
    model.capture(0, {}, one());
    CHECK(model.add_op("late", "Relu") == attach::kNoOp);
    CHECK(dump.counts().failed_calls == 7);
    CHECK(asked.told("refused: ") == 5);
    CHECK(dump.stop() == OPDUMP_OK);
    CHECK(keys(asked.records()) == Keys{"0/Relu.a"});
  }
  SUBCASE("a dump that ends within a step") {
    AttachRun asked;
    attach::Dump dump(asked.config().c_str(), asked.options());
    attach::Model model(dump, "net");
    describe(model);
    const auto step = model.step();
    model.capture(0, {}, one());
    CHECK(dump.stop() == OPDUMP_OK);
    CHECK(!model.wants(1));
    model.capture(1, {}, one());
    CHECK(dump.start(asked.config().c_str()) == OPDUMP_ERR_STEP_OPEN);
    CHECK(keys(asked.records()) == Keys{"0/Relu.a"});
  }
  SUBCASE("no handle") {
    opdump_attach_destroy(nullptr);
    opdump_attach_model_destroy(nullptr);
    CHECK(opdump_attach_wants(nullptr, 0) == 0);
    CHECK(opdump_attach_begin_step(nullptr, 0) == OPDUMP_ERR_INVALID_ARGUMENT);
    CHECK(opdump_attach_gate_of(nullptr)->bits == nullptr);
    CHECK(opdump_attach_see_op(nullptr, "a", "b") == OPDUMP_NO_OP);
    opdump_attach_model_options options{};
    options.struct_bytes = sizeof options;
    opdump_attach_model* model = nullptr;
    attach::Dump dump(attach::Dump::later);
    CHECK(opdump_attach_model_create(dump.handle(), &options, &model) == OPDUMP_ERR_INVALID_ARGUMENT);
    CHECK(model == nullptr);
  }
}

TEST_CASE("attach: a description of the models for opdump check, with what taps do to them") {
  AttachRun asked;
  attach::Dump dump(attach::Dump::later);
  attach::Model model(dump, "net", 3, "main");
  attach::OpDetails details;
  details.flags = OPDUMP_TAP_BREAKS_FUSION;
  details.original_names = {"conv", "bn"};
  details.attributes = {{"group", "1"}};
  model.add_op("a", "Conv2D", details);
  model.add_op("a", "Relu");
  CHECK(dump.describe(asked.path("run.json")) == OPDUMP_OK);
  const std::string text = read_file(asked.path("run.json"));
  CHECK(text.find(R"("name": "net", "graph_name": "main", "id": 3)") != std::string::npos);
  CHECK(text.find(R"("original_names": ["conv", "bn"])") != std::string::npos);
  CHECK(text.find(R"("group": "1", "tap_breaks_fusion": "True")") != std::string::npos);
  CHECK(text.find(R"("name": "a#2")") != std::string::npos);
  CHECK(dump.describe(asked.path("no/such/folder")) == OPDUMP_ERR_NOT_FOUND);
}
