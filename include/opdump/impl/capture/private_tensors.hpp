#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "opdump/impl/capture/cropped_elements.hpp"
#include "opdump/impl/plan/privacy.hpp"
#include "opdump/impl/plan/remaining_tensors.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/impl/record/record_encoder.hpp"
#include "opdump/types/tensor.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What the rules of a config's privacy make of the tensors of one record: which of them are captured as if
/// there were no others, cut or whole, and of which a table tells what else may be known. A recorder makes
/// one on its stack for each record of a config with such rules.
template <class Memory>
class PrivateTensors {
 public:
  static constexpr std::size_t kMost = RemainingTensors::kMost;

  /// `source`, `owner` and `positions` are as `PrivacyFilter::take` is given them. `source` and its tensors
  /// must stay.
  PrivateTensors(const RecordSource& source, const OpDesc& owner, const std::uint16_t* positions)
      : target_(*source.target), all_(source.tensors), rules_(privacy_of(*source.target)) {
    const ModelDesc* const model = source.plan != nullptr ? source.plan->model : nullptr;
    for (const PrivacyRule& rule : rules_) {
      if (!holds_for(rule, model) || !names_op(rule, owner)) continue;
      touched_ = touched_ || !keeps_whole(rule);
      for (std::size_t i = 0; i < all_.size() && i < kMost; ++i) {
        const bool is_output = i >= all_.inputs.size();
        if (rule_of_[i] != nullptr) continue;
        const std::uint16_t at = positions != nullptr ? positions[i] : source.index_of(i, all_.inputs.size());
        const bool named = at == PrivacyFilter<Memory>::kNoPosition
                               ? !keeps_whole(rule) && !is_attribute(all_[i])
                               : names_tensor(rule, is_output, at);
        if (!named) continue;
        rule_of_[i] = at == PrivacyFilter<Memory>::kNoPosition ? &kKeepsNothing : &rule;
        any_ = any_ || !keeps_whole(*rule_of_[i]);
      }
    }
    for (std::size_t i = 0; i < all_.size() && i < kMost; ++i)
      positions_[i] = source.index_of(i, all_.inputs.size());
  }
  PrivateTensors(const PrivateTensors&) = delete;
  PrivateTensors& operator=(const PrivateTensors&) = delete;

  /// Whether a rule may leave out something of another tensor of the operator.
  bool touched() const { return touched_; }

  /// Whether something of these is left out.
  bool any() const { return any_ || (touched_ && !fits()); }

  /// Whether `kMost` is enough; else nothing may be captured.
  bool fits() const { return all_.size() <= kMost && !full_; }

  /// Those that are captured; `cut`: without what is cut off. Replaced by the next `take...`. What is not
  /// cut, `cut` does.
  CapturedTensors take_kept(Memory& memory, bool cut) {
    begin();
    std::size_t dims = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!is_kept(i)) continue;
      TensorView& to = put(i);
      const PrivacyRule* const rule = rule_of_[i];
      if (!cut || rule == nullptr || !cuts(*rule)) continue;
      const std::size_t needed = Cropped::dims_of(all_[i]);
      full_ = full_ || needed > kMostDims - dims;
      if (full_) continue;
      crops_[count_ - 1].make(memory, all_[i], *rule, dims_ + dims, to);
      dims += needed;
    }
    return taken();
  }

  /// Those of which a table tells, as they are in the device. Replaced by the next `take...`.
  CapturedTensors take_told() {
    begin();
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (is_told(i)) put(i);
    }
    return taken();
  }

  /// Of each tensor of the last `take...`.
  const std::uint16_t* indexes() const { return indexes_; }

  /// Leaves of `tensor`, which is tensor `i` of the last `take_kept`, restored or as it lies, what its rule
  /// does; good until the next call. False: it cannot be cut.
  bool cut(Memory& memory, std::size_t i, TensorView& tensor) {
    const PrivacyRule* const rule = taken_rules_[i];
    if (rule == nullptr || !cuts(*rule)) return true;
    if (!Cropped::can_cut(tensor, *rule)) return false;
    tensors_[i] = tensor;
    crops_[0].make(memory, tensors_[i], *rule, dims_, tensor);
    return true;
  }

  /// Reduces tensor `i` of `take_told` to what `table`, a PrivacyTable, needs.
  template <class Table>
  Status reduce(Table& table, Memory& memory, std::size_t i, std::byte* to) {
    const PrivacyRule* const rule = taken_rules_[i];
    const KeptAs kept = kept_as(tensors_[i], rule);
    const std::uint16_t number = rule == nullptr ? kNoRule : static_cast<std::uint16_t>(rule - rules_.data());
    if (rule == nullptr || !cuts(*rule) || kept >= KeptAs::shape)
      return table.reduce(target_, tensors_[i], kept, number, to);
    TensorView cropped;
    crops_[0].make(memory, tensors_[i], *rule, dims_, cropped);
    return table.reduce(target_, cropped, kept, number, to);
  }

 private:
  using Cropped = CroppedElements<Memory>;
  static constexpr std::size_t kMostDims = 4 * kMost;
  static_assert(kMostDims >= kMaxRank);

  static bool is_attribute(const TensorView& tensor) {
    return tensor.address_kind >= AddressKind::attribute_name;
  }

  static KeptAs kept_as(const TensorView& tensor, const PrivacyRule* rule) {
    if (rule == nullptr) return KeptAs::tensor;
    if (rule->kept() > KeptAs::nothing) return KeptAs::nothing;
    const bool uncut = rule->kept() < KeptAs::shape && cuts(*rule) && !Cropped::can_cut(tensor, *rule);
    return uncut ? KeptAs::shape : rule->kept();
  }

  bool has_tables() const { return target_.form.layout == Layout::cann; }
  bool digests() const { return digest_bytes(target_.form) != 0; }
  /// Whether the config's own statistics are told by the table, so that an operator has one file of them.
  bool tells_all() const { return has_tables() && target_.form.data != DumpData::tensor && !digests(); }

  bool is_kept(std::size_t i) const {
    const KeptAs kept = kept_as(all_[i], rule_of_[i]);
    if (digests()) return kept <= KeptAs::digest;
    if (target_.form.data == DumpData::statistics) return !tells_all() && kept <= KeptAs::stats;
    return kept == KeptAs::tensor;
  }

  bool is_told(std::size_t i) const {
    const KeptAs kept = kept_as(all_[i], rule_of_[i]);
    if (!has_tables() || kept == KeptAs::nothing) return false;
    return tells_all() || !is_kept(i) || (rule_of_[i] != nullptr && cuts(*rule_of_[i]));
  }

  void begin() { count_ = input_count_ = 0; }

  TensorView& put(std::size_t i) {
    tensors_[count_] = all_[i];
    indexes_[count_] = positions_[i];
    taken_rules_[count_++] = rule_of_[i];
    if (i < all_.inputs.size()) input_count_ = count_;
    return tensors_[count_ - 1];
  }

  CapturedTensors taken() const {
    return {{tensors_, input_count_}, {tensors_ + input_count_, count_ - input_count_}};
  }

  const DumpTarget& target_;
  const CapturedTensors all_;
  const std::span<const PrivacyRule> rules_;
  bool touched_ = false;
  bool any_ = false;
  bool full_ = false;
  std::size_t count_ = 0;
  std::size_t input_count_ = 0;
  std::uint16_t positions_[kMost] = {};
  std::uint16_t indexes_[kMost];
  const PrivacyRule* rule_of_[kMost] = {};
  const PrivacyRule* taken_rules_[kMost];
  TensorView tensors_[kMost];
  Cropped crops_[kMost];
  Dim dims_[kMostDims];
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
