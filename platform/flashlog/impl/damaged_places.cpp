#include "platform/flashlog/impl/damaged_places.hpp"

namespace opdump::flashlog {
inline namespace OPDUMP_NAMESPACE {

DamagedPlaces::DamagedPlaces(const LogRuns& runs) : runs_(runs) {
  NoVisitor entries;
  ended_ = !runs_.resynchronise(walk_, 0, entries);
}

bool DamagedPlaces::go_past(std::optional<DamagedPlace>& place) {
  place.reset();
  NoVisitor entries;
  if (ended_ || !runs_.visit(walk_, entries)) {
    ended_ = true;
    return false;
  }
  const std::uint32_t first = walk_.first_segment;
  const bool is_next = first == stream_;
  // Of a stream whose beginning is gone, the first run may have lost what its CRC covers before.
  const bool is_known = is_next || runs_.segments()[first].starts;
  const Position begin = is_next ? good_end_ : Position{first, runs_.segments()[first].begin};
  const Position end = walk_.run.at;
  good_end_ = walk_.at = walk_.run_end;
  stream_ = first;
  if (is_known && end != begin && (was_synced(end) || was_programmed(begin)))
    place = {begin, end, runs_.segments()[begin.segment].boot};
  return true;
}

bool DamagedPlaces::was_synced(Position place_end) const {
  const std::uint32_t behind = place_end.segment + kMostAhead;
  return behind < runs_.segments().size() &&
         runs_.segments()[behind].boot == runs_.segments()[place_end.segment].boot;
}

/// Whether the place from `begin` up to the run at `walk_` was, and another page of its stream after it.
bool DamagedPlaces::was_programmed(Position begin) const {
  const Position end = walk_.run.at;
  if (runs_.any_erased(begin, end)) return false;
  // A block has two pages at least.
  const std::uint32_t most_page_bytes = runs_.device().geometry.block_bytes / 2;
  Walk behind = walk_;
  NoVisitor entries;
  do {
    const Position last = behind.run_end;
    if (last.segment != end.segment || last.offset - end.offset > most_page_bytes) return true;
    behind.at = last;
  } while (runs_.visit(behind, entries) && behind.first_segment == walk_.first_segment);
  return false;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::flashlog
