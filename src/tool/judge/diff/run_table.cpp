#include "src/tool/judge/diff/run_table.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "opdump/base/crc32c.hpp"
#include "opdump/base/digest.hpp"
#include "opdump/base/xxh3.hpp"
#include "opdump/types/dtype.hpp"

namespace opdump::tool {
namespace {

std::string key_of(const SummedTensor& tensor) {
  return tensor.model + '/' + tensor.type + '/' + tensor.op + (tensor.is_output ? "/o" : "/i") +
         std::to_string(tensor.index);
}

std::set<std::string> models_of(const RunTable& table, std::size_t run) {
  std::vector<bool> there(table.tensors().size());
  std::size_t row = 0;
  for (const RunPlace& place : table.places()) {
    if (table.at(run, row++).state != RunDigest::State::absent) there[place.tensor] = true;
  }
  std::set<std::string> models;
  std::size_t number = 0;
  for (const SummedTensor& tensor : table.tensors()) {
    if (there[number++] && !tensor.model.empty()) models.insert(tensor.model);
  }
  return models;
}

/// Of all bytes, where the dtype does not tell how many are elements.
std::uint64_t element_bytes(const DumpTensor& tensor) {
  const std::uint64_t bits = info(tensor.dtype).bits;
  const Result<std::uint64_t> elements = element_count(tensor.shape);
  if (bits == 0 || !elements.ok() || elements.value() > UINT64_MAX / 8 / bits) return tensor.data_bytes;
  return std::min(tensor.data_bytes, (elements.value() * bits + 7) / 8);
}

template <class Sum>
void finish(Sum& sum, RunDigest& digest) {
  std::byte result[Sum::kBytes];
  sum.finish(result);
  std::copy(std::begin(result), std::end(result), digest.bytes.begin());
  digest.state = RunDigest::State::there;
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

FormedTensor RunTable::tensor(const SummedTensor& tensor) {
  bool is_new = false;
  const std::uint32_t number = known_.number(key_of(tensor), is_new);
  if (is_new) tensors_.push_back(tensor);
  if (is_new) forms_.emplace_back();
  std::vector<std::string>& forms = forms_[number];
  if (tensor.what.empty() || forms.size() == UINT16_MAX) return {number};
  const auto found = std::find(forms.begin(), forms.end(), tensor.what);
  const auto form = static_cast<std::uint16_t>(found - forms.begin() + 1);
  if (found == forms.end()) forms.push_back(tensor.what);
  if (tensors_[number].what.empty()) tensors_[number].what = tensor.what;
  return {number, form};
}

std::string RunTable::forms_text(std::uint32_t tensor) const {
  std::string text;
  for (const std::string& form : forms_[tensor]) text += (text.empty() ? "" : " or ") + form;
  return text;
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

void RunTable::set(FormedTensor tensor, std::uint64_t step, RunDigest digest) {
  digest.form = tensor.form;
  const Moment moment(tensor.number, step);
  const std::size_t turn = turns_[moment]++;
  std::vector<std::size_t>& rows = rows_[moment];
  if (turn == rows.size()) {
    rows.push_back(places_.size());
    places_.push_back({tensor.number, static_cast<std::uint32_t>(turn), step});
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

bool have_common_model(const RunTable& table, std::string& error) {
  if (table.runs().empty()) return true;
  const std::set<std::string> first = models_of(table, 0);
  for (std::size_t run = 1; run < table.runs().size(); ++run) {
    error = unlike_models(table.runs()[0].name, table.runs()[0].models, table.runs()[run].name,
                          table.runs()[run].models);
    if (error.empty())
      error = unlike_models(table.runs()[0].name, table.runs()[0].provenance, table.runs()[run].name,
                            table.runs()[run].provenance);
    if (!error.empty()) return false;
    const std::set<std::string> own = models_of(table, run);
    const auto is_common = [&first](const std::string& model) { return first.contains(model); };
    if (own.empty() || first.empty() || std::any_of(own.begin(), own.end(), is_common)) continue;
    error = table.runs()[run].name + ": is of model '" + *own.begin() + "', and " + table.runs()[0].name +
            " of model '" + *first.begin() + "'";
    return false;
  }
  return true;
}

std::vector<std::string> unlike_runs(const RunTable& table) {
  std::vector<std::string> unlike;
  for (std::size_t run = 1; run < table.runs().size(); ++run) {
    for (std::string& one : unlike_provenance(table.runs()[0].name, table.runs()[0].provenance,
                                              table.runs()[run].name, table.runs()[run].provenance))
      unlike.push_back(std::move(one));
  }
  return unlike;
}

bool lacks_elements(DType dtype, Shape shape, std::uint64_t data_bytes) {
  const std::uint64_t bits = info(dtype).bits;
  const Result<std::uint64_t> elements = element_count(shape);
  if (!elements.ok()) return true;
  if (bits == 0) return data_bytes == 0 && elements.value() != 0;
  return elements.value() > UINT64_MAX / 8 / bits || (elements.value() * bits + 7) / 8 > data_bytes;
}

RunDigest sum_of_nothing(std::string_view algorithm) {
  RunDigest digest;
  Crc32c crc32c(crc32c_kernel());
  Md5 md5;
  Xxh3 xxh3;
  if (algorithm == "crc32c") {
    finish(crc32c, digest);
  } else if (algorithm == "md5") {
    finish(md5, digest);
  } else {
    finish(xxh3, digest);
  }
  return digest;
}

template <class Sum>
bool TensorSums::add(Sum sum, const DumpTensor& tensor, std::uint64_t bytes, RunDigest& digest) {
  constexpr std::uint64_t kBlock = 1024 * 1024;
  const Bytes file = file_.bytes();
  if (!tensor.form.is_plain()) {
    std::vector<std::byte> elements;
    if (!plain_elements(file, tensor.data_offset, tensor.form, tensor.shape, elements, error_)) {
      error_ = path_ + ": " + error_;
      return false;
    }
    sum.add(elements);
    finish(sum, digest);
    return true;
  }
  if (tensor.data_offset > file.size() || bytes > file.size() - tensor.data_offset) {
    error_ = path_ + ": the file ends inside a tensor";
    return false;
  }
  for (std::uint64_t at = 0; at < bytes; at += kBlock) {
    const std::uint64_t now = std::min(kBlock, bytes - at);
    sum.add(file.subspan(static_cast<std::size_t>(tensor.data_offset + at), static_cast<std::size_t>(now)));
    file_.drop(tensor.data_offset + at, now);
  }
  if (file_.cut_short()) {
    error_ = file_.error();
    return false;
  }
  finish(sum, digest);
  return true;
}

bool TensorSums::of(const DumpTensor& tensor, const std::string& path, RunDigest& digest) {
  if (path != path_) {
    path_.clear();
    if (!file_.open(path)) {
      error_ = file_.error();
      return false;
    }
    path_ = path;
  }
  const std::uint64_t bytes = element_bytes(tensor);
  if (algorithm_ == "crc32c") return add(Crc32c(crc32c_kernel()), tensor, bytes, digest);
  if (algorithm_ == "md5") return add(Md5(), tensor, bytes, digest);
  return add(Xxh3(), tensor, bytes, digest);
}

}  // namespace opdump::tool
