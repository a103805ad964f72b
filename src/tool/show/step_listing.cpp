#include "src/tool/show/step_listing.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <optional>
#include <tuple>
#include <vector>

#include "src/tool/cli/human_text.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/dump/fields.hpp"

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

/// What is told of the same tensor at the same step again.
void join(TensorNumbers& known, const TensorNumbers& numbers) {
  join(known.min, numbers.min, kStepStatistics[0]);
  join(known.max, numbers.max, kStepStatistics[1]);
  join(known.mean, numbers.mean, kStepStatistics[2]);
  known.nan += numbers.nan;
  known.infinite += numbers.infinite;
}

std::string title_of(const ShownRecord& record) {
  const std::optional<std::uint32_t> boot = boot_of(record.found.path);
  std::string title = record.name ? std::string(record.name->name) : record.found.real_name;
  if (record.name && !record.name->type.empty()) title = std::string(record.name->type) + ' ' + title;
  if (record.place) title += " (" + std::string(record.place->model) + ')';
  if (boot) title += ", boot " + std::to_string(*boot);
  return title;
}

/// A line of cells, and what stands behind it.
struct StatisticLine {
  std::vector<std::optional<double>> cells;
  std::optional<double> low{}, high{}, last{};

  void add(std::size_t cell, const std::optional<double>& value, const Statistic& statistic) {
    join(cells[cell], value, statistic);
    if (!value) return;
    low = low ? std::min(*low, *value) : *value;
    high = high ? std::max(*high, *value) : *value;
    last = value;
  }
};

}  // namespace

/// Reads the steps of all tensors, each step once.
class StepListing::Entries {
 public:
  explicit Entries(const SpilledSort& sort) : reader_(sort) { read(); }

  /// What comes next; null: nothing does.
  const Entry* peek() const { return more_ ? &next_ : nullptr; }

  Entry take() {
    Entry entry = next_;
    for (read(); more_ && next_.is_of_tensor(entry) && next_.step == entry.step; read())
      join(entry.numbers, next_.numbers);
    return entry;
  }

 private:
  void read() {
    std::string_view text;
    more_ = reader_.next(text);
    if (more_) next_ = entry_in(text);
  }

  SpilledSort::Reader reader_;
  Entry next_{};
  bool more_ = false;
};

StepListing::Entry StepListing::entry_in(std::string_view text) {
  return FieldReader(text).next<Entry>();
}

bool StepListing::by_tensor(std::string_view a, std::string_view b) {
  const auto key = [](const Entry& entry) {
    return std::tuple(entry.op, entry.numbers.is_output, entry.numbers.index, entry.step);
  };
  return key(entry_in(a)) < key(entry_in(b));
}

UseNumbers StepListing::use_of(const ShownRecord& record) {
  const std::uint32_t op = ops_.number(title_of(record));
  return [this, op, step = record.place ? record.place->step : 0](const TensorNumbers& numbers) {
    std::string text;
    FieldWriter(text).put(Entry{op, step, numbers});
    static_cast<void>(entries_.add(text));
  };
}

void StepListing::finish(const DumpProvenance& provenance) {
  static_cast<void>(entries_.finish());
  Entries ahead(entries_), entries(entries_);
  for (std::size_t op = 0; op < ops_.size(); ++op) {
    print_line(ops_.text(op));
    while (ahead.peek() != nullptr && ahead.peek()->op == op) print(count_steps(ahead), entries);
  }
  print_provenance(provenance);
}

StepListing::Steps StepListing::count_steps(Entries& ahead) {
  Entry entry = ahead.take();
  Steps steps = {1, entry.step, entry.step};
  for (; ahead.peek() != nullptr && ahead.peek()->is_of_tensor(entry); ++steps.count) {
    entry = ahead.take();
    steps.last = entry.step;
  }
  return steps;
}

void StepListing::print(const Steps& steps, Entries& entries) const {
  const std::size_t room =
      style_.width == 0 ? kPlainCells : std::max<std::size_t>(style_.width, kRest + 10) - kRest;
  const auto count = static_cast<std::size_t>(steps.count);
  const std::size_t per_cell = (count + room - 1) / room;
  std::printf("  %s %llu, %s, %llu to %llu%s\n", entries.peek()->numbers.is_output ? "output" : "input",
              static_cast<unsigned long long>(entries.peek()->numbers.index),
              count_text(count, "step").c_str(), static_cast<unsigned long long>(steps.first),
              static_cast<unsigned long long>(steps.last),
              per_cell == 1 ? "" : (", " + std::to_string(per_cell) + " in a cell").c_str());
  std::vector<StatisticLine> lines(std::size(kStepStatistics));
  for (StatisticLine& line : lines) line.cells.resize((count + per_cell - 1) / per_cell);
  for (std::size_t i = 0; i < count; ++i) {
    const TensorNumbers numbers = entries.take().numbers;
    for (std::size_t k = 0; k < lines.size(); ++k)
      lines[k].add(i / per_cell, kStepStatistics[k].value(numbers), kStepStatistics[k]);
  }
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const StatisticLine& line = lines[k];
    if (!line.last) continue;
    std::printf("    %-7s |%s| %s to %s, last %s\n", kStepStatistics[k].name,
                sparkline(line.cells, style_).c_str(), number_text(*line.low).c_str(),
                number_text(*line.high).c_str(), number_text(*line.last).c_str());
  }
}

}  // namespace opdump::tool
