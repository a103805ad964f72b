#include "src/tool/write/exported_dump.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "src/config/text/display_text.hpp"
#include "src/tool/cli/decimal.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {
namespace {

std::string clean(std::string_view name) {
  return printable(sanitised(name));
}

/// Where an operator ran.
struct Place {
  std::string model;
  std::uint64_t step = 0;
  std::uint64_t rank = 0;
};

class Places {
 public:
  const Place& of(const DumpFile& file) {
    const std::string directory = file.path.substr(0, file.path.rfind('/') + 1);
    const auto [found, is_new] = known_.try_emplace(directory + '\n' + file.place);
    if (is_new) found->second = place_of(directory, file.place);
    return found->second;
  }

 private:
  static Place place_of(const std::string& directory, const std::string& told) {
    const std::string real = real_path(directory);
    Place place;
    if (const std::optional<RecordPlace> record = parse_record_place(real)) {
      place.model = clean(record->model);
      place.step = record->step;
      place.rank = device_of(real, *record);
      return place;
    }
    const std::size_t slash = told.rfind('/');
    if (slash == std::string::npos) return place;
    place.model = clean(std::string_view(told).substr(0, slash));
    place.step = parse_decimal(std::string_view(told).substr(slash + 1)).value_or(0);
    return place;
  }

  std::map<std::string, Place> known_;
};

using ExportedStepKey = std::tuple<std::optional<std::uint32_t>, std::uint64_t, std::uint64_t>;

/// Which files hold tensors of one run of an operator: a record alone; of files with one tensor each, those
/// that tell the same of it.
std::string run_of(const DumpFile& file, std::size_t number) {
  if (file.is_record) return std::to_string(number);
  return file.path.substr(0, file.path.rfind('/') + 1) + '\n' + file.place + '\n' + file.type + '\n' +
         file.op + '\n' + std::to_string(file.task.value_or(0)) + '\n' + std::to_string(file.unix_us);
}

/// Adds an operator with its tensors in order. What has the same role and index again belongs to another run.
void add_op(const ExportedDump& dump, ExportedOp op, ExportedStep& step) {
  const auto role = [&dump](std::size_t tensor) {
    return std::pair(dump.tensor(tensor).is_output, dump.tensor(tensor).index);
  };
  std::vector<std::size_t> tensors = std::exchange(op.tensors, {});
  std::stable_sort(tensors.begin(), tensors.end(),
                   [&role](std::size_t a, std::size_t b) { return role(a) < role(b); });
  const std::size_t first = step.ops.size();
  std::size_t run = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    run = i != 0 && role(tensors[i]) == role(tensors[i - 1]) ? run + 1 : 0;
    if (first + run == step.ops.size()) step.ops.push_back(op);
    step.ops[first + run].tensors.push_back(tensors[i]);
  }
}

}  // namespace

std::uint64_t ExportedDump::data_bytes() const {
  std::uint64_t bytes = 0;
  for (const DumpTensor& tensor : side.tensors) bytes += tensor.data_bytes;
  return bytes;
}

ExportedDump exported(DumpSide side) {
  ExportedDump dump;
  dump.side = std::move(side);
  Places places;
  std::map<ExportedStepKey, ExportedStep> steps;
  std::map<std::string, std::pair<ExportedStepKey, std::size_t>> runs;
  std::set<std::uint64_t> ranks;
  for (std::size_t i = 0; i < dump.side.tensors.size(); ++i) {
    const std::size_t number = dump.side.tensors[i].file;
    const DumpFile file = dump.side.files[number];
    const auto [run, is_new] = runs.try_emplace(run_of(file, number));
    if (is_new) {
      const Place& place = places.of(file);
      const ExportedStepKey key(file.boot, place.step, place.rank);
      ExportedStep& step = steps[key];
      step.boot = file.boot;
      step.step = place.step;
      step.rank = place.rank;
      ranks.insert(place.rank);
      run->second = {key, step.ops.size()};
      step.ops.push_back({place.model, clean(file.type), clean(file.op), number, {}});
    }
    steps[run->second.first].ops[run->second.second].tensors.push_back(i);
  }
  for (auto& [key, step] : steps) {
    std::vector<ExportedOp> ops = std::move(step.ops);
    step.ops.clear();
    for (ExportedOp& op : ops) add_op(dump, std::move(op), step);
    dump.steps.push_back(std::move(step));
  }
  dump.several_ranks = ranks.size() > 1;
  return dump;
}

std::string role_of(const DumpTensor& tensor) {
  return std::string(tensor.is_output ? "output." : "input.") + std::to_string(tensor.index);
}

std::string key_of(const ExportedStep& step, const ExportedOp& op, std::uint64_t repeat) {
  return (op.model.empty() ? "" : op.model + '/') + std::to_string(step.step) + '/' +
         (op.type.empty() ? "" : op.type + '.') + op.name + (repeat == 0 ? "" : '/' + std::to_string(repeat));
}

std::string name_of(const ExportedDump& dump, const ExportedStep& step) {
  return (step.boot ? "boot" + std::to_string(*step.boot) + '.' : "") +
         (dump.several_ranks ? "rank" + std::to_string(step.rank) + '.' : "") + "step" +
         std::to_string(step.step);
}

}  // namespace opdump::tool
