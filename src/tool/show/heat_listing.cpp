#include "src/tool/show/heat_listing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <tuple>

#include "src/tool/cli/human_text.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/dump/fields.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kPlainWidth = 100;
constexpr std::size_t kLabelWidth = 10;
constexpr std::size_t kMostAlarms = 10;

std::string name_of(const ShownRecord& record) {
  return record.name ? std::string(record.name->name) : record.found.real_name;
}

}  // namespace

/// Reads the operators of all models, those of one step one after another.
class HeatListing::Entries {
 public:
  explicit Entries(const SpilledSort& sort) : reader_(sort) { read(); }

  /// What comes next; false: nothing does.
  bool peek(Entry& entry, std::string_view& model) const {
    entry = next_;
    model = model_;
    return more_;
  }

  /// Gives it, with all that is told of the same operator at the same step.
  bool take(Entry& entry, std::string& model) {
    if (!more_) return false;
    entry = next_;
    model = model_;
    const std::string first = text_;
    for (read(); more_ && !by_place(first, text_); read()) entry.cell.add(next_.cell);
    return true;
  }

 private:
  void read() {
    std::string_view text;
    more_ = reader_.next(text);
    if (!more_) return;
    text_ = text;
    next_ = entry_in(text);
    model_ = text.substr(sizeof(Entry));
  }

  SpilledSort::Reader reader_;
  std::string text_;
  std::string model_;
  Entry next_{};
  bool more_ = false;
};

void HeatListing::Cell::add(const Cell& other) {
  magnitude = std::max(magnitude, other.magnitude);
  nan += other.nan;
  infinite += other.infinite;
}

std::string HeatListing::Entry::step_text() const {
  return has_step ? std::to_string(step) : "-";
}

HeatListing::Entry HeatListing::entry_in(std::string_view text) {
  return FieldReader(text).next<Entry>();
}

bool HeatListing::by_place(std::string_view a, std::string_view b) {
  const Entry x = entry_in(a), y = entry_in(b);
  return std::tuple(x.boot, a.substr(sizeof x), x.has_step, x.step, x.column) <
         std::tuple(y.boot, b.substr(sizeof y), y.has_step, y.step, y.column);
}

HeatListing::Model& HeatListing::model_of(const Entry& entry, std::string_view name) {
  return models_[{entry.boot, std::string(name)}];
}

UseNumbers HeatListing::use_of(const ShownRecord& record) {
  end_record();
  const std::optional<std::uint32_t> boot = boot_of(record.found.path);
  model_ = record.place ? record.place->model : "";
  record_ = {.boot = boot ? std::uint64_t{*boot} + 1 : 0,
             .has_step = record.place.has_value(),
             .step = record.place ? record.place->step : 0};
  record_.column = model_of(record_, model_).ops.number(name_of(record));
  has_record_ = true;
  return [this](const TensorNumbers& numbers) {
    if (numbers.is_output)
      record_.cell.add({numbers.magnitude().value_or(-1), numbers.nan, numbers.infinite});
  };
}

void HeatListing::end_record() {
  if (!has_record_) return;
  std::string text;
  FieldWriter(text).put(record_);
  static_cast<void>(entries_.add(text.append(model_)));
  has_record_ = false;
}

std::string HeatListing::error() const {
  for (const auto& [key, model] : models_) {
    if (!model.ops.error().empty()) return model.ops.error();
  }
  return entries_.error();
}

/// What the scale of each model is, and its alarms.
void HeatListing::look() {
  Entries entries(entries_);
  Entry entry;
  Model* model = nullptr;
  Entry last;
  for (std::string name; entries.take(entry, name);) {
    Model& here = model_of(entry, name);
    if (&here != model || !entry.is_at_step_of(last)) ++here.steps;
    if (&here != model) here.low = std::numeric_limits<double>::infinity();
    model = &here;
    last = entry;
    here.high = std::max(here.high, entry.cell.magnitude);
    if (entry.cell.magnitude > 0) here.low = std::min(here.low, entry.cell.magnitude);
    if (entry.cell.alarms() && ++here.alarms <= kMostAlarms) here.first_alarms.push_back(entry);
  }
}

void HeatListing::finish(const DumpProvenance& provenance) {
  end_record();
  static_cast<void>(entries_.finish());
  look();
  Entries entries(entries_);
  for (const auto& [key, model] : models_) {
    const auto& [boot, name] = key;
    print((name.empty() ? "outside models" : name) + (boot != 0 ? ", boot " + std::to_string(boot - 1) : ""),
          model, entries);
  }
  print_provenance(provenance);
}

void HeatListing::print(const std::string& title, const Model& model, Entries& entries) const {
  const std::size_t room =
      style_.width == 0 ? kPlainWidth : std::max<std::size_t>(style_.width, 30) - kLabelWidth;
  const std::size_t ops = model.ops.size();
  const std::size_t per_column = (ops + room - 1) / room;
  const std::size_t columns = (ops + per_column - 1) / per_column;
  print_line(title + ": greatest |x| of the outputs, " + count_text(ops, "operator") + " from " +
             model.ops.text(0) + " to " + model.ops.text(ops - 1) +
             (per_column == 1 ? "" : ", " + std::to_string(per_column) + " in a column") + ", " +
             count_text(model.steps, "step") + " down");
  for (std::uint64_t i = 0; i < model.steps; ++i) {
    std::vector<std::optional<Cell>> row(columns);
    Entry entry, next;
    std::string name;
    std::string_view next_name;
    while (entries.take(entry, name)) {
      std::optional<Cell>& to = row[static_cast<std::size_t>(entry.column) / per_column];
      if (!to) to.emplace();
      to->add(entry.cell);
      if (!entries.peek(next, next_name) || !next.is_at_step_of(entry) || next.boot != entry.boot ||
          next_name != name)
        break;
    }
    std::printf("%7s |", entry.step_text().c_str());
    for (const std::optional<Cell>& cell : row) {
      const std::string text =
          !cell || (!cell->alarms() && cell->magnitude < 0) ? " "
          : cell->alarms()                                  ? strip_alarm(style_)
          : cell->magnitude == 0
              ? "."
              : strip_cell(strip_level(std::log(cell->magnitude), std::log(model.low), std::log(model.high)),
                           style_);
      std::fputs(text.c_str(), stdout);
    }
    std::puts("|");
  }
  if (model.high > 0)
    std::printf("  %s is %s, %s is %s, on a scale of logarithms\n", strip_cell(0, style_).c_str(),
                number_text(model.low).c_str(),
                strip_cell(model.low < model.high ? kStripLevels - 1 : 0, style_).c_str(),
                number_text(model.high).c_str());
  std::printf("  . zero   %s NaN or Inf   blank: not dumped\n", strip_alarm(style_).c_str());
  print_alarms(model);
}

void HeatListing::print_alarms(const Model& model) const {
  for (const Entry& alarm : model.first_alarms) {
    print_line("  ! " + model.ops.text(static_cast<std::size_t>(alarm.column)) + " at step " +
               alarm.step_text() + ": " + std::to_string(alarm.cell.nan) + " NaN, " +
               std::to_string(alarm.cell.infinite) + " Inf");
  }
  if (model.alarms > kMostAlarms)
    std::printf("  ! and %zu more\n", static_cast<std::size_t>(model.alarms - kMostAlarms));
}

}  // namespace opdump::tool
