#include "src/tool/show/heat_listing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "src/tool/cli/human_text.hpp"
#include "src/tool/cli/messages.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kPlainWidth = 100;
constexpr std::size_t kLabelWidth = 10;

std::string name_of(const ShownRecord& record) {
  return record.name ? std::string(record.name->name) : record.found.real_name;
}

std::string step_text(const std::optional<std::uint64_t>& step) {
  return step ? std::to_string(*step) : "-";
}

}  // namespace

void HeatListing::Cell::add(const Cell& other) {
  magnitude = std::max(magnitude, other.magnitude);
  nan += other.nan;
  infinite += other.infinite;
}

HeatListing::Cell& HeatListing::cell_of(const ShownRecord& record) {
  Model& model = models_[{boot_of(record.found.path), record.place ? std::string(record.place->model) : ""}];
  const auto [column, is_new] = model.columns.try_emplace(name_of(record), model.ops.size());
  if (is_new) model.ops.push_back(column->first);
  Step step;
  if (record.place) step.emplace(record.place->step);
  return model.steps[step][column->second];
}

UseNumbers HeatListing::use_of(const ShownRecord& record) {
  return [&cell = cell_of(record)](const TensorNumbers& numbers) {
    if (numbers.is_output) cell.add({numbers.magnitude().value_or(-1), numbers.nan, numbers.infinite});
  };
}

void HeatListing::finish(const DumpProvenance& provenance) {
  for (const auto& [key, model] : models_) {
    const auto& [boot, name] = key;
    print((name.empty() ? "outside models" : name) + (boot ? ", boot " + std::to_string(*boot) : ""), model);
  }
  print_provenance(provenance);
}

void HeatListing::print(const std::string& title, const Model& model) const {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const auto& [step, cells] : model.steps) {
    for (const auto& [column, cell] : cells) {
      high = std::max(high, cell.magnitude);
      if (cell.magnitude > 0) low = std::min(low, cell.magnitude);
    }
  }
  const std::size_t room =
      style_.width == 0 ? kPlainWidth : std::max<std::size_t>(style_.width, 30) - kLabelWidth;
  const std::size_t per_column = (model.ops.size() + room - 1) / room;
  const std::size_t columns = (model.ops.size() + per_column - 1) / per_column;
  print_line(title + ": greatest |x| of the outputs, " + count_text(model.ops.size(), "operator") + " from " +
             model.ops.front() + " to " + model.ops.back() +
             (per_column == 1 ? "" : ", " + std::to_string(per_column) + " in a column") + ", " +
             count_text(model.steps.size(), "step") + " down");
  for (const auto& [step, cells] : model.steps) {
    std::vector<std::optional<Cell>> row(columns);
    for (const auto& [column, cell] : cells) {
      std::optional<Cell>& to = row[column / per_column];
      if (!to) to.emplace();
      to->add(cell);
    }
    std::printf("%7s |", step_text(step).c_str());
    for (const std::optional<Cell>& cell : row) {
      const std::string text =
          !cell || (!cell->alarms() && cell->magnitude < 0) ? " "
          : cell->alarms()                                  ? strip_alarm(style_)
          : cell->magnitude == 0
              ? "."
              : strip_cell(strip_level(std::log(cell->magnitude), std::log(low), std::log(high)), style_);
      std::fputs(text.c_str(), stdout);
    }
    std::puts("|");
  }
  if (high > 0)
    std::printf("  %s is %s, %s is %s, on a scale of logarithms\n", strip_cell(0, style_).c_str(),
                number_text(low).c_str(), strip_cell(low < high ? kStripLevels - 1 : 0, style_).c_str(),
                number_text(high).c_str());
  std::printf("  . zero   %s NaN or Inf   blank: not dumped\n", strip_alarm(style_).c_str());
  print_alarms(model);
}

void HeatListing::print_alarms(const Model& model) const {
  constexpr std::size_t kMost = 10;
  std::size_t alarms = 0;
  for (const auto& [step, cells] : model.steps) {
    for (const auto& [column, cell] : cells) {
      if (!cell.alarms() || ++alarms > kMost) continue;
      print_line("  ! " + model.ops[column] + " at step " + step_text(step) + ": " +
                 std::to_string(cell.nan) + " NaN, " + std::to_string(cell.infinite) + " Inf");
    }
  }
  if (alarms > kMost) std::printf("  ! and %zu more\n", alarms - kMost);
}

}  // namespace opdump::tool
