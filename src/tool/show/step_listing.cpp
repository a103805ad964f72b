#include "src/tool/show/step_listing.hpp"

#include <algorithm>
#include <cstdio>

#include "src/tool/cli/human_text.hpp"
#include "src/tool/cli/messages.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kPlainCells = 60;
constexpr std::size_t kRest = 60;  // what stands before and behind a line of cells

/// One statistic, and how runs of a step, or steps that share a cell, become one.
struct Statistic {
  const char* name;
  std::optional<double> (*value)(const TensorNumbers& numbers);
  double (*join)(double a, double b);
};

double least(double a, double b) {
  return std::min(a, b);
}
double greatest(double a, double b) {
  return std::max(a, b);
}
double farthest(double a, double b) {
  return (a < 0 ? -a : a) < (b < 0 ? -b : b) ? b : a;
}

constexpr Statistic kStepStatistics[] = {
    {"min", [](const TensorNumbers& numbers) { return numbers.min; }, least},
    {"max", [](const TensorNumbers& numbers) { return numbers.max; }, greatest},
    {"mean", [](const TensorNumbers& numbers) { return numbers.mean; }, farthest},
    {"nan+inf",
     [](const TensorNumbers& numbers) {
       return std::optional<double>(static_cast<double>(numbers.nan + numbers.infinite));
     },
     greatest},
};

void join(std::optional<double>& to, const std::optional<double>& value, const Statistic& statistic) {
  if (value) to = to ? statistic.join(*to, *value) : *value;
}

}  // namespace

StepListing::Op& StepListing::op_of(const ShownRecord& record) {
  const std::optional<std::uint32_t> boot = boot_of(record.found.path);
  std::string title = record.name ? std::string(record.name->name) : record.found.real_name;
  if (record.name && !record.name->type.empty()) title = std::string(record.name->type) + ' ' + title;
  if (record.place) title += " (" + std::string(record.place->model) + ')';
  if (boot) title += ", boot " + std::to_string(*boot);
  const auto [found, is_new] = known_.try_emplace(title, ops_.size());
  if (is_new) ops_.push_back({title, {}});
  return ops_[found->second];
}

void StepListing::add(Op& op, const ShownRecord& record, const TensorNumbers& numbers) {
  Steps& steps = op.tensors[{numbers.is_output, numbers.index}];
  const auto [step, is_new] = steps.try_emplace(record.place ? record.place->step : 0, numbers);
  if (is_new) return;
  TensorNumbers& known = step->second;
  join(known.min, numbers.min, kStepStatistics[0]);
  join(known.max, numbers.max, kStepStatistics[1]);
  join(known.mean, numbers.mean, kStepStatistics[2]);
  known.nan += numbers.nan;
  known.infinite += numbers.infinite;
}

UseNumbers StepListing::use_of(const ShownRecord& record) {
  return [&record, &op = op_of(record)](const TensorNumbers& numbers) { add(op, record, numbers); };
}

void StepListing::finish(const DumpProvenance& provenance) {
  for (const Op& op : ops_) print(op);
  print_provenance(provenance);
}

void StepListing::print(const Op& op) const {
  print_line(op.title);
  const std::size_t room =
      style_.width == 0 ? kPlainCells : std::max<std::size_t>(style_.width, kRest + 10) - kRest;
  for (const auto& [role, steps] : op.tensors) {
    const std::size_t per_cell = (steps.size() + room - 1) / room;
    std::printf("  %s %llu, %s, %llu to %llu%s\n", role.first ? "output" : "input",
                static_cast<unsigned long long>(role.second), count_text(steps.size(), "step").c_str(),
                static_cast<unsigned long long>(steps.begin()->first),
                static_cast<unsigned long long>(steps.rbegin()->first),
                per_cell == 1 ? "" : (", " + std::to_string(per_cell) + " in a cell").c_str());
    for (const Statistic& statistic : kStepStatistics) {
      std::vector<std::optional<double>> cells((steps.size() + per_cell - 1) / per_cell);
      std::optional<double> low, high, last;
      std::size_t i = 0;
      for (const auto& [step, numbers] : steps) {
        const std::optional<double> value = statistic.value(numbers);
        join(cells[i++ / per_cell], value, statistic);
        if (!value) continue;
        low = low ? std::min(*low, *value) : *value;
        high = high ? std::max(*high, *value) : *value;
        last = value;
      }
      if (!last) continue;
      std::printf("    %-7s |%s| %s to %s, last %s\n", statistic.name, sparkline(cells, style_).c_str(),
                  number_text(*low).c_str(), number_text(*high).c_str(), number_text(*last).c_str());
    }
  }
}

}  // namespace opdump::tool
