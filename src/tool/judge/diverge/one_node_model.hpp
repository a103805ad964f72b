#pragma once
#include <string>
#include <vector>

#include "src/tool/judge/diverge/replay_op.hpp"

namespace opdump::tool {

/// The k-th input of the model of one operator is "input_k", counting those that the operator is given, and
/// the k-th output "output_k", counting those that are wanted.
std::string model_input_name(std::size_t k);
std::string model_output_name(std::size_t k);

/// The bytes of an ONNX model of this operator alone, with its attributes, and with its inputs as inputs of
/// the graph. With `outputs`, one for each of `op.wanted`, the model is for people and for their compilers:
/// it has the operator's name, and all shapes. Without, ranks are all that it says of shapes, and the same
/// operator at other shapes has the same bytes. False: `reason` says why there is no such model. Source:
/// onnx.proto, and ONNX's table of versions.
bool one_node_model(const ReplayOp& op, const std::vector<ReplayTensor>* outputs, std::string& model,
                    std::string& reason);

/// The bytes of a TensorProto. False: `reason` says why ONNX has none.
bool tensor_proto(const ReplayTensor& tensor, std::string& bytes, std::string& reason);

}  // namespace opdump::tool
