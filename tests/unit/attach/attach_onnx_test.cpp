#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "opdump/attach.hpp"
#include "tests/support/attach_run.hpp"

using namespace opdump;
using namespace opdump::tests;
using attach::Tensors;

namespace {

/// A field of protobuf that holds `text`, of fewer than 16384 bytes.
std::string part(unsigned number, const std::string& text) {
  if (text.size() < 128)
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(text.size())} + text;
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(text.size() % 128 | 128),
                     static_cast<char>(text.size() / 128)} +
         text;
}

std::string node(const std::string& type, const std::vector<std::string>& inputs,
                 const std::vector<std::string>& outputs, const std::string& rest = "") {
  std::string text;
  for (const std::string& input : inputs) text += part(1, input);
  for (const std::string& output : outputs) text += part(2, output);
  return part(1, text + part(4, type) + rest);
}

/// A model that has everything that is looked at.
std::string model() {
  const std::string graph =
      node("Conv", {"x", "w"}, {"a"}, part(3, "conv")) + node("Constant", {}, {"c"}) +
      node("Clip", {"a", "", "c", "s"}, {"", "y"}) +
      node("If", {"y"}, {"z"}, part(7, "ai.onnx") + part(5, part(6, node("Relu", {}, {})))) +
      part(5, part(8, "w")) + part(15, part(1, part(8, "s")));
  return std::string{8, 8} + part(7, graph);
}

struct Shown {
  opdump_status status;
  std::vector<std::string> nodes;
};

void show(void* to, const opdump_onnx_node* node) {
  std::string text = std::string(node->domain) + ":" + node->type + " " + node->name + "(";
  for (std::uint32_t i = 0; i < node->input_count; ++i)
    text += std::string(node->inputs[i]) + (node->constants[i] != 0 ? "! " : " ");
  text += "->";
  for (std::uint32_t i = 0; i < node->output_count; ++i) text += std::string(" ") + node->outputs[i];
  static_cast<std::vector<std::string>*>(to)->push_back(text + ")" + (node->has_bodies != 0 ? "{}" : ""));
}

Shown nodes_of(const std::string& bytes) {
  Shown shown{};
  shown.status = opdump_onnx_nodes(bytes.data(), bytes.size(), show, &shown.nodes);
  return shown;
}

const std::vector<std::string> kNodes = {":Conv conv(x w! -> a)", ":Constant c(-> c)",
                                         ":Clip y(a  c! s! ->  y)", "ai.onnx:If z(y -> z){}"};

}  // namespace

TEST_CASE("attach: the nodes of an ONNX model, with what they are called and which inputs are constant") {
  const Shown shown = nodes_of(model());
  CHECK(shown.status == OPDUMP_OK);
  CHECK(shown.nodes == kNodes);
  const AttachRun run;
  write_file(run.path("net.onnx"), model());
  std::vector<std::string> in_file;
  CHECK(opdump_onnx_nodes_of_file(run.path("net.onnx").c_str(), show, &in_file) == OPDUMP_OK);
  CHECK(in_file == kNodes);
  CHECK(opdump_onnx_nodes_of_file(run.path("none").c_str(), show, &in_file) == OPDUMP_ERR_NOT_FOUND);
  CHECK(opdump_onnx_nodes_of_file(run.dump_path().c_str(), show, &in_file) == OPDUMP_ERR_IO);
  CHECK(opdump_onnx_nodes_of_file(nullptr, show, &in_file) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(opdump_onnx_nodes(nullptr, 0, show, &in_file) == OPDUMP_ERR_INVALID_ARGUMENT);
  CHECK(in_file.size() == kNodes.size());
}

TEST_CASE("attach: of a damaged ONNX model no node is shown, or all") {
  const std::string whole = model();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    const Shown shown = nodes_of(whole.substr(0, length));
    CHECK(shown.status == OPDUMP_ERR_MALFORMED);
    CHECK(shown.nodes.empty());
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      const Shown shown = nodes_of(damaged);
      CHECK((shown.status == OPDUMP_OK || shown.nodes.empty()));
    }
  }
  const std::string zero(1, '\0');
  for (const std::string& broken :
       {node("Relu", {"a" + zero}, {"b"}), node("Relu", {"a"}, {"b" + zero}), node("Re" + zero, {"a"}, {"b"}),
        node("Relu", {}, {}, part(3, zero)), node("", {"a"}, {"b"})}) {
    const Shown shown = nodes_of(part(7, node("Relu", {"a"}, {"b"}) + broken));
    CHECK(shown.status == OPDUMP_ERR_MALFORMED);
    CHECK(shown.nodes.empty());
  }
  CHECK(nodes_of(part(7, node("Relu", {}, {}))).nodes == std::vector<std::string>{":Relu Relu(->)"});
}

TEST_CASE("attach: which parts of operators some step captures") {
  const auto parts = [](const std::string& config,
                        const std::string& options = R"("when_full": "block", "block_limit_ms": 60000)") {
    AttachRun asked(config, options);
    attach::Dump dump(asked.config().c_str(), asked.options());
    attach::Model net(dump, "net");
    for (const char* name : {"a", "b"}) net.add_op(name, "Relu");
    CHECK(opdump_attach_wanted_parts(net.handle(), 2) == 0);
    return std::vector<bool>{net.wants_inputs(0), net.wants_outputs(0), net.wants_inputs(1),
                             net.wants_outputs(1)};
  };
  const std::string one = R"(, "dump_step": "7", "dump_list": [{"model_name": "net", "layer": ["b"]}])";
  CHECK(parts(R"("dump_mode": "input")" + one) == std::vector<bool>{false, false, true, false});
  CHECK(parts(R"("dump_mode": "output")" + one) == std::vector<bool>{false, false, false, true});
  CHECK(parts(R"("dump_mode": "all")" + one) == std::vector<bool>{false, false, true, true});
  // Whether an operator has overflowed shows in both, whatever is dumped.
  CHECK(parts(R"("dump_debug": "on")") == std::vector<bool>{true, true, true, true});
  attach::Dump off(attach::Dump::later);
  attach::Model net(off, "net");
  net.add_op("a", "Relu");
  CHECK_FALSE(net.wants_outputs(0));
  CHECK(opdump_attach_wanted_parts(nullptr, 0) == 0);
}

TEST_CASE("attach: flags of an operator that was added already are described with the others") {
  AttachRun asked;
  attach::Dump dump(asked.config().c_str(), asked.options());
  attach::Model net(dump, "net");
  attach::OpDetails details;
  details.flags = OPDUMP_TAP_COPIES;
  net.add_op("a", "Relu", details);
  net.add_op("b", "Relu");
  CHECK(net.wanted_ops().size() == 2);
  for (int i = 0; i < 2; ++i) net.flag_op(0, OPDUMP_TAP_BREAKS_FUSION | OPDUMP_TAP_COPIES);
  CHECK(opdump_attach_flag_op(net.handle(), 2, OPDUMP_TAP_COPIES) == OPDUMP_ERR_NO_SUCH_OP);
  CHECK(opdump_attach_flag_op(nullptr, 0, OPDUMP_TAP_COPIES) == OPDUMP_ERR_INVALID_ARGUMENT);
  {
    const auto step = net.step();
    CHECK(opdump_attach_flag_op(net.handle(), 1, OPDUMP_TAP_COPIES) == OPDUMP_ERR_STEP_OPEN);
    const float value = 1;
    net.capture(0, {}, Tensors().add(&value, OPDUMP_FLOAT32, {1}));
  }
  CHECK(dump.describe(asked.path("run.json")) == OPDUMP_OK);
  const std::string text = read_file(asked.path("run.json"));
  CHECK(text.find(R"("attributes": {"tap_copies": "True", "tap_breaks_fusion": "True"})") !=
        std::string::npos);
  CHECK(text.find("tap_") < text.find(R"("name": "b")"));
  CHECK(text.rfind("tap_") < text.find(R"("name": "b")"));
  CHECK(dump.stop() == OPDUMP_OK);
  CHECK(asked.records().size() == 1);
}

TEST_CASE("attach: an adapter's own lines are in the log") {
  AttachRun asked;
  attach::Dump dump(attach::Dump::later, asked.options());
  dump.say("too early");
  dump.start(asked.config().c_str());
  dump.say("in time");
  opdump_attach_say(dump.handle(), nullptr);
  opdump_attach_say(nullptr, "nobody");
  CHECK(asked.told("in time\n") == 1);
  CHECK(asked.told("too early") == 0);
}

TEST_CASE("attach: dtypes by their numbers in ONNX") {
  CHECK(opdump_dtype_of_onnx(1) == OPDUMP_FLOAT32);
  CHECK(opdump_dtype_of_onnx(10) == OPDUMP_FLOAT16);
  CHECK(opdump_dtype_of_onnx(22) == OPDUMP_INT4);
  for (const std::int32_t number : {-1, 0, 99}) CHECK(opdump_dtype_of_onnx(number) == OPDUMP_UNDEFINED);
}
