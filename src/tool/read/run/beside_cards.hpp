#pragma once
#include <algorithm>
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
#include <vector>

#include "src/tool/read/dump/beside_files.hpp"
#include "src/tool/read/dump/record_name.hpp"
#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {

/// Described models in the form in which a runtime describes its own. Refers to the models.
class DescribedModels {
 public:
  explicit DescribedModels(const std::vector<RunModel>& models);
  DescribedModels(const DescribedModels&) = delete;
  DescribedModels& operator=(const DescribedModels&) = delete;

  std::span<const ModelDesc> all() const { return models_; }

 private:
  struct Parts {
    std::vector<OpDesc> ops;
    std::vector<TensorView> views;
    std::vector<CapturedTensors> tensors;
  };

  void add(const RunModel& model, Parts& parts);

  std::deque<Parts> parts_;
  std::vector<ModelDesc> models_;
};

/// What a dump tells of an operator of a model. A name alone is no key: several operators may have it.
struct OpIdentity {
  std::string_view name;    ///< as paths have it
  std::string_view type{};  ///< the same; empty: not known
  std::optional<std::uint64_t> task{};
};

OpIdentity identity_of(const RecordName& record);

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

/// Whether the record that tells `identity` has another task than each of `some` of its name and type has: they are
/// numbered otherwise than the dump, and no number tells them apart.
template <class Op, class DescOf>
bool has_other_task(const std::vector<Op>& some, const OpIdentity& identity, DescOf desc_of) {
  bool any = false;
  if (identity.type.empty() || !identity.task || *identity.task == kNoTask) return false;
  for (const Op& op : some) {
    if (sanitised(desc_of(op).type) != identity.type) continue;
    if (desc_of(op).task_id == kNoTask || desc_of(op).task_id == *identity.task) return false;
    any = true;
  }
  return any;
}

/// The operators of a card by what a dump tells of them. Refers to the card.
class CardedOps {
 public:
  explicit CardedOps(const RunFile& card);

  /// Compares the task of a record with what the card tells. From the first one on that contradicts it, no task tells
  /// operators of this card apart.
  void check_task(const OpIdentity& record) const;

  /// "; it counts tasks otherwise than the dump, where 'conv1' has 3"; empty: no record contradicts it.
  const std::string& other_tasks() const { return other_tasks_; }

  /// How a tensor of the operator is quantised; null where the card does not say that it is.
  const Quantisation* quant(const OpIdentity& op, bool is_output, std::uint32_t index) const;

  /// A tensor of the operator; null where the card has none.
  const RunTensor* tensor(const OpIdentity& op, bool is_output, std::uint32_t index) const;

  /// The operator; null: the card has none, or several may be it.
  const RunOp* op(const OpIdentity& identity) const;

  /// Whether several operators of the card may be it.
  bool is_ambiguous(const OpIdentity& identity) const;

  struct Output {
    std::string op;
    std::uint32_t index = 0;
  };

  /// The output that the card gives the name of this input; nothing where no operator makes it, or where several may.
  std::optional<Output> producer(const OpIdentity& op, std::uint32_t input) const;

 private:
  struct Producer {
    const RunOp* op = nullptr;  ///< null: there are several
    std::uint32_t index = 0;
  };

  /// Where the card has none of just that name: with or without MindSpore's scope, or of the stream and task
  /// that stand in place of a name.
  std::vector<const RunOp*> named(std::string_view name) const;

  std::unordered_map<std::string_view, Producer> producers_;  ///< by the names of tensors
  std::unordered_map<std::string, std::vector<const RunOp*>> ops_;
  std::unordered_map<std::string, std::vector<const RunOp*>> others_;
  mutable std::string other_tasks_;
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

/// The SHA-256 of models' files, by the models' names in a dump, as the cards beside its journals tell them.
using ModelSums = std::map<std::string, std::string>;

/// Adds those of the cards in `directory` of a dump or the nearest one above it that has any.
void add_model_sums(BesideCards& cards, std::string directory, ModelSums& sums);

/// What the dumps `a` and `b`, of those names, tell of different models; empty: nothing.
std::string unlike_models(const std::string& a_name, const ModelSums& a, const std::string& b_name,
                          const ModelSums& b);

}  // namespace opdump::tool
