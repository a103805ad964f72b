#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "opdump/base/digest.hpp"
#include "opdump/base/text.hpp"
#include "opdump/format/stats_csv.hpp"
#include "opdump/impl/capture/private_tensors.hpp"
#include "opdump/impl/capture/record_sender.hpp"
#include "opdump/impl/plan/privacy.hpp"
#include "opdump/impl/record/part_interfaces.hpp"
#include "opdump/impl/record/tensor_pieces.hpp"
#include "opdump/impl/stats/statistics.hpp"
#include "opdump/port/sink.hpp"
#include "opdump/types/privacy.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Titles of the columns that CANN's statistics files do not have.
inline constexpr std::string_view kMd5Column = "MD5";
inline constexpr std::string_view kKeptColumn = "Kept";

/// Adds what `rule` leaves of a tensor, such as ` of 0:4x2:6 every 8`; null: all of it.
inline TextWriter& add_cut(TextWriter& to, const PrivacyRule* rule) {
  if (rule == nullptr) return to;
  for (std::size_t axis = 0; axis < rule->crop.size(); ++axis) {
    const StepRange& range = rule->crop[axis];
    to.add(axis == 0 ? " of " : "x").add_decimal(range.first).add(":");
    if (range.last != UINT64_MAX) to.add_decimal(range.last + 1);
  }
  if (rule->every() > 1) to.add(" every ").add_decimal(rule->every());
  if (rule->elements() != 0) to.add(" at most ").add_decimal(rule->elements());
  return to;
}

/// Takes out of records what a config's privacy leaves out, before they reach a ring, and tells of each tensor
/// of such an operator what is kept of it, in a CSV file in CANN's form, beside the operator's record if there
/// is one: a row per tensor with its size, dtype, format and shape, the statistics if they are kept, and in
/// two columns of its own the MD5, if that is kept, and in words what is. Cells of what is not kept are empty.
template <class Memory>
class PrivacyTable final : public PrivacyFilter<Memory> {
 public:
  /// `kernels` may be null, and must stay as long as this object.
  explicit PrivacyTable(Memory& memory, const StatisticsKernels* kernels = nullptr)
      : memory_(memory), kernels_(kernels) {}

  std::uint32_t bytes_per_tensor() const override { return sizeof(Kept); }

  bool can_tell(const DumpConfig& config) const override {
    for (const PrivacyRule& rule : privacy_rules(config)) {
      const bool told = rule.kept() > KeptAs::tensor && rule.kept() < KeptAs::nothing;
      if (told && config.form.layout != Layout::cann) return false;
    }
    return privacy_rules(config).size() < kNoRule;
  }

  void hold(const DumpConfig& config, const ModelDesc& model, HeldRules& held) const override {
    const std::span<const PrivacyRule> rules = privacy_rules(config);
    for (std::size_t i = 0; i < rules.size() && i < HeldRules::kMost; ++i) {
      if (holds_for(rules[i], &model)) held.bits[i / 32] |= std::uint32_t{1} << (i % 32);
    }
  }

  void for_each_unmet(const DumpConfig& config, const ModelDesc& model, std::string_view directory,
                      Callback<void(const NeverCaptured&)> use) const override {
    for_each_unmet_rule(privacy_rules(config), model, directory, use);
  }

  void for_each_unheld(const DumpConfig& config, const HeldRules& held,
                       Callback<void(const NeverCaptured&)> use) const override {
    const std::span<const PrivacyRule> rules = privacy_rules(config);
    for (std::size_t i = 0; i < rules.size() && i < HeldRules::kMost; ++i) {
      if (rules[i].model().empty() || ((held.bits[i / 32] >> (i % 32)) & 1) != 0) continue;
      use(NeverCaptured{.cause = NeverCause::no_private_model, .name = rules[i].model()[0].text});
    }
  }

  Status take(RecordSender<Memory>& sender, RecordSource& source, bool in_plan, const OpDesc& owner,
              const std::uint16_t* positions, bool always, const TakeKept& take_kept) override {
    Memory& memory = *sender.context().memory;
    PrivateTensors<Memory> tensors(source, owner, positions);
    if (!tensors.any()) return take_kept(source, in_plan && !tensors.touched(), {});
    RecordSource told = source;
    const bool split = source.target->split;
    if (tensors.fits()) source.tensors = tensors.take_kept(memory, !split);
    if (!tensors.fits()) {
      source.tensors = {};
      return sender.lose_unseen(source, Status::too_many_tensors);
    }
    source.indexes = tensors.indexes();
    const bool kept = always || source.tensors.size() != 0;
    Status status = Status::ok;
    if (kept) {
      const auto cut_one = [&](std::size_t i, TensorView& tensor) { return tensors.cut(memory, i, tensor); };
      const Callback<bool(std::size_t, TensorView&)> cut(cut_one);
      status = take_kept(source, false, {split ? &cut : nullptr, source.target->form.data == DumpData::full});
    }
    told.tensors = tensors.take_told();
    if (told.tensors.size() == 0) return kept ? status : sender.skip_empty(told.target_index);
    told.indexes = tensors.indexes();
    if (kept) sender.count(told.target_index, DumpCount::wanted);
    const Status of_told = sender.record_kept(
        told, [&](std::size_t i, std::byte* to) { return tensors.reduce(*this, memory, i, to); });
    return status == Status::ok ? of_told : status;
  }

  /// Reduces `tensor`, already cut, to what the table tells where it is kept as `kept` under rule number
  /// `rule` of the config or `kNoRule`. Otherwise as `TensorReduction::reduce`.
  [[nodiscard]] Status reduce(const DumpTarget& target, const TensorView& tensor, KeptAs kept,
                              std::uint16_t rule, std::byte* to) {
    Kept out;
    out.kept = kept;
    out.rule = rule;
    Status status = Status::ok;
    // The statistics of a tensor that is in the dump are there where the config wants both.
    if (kept == KeptAs::stats || (kept == KeptAs::tensor && target.form.data != DumpData::tensor))
      status = summarise(tensor, out.summary);
    if (kept == KeptAs::digest) status = digest(tensor, out.md5);
    if (status == Status::ok) std::memcpy(to, &out, sizeof out);
    return status;
  }

  std::string_view suffix() const override { return ".csv"; }

  Result<std::uint64_t> write(Sink& sink, const ObjectName& name, const DumpTarget& target,
                              const RecordView& record, Bytes reduced) override {
    OpenObject object;
    Status status = object.begin(sink, name);
    if (status != Status::ok) return status;
    const std::uint32_t selected = columns_of(target);
    char line[kLineBytes];
    TextWriter titles(line);
    stats_csv::add_titles(titles, selected).add(",").add(kMd5Column).add(",").add(kKeptColumn).add("\n");
    status = object.put(as_bytes(titles.text()));
    record.for_each_tensor([&](const TensorView& tensor, bool is_output, std::uint32_t index) {
      Kept kept;
      std::memcpy(static_cast<void*>(&kept), reduced.data(), sizeof kept);
      reduced = reduced.subspan(sizeof kept);
      if (status != Status::ok) return;
      TextWriter to(line);
      stats_csv::add_cells(to, stats_row(tensor, is_output, index, kept.summary), selected,
                           stats_numbers(target.form.fixed_point));
      to.add(",");
      if (kept.kept == KeptAs::digest) to.add_hex(kept.md5);
      add_kept(to.add(","), kept, target).add("\n");
      if (to.overflowed()) object.abort();
      status = to.overflowed() ? Status::too_large : object.put(as_bytes(to.text()));
    });
    if (status == Status::ok) status = object.commit();
    if (status != Status::ok) return status;
    return object.bytes();
  }

 private:
  struct Kept {
    StatisticsSummary summary{};
    std::byte md5[16] = {};
    KeptAs kept = KeptAs::nothing;
    std::uint16_t rule = kNoRule;
  };
  /// A row and what `add_cut` says of as many axes as a tensor has.
  static constexpr std::size_t kLineBytes = kMaxStatsLine + 64 + kMaxRank * (2 * kMaxDecimalBytes + 2);

  static std::uint32_t columns_of(const DumpTarget& target) {
    const std::uint32_t selected = target.form.statistics & (kStatsByDefault | kStatL2Norm);
    return selected != 0 ? selected : std::uint32_t{kStatsByDefault};
  }

  static TextWriter& add_kept(TextWriter& to, const Kept& kept, const DumpTarget& target) {
    const std::span<const PrivacyRule> rules = privacy_of(target);
    const bool statistics = target.form.data == DumpData::statistics && digest_bytes(target.form) == 0;
    const KeptAs as = statistics && kept.kept == KeptAs::tensor ? KeptAs::stats : kept.kept;
    to.add(as < KeptAs::nothing ? kKeptWords[static_cast<std::size_t>(as)] : "-");
    return as >= KeptAs::shape ? to : add_cut(to, kept.rule < rules.size() ? &rules[kept.rule] : nullptr);
  }

  Status summarise(const TensorView& tensor, StatisticsSummary& to) {
    const Result<std::uint64_t> elements = element_count(tensor.shape);
    if (!elements.ok()) return elements.status();
    Statistics statistics(tensor.dtype, elements.value(), kernels_);
    const Status status =
        for_each_piece(memory_, tensor, own_bytes(tensor), [&](Bytes piece) { statistics.add(piece); });
    if (status == Status::ok) to = statistics.summary(StatisticsDialect::cann);
    return status;
  }

  Status digest(const TensorView& tensor, std::byte (&to)[16]) {
    Md5 md5;
    const Status status =
        for_each_piece(memory_, tensor, own_bytes(tensor), [&](Bytes piece) { md5.add(piece); });
    if (status == Status::ok) md5.finish(to);
    return status;
  }

  Memory& memory_;
  const StatisticsKernels* kernels_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
