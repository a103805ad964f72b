#include "src/tool/read/card/onnx_file.hpp"

#include <string_view>
#include <unordered_map>

#include "opdump/read/proto_wire.hpp"
#include "src/attach/onnx_dtype.hpp"
#include "src/card/attribute_json.hpp"
#include "src/config/text/human_text.hpp"
#include "src/tool/read/card/card_budget.hpp"
#include "src/tool/read/card/onnx_quantisation.hpp"
#include "src/tool/read/card/onnx_tensor.hpp"

namespace opdump::tool {

using namespace cards;

namespace {

class OnnxReader {
 public:
  OnnxReader(const NamedDims& dims, ModelCard& card, OnnxDetails* details)
      : dims_(dims), card_(card), details_(details) {}

  bool read(Bytes file, std::string& reason) {
    Bytes graph{};
    bool has_version = false;
    ByteReader in(file);
    for (ProtoField field; next(in, field);) {
      if (field.is_number(1)) has_version = true;
      if (field.is_bytes(2)) card_.made_by = as_text(field.bytes);
      if (field.is_bytes(3)) producer_version_ = as_text(field.bytes);
      if (field.is_bytes(7)) graph = field.bytes;
      if (field.is_bytes(8)) read_opset(field.bytes);
    }
    if (good_ && (!has_version || graph.data() == nullptr)) {
      reason = "is no ONNX model: it has no version or no graph";
      return false;
    }
    if (!producer_version_.empty()) card_.made_by += ' ' + std::string(producer_version_);
    if (good_) read_graph(graph);
    if (good_) {
      std::string where;
      good_ = find_onnx_quantisation(constants_, card_, budget_, where);
      what_ = "operator " + where;
      if (shifted_ != 0)
        card_.left_out.push_back(
            "outputs of " + count_text(shifted_, "operator") +
            " that the model does not use, in front of others, which are counted without them");
    }
    if (good_ && details_ != nullptr) details_->constants = {constants_.begin(), constants_.end()};
    if (!good_) {
      reason = budget_.is_spent() ? "describes more than 8388608 operators, tensors, dims and scales"
                                  : "is no ONNX model, or is damaged: a field of " + what_ + " is cut short";
    }
    return good_;
  }

 private:
  bool next(ByteReader& in, ProtoField& field) { return next_field(in, field, good_); }

  void read_opset(Bytes message) {
    std::string_view domain;
    std::uint64_t version = 0;
    ByteReader in(message);
    for (ProtoField field; next(in, field);) {
      if (field.is_bytes(1)) domain = as_text(field.bytes);
      if (field.is_number(2)) version = field.value;
    }
    if (domain == "ai.onnx") domain = {};
    if (domain.empty()) card_.onnx_opset = version;
    if (details_ != nullptr) details_->opsets[std::string(domain)] = version;
  }

  void read_graph(Bytes message) {
    what_ = "the graph";
    ByteReader in(message);
    for (ProtoField field; next(in, field);) {
      if (field.is_bytes(2)) card_.graph_name = as_text(field.bytes);
      if (field.is_bytes(5)) read_constant(field.bytes);
      if (field.is_bytes(11) || field.is_bytes(12) || field.is_bytes(13)) read_value(field.bytes);
    }
    // Nodes may stand before the tensors that they name.
    in = ByteReader(message);
    for (ProtoField field; next(in, field);) {
      if (field.is_bytes(1)) read_node(field.bytes);
    }
  }

  std::uint32_t tensor(std::string_view name) {
    const auto [place, added] = places_.try_emplace(name, static_cast<std::uint32_t>(card_.tensors.size()));
    if (added) card_.tensors.emplace_back().name = name;
    good_ = good_ && budget_.take(1);
    return place->second;
  }

  void read_constant(Bytes message) {
    const std::uint32_t place = tensor(text_of(message, 8));
    constants_[place] = message;
    CardTensor& constant = card_.tensors[place];
    constant.constant = true;
    read_shape_of_constant(message, constant);
  }

  void read_shape_of_constant(Bytes message, CardTensor& constant) {
    constant.has_shape = true;
    constant.shape.clear();
    ByteReader in(message);
    for (ProtoField field; next(in, field);) {
      if (field.is_number(1) || field.is_bytes(1))
        good_ = read_numbers(field, [&](std::uint64_t dim) { return add_dim(dim, constant); });
      if (field.is_number(2)) constant.dtype = dtype_of_onnx(field.value);
    }
  }

  bool add_dim(std::uint64_t dim, CardTensor& to) {
    if (to.shape.size() == kMaxRank) return false;
    to.shape.push_back(dim > INT64_MAX ? CardTensor::kUnknownDim : dim);
    return true;
  }

  std::string_view text_of(Bytes message, std::uint32_t number) {
    std::string_view text;
    ByteReader in(message);
    for (ProtoField field; next(in, field);) {
      if (field.is_bytes(number)) text = as_text(field.bytes);
    }
    return text;
  }

  void read_value(Bytes message) {
    const std::uint32_t place = tensor(text_of(message, 1));
    ByteReader in(message);
    for (ProtoField field; next(in, field);) {
      if (!field.is_bytes(2) || card_.tensors[place].constant) continue;
      ByteReader type(field.bytes);
      for (ProtoField kind; next(type, kind);) {
        if (kind.is_bytes(1)) read_type(kind.bytes, card_.tensors[place]);
      }
    }
  }

  void read_type(Bytes message, CardTensor& to) {
    ByteReader in(message);
    for (ProtoField field; next(in, field);) {
      if (field.is_number(1)) to.dtype = dtype_of_onnx(field.value);
      if (!field.is_bytes(2)) continue;
      to.has_shape = true;
      to.shape.clear();
      ByteReader shape(field.bytes);
      for (ProtoField dim; next(shape, dim);) {
        if (dim.is_bytes(1)) good_ = add_dim(extent(dim.bytes), to);
      }
    }
  }

  std::uint64_t extent(Bytes message) {
    std::uint64_t extent = CardTensor::kUnknownDim;
    ByteReader in(message);
    for (ProtoField field; next(in, field);) {
      if (field.is_number(1)) extent = field.value;
      if (!field.is_bytes(2)) continue;
      for (const auto& [name, given] : dims_) {
        if (name == as_text(field.bytes)) extent = given;
      }
    }
    return extent;
  }

  void read_node(Bytes message) {
    what_ = "operator " + std::to_string(card_.ops.size());
    if (details_ != nullptr) {
      details_->attributes.emplace_back();
      details_->outputs.emplace_back();
    }
    CardOp op;
    value_ = {};
    bool unused = false, shifted = false;
    ByteReader in(message);
    for (ProtoField field; next(in, field);) {
      if (field.is_bytes(1))
        op.inputs.push_back(field.bytes.empty() ? CardOp::kNoTensor : tensor(as_text(field.bytes)));
      if (field.is_bytes(2) && details_ != nullptr) details_->outputs.back().push_back(!field.bytes.empty());
      if (field.is_bytes(2) && field.bytes.empty()) unused = true;
      if (field.is_bytes(2) && !field.bytes.empty()) {
        shifted = shifted || unused;
        op.outputs.push_back(tensor(as_text(field.bytes)));
      }
      if (field.is_bytes(3)) op.name = as_text(field.bytes);
      if (field.is_bytes(4)) op.type = as_text(field.bytes);
      if (field.is_bytes(5)) read_attribute(field.bytes, op);
      if (field.is_bytes(7)) op.domain = as_text(field.bytes);
    }
    shifted_ += shifted ? 1 : 0;
    if (op.domain == "ai.onnx") op.domain.clear();
    if (op.type.empty()) op.type = "unknown";
    if (op.name.empty()) op.name = op.outputs.empty() ? op.type : card_.tensors[op.outputs[0]].name;
    good_ = good_ && budget_.take(1 + op.name.size() / 16);
    if (good_ && op.type == "Constant") keep_constant(op);
    op.task_id = static_cast<std::uint32_t>(card_.ops.size());
    if (good_) card_.ops.push_back(std::move(op));
  }

  /// The output of a Constant operator is as constant as what the graph holds.
  void keep_constant(const CardOp& op) {
    if (op.outputs.empty()) return;
    CardTensor& output = card_.tensors[op.outputs[0]];
    output.constant = true;
    if (value_.data() == nullptr) return;
    constants_[op.outputs[0]] = value_;
    read_shape_of_constant(value_, output);
  }

  void read_attribute(Bytes message, CardOp& op) {
    OnnxAttribute read;
    good_ = read_onnx_attribute(message, read);
    if (!good_) return;
    if (op.type == "Constant" || read.name == "value") value_ = read.tensor;
    if (details_ != nullptr) details_->attributes.back().push_back(message);
    CardAttribute attribute{std::string(read.name), {}};
    switch (read.type) {
      case OnnxAttributeType::real:
        attribute.json = json_of(read.real());
        break;
      case OnnxAttributeType::integer:
        attribute.json = json_of(read.integer());
        break;
      case OnnxAttributeType::text:
        attribute.json = json_of(read.text());
        break;
      case OnnxAttributeType::graph:
      case OnnxAttributeType::graphs:
        op.flags.assign(1, "control_flow");
        return;
      case OnnxAttributeType::reals:
        attribute.json = json_of(read.reals);
        break;
      case OnnxAttributeType::integers:
        attribute.json = json_of(read.integers);
        break;
      case OnnxAttributeType::texts:
        attribute.json = json_of(read.texts);
        break;
      default:  // tensors, and types of tensors: elements are not read
        return;
    }
    op.attributes.push_back(std::move(attribute));
  }

  const NamedDims& dims_;
  ModelCard& card_;
  OnnxDetails* const details_;
  bool good_ = true;
  CardBudget budget_;
  std::string what_ = "the model";
  std::string_view producer_version_;
  std::unordered_map<std::string_view, std::uint32_t> places_;
  std::unordered_map<std::uint32_t, Bytes> constants_;  ///< TensorProto messages
  Bytes value_{};                                       ///< of the operator that is read
  std::size_t shifted_ = 0;                             ///< operators with outputs behind one without a name
};

}  // namespace

bool read_onnx(Bytes file, const NamedDims& dims, ModelCard& card, std::string& reason,
               OnnxDetails* details) {
  return OnnxReader(dims, card, details).read(file, reason);
}

}  // namespace opdump::tool
