#include "src/tool/diff/run_table.hpp"

#include <algorithm>
#include <numeric>

namespace opdump::tool {

std::string SummedTensor::text() const {
  std::string text = (is_output ? "output " : "input ") + std::to_string(index) + " of " + op;
  return type.empty() ? text : text + " (" + type + ")";
}

void RunTable::begin_run(std::string name, std::size_t side, ModelSums models, DumpProvenance provenance) {
  runs_.push_back({std::move(name), side, std::move(models), std::move(provenance)});
  digests_.emplace_back(places_.size());
  next_ = 0;
}

std::uint32_t RunTable::tensor(const SummedTensor& tensor) {
  const std::string key = tensor.model + '/' + tensor.type + '/' + tensor.op +
                          (tensor.is_output ? "/o" : "/i") + std::to_string(tensor.index);
  const auto [found, is_new] = known_.emplace(key, static_cast<std::uint32_t>(tensors_.size()));
  if (is_new) tensors_.push_back(tensor);
  return found->second;
}

void RunTable::set(std::uint32_t tensor, std::uint64_t step, const RunDigest& digest) {
  std::vector<RunDigest>& digests = digests_.back();
  // Runs mostly have the same rows in the same order.
  RunPlace place{tensor, 0, step};
  std::size_t row = next_;
  const bool follows =
      row < places_.size() && places_[row].tensor == tensor && places_[row].step == step &&
      digests[row].state == RunDigest::State::absent &&
      (places_[row].turn == 0 ||
       digests[rows_.at({tensor, places_[row].turn - 1, step})].state != RunDigest::State::absent);
  for (; !follows; ++place.turn) {
    const auto [found, is_new] = rows_.emplace(place, places_.size());
    row = found->second;
    if (is_new) {
      places_.push_back(place);
      digests.emplace_back();
    }
    if (digests[row].state == RunDigest::State::absent) break;
  }
  digests[row] = digest;
  next_ = row + 1;
}

void RunTable::finish() {
  for (std::vector<RunDigest>& digests : digests_) digests.resize(places_.size());
  order_.resize(places_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [this](std::size_t a, std::size_t b) { return places_[a].step < places_[b].step; });
}

const RunDigest& RunTable::at(std::size_t run, std::size_t place) const {
  return digests_[run][place];
}

}  // namespace opdump::tool
