#include "src/tool/card/card_json.hpp"

#include <string_view>

#include "src/tool/card/attribute_json.hpp"
#include "src/tool/cli/json.hpp"

namespace opdump::tool {
namespace {

class CardWriter {
 public:
  CardWriter(const ModelCard& card, std::size_t most) : card_(card), most_(most) {}

  bool write(std::string& text) {
    json_.open('{').key("opdump_model").number(1);
    put_text("name", card_.name);
    put_text("graph_name", card_.graph_name);
    put_text("made_by", card_.made_by);
    put_text("sha256", card_.sha256);
    json_.key("id").number(card_.id);
    json_.key("ops").open('[');
    for (std::size_t i = 0; i < card_.ops.size(); ++i) {
      json_.line(2);
      put_op(card_.ops[i], i);
      text_ += json_.take();
      if (text_.size() > most_) return false;
    }
    json_.close(']').close('}');
    text_ += json_.take() + '\n';
    text = std::move(text_);
    return text.size() <= most_;
  }

 private:
  void put_text(std::string_view key, std::string_view text) {
    if (!text.empty()) json_.key(key).text(text);
  }

  void put_texts(std::string_view key, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    json_.key(key).open('[');
    for (const std::string& text : texts) json_.text(text);
    json_.close(']');
  }

  void put_op(const CardOp& op, std::size_t index) {
    json_.open('{').key("index").number(index);
    json_.key("name").text(op.name);
    json_.key("type").text(op.type);
    if (card_.onnx_opset != 0) {
      json_.key("onnx").open('{').key("op").text(op.type).key("domain").text(op.domain);
      if (op.domain.empty()) json_.key("opset").number(card_.onnx_opset);
      json_.close('}');
    }
    json_.key("task_id").number(index);
    put_texts("original_names", op.original_names);
    if (!op.attributes.empty()) {
      json_.key("attributes").open('{');
      for (const CardAttribute& attribute : op.attributes) json_.key(attribute.name).json(attribute.json);
      json_.close('}');
    }
    put_tensors("inputs", op.inputs);
    put_tensors("outputs", op.outputs);
    put_texts("flags", op.flags);
    json_.close('}');
  }

  void put_tensors(std::string_view key, const std::vector<std::uint32_t>& places) {
    json_.key(key).open('[');
    for (const std::uint32_t place : places) {
      json_.open('{');
      if (place != CardOp::kNoTensor) put_tensor(card_.tensors[place]);
      json_.close('}');
    }
    json_.close(']');
  }

  void put_tensor(const CardTensor& tensor) {
    json_.key("tensor").text(tensor.name);
    if (tensor.constant) json_.key("constant").flag(true);
    if (tensor.dtype != DType::undefined) json_.key("dtype").text(info(tensor.dtype).name);
    if (tensor.has_shape) {
      json_.key("shape").open('[');
      for (const Dim dim : tensor.shape) {
        if (dim == CardTensor::kUnknownDim) {
          json_.json("-1");
        } else {
          json_.number(dim);
        }
      }
      json_.close(']');
    }
    const Quantisation& quant = tensor.quant;
    if (quant.scales.empty()) return;
    json_.key("quant").open('{').key("scheme").text("affine");
    if (quant.axis >= 0) json_.key("axis").json(json_of(quant.axis));
    json_.key("scale").json(json_of(quant.scales));
    if (!quant.zero_points.empty()) json_.key("zero_point").json(json_of(quant.zero_points));
    json_.close('}');
  }

  const ModelCard& card_;
  const std::size_t most_;
  JsonWriter json_;
  std::string text_;
};

}  // namespace

bool write_card(const ModelCard& card, std::size_t most, std::string& text) {
  return CardWriter(card, most).write(text);
}

}  // namespace opdump::tool
