#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/tool/read/dump/beside_files.hpp"
#include "src/tool/read/dump/real_numbers.hpp"
#include "src/tool/read/dump/record_name.hpp"
#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {

/// Described models in the form in which a runtime describes its own. Refers to the models.
class DescribedModels {
 public:
  explicit DescribedModels(const std::vector<RunModel>& models) {
    for (const RunModel& model : models) add(model, parts_.emplace_back());
  }
  DescribedModels(const DescribedModels&) = delete;
  DescribedModels& operator=(const DescribedModels&) = delete;

  std::span<const ModelDesc> all() const { return models_; }

 private:
  struct Parts {
    std::vector<OpDesc> ops;
    std::vector<TensorView> views;
    std::vector<CapturedTensors> tensors;
  };

  void add(const RunModel& model, Parts& parts) {
    std::size_t count = 0;
    for (const RunOp& op : model.ops) count += op.inputs.size() + op.outputs.size();
    parts.views.reserve(count);  // spans refer to them
    const auto views_of = [&parts](const std::vector<RunTensor>& tensors) {
      const std::size_t first = parts.views.size();
      for (const RunTensor& tensor : tensors) parts.views.push_back(view_of(tensor));
      return std::span<const TensorView>(parts.views).subspan(first);
    };
    parts.ops.reserve(model.ops.size());
    parts.tensors.reserve(model.ops.size());
    for (const RunOp& op : model.ops) {
      parts.ops.push_back(op.desc);
      CapturedTensors& tensors = parts.tensors.emplace_back();
      tensors.inputs = views_of(op.inputs);
      tensors.outputs = views_of(op.outputs);
    }
    models_.push_back({model.name, model.graph_name, model.id, parts.ops, parts.tensors});
  }

  std::deque<Parts> parts_;
  std::vector<ModelDesc> models_;
};

/// What a dump tells of an operator of a model. A name alone is no key: several operators may have it.
struct OpIdentity {
  std::string_view name;    ///< as paths have it
  std::string_view type{};  ///< the same; empty: not known
  std::optional<std::uint64_t> task{};
};

inline OpIdentity identity_of(const RecordName& record) {
  if (record.name_only) return {.name = record.name};
  return {.name = record.name, .type = record.type, .task = record.task};
}

inline constexpr std::uint32_t kNoTask = 65535;

/// Of `some` operators of one name, which `desc_of` gives the OpDesc of, the one that has the type and the
/// task; nothing where several may be it, which is ambiguous. One alone is it, whatever its type.
template <class Op, class DescOf>
std::optional<Op> only_one(std::vector<Op> some, const OpIdentity& identity, DescOf desc_of) {
  const auto keep = [&some](auto is_it) {
    if (some.size() > 1 && std::any_of(some.begin(), some.end(), is_it))
      std::erase_if(some, [&](const Op& op) { return !is_it(op); });
  };
  if (!identity.type.empty())
    keep([&](const Op& op) { return sanitised(desc_of(op).type) == identity.type; });
  if (identity.task && *identity.task != kNoTask)
    keep([&](const Op& op) { return desc_of(op).task_id == *identity.task; });
  return some.size() == 1 ? std::optional(some[0]) : std::nullopt;
}

/// The operators of a card by what a dump tells of them. Refers to the card.
class CardedOps {
 public:
  explicit CardedOps(const RunFile& card) {
    for (const RunModel& model : card.models) {
      for (const RunOp& op : model.ops) {
        for (std::size_t i = 0; i < op.outputs.size(); ++i) {
          if (op.outputs[i].name.empty()) continue;
          const auto [at, is_new] =
              producers_.try_emplace(op.outputs[i].name, Producer{&op, static_cast<std::uint32_t>(i)});
          if (!is_new) at->second.op = nullptr;
        }
        ops_[sanitised(op.desc.name)].push_back(&op);
      }
    }
  }

  /// How a tensor of the operator is quantised; null where the card does not say that it is.
  const Quantisation* quant(const OpIdentity& op, bool is_output, std::uint32_t index) const {
    const RunTensor* const found = tensor(op, is_output, index);
    return found != nullptr && found->quant.scheme != QuantScheme::none ? &found->quant : nullptr;
  }

  /// A tensor of the operator; null where the card has none.
  const RunTensor* tensor(const OpIdentity& op, bool is_output, std::uint32_t index) const {
    const RunOp* const found = this->op(op);
    if (found == nullptr) return nullptr;
    const std::vector<RunTensor>& tensors = is_output ? found->outputs : found->inputs;
    return index < tensors.size() ? &tensors[index] : nullptr;
  }

  /// The operator; null: the card has none, or several may be it.
  const RunOp* op(const OpIdentity& identity) const {
    const auto found = ops_.find(std::string(identity.name));
    if (found == ops_.end()) return nullptr;
    return only_one(found->second, identity, [](const RunOp* op) -> const OpDesc& { return op->desc; })
        .value_or(nullptr);
  }

  /// Whether several operators of the card may be it.
  bool is_ambiguous(const OpIdentity& identity) const {
    return ops_.contains(std::string(identity.name)) && op(identity) == nullptr;
  }

  struct Output {
    std::string op;
    std::uint32_t index = 0;
  };

  /// The output that the card gives the name of this input; nothing where no operator makes it, or where
  /// several may.
  std::optional<Output> producer(const OpIdentity& op, std::uint32_t input) const {
    const RunOp* const found = this->op(op);
    if (found == nullptr || input >= found->inputs.size()) return std::nullopt;
    const auto at = producers_.find(found->inputs[input].name);
    if (at == producers_.end() || at->second.op == nullptr) return std::nullopt;
    std::string name = sanitised(at->second.op->desc.name);
    if (ops_.at(name).size() != 1) return std::nullopt;
    return Output{std::move(name), at->second.index};
  }

 private:
  struct Producer {
    const RunOp* op = nullptr;  ///< null: there are several
    std::uint32_t index = 0;
  };

  std::unordered_map<std::string_view, Producer> producers_;  ///< by the names of tensors
  std::unordered_map<std::string, std::vector<const RunOp*>> ops_;
};

/// A card that lies in a dump.
struct BesideCard {
  std::string path;
  BesideName name;
  RunFile run;
  std::optional<CardedOps> ops;  ///< there is always one

  const RunModel& model() const { return run.models[0]; }
};

/// The cards that lie beside the journals of dumps, read when they are asked for and kept.
class BesideCards {
 public:
  using Cards = BesideFiles<BesideCard>::Files;

  /// `note` gets, once each, why a card is not used.
  explicit BesideCards(std::function<void(const std::string&)> note);

  /// Those in the directory, by name; without those that cannot be read.
  const Cards& in(const std::string& directory) { return files_.in(directory); }

  /// The card of a record in `directory`, from the nearest directory above it that has any; null: none is of
  /// its model, or several are.
  const CardedOps* of(const std::string& directory);

 private:
  static constexpr std::size_t kMostDirectories = 4096;

  const CardedOps* find(const std::string& directory);

  std::function<void(const std::string&)> note_;
  BesideFiles<BesideCard> files_;
  std::map<std::string, const CardedOps*> found_;  ///< of the latest directories
  std::set<std::string> told_;
};

}  // namespace opdump::tool
