#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "src/card/model_card.hpp"

namespace opdump::tool {

/// Extents of dims that a model calls by names, such as "batch".
using NamedDims = std::vector<std::pair<std::string, Dim>>;

/// What a model says besides its card. Refers to the model's file.
struct OnnxDetails {
  std::map<std::string, std::uint64_t> opsets;  ///< by domain; ONNX's own is the empty one
  std::vector<std::vector<Bytes>> attributes;   ///< of each operator of the card, AttributeProto messages
  std::vector<std::vector<bool>> outputs;       ///< of each operator, whether each output has a name
  std::map<std::uint32_t, Bytes> constants;     ///< TensorProto messages by places in ModelCard::tensors
};

/// Reads an untrusted ONNX model into `card`: operators, tensors, attributes, and how tensors are quantised
/// (onnx_quantisation.hpp). Of the elements of constants only scales and zero points are read. The bodies of
/// If, Loop and Scan are not among the operators; those have the flag "control_flow". An operator without a
/// name is called after its first output. On false `reason` says what is damaged; a file that is no ONNX
/// model is refused too. Source: the messages of ONNX's onnx.proto.
bool read_onnx(Bytes file, const NamedDims& dims, cards::ModelCard& card, std::string& reason,
               OnnxDetails* details = nullptr);

}  // namespace opdump::tool
