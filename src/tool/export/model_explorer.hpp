#pragma once
#include <optional>
#include <string>

#include "src/tool/compare/compare_side.hpp"
#include "src/tool/run/beside_cards.hpp"

namespace opdump::tool {

/// A dump for Model Explorer.
struct ModelExplorerDump {
  DumpSide mine;
  std::optional<DumpSide> golden{};
  const CardedOps* card = nullptr;  ///< null: the cards that lie in the dump
  std::string directory;
};

/// Writes what Model Explorer loads, with a graph for each model:
///
///     graph.json       operators in the order in which they ran first, with their edges and statistics
///     magnitude.json   node data: the greatest |x| of each output over all steps
///     nan_inf.json     node data: how many elements are NaN or infinite
///
/// and where there is a golden dump besides
///
///     golden.json         the golden graph
///     cosine.json         node data: the worst cosine of each output over all steps
///     max_abs_error.json  node data: the same of the largest absolute error
///     verdict.json        node data: culprit, victim, ...
///     sync.json           which nodes of the two graphs belong together
///
/// Node data goes by the names of output tensors: those of the card, which the model's own file has too, or
/// `{op}:{index}`. Edges are those of `find_edges`, and where the dump has no inputs those of the card.
/// `report` gets what could not be read or written; false when that was something. Shows its progress on a
/// terminal. Source: google-ai-edge/model-explorer, src/ui.
bool write_model_explorer(ModelExplorerDump dump, const SearchReport& report);

}  // namespace opdump::tool
