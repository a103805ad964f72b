#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "opdump/attach.hpp"
#include "tests/support/attach_run.hpp"
#include "tests/support/working_directory.hpp"

using namespace opdump;
using namespace opdump::tests;
using attach::Quantisation;
using attach::TensorInfos;
using attach::Tensors;

namespace {

const std::vector<float> kValues = {1, 2, 3, 4};

void run_step(attach::AnyModel& model, std::uint32_t op) {
  const auto step = model.step();
  if (model.wants(op)) model.capture(op, {}, Tensors().add(kValues.data(), OPDUMP_FLOAT32, {4}));
}

/// Where the cards of a dump hold each text, one after the other; empty: one is not there.
bool holds(const std::string& card, const std::vector<std::string>& texts) {
  std::size_t at = 0;
  for (const std::string& text : texts) {
    at = card.find(text, at);
    INFO(text, " in ", card);
    CHECK(at != card.npos);
    if (at == card.npos) return false;
  }
  return true;
}

/// Of a dump with one record, whose card failed as `failure` says.
void check_refused(const AttachRun& asked, attach::Dump& dump, opdump_status failure) {
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(asked.cards().empty());
  CHECK(asked.records().size() == 1);
  CHECK(dump.counts().first_failure == failure);
  CHECK(asked.told("refused: the card of model \"net\": ") == 1);
}

}  // namespace

TEST_CASE("attach: the first step of a model writes its card beside the journal") {
  AttachRun asked;
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::Model model(dump, "net", 7, "main");
  attach::OpDetails details;
  details.flags = OPDUMP_TAP_BREAKS_FUSION;
  details.original_names = {"conv", "bn"};
  details.attributes = {{"group", "1"}};
  details.task_id = 3;
  const std::uint32_t conv = model.add_op("a", "Conv2D", details);
  const std::uint32_t relu = model.add_op("a", "Relu");
  const std::string digest = attach::sha256("abc", 3);
  CHECK(digest == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(model.describe("runtime 1.2", digest) == OPDUMP_OK);
  CHECK(model.describe(conv,
                       TensorInfos()
                           .add("x", OPDUMP_UINT8, {-1, 8})
                           .quantised(Quantisation::affine({0.5f}, {128}))
                           .add("w", OPDUMP_INT8, {2, 8})
                           .constant()
                           .quantised(Quantisation::affine({0.5f, 0.25f}, {0, 1}, 0))
                           .add("lut", OPDUMP_UINT8)
                           .quantised(Quantisation::table({1, 2.5f}, -1))
                           .add("")
                           .add("blocks", OPDUMP_UINT8, {18})
                           .quantised(Quantisation::blocks("Q4_0", 32, 18)),
                       TensorInfos().add("y")) == OPDUMP_OK);
  CHECK(model.describe(relu, TensorInfos().add("y", OPDUMP_INT16, {2}).quantised(Quantisation::pow2({-7})),
                       TensorInfos().add("z", OPDUMP_FLOAT32, {})) == OPDUMP_OK);
  CHECK(model.wanted_ops().size() == 2);
  CHECK(asked.cards().empty());
  run_step(model, conv);
  REQUIRE(asked.cards().size() == 1);
  const auto [name, card] = *asked.cards().begin();
  CHECK(name == "opdump.0.7.model.json");
  holds(
      card,
      {R"({"opdump_model": 1, "name": "net", "graph_name": "main", "runtime": "runtime 1.2", "sha256": ")",
       digest, R"(", "id": 7, "ops": [)",
       R"({"index": 0, "name": "a", "type": "Conv2D", "task_id": 3, "original_names": ["conv", "bn"], )",
       R"("attributes": {"group": "1"}, "inputs": [{"tensor": "x", "dtype": "uint8", "shape": [-1, 8], )",
       R"("quant": {"scheme": "affine", "scale": [0.5], "zero_point": [128]}}, )",
       R"({"tensor": "w", "constant": true, "dtype": "int8", "shape": [2, 8], )",
       R"("quant": {"scheme": "affine", "axis": 0, "scale": [0.5, 0.25], "zero_point": [0, 1]}}, )",
       R"({"tensor": "lut", "dtype": "uint8", "quant": {"scheme": "lut", "table": [1, 2.5], "first": -1}}, )",
       R"({}, {"tensor": "blocks", "dtype": "uint8", "shape": [18], "quant": {"scheme": "block", )",
       R"("type": "Q4_0", "block_elements": 32, "block_bytes": 18}}], )",
       R"("outputs": [{"tensor": "y", "dtype": "int16", "shape": [2], )",
       R"("quant": {"scheme": "pow2", "exponent": [-7]}}], "flags": ["tap_breaks_fusion"]})",
       R"({"index": 1, "name": "a#2", "type": "Relu", "original_names": ["a"], "inputs": [{"tensor": "y")",
       R"("outputs": [{"tensor": "z", "dtype": "float32", "shape": []}]}]})"});
  CHECK(model.describe("later") == OPDUMP_ERR_MODEL_ALREADY_LOADED);
  CHECK(model.describe(relu, {}, {}) == OPDUMP_ERR_MODEL_ALREADY_LOADED);
  run_step(model, relu);
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(asked.cards().size() == 1);
  CHECK(model.describe("later") == OPDUMP_OK);
}

TEST_CASE("attach: records and card stay where the dump began when the program goes elsewhere") {
  AttachRun asked;
  write_file(asked.config(), R"({"dump": {"dump_path": "dump", "dump_list": [{}]}})");
  const TemporaryDirectory bare;
  const WorkingDirectory first(asked.dump_path().parent_path());
  attach::Dump dump(asked.config().c_str(), asked.options());
  const WorkingDirectory other(bare.path());
  {
    attach::Model model(dump, "net", 7);
    const std::uint32_t conv = model.add_op("a", "Conv2D");
    run_step(model, conv);
  }
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(asked.records().size() == 1);
  CHECK(asked.cards().size() == 1);
  CHECK(names_in(bare.path()).empty());
}

TEST_CASE("attach: the card of a dynamic model has what has run, when the model ends or the dump does") {
  AttachRun asked(R"("dump_list": [{"model_name": "net"}])");
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::DynamicModel model(dump, "net", 1);
  CHECK(model.describe("ggml") == OPDUMP_OK);
  {
    attach::DynamicModel brief(dump, "net", 2);
    attach::DynamicModel other(dump, "other", 3);
    const auto step = brief.step();
    const auto other_step = other.step();
    CHECK(brief.see("only", "ADD") == 0);
    CHECK(other.see("only", "ADD") == attach::kNoOp);
  }
  CHECK(asked.cards().size() == 1);
  for (const char* const name : {"k", "out"}) {
    const auto step = model.step();
    const std::uint32_t op = model.see(name, "MUL_MAT");
    CHECK(model.describe(op, TensorInfos().add("w"), TensorInfos().add(name), {{"axis", "1"}},
                         OPDUMP_TAP_COPIES) == OPDUMP_OK);
  }
  CHECK(model.describe(9, {}, {}) == OPDUMP_ERR_NO_SUCH_OP);
  CHECK(dump.stop() == OPDUMP_OK);
  const auto cards = asked.cards();
  REQUIRE(cards.size() == 2);
  holds(cards.at("opdump.0.2.model.json"), {R"("name": "only", "type": "ADD", "inputs": [], "outputs": [])"});
  holds(cards.at("opdump.0.1.model.json"),
        {R"("runtime": "ggml")", R"("name": "k", "type": "MUL_MAT", "attributes": {"axis": "1"}, )",
         R"("inputs": [{"tensor": "w"}], "outputs": [{"tensor": "k"}], "flags": ["tap_copies"]})",
         R"("name": "out", "type": "MUL_MAT")"});
}

TEST_CASE("attach: no card without a dump, and none of a model that the config leaves out") {
  AttachRun asked(R"("dump_list": [{"model_name": "another"}])");
  for (const bool on : {false, true}) {
    attach::Dump dump(attach::Dump::later, asked.options());
    if (on) CHECK(dump.start(asked.config().c_str()) == OPDUMP_OK);
    attach::Model model(dump, "net");
    model.add_op("a", "Relu");
    CHECK(model.describe(0, {}, TensorInfos().add("y")) == OPDUMP_OK);
    run_step(model, 0);
    CHECK(dump.stop() == OPDUMP_OK);
  }
  CHECK(asked.cards().empty());
}

TEST_CASE("attach: no card where the config wants none, whatever has run") {
  AttachRun asked(R"("dump_list": [{}])",
                  R"("when_full": "block", "block_limit_ms": 60000, "model_card": "off")");
  attach::Dump dump(asked.config().c_str(), asked.options());
  {
    attach::Model ends_first(dump, "net", 1);
    ends_first.add_op("a", "Relu");
    run_step(ends_first, 0);
  }
  attach::Model model(dump, "net", 2);
  model.add_op("a", "Relu");
  run_step(model, 0);
  attach::DynamicModel grows(dump, "grows", 3);
  {
    const auto step = grows.step();
    const std::uint32_t op = grows.see("b", "Relu");
    grows.capture(op, {}, Tensors().add(kValues.data(), OPDUMP_FLOAT32, {4}));
  }
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(asked.cards().empty());
  CHECK(dump.records().written == 3);
}

TEST_CASE("attach: models of one id have a card each, and one that comes again keeps its own") {
  AttachRun asked;
  attach::Dump dump(asked.config().c_str(), asked.options());
  for (const char* const name : {"net", "other", "net"}) {
    attach::Model model(dump, name);
    model.add_op("a", "Relu");
    run_step(model, 0);
  }
  CHECK(dump.stop() == OPDUMP_OK);
  const auto cards = asked.cards();
  REQUIRE(cards.size() == 2);
  holds(cards.at("opdump.0.0.model.json"), {R"("name": "net")"});
  holds(cards.at("opdump.0.0.2.model.json"), {R"("name": "other")"});
}

TEST_CASE("attach: a dump that waits for a failure has no card before it has a directory") {
  AttachRun asked("\"dump_list\": [{}]", R"("history_steps": 2)");
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::Model model(dump, "net");
  model.add_op("a", "Relu");
  for (int i = 0; i < 3; ++i) run_step(model, 0);
  CHECK(asked.cards().empty());
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(asked.cards().empty() == !asked.has_dump());
}

TEST_CASE("attach: a card that cannot be written is told and counted, and inference and dump go on") {
  AttachRun asked("\"dump_list\": [{}]", R"("when_full": "block", "block_limit_ms": 60000, "max_files": 2)");
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::DynamicModel model(dump, "net");
  for (int i = 0; i < 2; ++i) {
    const auto step = model.step();
    const std::uint32_t op = model.see("a", "ADD");
    if (op != attach::kNoOp && i == 0)
      model.capture(op, {}, Tensors().add(kValues.data(), OPDUMP_FLOAT32, {4}));
  }
  check_refused(asked, dump, OPDUMP_ERR_QUOTA_EXCEEDED);
  CHECK(dump.counts().failed_calls == 1);
}

TEST_CASE("attach: a card with a name that JSON cannot hold is refused, and told") {
  AttachRun asked;
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::Model model(dump, "net");
  model.add_op("a\xff", "Relu");
  run_step(model, 0);
  check_refused(asked, dump, OPDUMP_ERR_INVALID_ARGUMENT);
}

TEST_CASE("attach: what has no name is in its card by the name that its files have") {
  AttachRun asked;
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::Model model(dump, "");
  model.add_op("", "");
  run_step(model, 0);
  REQUIRE(asked.cards().size() == 1);
  const std::string card = asked.cards().begin()->second;
  holds(card, {R"({"opdump_model": 1, "name": "_", )", R"({"index": 0, "name": "_", "type": "_", )"});
  CHECK(dump.stop() == OPDUMP_OK);
}

TEST_CASE("attach: a description that cannot be is refused, and the one before it stays") {
  AttachRun asked;
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::Model model(dump, "net");
  model.add_op("a", "Relu");
  CHECK(model.describe(0, {}, TensorInfos().add("kept")) == OPDUMP_OK);
  const auto of = [&](const TensorInfos& outputs) { return model.describe(0, {}, outputs); };
  const auto quant = [&](Quantisation scheme) { return of(TensorInfos().add("y").quantised(scheme)); };
  CHECK(quant(Quantisation::affine({})) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(quant(Quantisation::affine({1, 2}, {0}, 0)) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(quant(Quantisation::affine({1}, {}, 32)) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(quant(Quantisation::pow2({128})) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(quant(Quantisation::blocks("", 32, 18)) == OPDUMP_ERR_MISSING_ARGUMENT);
  CHECK(quant(Quantisation::blocks("Q4_0", 32, 0)) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(quant(Quantisation::table({})) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(of(TensorInfos().add("y", 12345)) == OPDUMP_ERR_UNKNOWN_DTYPE);
  CHECK(of(TensorInfos().add("y", OPDUMP_INT8, std::vector<int>(33, 1))) == OPDUMP_ERR_TOO_MANY_DIMS);
  CHECK(model.describe("r", "abc") == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(model.describe(1, {}, {}) == OPDUMP_ERR_NO_SUCH_OP);
  CHECK(opdump_attach_describe_op(model.handle(), 0, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_attach_describe_model(nullptr, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_sha256(nullptr, 1, nullptr) == OPDUMP_ERR_INVALID_ARGUMENT);
  run_step(model, 0);
  CHECK(dump.stop() == OPDUMP_OK);
  REQUIRE(asked.cards().size() == 1);
  holds(asked.cards().begin()->second, {R"("outputs": [{"tensor": "kept"}])"});
}

TEST_CASE("attach: a provenance is in the journal from the next start on, and what cannot be one is told") {
  AttachRun asked;
  attach::Dump dump(attach::Dump::later, asked.options());
  const std::string sha256(64, 'c');
  REQUIRE(dump.set_provenance("runtime 1.2", sha256, "00ff") == OPDUMP_OK);
  CHECK(dump.set_provenance(std::string(200, 'r')) == OPDUMP_ERR_TOO_LARGE);
  CHECK(dump.set_provenance("runtime 1.3", "a,b") == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(asked.told("refused: the provenance (150 bytes at most") == 2);
  REQUIRE(dump.start(asked.config().c_str()) == OPDUMP_OK);
  CHECK(dump.set_provenance("too late") == OPDUMP_ERR_ALREADY_INITIALISED);
  CHECK(asked.told("refused: a provenance after the start") == 1);
  CHECK(dump.counts().failed_calls == 3);
  {
    attach::Model model(dump, "net");
    model.add_op("a", "Relu");
    run_step(model, 0);
  }
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(asked.journal().find("\nprovenance,00ff,") != std::string::npos);
  CHECK(asked.journal().find("," + sha256 + ",runtime 1.2\n") != std::string::npos);
}
