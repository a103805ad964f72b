#include "src/tool/judge/diff/run_table.hpp"

#include <algorithm>

#include "src/tool/cli/progress.hpp"

namespace opdump::tool {
namespace {

std::string key_of(const SummedTensor& tensor) {
  return tensor.model + '/' + tensor.type + '/' + tensor.op + (tensor.is_output ? "/o" : "/i") +
         std::to_string(tensor.index);
}

}  // namespace

void write_fields(FieldWriter& to, const SummedTensor& tensor) {
  to.text(tensor.model).text(tensor.type).text(tensor.op).text(tensor.what);
  to.put(tensor.is_output).put(tensor.index);
}

void read_fields(FieldReader& from, SummedTensor& tensor) {
  from.get(tensor.model).get(tensor.type).get(tensor.op).get(tensor.what);
  from.get(tensor.is_output).get(tensor.index);
}

std::string SummedTensor::text() const {
  std::string text = (is_output ? "output " : "input ") + std::to_string(index) + " of " + op;
  return type.empty() ? text : text + " (" + type + ")";
}

void RunTable::check(const std::string& error) {
  if (error_.empty()) error_ = error;
}

void RunTable::begin_run(std::string name, std::size_t side, ModelSums models, DumpProvenance provenance) {
  end_run();
  runs_.push_back({std::move(name), side, std::move(models), std::move(provenance)});
  digests_.begin_column();
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

/// Runs mostly have the same rows in the same order. While a run follows them from the first on, its turns
/// are theirs.
void RunTable::set(std::uint32_t tensor, std::uint64_t step, const RunDigest& digest) {
  const std::size_t row = digests_.size();
  if (!merge_ && row < places_.size()) {
    if (const RunPlace place = place_of(row); place.tensor == tensor && place.step == step)
      return digests_.push_back(digest);
  }
  if (!merge_) merge_.emplace(places_, row);
  merge_->add(tensor, step, digest);
}

void RunTable::end_run() {
  if (!merge_) return;
  check(merge_->finish([this](const RunDigest& digest) { digests_.push_back(digest); }));
  merge_.reset();
  while (first_.size() < std::min(kMostFirst, places_.size())) first_.push_back(places_[first_.size()]);
}

void RunTable::finish() {
  end_run();
  digests_.finish();
  struct Row {
    std::uint64_t step;
    std::size_t number;
  };
  const auto row_in = [](std::string_view text) { return FieldReader(text).next<Row>(); };
  SpilledSort by_step([](std::string_view a, std::string_view b) {
    return FieldReader(a).next<Row>().step < FieldReader(b).next<Row>().step;
  });
  std::string text;
  std::size_t number = 0;
  Progress progress(2 * places_.size(), "sorting tensors");
  for (const RunPlace& place : places_) {
    text.clear();
    FieldWriter(text).put(Row{place.step, number++});
    if (!by_step.add(text)) break;
    progress.add();
  }
  static_cast<void>(by_step.finish());
  SpilledSort::Reader reader(by_step);
  for (std::string_view row; reader.next(row);) {
    order_.push_back(row_in(row).number);
    progress.add();
  }
  for (const std::string* const error : {&by_step.error(), &known_.error(), &tensors_.error(),
                                         &places_.error(), &digests_.error(), &order_.error()})
    check(*error);
}

}  // namespace opdump::tool
