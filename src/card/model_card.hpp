#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "opdump/types/dtype.hpp"
#include "opdump/types/model.hpp"
#include "opdump/types/tensor.hpp"
#include "src/card/quantisation.hpp"

namespace opdump::cards {
inline namespace OPDUMP_NAMESPACE {

struct CardTensor {
  /// A dim that is known only when the model runs.
  static constexpr Dim kUnknownDim = UINT64_MAX;

  std::string name;
  DType dtype = DType::undefined;  ///< undefined: the model does not tell it
  bool has_shape = false;          ///< the model tells the rank
  bool constant = false;           ///< the model holds its elements
  std::vector<Dim> shape;
  Quantisation quant;
};

/// An attribute of an operator. `json` is its value as JSON.
struct CardAttribute {
  std::string name;
  std::string json;
};

struct CardOp {
  static constexpr std::uint32_t kNoTensor = UINT32_MAX;  ///< in `inputs`: an optional one that is not given

  std::string name;
  std::string type;
  std::string domain;                       ///< of ONNX; empty: its own
  std::vector<std::string> original_names;  ///< operators of the framework that are in this one
  OpLevel level = OpLevel::both;
  bool marked = false;
  std::uint32_t task_id = OpDesc().task_id;
  std::uint32_t stream_id = OpDesc().stream_id;
  std::vector<CardAttribute> attributes;
  std::vector<std::string> flags;
  std::vector<std::uint32_t> inputs;   ///< places in ModelCard::tensors
  std::vector<std::uint32_t> outputs;  ///< the same
};

/// What a model is: its operators in the order in which they run, and what their tensors mean.
struct ModelCard {
  std::string name;
  std::string graph_name;
  std::string made_by;           ///< the program that wrote the model's file
  std::string runtime;           ///< that has loaded the model, and its version
  std::string build_id;          ///< of the program that has run it
  std::string sha256;            ///< of that file, in hexadecimal
  std::uint64_t onnx_opset = 0;  ///< of ONNX's own operators; 0: not a model of ONNX
  std::uint32_t id = 0;
  std::vector<CardTensor> tensors;
  std::vector<CardOp> ops;
  std::vector<std::string> left_out;  ///< what the model's file tells and the card does not
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::cards
