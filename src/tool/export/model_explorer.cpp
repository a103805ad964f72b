#include "src/tool/export/model_explorer.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "src/tool/cli/human_text.hpp"
#include "src/tool/cli/interrupt.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/progress.hpp"
#include "src/tool/compare/compare_report.hpp"
#include "src/tool/compare/op_verdicts.hpp"
#include "src/tool/dump/elements.hpp"
#include "src/tool/dump/quantisation_text.hpp"
#include "src/tool/dump/statistics.hpp"
#include "src/tool/export/export_file.hpp"
#include "src/tool/export/graph_nodes.hpp"
#include "src/tool/export/stored_elements.hpp"

namespace opdump::tool {
namespace {

constexpr std::string_view kRed = "#b2182b", kYellow = "#fddbc7", kWhite = "#f7f7f7", kDark = "#1f1f1f";

/// What is known of a tensor.
struct TensorRange {
  double min = HUGE_VAL;
  double max = -HUGE_VAL;
  std::uint64_t not_finite = 0;
  bool known = false;

  double magnitude() const { return std::max(std::fabs(min), std::fabs(max)); }
  bool has_finite() const { return known && min <= max; }
};

using Ranges = std::vector<TensorRange>;  // by tensor

class RangeReader {
 public:
  RangeReader(const ExportedDump& dump, const SearchReport& report)
      : dump_(dump), report_(report), progress_(dump.data_bytes()) {}

  Ranges read() {
    Ranges ranges(dump_.side.tensors.size());
    for (std::size_t i = 0; i < ranges.size() && !interrupted(); ++i) read(dump_.tensor(i), ranges[i]);
    return ranges;
  }

 private:
  void read(const DumpTensor& tensor, TensorRange& range) {
    if (tensor.summary) {
      const TensorSummary& summary = *tensor.summary;
      range.known = summary.min && summary.max;
      if (!range.known) return;
      range.min = *summary.min;
      range.max = *summary.max;
      range.not_finite = summary.nans.value_or(0) + summary.negative_infinities.value_or(0) +
                         summary.positive_infinities.value_or(0);
      return;
    }
    StoredArray stored;
    std::string reason;
    if (!plan_stored(
            tensor, [](DType) { return true; }, std::nullopt, stored, reason))
      return;
    const ReadElements numbers = element_reader(tensor.dtype);
    Statistics statistics;
    const bool good = elements_.open(dump_.side, tensor, stored, reason) &&
                      elements_.for_each(
                          [&](Bytes, Bytes bytes, std::size_t count) {
                            progress_.add(bytes.size());
                            numbers_.resize(std::max(numbers_.size(), count));
                            numbers(bytes.data(), count, numbers_.data());
                            statistics.add(std::span(numbers_).first(count));
                            return true;
                          },
                          reason);
    if (!good) {
      if (!reason.empty()) report_.error(reason);
      return;
    }
    range.known = true;
    range.not_finite = statistics.nan() + statistics.infinite();
    if (statistics.finite() == 0) return;
    range.min = statistics.min();
    range.max = statistics.max();
  }

  const ExportedDump& dump_;
  const SearchReport& report_;
  Progress progress_;
  StoredElements elements_;
  std::vector<double> numbers_;
};

class GraphWriter {
 public:
  GraphWriter(const GraphNodes& nodes, const Ranges& ranges) : nodes_(nodes), ranges_(ranges) {}

  std::string text(const std::string& label) {
    json_.open('{').key("label").text(label).key("graphs").open('[');
    for (std::size_t graph = 0; graph < nodes_.graphs().size(); ++graph) {
      json_.line().open('{').key("id").text(nodes_.graphs()[graph]).key("nodes").open('[');
      for (const GraphNode& node : nodes_.nodes()) {
        if (node.graph == graph) write(node);
      }
      json_.close(']').close('}');
    }
    return json_.line().close(']').close('}').take() + '\n';
  }

 private:
  void attribute(std::string_view key, const std::string& value) {
    json_.open('{').key("key").text(key).key("value").text(value).close('}');
  }

  void write(const GraphNode& node) {
    const ExportedOp& op = *node.first;
    const DumpFile file = nodes_.dump().side.files[op.file];
    json_.line(2).open('{').key("id").text(node.id).key("label").text(op.type.empty() ? op.name : op.type);
    json_.key("namespace").text(scope_of(node)).key("attrs").open('[');
    attribute("opdump name", op.name);
    if (file.task && *file.task != kNoTask) attribute("task", std::to_string(*file.task));
    if (!op.model.empty()) attribute("model", op.model + " (" + std::to_string(op.model_id) + ')');
    json_.close(']').key("incomingEdges").open('[');
    for (const auto& [input, edge] : node.edges) {
      json_.open('{').key("sourceNodeId").text(nodes_.nodes()[edge.from].id);
      json_.key("sourceNodeOutputId").text(std::to_string(edge.output));
      json_.key("targetNodeInputId").text(std::to_string(input)).close('}');
    }
    json_.close(']');
    write_tensors(node, false);
    write_tensors(node, true);
    json_.close('}');
  }

  /// The folders in the name that the card has.
  std::string scope_of(const GraphNode& node) const {
    const RunOp* const op =
        node.card == nullptr ? nullptr : node.card->op(nodes_.dump().side.files[node.first->file].op);
    if (op == nullptr) return {};
    const std::string_view name = op->desc.name;
    const std::size_t slash = name.rfind('/');
    return slash == std::string_view::npos ? std::string() : printable(name.substr(0, slash));
  }

  void write_tensors(const GraphNode& node, bool outputs) {
    json_.key(outputs ? "outputsMetadata" : "inputsMetadata").open('[');
    for (const std::size_t index : node.first->tensors) {
      const DumpTensor tensor = nodes_.dump().tensor(index);
      if (tensor.is_output != outputs) continue;
      json_.open('{').key("id").text(std::to_string(tensor.index)).key("attrs").open('[');
      if (const std::string name = nodes_.tensor_name(index); !name.empty()) attribute("tensor_name", name);
      attribute("tensor_shape", std::string(info(tensor.dtype).name) + shape_text(tensor.shape));
      if (tensor.quant != nullptr) attribute("quantization", parameter_text(*tensor.quant));
      if (ranges_[index].has_finite()) {
        attribute("min", number_text(ranges_[index].min));
        attribute("max", number_text(ranges_[index].max));
      }
      if (ranges_[index].not_finite != 0) attribute("NaN and Inf", std::to_string(ranges_[index].not_finite));
      const auto edge = node.edges.find(tensor.index);
      if (!outputs && edge != node.edges.end()) attribute("edge known by", edge->second.source);
      json_.close(']').close('}');
    }
    json_.close(']');
  }

  const GraphNodes& nodes_;
  const Ranges& ranges_;
  JsonWriter json_;
};

/// The value of one output in one file of node data.
struct NodeValue {
  std::string text;  ///< JSON
  std::string_view background{};
};

/// Node data of several graphs, by the names of tensors.
class NodeData {
 public:
  explicit NodeData(const GraphNodes& nodes) : nodes_(nodes), results_(nodes.graphs().size()) {}

  void put(std::size_t tensor, NodeValue value) {
    const GraphNode& node = nodes_.nodes()[nodes_.node_of(tensor)];
    const std::string name = nodes_.tensor_name(tensor);
    results_[node.graph].insert_or_assign(name.empty() ? node.id : name, std::move(value));
  }

  /// `more`: further members of each graph's object, JSON with a comma in front; may be empty.
  std::string text(const std::string& name, const std::string& more) const {
    JsonWriter json;
    const bool several = results_.size() != 1;
    if (several) json.open('{');
    for (std::size_t graph = 0; graph < results_.size(); ++graph) {
      if (several) json.line().key(nodes_.graphs()[graph]);
      json.open('{').key("name").text(name).key("results").open('{');
      for (const auto& [key, value] : results_[graph]) {
        json.line(2).key(key).open('{').key("value").json(value.text);
        if (!value.background.empty())
          json.key("bgColor")
              .text(value.background)
              .key("textColor")
              .text(value.background == kRed ? "#ffffff" : kDark);
        json.close('}');
      }
      json.close('}');
      if (!more.empty()) json.key("thresholds").json(more);
      json.close('}');
    }
    if (several) json.close('}');
    return json.take() + '\n';
  }

 private:
  const GraphNodes& nodes_;
  std::vector<std::map<std::string, NodeValue>> results_;
};

std::string real_text(double number) {
  return JsonWriter().real(number).take();
}

std::string threshold(double value, std::string_view colour) {
  return JsonWriter().open('{').key("value").real(value).key("bgColor").text(colour).close('}').take();
}

class ModelExplorer {
 public:
  ModelExplorer(ModelExplorerDump dump, const SearchReport& report)
      : directory_(std::move(dump.directory)), card_(dump.card), report_(report), beside_(report.note) {
    add_cards(card_, beside_, dump.mine);
    mine_ = exported(std::move(dump.mine));
    if (!dump.golden) return;
    add_cards(card_, beside_, *dump.golden);
    golden_ = exported(std::move(*dump.golden));
  }

  bool write() {
    const GraphNodes nodes = nodes_of(mine_);
    const Ranges ranges = RangeReader(mine_, report_).read();
    if (interrupted()) return false;
    bool good = put("graph.json", GraphWriter(nodes, ranges).text("opdump")) &&
                put("magnitude.json", magnitudes(nodes, ranges)) &&
                put("nan_inf.json", oddities(nodes, ranges));
    if (golden_) good = good && compare(nodes);
    if (good)
      print_line(count_text(nodes.nodes().size(), "operator") + " in " +
                 count_text(nodes.graphs().size(), "graph") + " written to " + directory_);
    return good;
  }

 private:
  GraphNodes nodes_of(const ExportedDump& dump) {
    return GraphNodes(
        dump, card_,
        [&](const ExportedOp& op) {
          const std::string path = dump.side.files[op.file].path;
          return card_ != nullptr ? card_ : beside_.of(real_path(path.substr(0, path.rfind('/') + 1)));
        },
        report_.error);
  }

  bool put(const std::string& name, const std::string& text) {
    ExportFile file;
    if (file.create(directory_, name) && file.write(text) && file.commit()) return true;
    report_.error(file.error());
    return false;
  }

  /// Of each output the worst value over all steps. `worse(a, b)`: a is worse than b.
  template <class Value, class Worse>
  std::map<std::string, std::pair<std::size_t, double>> worst(const GraphNodes& nodes, Value value,
                                                              Worse worse) {
    std::map<std::string, std::pair<std::size_t, double>> found;
    for (std::size_t i = 0; i < mine_.side.tensors.size(); ++i) {
      if (!mine_.tensor(i).is_output) continue;
      const std::optional<double> number = value(i);
      if (!number) continue;
      const std::string key = std::to_string(nodes.node_of(i)) + ':' + std::to_string(mine_.tensor(i).index);
      const auto [entry, is_new] = found.try_emplace(key, i, *number);
      if (!is_new && (std::isnan(*number) || worse(*number, entry->second.second)))
        entry->second = {i, *number};
    }
    return found;
  }

  template <class Value, class Worse>
  NodeData data_of(const GraphNodes& nodes, Value value, Worse worse) {
    NodeData data(nodes);
    for (const auto& [key, entry] : worst(nodes, value, worse))
      data.put(entry.first, {real_text(entry.second), std::isnan(entry.second) ? kRed : std::string_view()});
    return data;
  }

  std::string magnitudes(const GraphNodes& nodes, const Ranges& ranges) {
    return data_of(
               nodes,
               [&](std::size_t i) {
                 return ranges[i].has_finite() ? std::optional(ranges[i].magnitude()) : std::nullopt;
               },
               std::greater<>())
        .text("greatest |x|", {});
  }

  std::string oddities(const GraphNodes& nodes, const Ranges& ranges) {
    return data_of(
               nodes,
               [&](std::size_t i) {
                 return ranges[i].known ? std::optional(static_cast<double>(ranges[i].not_finite))
                                        : std::nullopt;
               },
               std::greater<>())
        .text("NaN and Inf", '[' + threshold(0, kWhite) + ", " + threshold(1e300, kRed) + ']');
  }

  bool compare(const GraphNodes& nodes) {
    const GraphNodes golden = nodes_of(*golden_);
    const Ranges ranges = RangeReader(*golden_, report_).read();
    std::string error;
    const TensorPairs pairs = pair_tensors(mine_.side, golden_->side, {}, error);
    std::vector<const Measure*> measures;
    choose_measures("cosine,max_abs", measures, error);
    const std::vector<Threshold> limits = usual_thresholds();
    const PairResults results =
        compare_pairs(mine_.side, golden_->side, pairs, needs_detail(measures, limits));
    if (interrupted()) return false;
    const CompareReport told = {mine_.side, golden_->side, results, measures, limits};
    for (const std::string& spilled : {error, pairs.error(), results.error()}) {
      if (!spilled.empty()) report_.error(spilled);
    }
    // Those of mine come first, in their order.
    std::vector<std::optional<compare::Comparison>> by_tensor(mine_.side.tensors.size());
    for (const PairResult& result : results) {
      if (result.pair.mine) by_tensor[*result.pair.mine] = result.comparison;
    }
    const auto value_of = [&](const Measure& measure, double best) {
      return [&measure, &by_tensor, best](std::size_t i) -> std::optional<double> {
        if (!by_tensor[i] || by_tensor[i]->summary_distance) return std::nullopt;
        const compare::Comparison& comparison = *by_tensor[i];
        return comparison.equal == comparison.elements ? best : measure.value(comparison);
      };
    };
    const auto limit_of_cosine = std::find_if(
        limits.begin(), limits.end(), [&](const Threshold& limit) { return limit.measure == measures[0]; });
    const double limit = limit_of_cosine == limits.end() ? 0 : limit_of_cosine->limit;
    return put("golden.json", GraphWriter(golden, ranges).text("golden")) &&
           put("cosine.json", data_of(nodes, value_of(*measures[0], 1), std::less<>())
                                  .text("cosine, mine and golden", '[' + threshold(limit, kRed) + ", " +
                                                                       threshold(0.9999, kYellow) + ", " +
                                                                       threshold(1.0001, kWhite) + ']')) &&
           put("max_abs_error.json", data_of(nodes, value_of(*measures[1], 0), std::greater<>())
                                         .text("largest absolute error", {})) &&
           put("verdict.json", verdicts(nodes, told)) && put("sync.json", pairs_text(nodes, golden, pairs));
  }

  std::string verdicts(const GraphNodes& nodes, const CompareReport& report) {
    const auto rank = [](Verdict verdict) {
      constexpr int kRanks[] = {0, 4, 2, 3, 1};  // agrees, culprit, victim, diverges, unpaired
      return kRanks[static_cast<std::size_t>(verdict)];
    };
    std::map<std::size_t, std::size_t> outputs;  // by file
    for (std::size_t i = 0; i < mine_.side.tensors.size(); ++i) {
      if (mine_.tensor(i).is_output) outputs.try_emplace(mine_.tensor(i).file, i);
    }
    std::map<std::size_t, std::pair<Verdict, std::size_t>> worst;  // by node
    std::string error;
    const OpVerdicts ops = judge_ops(
        mine_.side, golden_->side, report.results,
        [&report](const PairResult& result) { return report.diverges(result); }, error);
    if (!error.empty()) report_.error(error);
    for (const OpVerdict& op : ops) {
      const auto output = outputs.find(op.file);
      if (output == outputs.end()) continue;
      const auto [entry, is_new] =
          worst.try_emplace(nodes.node_of(output->second), op.verdict, output->second);
      if (!is_new && rank(op.verdict) > rank(entry->second.first))
        entry->second = {op.verdict, output->second};
    }
    NodeData data(nodes);
    for (const auto& [node, verdict] : worst) {
      const std::string_view colour = verdict.first == Verdict::culprit || verdict.first == Verdict::diverges
                                          ? kRed
                                      : verdict.first == Verdict::victim ? kYellow
                                                                         : kWhite;
      data.put(verdict.second, {'"' + std::string(to_string(verdict.first)) + '"', colour});
    }
    return data.text("verdict", {});
  }

  static std::string pairs_text(const GraphNodes& mine, const GraphNodes& golden, const TensorPairs& pairs) {
    std::map<std::size_t, std::set<std::size_t>> nodes;
    for (const TensorPair& pair : pairs) {
      if (pair.mine && pair.golden) nodes[mine.node_of(*pair.mine)].insert(golden.node_of(*pair.golden));
    }
    JsonWriter json;
    json.open('{').key("type").text("sync_navigation").key("mappingEntries").open('[');
    for (const auto& [left, rights] : nodes) {
      json.line().open('{').key("leftNodeIds").open('[').text(mine.nodes()[left].id).close(']');
      json.key("rightNodeIds").open('[');
      for (const std::size_t right : rights) json.text(golden.nodes()[right].id);
      json.close(']').close('}');
    }
    return json.line().close(']').key("showDiffHighlights").flag(true).close('}').take() + '\n';
  }

  const std::string directory_;
  const CardedOps* const card_;
  const SearchReport& report_;
  BesideCards beside_;
  ExportedDump mine_;
  std::optional<ExportedDump> golden_;
};

}  // namespace

bool write_model_explorer(ModelExplorerDump dump, const SearchReport& report) {
  return ModelExplorer(std::move(dump), report).write();
}

}  // namespace opdump::tool
