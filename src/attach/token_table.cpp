#include "src/attach/token_table.hpp"

#include "src/card/json_writer.hpp"
#include "src/card/number_list.hpp"

namespace opdump::attaching {
inline namespace OPDUMP_NAMESPACE {
namespace {

using cards::JsonWriter;
using cards::numbers_text;

void put_slice(JsonWriter& json, const TensorSlice& slice) {
  if (slice.axis != 0) {
    json.key("axis").number(slice.axis - 1).key("of").number(slice.of);
    if (slice.per_token != 1) json.key("per").number(slice.per_token);
    if (slice.of_cells) json.key("cells").text(numbers_text(slice.entries));
    if (!slice.every_kept) json.key("positions").text(numbers_text(slice.positions));
  }
  if (slice.head_axis == 0) return;
  json.key("heads").open('{').key("axis").number(slice.head_axis - 1).key("of").number(slice.heads_of);
  json.key("held").text(numbers_text(slice.heads)).close('}');
}

std::string tensors_text(std::span<const TensorSlice> slices, std::size_t inputs) {
  JsonWriter json;
  json.open('[');
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (!slices[i].tells()) continue;
    json.open('{').key(i < inputs ? "input" : "output").number(i < inputs ? i : i - inputs);
    put_slice(json, slices[i]);
    json.close('}');
  }
  json.close(']');
  return json.take();
}

}  // namespace

Status TokenTable::begin(const CardPlace& place, std::string_view model) {
  constexpr std::uint32_t kMost = 1000;
  const std::lock_guard lock(mutex_);
  const DumpTarget target = card_target(place);
  sink_ = make_card_sink(place);
  root_ = target.root;
  directory_ = directory_of(target);
  facts_ = facts_of(target, ObjectKind::journal);
  told_.clear();
  Status status = Status::already_exists;
  for (std::uint32_t i = 1; status == Status::already_exists && i <= kMost; ++i) {
    file_ = "opdump." + std::to_string(place.device_id) + '.' + std::to_string(place.model_id) +
            (i == 1 ? "" : '.' + std::to_string(i)) + ".tokens";
    status = sink_->claim_journal({.root = root_, .directory = directory_, .file = file_, .facts = facts_});
  }
  JsonWriter json;
  json.open('{').key("opdump_tokens").number(1).key("device").number(place.device_id);
  json.key("id").number(place.model_id).key("model").text(model).close('}');
  if (status == Status::ok) status = append(json.take());
  if (status != Status::ok) sink_.reset();
  return status;
}

void TokenTable::end() {
  const std::lock_guard lock(mutex_);
  if (sink_ != nullptr) static_cast<void>(sink_->sync());
  sink_.reset();
}

Status TokenTable::step(std::uint64_t step, const StepTokens& tokens) {
  const std::lock_guard lock(mutex_);
  JsonWriter json;
  json.open('{').key("step").number(step).key("phase").text(
      kTokenPhaseWords[static_cast<std::size_t>(tokens.phase())]);
  json.key("positions").text(numbers_text(tokens.positions()));
  json.key("kept").text(numbers_text(tokens.kept_positions())).close('}');
  return append(json.take());
}

Status TokenTable::op(std::uint64_t step, std::size_t op, std::string_view name,
                      std::span<const TensorSlice> slices, std::size_t inputs) {
  const std::lock_guard lock(mutex_);
  if (op >= told_.size()) told_.resize(op + 1, "[]");
  std::string text = tensors_text(slices, inputs);
  if (text == told_[op]) return Status::ok;
  JsonWriter json;
  json.open('{').key("step").number(step).key("op").text(name).key("tensors").json(text).close('}');
  told_[op] = std::move(text);
  return append(json.take());
}

Status TokenTable::lost(std::uint64_t step, std::string_view name, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  JsonWriter json;
  json.open('{').key("step").number(step).key("op").text(name).key("lost").text("max_bytes_per_token");
  json.key("bytes").number(bytes).close('}');
  return append(json.take());
}

Status TokenTable::append(std::string line) {
  if (sink_ == nullptr) return Status::ok;
  line += '\n';
  const Bytes bytes = as_bytes(line);
  return sink_->append_lines({.root = root_, .directory = directory_, .file = file_, .facts = facts_},
                             {&bytes, 1});
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::attaching
