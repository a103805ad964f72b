#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/tool/read/dump/real_numbers.hpp"
#include "src/tool/read/run/op_identity.hpp"
#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {

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

}  // namespace opdump::tool
