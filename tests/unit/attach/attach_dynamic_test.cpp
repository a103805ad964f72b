#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "opdump/attach.hpp"
#include "tests/support/attach_run.hpp"

using namespace opdump;
using namespace opdump::tests;
using attach::Tensors;
using Keys = std::vector<std::string>;

namespace {

const std::vector<float> kFour = {1, 2, 3, 4};

struct Node {
  const char* name;
  const char* type;
};

void run(attach::DynamicModel& model, const std::vector<Node>& graph) {
  const auto step = model.step();
  for (const Node& node : graph) {
    const std::uint32_t op = model.see(node.name, node.type);
    if (op != attach::kNoOp) model.capture(op, {}, Tensors().add(kFour.data(), OPDUMP_FLOAT32, {4}));
  }
}

const std::vector<Node> kGraph = {
    {"k", "MUL_MAT"}, {"k", "RESHAPE"}, {"k", "ROPE"}, {"k", "ROPE"}, {"out", "ADD"}};

}  // namespace

TEST_CASE(
    "attach: operators of a dynamic model are captured from their first run on, with names of their own") {
  AttachRun asked;
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::DynamicModel model(dump, "net");
  run(model, {kGraph[0], kGraph[4]});
  run(model, kGraph);
  run(model, kGraph);
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(keys(asked.records()) == Keys{"0/ADD.out", "0/MUL_MAT.k", "1/ADD.out", "1/MUL_MAT.k", "1/RESHAPE.k#2",
                                      "1/ROPE.k#3", "1/ROPE.k#4", "2/ADD.out", "2/MUL_MAT.k", "2/RESHAPE.k#2",
                                      "2/ROPE.k#3", "2/ROPE.k#4"});
  for (const auto& record : asked.records()) CHECK(ends_with(record.second, kFour));
  CHECK(asked.told("model \"net\": 5 of the 5 operators that ran match") == 1);
  CHECK(asked.told("operators share a name") == 1);
  CHECK(asked.told("never captured") == 0);
}

TEST_CASE("attach: a ring that captured tensors pass in parts is told, and again of one twice as large") {
  AttachRun asked(R"("dump_list": [{}])", R"("ring_bytes": 1024)");
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::DynamicModel model(dump, "net");
  const std::vector<float> large(1024);
  for (const std::int64_t floats : {256, 400, 500, 1024, 1024}) {
    const auto step = model.step();
    model.capture(model.see("op", "T"), {}, Tensors().add(large.data(), OPDUMP_FLOAT32, {floats}));
  }
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(asked.told("ring: a tensor of ") == 2);
  CHECK(asked.told("ring: a tensor of 1600 bytes passes a ring of 1024 in parts") == 1);
  CHECK(asked.told("ring: a tensor of 4096 bytes passes a ring of 1024 in parts") == 1);
}

TEST_CASE("attach: a config picks operators of a dynamic model by name, pattern, range and step") {
  const auto captured = [](const std::string& dump) {
    AttachRun asked(dump);
    attach::Dump object(asked.config().c_str(), asked.options());
    attach::DynamicModel model(object, "net");
    for (int step = 0; step < 3; ++step) run(model, kGraph);
    CHECK(object.stop() == OPDUMP_OK);
    CHECK(object.counts().failed_calls == 0);
    return keys(asked.records());
  };
  CHECK(captured(R"("dump_step": "1", "dump_list": [{"model_name": "net", "layer": ["k#3", "out"]}])") ==
        Keys{"1/ADD.out", "1/ROPE.k#3"});
  CHECK(captured(R"("dump_step": "2", "dump_list": [{"model_name": "net", "layer": ["k"]}])") ==
        Keys{"2/MUL_MAT.k", "2/RESHAPE.k#2", "2/ROPE.k#3", "2/ROPE.k#4"});
  CHECK(captured(R"("dump_step": "0", "dump_level": "op",
                    "dump_list": [{"model_name": "net", "opname_range": [{"begin": "k#2", "end": "k#3"}]}])") ==
        Keys{"0/RESHAPE.k#2", "0/ROPE.k#3"});
  CHECK(captured(R"("dump_list": [{"model_name": "another"}])") == Keys{});
}

TEST_CASE("attach: the numbers of names do not depend on the steps that a config asks for") {
  AttachRun asked(R"("dump_step": "1", "dump_list": [{}])");
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::DynamicModel model(dump, "net");
  run(model, kGraph);
  run(model, {kGraph[2], kGraph[3]});
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(keys(asked.records()) == Keys{"1/ROPE.k#3", "1/ROPE.k#4"});
}

TEST_CASE("attach: of a dynamic model too the end tells what never ran") {
  AttachRun asked(R"("dump_list": [{"model_name": "net", "layer": ["out", "nowhere"]}])");
  attach::Dump dump(asked.config().c_str(), asked.options());
  {
    attach::DynamicModel model(dump, "net");
    run(model, {kGraph[0]});
    run(model, kGraph);
    CHECK(asked.told("never captured") == 0);
  }
  CHECK(asked.told("\"nowhere\" of model \"net\": the model has no operator of that name") == 1);
  CHECK(asked.told("never captured") == 1);
  CHECK(dump.stop() == OPDUMP_OK);
}

TEST_CASE(
    "attach: an operator of a dynamic model that ran and was not captured is told, as it came first or "
    "later") {
  AttachRun asked;
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::DynamicModel model(dump, "net");
  {
    const auto step = model.step();
    CHECK(model.see("first", "ADD") == 0);
    CHECK(model.see("captured", "ADD") == 1);
    model.capture(1, {}, Tensors().add(kFour.data(), OPDUMP_FLOAT32, {4}));
    CHECK(model.see("later", "ADD") == 2);
  }
  CHECK(dump.stop() == OPDUMP_OK);
  INFO(asked.log());
  CHECK(asked.told("never captured: operator \"first\" of model \"net\"") == 1);
  CHECK(asked.told("never captured: operator \"later\" of model \"net\"") == 1);
  CHECK(asked.told("never captured") == 2);
}

TEST_CASE("attach: a dynamic model lives through two dumps, and knows its operators in the second") {
  AttachRun asked(R"("dump_list": [{"model_name": "net", "layer": ["k#4"]}])");
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::DynamicModel model(dump, "net");
  run(model, kGraph);
  CHECK(dump.stop() == OPDUMP_OK);
  run(model, {{"unseen", "ADD"}});
  CHECK(dump.start(asked.config().c_str()) == OPDUMP_OK);
  run(model, {kGraph[3]});
  run(model, kGraph);
  CHECK(model.find("unseen") == attach::kNoOp);
  CHECK(model.wanted_ops() == std::vector<std::uint32_t>{3});
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(keys(asked.records()) == Keys{"0/ROPE.k#4", "1/ROPE.k#4"});
}

TEST_CASE("attach: of operators far beyond the room of a dynamic model nobody says that there are none") {
  AttachRun asked(R"("dump_list": [{"model_name": "net", "layer": ["k#1", "later"]}])");
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::DynamicModel model(dump, "net", 0, nullptr, 2);
  run(model, kGraph);
  std::vector<std::string> names;
  for (int i = 0; i < 80; ++i) names.push_back("n#" + std::to_string(i));
  for (const std::string& name : names) run(model, {{name.c_str(), "ADD"}});
  run(model, {{"later", "ADD"}});
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(asked.told("operator \"later\" of model \"net\": it came, or may have, when the model had max_ops") ==
        1);
}

TEST_CASE("attach: operators beyond the room of a dynamic model are left out, and told once") {
  AttachRun asked;
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::DynamicModel model(dump, "net", 0, nullptr, 2);
  for (int step = 0; step < 2; ++step) run(model, kGraph);
  CHECK(dump.counts().first_failure == OPDUMP_ERR_TOO_MANY_OBJECTS);
  CHECK(asked.told("behind the 2 of model \"net\" (max_ops)") == 1);
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(asked.records().size() == 4);
  CHECK(asked.told("2 of the 5 operators that ran match") == 1);
  for (const char* const op : {"\"k#3\"", "\"k#4\"", "\"out\""})
    CHECK(asked.told(
              std::string("never captured: operator ") + op +
              " of model \"net\": it came, or may have, when the model had max_ops operators, as did all") ==
          1);
  REQUIRE(dump.start(asked.config().c_str()) == OPDUMP_OK);
  run(model, kGraph);
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(asked.told("never captured: operator \"out\"") == 2);
}

TEST_CASE("attach: an operator of a dynamic model whose name no dump can have is told, also of a first one") {
  const std::string name(3000, 'x');
  for (const bool is_first : {false, true}) {
    AttachRun asked;
    attach::Dump dump(asked.config().c_str(), asked.options());
    attach::DynamicModel model(dump, "net");
    std::vector<Node> graph = {{"out", "ADD"}, {name.c_str(), "ADD"}};
    if (is_first) std::swap(graph[0], graph[1]);
    for (int step = 0; step < 2; ++step) run(model, graph);
    CHECK(dump.stop() == OPDUMP_OK);
    CHECK(asked.records().size() == 2);
    CHECK(asked.told("of model \"net\": its name or type is longer than a dump can have it") == 1);
  }
}

TEST_CASE("attach: a watch needs the operators at load, which a dynamic model says") {
  AttachRun asked(R"("dump_scene": "watcher", "dump_list": [{"layer": ["k"], "watcher_nodes": ["out"]}])");
  attach::Dump dump(asked.config().c_str(), asked.options());
  REQUIRE(dump.is_on());
  attach::DynamicModel model(dump, "net");
  run(model, kGraph);
  CHECK(dump.counts().first_failure == OPDUMP_ERR_NOT_SUPPORTED);
  CHECK(asked.told("refused: loading model \"net\"") == 1);
}

TEST_CASE("attach: a dynamic model describes what has run") {
  AttachRun asked;
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::DynamicModel model(dump, "net");
  run(model, kGraph);
  CHECK(dump.describe(asked.path("run.json")) == OPDUMP_OK);
  CHECK(read_file(asked.path("run.json")).find(R"("name": "k#4", "type": "ROPE")") != std::string::npos);
}
