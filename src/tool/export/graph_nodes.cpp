#include "src/tool/export/graph_nodes.hpp"

#include <algorithm>
#include <tuple>

#include "src/tool/edges/edges.hpp"

namespace opdump::tool {
namespace {

std::string source_text(const Edge& edge) {
  constexpr std::string_view kSources[] = {"same address", "view", "same name"};
  constexpr std::string_view kBytes[] = {"", ", same bytes", ", other bytes"};
  return std::string(kSources[static_cast<std::size_t>(edge.source)])
      .append(kBytes[static_cast<std::size_t>(edge.bytes)]);
}

}  // namespace

GraphNodes::GraphNodes(const ExportedDump& dump, const CardedOps* card, const FindCard& find_card,
                       const std::function<void(const std::string&)>& error)
    : dump_(dump), node_of_(dump.side.tensors.size()) {
  std::map<std::string, std::size_t> graphs;
  std::map<std::pair<std::size_t, std::string>, std::size_t> known;
  for (const ExportedStep& step : dump.steps) {
    Repeats repeats;
    for (const ExportedOp& op : step.ops) {
      const auto [graph, new_graph] = graphs.try_emplace(op.model, graphs_.size());
      if (new_graph) graphs_.push_back(op.model.empty() ? "dump" : op.model);
      const std::uint64_t repeat = repeats.next(op.model + '\n' + op.name);
      const std::string id = repeat == 0 ? op.name : op.name + '#' + std::to_string(repeat);
      const auto [node, is_new] = known.try_emplace({graph->second, id}, nodes_.size());
      if (is_new) nodes_.push_back({graph->second, id, &op, find_card(op), repeat});
      for (const std::size_t tensor : op.tensors) node_of_[tensor] = node->second;
    }
  }
  add_edges(card, error);
  add_carded_edges();
}

std::string GraphNodes::tensor_name(std::size_t tensor) const {
  const GraphNode& node = nodes_[node_of_[tensor]];
  return framework_name(dump_, *node.first, dump_.tensor(tensor), node.card, node.repeat);
}

void GraphNodes::add_edges(const CardedOps* card, const std::function<void(const std::string&)>& error) {
  std::vector<std::string> errors;
  const Edges edges = find_edges(dump_.side, card, errors);
  for (const Edge& edge : edges) {
    const std::size_t to = node_of_[edge.to], from = node_of_[edge.from];
    if (nodes_[to].graph == nodes_[from].graph)
      nodes_[to].edges.try_emplace(dump_.tensor(edge.to).index,
                                   GraphNode::Edge{from, dump_.tensor(edge.from).index, source_text(edge)});
  }
  for (const std::string& message : errors) error(message);
}

void GraphNodes::add_carded_edges() {
  std::map<std::pair<std::size_t, std::string>, std::size_t> by_name;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    by_name.try_emplace({nodes_[i].graph, dump_.side.files[nodes_[i].first->file].op}, i);
  for (GraphNode& node : nodes_) {
    const std::string name = dump_.side.files[node.first->file].op;
    const RunOp* const op = node.card == nullptr ? nullptr : node.card->op(name);
    if (op == nullptr) continue;
    for (std::uint32_t input = 0; input < op->inputs.size(); ++input) {
      const std::optional<CardedOps::Output> producer = node.card->producer(name, input);
      const auto from = producer ? by_name.find({node.graph, producer->op}) : by_name.end();
      if (from != by_name.end())
        node.edges.try_emplace(input, GraphNode::Edge{from->second, producer->index, "the card"});
    }
  }
}

}  // namespace opdump::tool
