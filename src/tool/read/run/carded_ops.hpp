#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "src/tool/read/dump/real_numbers.hpp"
#include "src/tool/read/dump/record_name.hpp"
#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {

/// The operators of a card by their names in a dump. Refers to the card.
class CardedOps {
 public:
  explicit CardedOps(const RunFile& card) {
    for (const RunModel& model : card.models) {
      for (const RunOp& op : model.ops) {
        std::string name = sanitised(op.desc.name);
        for (std::size_t i = 0; i < op.outputs.size(); ++i) {
          if (!op.outputs[i].name.empty())
            producers_.insert_or_assign(op.outputs[i].name, Output{name, static_cast<std::uint32_t>(i)});
        }
        ops_.try_emplace(std::move(name), &op);
      }
    }
  }

  /// How a tensor of the operator is quantised; null where the card does not say that it is.
  const Quantisation* quant(std::string_view op, bool is_output, std::uint32_t index) const {
    const RunTensor* const found = tensor(op, is_output, index);
    return found != nullptr && found->quant.scheme != QuantScheme::none ? &found->quant : nullptr;
  }

  /// A tensor of the operator; null where the card has none.
  const RunTensor* tensor(std::string_view op, bool is_output, std::uint32_t index) const {
    const RunOp* const found = this->op(op);
    if (found == nullptr) return nullptr;
    const std::vector<RunTensor>& tensors = is_output ? found->outputs : found->inputs;
    return index < tensors.size() ? &tensors[index] : nullptr;
  }

  /// The operator of that name; null: the card has none.
  const RunOp* op(std::string_view name) const {
    const auto found = ops_.find(std::string(name));
    return found == ops_.end() ? nullptr : found->second;
  }

  struct Output {
    std::string op;
    std::uint32_t index = 0;
  };

  /// The output that the card gives the name of this input; nothing where no operator makes it.
  std::optional<Output> producer(std::string_view op, std::uint32_t input) const {
    const RunOp* const found = this->op(op);
    if (found == nullptr || input >= found->inputs.size()) return std::nullopt;
    const auto producer = producers_.find(found->inputs[input].name);
    return producer == producers_.end() ? std::nullopt : std::optional<Output>(producer->second);
  }

 private:
  std::unordered_map<std::string_view, Output> producers_;  ///< by the names of tensors
  std::unordered_map<std::string, const RunOp*> ops_;
};

}  // namespace opdump::tool
