#include "src/tool/report/report_runs.hpp"

#include <algorithm>
#include <tuple>

#include "src/tool/cli/decimal.hpp"
#include "src/tool/compare/op_key.hpp"

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

/// Finds runs, operators and places.
class RunFinder {
 public:
  explicit RunFinder(ReportFacts& facts) : facts_(facts), side_(facts.dumps.mine()) {}

  void find() {
    facts_.run_of.resize(side_.tensors.size());
    for (std::size_t i = 0; i < side_.tensors.size(); ++i) {
      const std::size_t number = side_.tensors[i].file;
      const auto [at, is_new] = runs_.try_emplace(key_of(side_.files[number], number), facts_.runs.size());
      if (is_new) add_run(number);
      facts_.run_of[i] = at->second;
      facts_.runs[at->second].tensors.push_back(i);
    }
    for (ReportRun& run : facts_.runs) {
      std::sort(run.tensors.begin(), run.tensors.end(), [&](std::size_t a, std::size_t b) {
        const DumpTensor x = side_.tensors[a], y = side_.tensors[b];
        return std::tuple(x.is_output, x.index, a) < std::tuple(y.is_output, y.index, b);
      });
    }
  }

 private:
  void add_run(std::size_t number) {
    const DumpFile file = side_.files[number];
    const auto [place, new_place] =
        places_.try_emplace({file.boot.value_or(0), file.place}, facts_.places.size());
    if (new_place) facts_.places.push_back(place_of(file));
    const std::string& model = facts_.places[place->second].model;
    const std::size_t turn = turns_[{place->second, file.type, file.op}]++;
    const auto [op, new_op] = ops_.try_emplace({model, file.type, file.op, turn}, facts_.ops.size());
    if (new_op) facts_.ops.push_back({.name = file.op, .type = file.type, .model = model});
    facts_.runs.push_back({.op = op->second, .place = place->second, .file = number});
  }

  ReportFacts& facts_;
  const DumpSide& side_;
  std::map<OpKey, std::size_t> runs_;
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> places_;
  std::map<std::tuple<std::size_t, std::string, std::string>, std::size_t> turns_;
  std::map<std::tuple<std::string, std::string, std::string, std::size_t>, std::size_t> ops_;
};

}  // namespace

void find_runs(ReportFacts& facts) {
  RunFinder(facts).find();
}

}  // namespace opdump::tool
