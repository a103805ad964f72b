#pragma once
#include <string>

#include "opdump/base/bytes.hpp"
#include "src/card/model_card.hpp"

namespace opdump::tool {

/// Whether the file says that it is a model of TensorFlow Lite.
bool is_tflite(Bytes file);

/// Reads an untrusted model of TensorFlow Lite, its first subgraph, into `card`: operators, tensors with
/// their quantisation, and the attributes of the common operators. An operator is called after its first
/// output, its type is the name of the builtin operator, or the code of a custom one. On false `reason` says
/// what is damaged. Source: the tables of TensorFlow Lite's schema.fbs, version 3.
bool read_tflite(Bytes file, cards::ModelCard& card, std::string& reason);

}  // namespace opdump::tool
