#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "opdump/port/sink.hpp"
#include "platform/flashlog/log_reader.hpp"

namespace opdump::tests {

/// The bytes of the object of number `number`, which are like those of no other.
inline std::vector<std::byte> bytes_of_object(std::uint32_t number) {
  std::vector<std::byte> bytes(700 + number * 7919 % 9000);
  std::uint32_t state = number * 2654435761u + 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

/// Writes object `number`, in two pieces.
inline Status put_object(Sink& sink, std::uint32_t number) {
  const std::string file = std::to_string(number);
  const Result<ObjectId> object = sink.begin({.root = "", .directory = "dump", .file = file});
  if (!object.ok()) return object.status();
  const std::vector<std::byte> bytes = bytes_of_object(number);
  const Bytes parts[] = {Bytes(bytes).first(100), Bytes(bytes).subspan(100)};
  if (const Status status = sink.append(object.value(), parts); status != Status::ok) {
    sink.abort(object.value());
    return status;
  }
  return sink.commit(object.value());
}

/// What a log on a device holds.
struct RawContents {
  std::map<std::uint32_t, std::uint32_t> good{};  ///< committed objects with all their bytes, and their boots
  std::uint32_t wrong = 0;                        ///< committed objects with other bytes
  std::uint32_t damaged = 0;
  std::uint32_t torn = 0;
  Status status = Status::ok;
};

inline RawContents contents_of(const flashlog::Device& device) {
  RawContents contents;
  std::vector<flashlog::Segment> segments(device.geometry.block_count);
  std::vector<char> names(device.geometry.block_bytes / 4);
  flashlog::LogReader reader(device, names);
  contents.status = reader.open(segments);
  if (contents.status != Status::ok) return contents;
  std::vector<std::byte> memory(4096);
  for (flashlog::LogReader::Object object; reader.next(object);) {
    contents.damaged += object.state == flashlog::ObjectState::damaged;
    contents.torn += object.state == flashlog::ObjectState::torn;
    if (object.state != flashlog::ObjectState::committed) continue;
    const std::uint32_t number = static_cast<std::uint32_t>(std::stoul(std::string(object.file)));
    std::vector<std::byte> bytes;
    const Status read = reader.read(object, memory, [&](Bytes piece) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
      return true;
    });
    if (read == Status::ok && bytes == bytes_of_object(number))
      contents.good[number] = object.boot;
    else
      ++contents.wrong;
  }
  return contents;
}

}  // namespace opdump::tests
