#include "src/tool/judge/diff/run_merge.hpp"

#include <tuple>
#include <vector>

namespace opdump::tool {
namespace {

template <class Value>
Value value_in(std::string_view text) {
  return FieldReader(text).next<Value>();
}

template <class Value>
void add_to(SpilledSort& sort, const Value& value) {
  char text[sizeof value];
  std::memcpy(text, &value, sizeof value);
  static_cast<void>(sort.add({text, sizeof text}));
}

}  // namespace

bool RunMerge::by_tensor(std::string_view a, std::string_view b) {
  const auto key = [](const Entry& entry) {
    return std::tuple(entry.step, entry.tensor, entry.of_run, entry.number);
  };
  return key(value_in<Entry>(a)) < key(value_in<Entry>(b));
}

bool RunMerge::by_row(std::string_view a, std::string_view b) {
  const auto x = value_in<Placed>(a), y = value_in<Placed>(b);
  return x.is_new != y.is_new ? y.is_new : x.number < y.number;
}

RunMerge::RunMerge(SpilledList<RunPlace>& places, std::size_t followed)
    : places_(places), followed_(followed) {
  std::uint64_t row = 0;
  for (const RunPlace& place : places_)
    add_to(entries_, Entry{.step = place.step, .number = row++, .tensor = place.tensor});
}

void RunMerge::add(std::uint32_t tensor, std::uint64_t step, const RunDigest& digest) {
  add_to(entries_,
         Entry{.step = step, .number = added_++, .digest = digest, .tensor = tensor, .of_run = true});
}

/// The turns of one tensor in one step are its rows in their order; those of the run go on behind the rows
/// that it has followed.
void RunMerge::place() {
  static_cast<void>(entries_.finish());
  SpilledSort::Reader reader(entries_);
  std::vector<std::uint64_t> rows;
  std::size_t turn = 0;
  Entry last{};
  bool any = false;
  for (std::string_view text; reader.next(text);) {
    const Entry entry = value_in<Entry>(text);
    if (!any || entry.step != last.step || entry.tensor != last.tensor) {
      rows.clear();
      turn = 0;
    }
    any = true;
    last = entry;
    if (!entry.of_run) {
      rows.push_back(entry.number);
      if (entry.number < followed_) ++turn;
      continue;
    }
    const bool is_new = turn >= rows.size();
    add_to(placed_, Placed{.number = is_new ? entry.number : rows[turn],
                           .place = {entry.tensor, static_cast<std::uint32_t>(turn), entry.step},
                           .digest = entry.digest,
                           .is_new = is_new});
    ++turn;
  }
  static_cast<void>(placed_.finish());
}

std::string RunMerge::finish(const std::function<void(const RunDigest& digest)>& take) {
  place();
  SpilledSort::Reader reader(placed_);
  const std::size_t rows = places_.size();
  std::size_t row = followed_;
  for (std::string_view text; reader.next(text);) {
    const Placed placed = value_in<Placed>(text);
    const std::size_t until = placed.is_new ? places_.size() : static_cast<std::size_t>(placed.number);
    for (; row < until; ++row) take({});
    if (placed.is_new) places_.push_back(placed.place);
    take(placed.digest);
    ++row;
  }
  for (; row < rows; ++row) take({});
  return entries_.error().empty() ? placed_.error() : entries_.error();
}

}  // namespace opdump::tool
