#include "src/tool/page/report_runs.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/tool/cli/decimal.hpp"
#include "src/tool/judge/compare/compare_side.hpp"

namespace opdump::tool {
namespace {

ReportPlace place_of(const DumpFile& file) {
  ReportPlace place;
  place.text = (file.boot ? "boot " + std::to_string(*file.boot) + ' ' : std::string()) + file.place;
  const std::size_t slash = file.place.rfind('/');
  if (slash == std::string::npos) return place;
  place.model = file.place.substr(0, slash);
  place.step = parse_decimal(std::string_view(file.place).substr(slash + 1));
  return place;
}

/// Numbers runs, operators and places in the order of execution.
class RunFinder {
 public:
  explicit RunFinder(ReportFacts& facts) : facts_(facts), side_(facts.dumps.mine()) {}

  void find() {
    std::map<OpKey, std::size_t> runs;
    for (std::size_t number = 0; number < side_.tensors.size(); ++number) {
      const DumpTensor& tensor = side_.tensors[number];
      const auto [at, is_new] =
          runs.emplace(key_of(side_.files[tensor.file], tensor.file), facts_.runs.size());
      if (is_new) add_run(tensor.file);
      facts_.runs[at->second].tensors.push_back(number);
      facts_.run_of.push_back(static_cast<std::uint32_t>(at->second));
    }
    for (ReportRun& run : facts_.runs) {
      std::stable_sort(run.tensors.begin(), run.tensors.end(), [this](std::size_t a, std::size_t b) {
        const DumpTensor& x = side_.tensors[a];
        const DumpTensor& y = side_.tensors[b];
        return std::tie(x.is_output, x.index) < std::tie(y.is_output, y.index);
      });
    }
  }

 private:
  using Place = std::tuple<std::optional<std::uint32_t>, std::string_view>;
  /// How often an operator of that type and name ran at a place before.
  using Turns = std::map<std::tuple<std::size_t, std::string_view, std::string_view>, std::size_t>;
  using Op = std::tuple<std::string, std::string_view, std::string_view, std::size_t>;

  void add_run(std::size_t number) {
    const DumpFile& file = side_.files[number];
    const auto [place, is_new] = places_.emplace(Place(file.boot, file.place), facts_.places.size());
    if (is_new) {
      facts_.has_boots |= file.boot.has_value();
      facts_.places.push_back(place_of(file));
    }
    const std::string& model = facts_.places[place->second].model;
    const std::size_t turn = turns_[{place->second, file.type, file.op}]++;
    const auto [op, is_other] = ops_.emplace(Op(model, file.type, file.op, turn), facts_.ops.size());
    if (is_other) facts_.ops.push_back({.name = file.op, .type = file.type, .model = model});
    facts_.runs.push_back({.op = op->second, .place = place->second, .file = number});
  }

  ReportFacts& facts_;
  const DumpSide& side_;
  std::map<Place, std::size_t> places_;
  Turns turns_;
  std::map<Op, std::size_t> ops_;
};

}  // namespace

void find_runs(ReportFacts& facts) {
  RunFinder(facts).find();
}

}  // namespace opdump::tool
