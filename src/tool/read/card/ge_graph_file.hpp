#pragma once
#include <string>

#include "opdump/base/bytes.hpp"
#include "src/card/model_card.hpp"

namespace opdump::tool {

/// Whether the file begins as a graph of CANN does, printed by protobuf ("ge_proto_00000007_graph_1_Build.txt").
bool is_ge_graph(Bytes file);

/// Reads an untrusted graph of CANN's graph engine, the operators of its subgraphs behind its own. Data and
/// constants are tensors of the card, not operators. An operator's stream is known, its task is not; of its
/// attributes the names of the operators that were fused are read. On false `reason` says what is damaged.
/// Source: CANN's ge_ir.proto.
bool read_ge_graph(Bytes file, cards::ModelCard& card, std::string& reason);

}  // namespace opdump::tool
