#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/tool/export/exported_dump.hpp"

namespace opdump::tool {

/// An operator of a graph, whatever the step.
struct GraphNode {
  std::size_t graph = 0;
  std::string id;           ///< its name, with `#2` for the third run of that name within a step
  const ExportedOp* first;  ///< where it ran first
  const CardedOps* card = nullptr;
  std::uint64_t repeat = 0;

  struct Edge {
    std::size_t from = 0;  ///< node
    std::uint32_t output = 0;
    std::string source;  ///< how it is known
  };
  std::map<std::uint32_t, Edge> edges{};  ///< by input
};

/// The operators of a dump as graphs, one for each model. Refers to the dump.
class GraphNodes {
 public:
  using FindCard = std::function<const CardedOps*(const ExportedOp&)>;

  /// `error` gets what could not be read.
  GraphNodes(const ExportedDump& dump, const CardedOps* card, const FindCard& find_card,
             const std::function<void(const std::string&)>& error);

  const ExportedDump& dump() const { return dump_; }
  const std::vector<std::string>& graphs() const { return graphs_; }  ///< names
  const std::vector<GraphNode>& nodes() const { return nodes_; }

  /// The node of a tensor, by its index in the DumpSide.
  std::size_t node_of(std::size_t tensor) const { return node_of_[tensor]; }

  /// "conv1:0", or as the card calls it.
  std::string tensor_name(std::size_t tensor) const;

 private:
  void add_edges(const CardedOps* card, const std::function<void(const std::string&)>& error);
  void add_carded_edges();

  const ExportedDump& dump_;
  std::vector<std::string> graphs_;
  std::vector<GraphNode> nodes_;
  std::vector<std::size_t> node_of_;
};

}  // namespace opdump::tool
