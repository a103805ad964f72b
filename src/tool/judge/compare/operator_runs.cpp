#include "src/tool/judge/compare/operator_runs.hpp"

#include <set>
#include <tuple>

namespace opdump::tool {
namespace {

std::string model_of(const std::string& place) {
  return place.substr(0, place.rfind('/'));
}

std::set<std::string> models_of(const DumpSide& side) {
  std::set<std::string> models;
  for (const DumpFile& file : side.files) {
    if (!file.place.empty()) models.insert(model_of(file.place));
  }
  return models;
}

}  // namespace

GoldenPlaces::GoldenPlaces(const DumpSide& mine, const DumpSide& golden) {
  const std::set<std::string> golden_models = models_of(golden);
  told_ = !golden_models.empty();
  if (golden_models.size() == 1 && models_of(mine).size() == 1) only_model_ = *golden_models.begin();
}

std::string GoldenPlaces::golden_place(const std::string& place) const {
  if (!told_ || place.empty()) return {};
  return only_model_ ? *only_model_ + place.substr(place.rfind('/')) : place;
}

std::map<std::string, std::vector<OperatorRun>> operator_runs(const DumpSide& side,
                                                              const GoldenPlaces* places) {
  using Moment = std::tuple<std::string, std::string, std::uint64_t, std::uint64_t>;
  std::map<std::string, std::vector<OperatorRun>> runs;
  std::map<Moment, std::size_t> known;
  for (std::size_t i = 0; i < side.tensors.size(); ++i) {
    const DumpTensor& tensor = side.tensors[i];
    const DumpFile& file = side.files[tensor.file];
    std::vector<OperatorRun>& here = runs[places != nullptr ? places->golden_place(file.place) : file.place];
    const std::pair<bool, std::uint32_t> role(tensor.is_output, tensor.index);
    const Moment moment(file.place, file.op, file.unix_us, file.task.value_or(0));
    const auto [found, is_new] = known.emplace(moment, here.size());
    if (!is_new && here[found->second].tensors.contains(role)) found->second = here.size();
    if (found->second == here.size()) here.push_back({tensor.file, {}});
    here[found->second].tensors[role] = i;
  }
  return runs;
}

}  // namespace opdump::tool
