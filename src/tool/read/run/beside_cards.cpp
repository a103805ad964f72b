#include "src/tool/read/run/beside_cards.hpp"

#include <cstddef>
#include <memory>
#include <utility>

#include "src/config/text/human_text.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/real_numbers.hpp"
#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {

DescribedModels::DescribedModels(const std::vector<RunModel>& models) {
  for (const RunModel& model : models) add(model, parts_.emplace_back());
}

void DescribedModels::add(const RunModel& model, Parts& parts) {
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

OpIdentity identity_of(const RecordName& record) {
  if (record.name_only) return {.name = record.name};
  return {.name = record.name, .type = record.type, .task = record.task};
}

CardedOps::CardedOps(const RunFile& card) {
  for (const RunModel& model : card.models) {
    for (const RunOp& op : model.ops) {
      for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        if (op.outputs[i].name.empty()) continue;
        const auto [at, is_new] =
            producers_.try_emplace(op.outputs[i].name, Producer{&op, static_cast<std::uint32_t>(i)});
        if (!is_new) at->second.op = nullptr;
      }
      const std::string name = sanitised(op.desc.name);
      ops_[name].push_back(&op);
      if (const std::string_view cut = without_scope(name); !cut.empty())
        others_[std::string(cut)].push_back(&op);
      others_[std::string(kFailureType) + '.' + std::to_string(op.desc.stream_id) + '.' +
              std::to_string(op.desc.task_id)]
          .push_back(&op);
    }
  }
}

const Quantisation* CardedOps::quant(const OpIdentity& op, bool is_output, std::uint32_t index) const {
  const RunTensor* const found = tensor(op, is_output, index);
  return found != nullptr && found->quant.scheme != QuantScheme::none ? &found->quant : nullptr;
}

const RunTensor* CardedOps::tensor(const OpIdentity& op, bool is_output, std::uint32_t index) const {
  const RunOp* const found = this->op(op);
  if (found == nullptr) return nullptr;
  const std::vector<RunTensor>& tensors = is_output ? found->outputs : found->inputs;
  return index < tensors.size() ? &tensors[index] : nullptr;
}

namespace {
const OpDesc& desc_of(const RunOp* op) {
  return op->desc;
}
}  // namespace

void CardedOps::check_task(const OpIdentity& record) const {
  if (!other_tasks_.empty() || record.name.starts_with(kFailureType) ||
      !has_other_task(named(record.name), record, desc_of))
    return;
  other_tasks_ = "; it counts tasks otherwise than the dump, where '" + printable(record.name) + "' has " +
                 std::to_string(*record.task);
}

const RunOp* CardedOps::op(const OpIdentity& identity) const {
  OpIdentity known = identity;
  if (!other_tasks_.empty()) known.task.reset();
  // The task is all that a failed one tells.
  if (!known.task && identity.task && identity.name.starts_with(kFailureType)) return nullptr;
  return only_one(named(identity.name), known, desc_of).value_or(nullptr);
}

std::vector<const RunOp*> CardedOps::named(std::string_view name) const {
  if (const auto found = ops_.find(std::string(name)); found != ops_.end()) return found->second;
  const bool failed = name.starts_with(kFailureType);
  const auto found = others_.find(std::string(failed ? name : without_scope(name)));
  if (found == others_.end()) return {};
  std::vector<const RunOp*> ops = found->second;
  std::erase_if(ops,
                [&](const RunOp* op) { return !failed && !differ_by_scope(sanitised(op->desc.name), name); });
  return ops;
}

bool CardedOps::is_ambiguous(const OpIdentity& identity) const {
  return !named(identity.name).empty() && op(identity) == nullptr;
}

std::optional<CardedOps::Output> CardedOps::producer(const OpIdentity& op, std::uint32_t input) const {
  const RunOp* const found = this->op(op);
  if (found == nullptr || input >= found->inputs.size()) return std::nullopt;
  const auto at = producers_.find(found->inputs[input].name);
  if (at == producers_.end() || at->second.op == nullptr) return std::nullopt;
  std::string name = sanitised(at->second.op->desc.name);
  if (ops_.at(name).size() != 1) return std::nullopt;
  return Output{std::move(name), at->second.index};
}

BesideCards::BesideCards(std::function<void(const std::string&)> note)
    : note_(std::move(note)),
      files_(kCardSuffix,
             [note = note_](const std::string& path, const std::string& name) -> std::unique_ptr<BesideCard> {
               auto card = std::make_unique<BesideCard>();
               card->path = path;
               card->name = *parse_beside_name(name, kCardSuffix);
               ConfigError error;
               if (!card->run.load(path, error)) {
                 note("the card is not used: " + to_string(error, path));
                 return nullptr;
               }
               if (card->run.models.size() != 1) return nullptr;
               card->ops.emplace(card->run);
               return card;
             }) {}

const CardedOps* BesideCards::of(const std::string& directory) {
  if (found_.size() >= kMostDirectories) found_.clear();
  const auto [at, is_new] = found_.try_emplace(directory);
  if (is_new) at->second = find(real_path(directory));
  return at->second;
}

const CardedOps* BesideCards::find(const std::string& directory) {
  const std::optional<RecordPlace> place = parse_record_place(directory);
  const std::string_view above =
      std::string_view(directory).substr(0, directory.find_last_not_of("0123456789/") + 1);
  if (!place && !above.ends_with("/extra-info/data-dump")) return nullptr;
  const auto [card, other] = files_.above(directory, [&](const BesideCard& each) {
    return !place || is_of_model(*place, each.model().name, each.model().id);
  });
  if (other == nullptr) return card == nullptr ? nullptr : &*card->ops;
  const std::string both = card->path + " and " + other->path;
  if (told_.insert(both).second)
    note_("no card is used for " +
          (place ? "model \"" + printable(card->model().name) + '"' : std::string("operators that failed")) +
          ", as " + both + (place ? " are both of it" : " may have them") + "; name one with --model");
  return nullptr;
}

void add_model_sums(BesideCards& cards, std::string directory, ModelSums& sums) {
  constexpr int kMostAbove = 5;
  for (int i = 0; i <= kMostAbove; ++i) {
    const BesideCards::Cards& found = cards.in(directory);
    for (const auto& card : found) {
      const RunModel& model = card->model();
      if (!model.sha256.empty()) sums.emplace(sanitised(model.name), model.sha256);
    }
    const std::size_t slash = directory.rfind('/');
    if (!found.empty() || slash == std::string::npos) return;
    directory.resize(slash);
  }
}

std::string unlike_models(const std::string& a_name, const ModelSums& a, const std::string& b_name,
                          const ModelSums& b) {
  constexpr std::size_t kShown = 12;
  for (const auto& [model, sum] : a) {
    const auto other = b.find(model);
    if (other == b.end() || other->second == sum) continue;
    return "model '" + model + "' is another one in " + a_name + " (SHA-256 " + sum.substr(0, kShown) +
           "...) than in " + b_name + " (" + other->second.substr(0, kShown) + "...)";
  }
  return {};
}

}  // namespace opdump::tool
