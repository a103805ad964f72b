// Files of models: what the card says of them is bounded by them, and refers to tensors that it has; nodes
// are shown of a whole model, or not at all.
#include "opdump/attach.h"
#include "record_use.hpp"
#include "src/card/card_json.hpp"
#include "src/tool/read/card/ge_graph_file.hpp"
#include "src/tool/read/card/onnx_file.hpp"
#include "src/tool/read/card/tflite_file.hpp"

namespace {

void use(const opdump::cards::ModelCard& card) {
  for (const opdump::cards::CardOp& op : card.ops) {
    for (const std::uint32_t input : op.inputs)
      opdump::fuzz::require(input == opdump::cards::CardOp::kNoTensor || input < card.tensors.size());
    for (const std::uint32_t output : op.outputs) opdump::fuzz::require(output < card.tensors.size());
  }
  std::string text;
  static_cast<void>(opdump::cards::write_card(card, 1 << 20, text));
}

void use(void* names, const opdump_onnx_node* node) {
  auto& bytes = *static_cast<std::size_t*>(names);
  for (std::uint32_t i = 0; i < node->input_count; ++i)
    bytes += std::string_view(node->inputs[i]).size() + node->constants[i];
  for (std::uint32_t i = 0; i < node->output_count; ++i) bytes += std::string_view(node->outputs[i]).size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const opdump::Bytes file(reinterpret_cast<const std::byte*>(data), size);
  std::string reason;
  opdump::cards::ModelCard onnx;
  if (opdump::tool::read_onnx(file, {{"batch", 2}}, onnx, reason)) {
    use(onnx);
  } else {
    opdump::fuzz::require(!reason.empty());
  }
  std::size_t bytes = 0;
  if (opdump_onnx_nodes(data, size, use, &bytes) != OPDUMP_OK) opdump::fuzz::require(bytes == 0);
  opdump::cards::ModelCard tflite;
  if (opdump::tool::read_tflite(file, tflite, reason)) use(tflite);
  opdump::cards::ModelCard graph;
  if (opdump::tool::read_ge_graph(file, graph, reason)) use(graph);
  return 0;
}
