#include "src/card/card_json.hpp"

#include <string_view>

#include "src/card/attribute_json.hpp"
#include "src/card/json_writer.hpp"

namespace opdump::cards {
inline namespace OPDUMP_NAMESPACE {
namespace {

/// The name of what has none, as the files of its records have it.
std::string_view name_of(std::string_view name) {
  return name.empty() ? "_" : name;
}

class CardWriter {
 public:
  CardWriter(const ModelCard& card, std::size_t most) : card_(card), most_(most) {}

  Status write(std::string& text) {
    json_.open('{').key("opdump_model").number(1);
    json_.key("name").text(name_of(card_.name));
    put_text("graph_name", card_.graph_name);
    put_text("made_by", card_.made_by);
    put_text("runtime", card_.runtime);
    put_text("sha256", card_.sha256);
    put_text("build_id", card_.build_id);
    json_.key("id").number(card_.id);
    json_.key("ops").open('[');
    for (std::size_t i = 0; i < card_.ops.size(); ++i) {
      json_.line(2);
      put_op(card_.ops[i], i);
      text_ += json_.take();
      if (text_.size() > most_) return Status::too_large;
    }
    json_.close(']').close('}');
    text_ += json_.take() + '\n';
    text = std::move(text_);
    if (text.size() > most_) return Status::too_large;
    return json_.is_utf8() ? Status::ok : Status::invalid_argument;
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
    json_.key("name").text(name_of(op.name));
    json_.key("type").text(name_of(op.type));
    if (card_.onnx_opset != 0) {
      json_.key("onnx").open('{').key("op").text(op.type).key("domain").text(op.domain);
      if (op.domain.empty()) json_.key("opset").number(card_.onnx_opset);
      json_.close('}');
    }
    if (op.task_id != OpDesc().task_id) json_.key("task_id").number(op.task_id);
    if (op.stream_id != OpDesc().stream_id) json_.key("stream_id").number(op.stream_id);
    if (op.level != OpLevel::both) json_.key("level").text(op.level == OpLevel::op ? "op" : "kernel");
    if (op.marked) json_.key("marked").flag(true);
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
    put_text("tensor", tensor.name);
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
    if (tensor.quant.scheme != QuantScheme::none) {
      json_.key("quant");
      put_quant(json_, tensor.quant);
    }
  }

  const ModelCard& card_;
  const std::size_t most_;
  JsonWriter json_;
  std::string text_;
};

}  // namespace

void put_quant(JsonWriter& json, const Quantisation& quant) {
  json.open('{').key("scheme").text(word_of(quant.scheme));
  if (quant.axis >= 0) json.key("axis").json(json_of(quant.axis));
  switch (quant.scheme) {
    case QuantScheme::none:
      break;
    case QuantScheme::affine:
      json.key("scale").json(json_of(quant.scales));
      if (!quant.zero_points.empty()) json.key("zero_point").json(json_of(quant.zero_points));
      break;
    case QuantScheme::pow2:
      json.key("exponent").json(json_of(quant.exponents));
      break;
    case QuantScheme::block:
      json.key("type").text(quant.block_type);
      json.key("block_elements").number(quant.block_elements);
      json.key("block_bytes").number(quant.block_bytes);
      break;
    case QuantScheme::lut:
      json.key("table").json(json_of(quant.table));
      if (quant.first != 0) json.key("first").json(json_of(quant.first));
  }
  json.close('}');
}

Status write_card(const ModelCard& card, std::size_t most, std::string& text) {
  return CardWriter(card, most).write(text);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::cards
