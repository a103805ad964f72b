#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "platform/flashlog/impl/damaged_places.hpp"
#include "platform/flashlog/log_reader.hpp"

namespace opdump::tests {

/// All that a reader finds in a log.
struct FlashContents {
  struct Object {
    flashlog::ObjectState state;
    std::string path;
    std::string bytes;
  };

  std::vector<Object> objects;                  ///< in the order of their beginnings
  std::map<std::string, std::string> journals;  ///< path to lines
  std::uint32_t unreadable_runs = 0;
  std::string unread;  ///< listed as committed, and not to be read

  const Object* find(const std::string& path) const {
    for (const Object& object : objects) {
      if (object.path == path) return &object;
    }
    return nullptr;
  }

  std::size_t count(flashlog::ObjectState state) const {
    std::size_t count = 0;
    for (const Object& object : objects) count += object.state == state;
    return count;
  }
};

inline FlashContents read_flash(const flashlog::Device& device, bool search = false) {
  std::vector<flashlog::Segment> segments(device.geometry.block_count);
  std::vector<char> names(device.geometry.block_bytes);
  std::vector<std::byte> memory(4096);
  flashlog::LogReader reader(device, names);
  FlashContents contents;
  if (reader.open(segments, search ? UINT64_MAX : 0) != Status::ok) return contents;
  for (flashlog::LogReader::Object object; reader.next(object);) {
    const std::string path =
        (object.directory_known ? std::string(object.directory) : "?") + "/" + std::string(object.file);
    std::string bytes;
    const Status status = reader.read(object, memory, [&](Bytes piece) {
      bytes += as_text(piece);
      return true;
    });
    // What was whole a moment ago may not be any more, where cells are unsteady.
    if (status != Status::ok && object.state != flashlog::ObjectState::lines) {
      if (object.state == flashlog::ObjectState::committed) contents.unread += path + "\n";
      object.state = flashlog::ObjectState::damaged;
    }
    if (object.state == flashlog::ObjectState::lines) {
      contents.journals[path] += bytes;
    } else {
      contents.objects.push_back({object.state, path, bytes});
    }
  }
  contents.unreadable_runs = reader.unreadable_runs();
  return contents;
}

/// What a host's reader finds that was in a log and is not any more.
struct FlashLosses {
  std::size_t holes = 0;  ///< segments behind one
  std::size_t damaged_places = 0;
  bool operator==(const FlashLosses&) const = default;
};

inline FlashLosses losses_in(const flashlog::Device& device) {
  std::vector<flashlog::Segment> segments(device.geometry.block_count);
  flashlog::LogRuns runs(device);
  FlashLosses losses;
  if (runs.open(segments, UINT64_MAX) != Status::ok) return losses;
  for (const flashlog::Segment& segment : runs.segments()) losses.holes += segment.behind_hole;
  flashlog::DamagedPlaces places(runs);
  for (std::optional<flashlog::DamagedPlace> place; places.go_past(place);)
    losses.damaged_places += place.has_value();
  return losses;
}

}  // namespace opdump::tests
