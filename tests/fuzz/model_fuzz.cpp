// Files of models: what the card says of them is bounded by them, and refers to tensors that it has.
#include "record_use.hpp"
#include "src/card/card_json.hpp"
#include "src/tool/card/onnx_file.hpp"
#include "src/tool/card/tflite_file.hpp"

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
  opdump::cards::ModelCard tflite;
  if (opdump::tool::read_tflite(file, tflite, reason)) use(tflite);
  return 0;
}
