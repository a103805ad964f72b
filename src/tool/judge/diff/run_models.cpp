#include "src/tool/judge/diff/run_models.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace opdump::tool {
namespace {

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

}  // namespace

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

}  // namespace opdump::tool
