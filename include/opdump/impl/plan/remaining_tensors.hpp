#pragma once
#include <cstddef>
#include <cstdint>

#include "opdump/base/build.hpp"
#include "opdump/types/model.hpp"
#include "opdump/types/plan.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The tensors of an operator that remain when the config leaves some out.
class RemainingTensors {
 public:
  static constexpr std::size_t kMost = sizeof(void*) > 4 ? 64 : 16;

  RemainingTensors(const ModelPlan& plan, const OpDesc& op, const CapturedTensors& all) {
    all.for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t index) {
      if (leaves_out(plan, op, is_output, index)) return;
      fit_ = fit_ && count_ < kMost;
      if (!fit_) return;
      tensors_[count_] = tensor;
      indexes_[count_++] = static_cast<std::uint16_t>(index);
      if (!is_output) input_count_ = count_;
    });
  }

  /// Whether at most `kMost` tensors remain; otherwise the later ones are missing.
  bool fit() const { return fit_; }
  CapturedTensors tensors() const {
    return {{tensors_, input_count_}, {tensors_ + input_count_, count_ - input_count_}};
  }
  /// The position of each tensor among the operator's inputs or outputs.
  const std::uint16_t* indexes() const { return indexes_; }

  /// Whether `exclusion` names `op`, exactly, by its own name or its type.
  static constexpr bool names(const TensorExclusion& exclusion, const OpDesc& op) {
    return exclusion.name == (exclusion.by_type ? op.type : op.name);
  }

  /// Whether the config of `plan` leaves out that tensor of `op`.
  template <class Plan>
  static bool leaves_out(const Plan& plan, const OpDesc& op, bool is_output, std::uint32_t index) {
    bool found = false;
    if constexpr (!build::kLean) {
      plan.rules.for_each([&](const ModelRule& rule) {
        if (rule.extras == nullptr) return;
        for (const TensorExclusion& exclusion : rule.extras->exclusions) {
          if (!names(exclusion, op)) continue;
          for (const TensorPosition& position : exclusion.positions)
            found = found || (position.output == is_output && position.index == index);
        }
      });
    }
    return found;
  }

 private:
  TensorView tensors_[kMost];
  std::uint16_t indexes_[kMost];
  std::size_t count_ = 0;
  std::size_t input_count_ = 0;
  bool fit_ = true;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
