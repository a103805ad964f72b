#include "src/tool/judge/diff/run_table.hpp"

#include <algorithm>
#include <numeric>

namespace opdump::tool {
namespace {

std::string key_of(const SummedTensor& tensor) {
  return tensor.model + '/' + tensor.type + '/' + tensor.op + (tensor.is_output ? "/o" : "/i") +
         std::to_string(tensor.index);
}

}  // namespace

std::string SummedTensor::text() const {
  std::string text = (is_output ? "output " : "input ") + std::to_string(index) + " of " + op;
  return type.empty() ? text : text + " (" + type + ")";
}

void RunTable::begin_run(std::string name, std::size_t side, ModelSums models, DumpProvenance provenance) {
  runs_.push_back({std::move(name), side, std::move(models), std::move(provenance)});
  digests_.emplace_back();
  turns_.clear();
}

std::uint32_t RunTable::tensor(const SummedTensor& tensor) {
  bool is_new = false;
  const std::uint32_t number = known_.number(key_of(tensor), is_new);
  if (is_new) tensors_.push_back(tensor);
  return number;
}

std::optional<std::uint16_t> RunTable::basis(const std::string& text, bool is_statistics) {
  const auto found =
      std::find_if(bases_.begin() + 1, bases_.end(), [&](const Basis& one) { return one.text == text; });
  if (found != bases_.end()) return static_cast<std::uint16_t>(found - bases_.begin());
  constexpr std::size_t kMost = 1024;
  if (bases_.size() == kMost) return std::nullopt;
  bases_.push_back({text, is_statistics});
  return static_cast<std::uint16_t>(bases_.size() - 1);
}

void RunTable::set(std::uint32_t tensor, std::uint64_t step, const RunDigest& digest) {
  const Moment moment(tensor, step);
  const std::size_t turn = turns_[moment]++;
  std::vector<std::size_t>& rows = rows_[moment];
  if (turn == rows.size()) {
    rows.push_back(places_.size());
    places_.push_back({tensor, static_cast<std::uint32_t>(turn), step});
  }
  std::vector<RunDigest>& column = digests_.back();
  if (column.size() <= rows[turn]) column.resize(rows[turn] + 1);
  column[rows[turn]] = digest;
}

void RunTable::finish() {
  order_.resize(places_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [this](std::size_t a, std::size_t b) { return places_[a].step < places_[b].step; });
}

}  // namespace opdump::tool
