#include "src/tool/report/report_runs.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "src/tool/cli/decimal.hpp"
#include "src/tool/compare/op_key.hpp"
#include "src/tool/dump/numbered_texts.hpp"

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
    std::size_t i = 0;
    std::string key;
    for (const DumpTensor& tensor : side_.tensors) {
      const DumpFile file = side_.files[tensor.file];
      key.clear();
      write_op_key(file, tensor.file, key);
      bool is_new = false;
      const std::uint32_t run = runs_.number(key, is_new);
      if (is_new) add_run(file, tensor.file);
      facts_.run_of.push_back(run);
      facts_.runs[run].tensors.push_back(i++);
    }
    for (ReportRun& run : facts_.runs) {
      if (run.tensors.size() < 2) continue;
      std::sort(run.tensors.begin(), run.tensors.end(), [&](std::size_t a, std::size_t b) {
        const DumpTensor x = side_.tensors[a], y = side_.tensors[b];
        return std::tuple(x.is_output, x.index, a) < std::tuple(y.is_output, y.index, b);
      });
    }
    if (facts_.runs.empty()) return;
    for (const std::string& error : {runs_.error(), turns_.error(), ops_.error()}) {
      if (!error.empty()) facts_.notes.push_back(error);
    }
  }

 private:
  void add_run(const DumpFile& file, std::size_t number) {
    const auto [place, new_place] =
        places_.try_emplace({file.boot.value_or(0), file.place}, facts_.places.size());
    if (new_place) facts_.places.push_back(place_of(file));
    const std::string& model = facts_.places[place->second].model;
    const std::size_t turn = next_turn(place->second, file);
    std::string key;
    FieldWriter(key).text(model).text(file.type).text(file.op).put(turn);
    bool new_op = false;
    const std::uint32_t op = ops_.number(key, new_op);
    if (new_op) facts_.ops.push_back({.name = file.op, .type = file.type, .model = model});
    facts_.runs.push_back({.op = op, .place = place->second, .file = number});
  }

  /// How often the operator ran at that place before.
  std::size_t next_turn(std::size_t place, const DumpFile& file) {
    std::string key;
    FieldWriter(key).put(place).text(file.type).text(file.op);
    const std::uint32_t number = turns_.number(key);
    if (number == counts_.size()) counts_.push_back(0);
    return counts_[number]++;
  }

  ReportFacts& facts_;
  const DumpSide& side_;
  NumberedTexts runs_, turns_, ops_;
  std::vector<std::uint32_t> counts_;  ///< of `turns_`
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> places_;
};

}  // namespace

void find_runs(ReportFacts& facts) {
  RunFinder(facts).find();
}

}  // namespace opdump::tool
