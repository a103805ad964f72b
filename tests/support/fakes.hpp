#pragma once
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/port/clock.hpp"
#include "opdump/port/device_memory.hpp"
#include "opdump/port/sink.hpp"

namespace opdump::tests {

/// A LogHook that adds the line to a std::vector<std::string>.
inline void add_line(void* lines, std::string_view line) {
  static_cast<std::vector<std::string>*>(lines)->emplace_back(line);
}

/// A clock that moves only when told, or by one microsecond per reading.
class FakeClock final : public Clock {
 public:
  std::uint64_t unix_us() override { return now_us += us_per_reading; }
  std::int32_t utc_offset_seconds() override { return utc_offset; }
  std::uint32_t monotonic_ms() override { return now_ms; }
  void pause() override {
    ++pauses;
    now_ms += ms_per_pause;
  }

  std::uint64_t now_us = 1'700'000'000'000'000;  // 2023-11-14 22:13:20 UTC
  std::uint64_t us_per_reading = 1;
  std::int32_t utc_offset = 0;
  std::uint32_t now_ms = 0;
  std::uint32_t ms_per_pause = 1;
  int pauses = 0;
};

/// Plain memory whose n-th copy can be made to fail.
class FakeMemory final : public DeviceMemory {
 public:
  Status copy(std::byte* to, Address from, std::size_t bytes) override {
    if (copies++ == fail_at) return Status::device_copy_failed;
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return Status::ok;
  }

  int copies = 0;
  int fail_at = -1;
};

/// Keeps committed objects in memory, and can be made to fail at its n-th call.
class FakeSink : public Sink {
 public:
  Result<ObjectId> begin(const ObjectName& name) override {
    if (const Status status = next_call(); status != Status::ok) return status;
    const std::string path =
        std::string(name.root) + "|" + std::string(name.directory) + "|" + std::string(name.file);
    if (objects.contains(path)) return Status::already_exists;
    for (const auto& [id, open] : open_objects) {
      if (open.first == path) return Status::already_exists;
    }
    open_objects[++last_id] = {path, {}};
    return ObjectId{last_id};
  }

  Status append(ObjectId object, std::span<const Bytes> parts) override {
    auto& data = open_objects.at(static_cast<std::uint32_t>(object)).second;
    if (const Status status = next_call(); status != Status::ok) return status;
    for (const Bytes part : parts) data.insert(data.end(), part.begin(), part.end());
    return Status::ok;
  }

  /// One call, of one object or two.
  Status commit(ObjectId object, ObjectId with = kNoObject) override {
    if (!open_objects.contains(static_cast<std::uint32_t>(object))) return Status::invalid_argument;
    const Status status = next_call();
    for (const ObjectId one : {object, with}) {
      if (one == kNoObject) continue;
      if (status == Status::ok) {
        keep(one);
      } else {
        open_objects.erase(static_cast<std::uint32_t>(one));
      }
    }
    return status;
  }

  void abort(ObjectId object) override {
    if (open_objects.erase(static_cast<std::uint32_t>(object)) == 0) ++stray_aborts;
    ++aborts;
  }

  Status append_lines(const ObjectName& name, std::span<const Bytes> parts) override {
    if (const Status status = next_call(); status != Status::ok) return status;
    std::string& text =
        journals[std::string(name.root) + "|" + std::string(name.directory) + "|" + std::string(name.file)];
    for (const Bytes part : parts) text += as_text(part);
    return Status::ok;
  }

  Status sync() override {
    ++syncs;
    return next_call();
  }

  std::map<std::string, std::vector<std::byte>> objects;
  std::map<std::string, std::string> journals;
  std::vector<std::string> order;
  std::map<std::uint32_t, std::pair<std::string, std::vector<std::byte>>> open_objects;
  std::uint32_t last_id = 0;
  int calls = 0;
  int fail_at = -1;  ///< the call with this number fails, and all later ones if `fail_on`
  bool fail_on = false;
  Status failure = Status::no_space;
  int aborts = 0;
  int stray_aborts = 0;
  int syncs = 0;

 private:
  void keep(ObjectId object) {
    const auto node = open_objects.extract(static_cast<std::uint32_t>(object));
    order.push_back(node.mapped().first);
    objects[node.mapped().first] = node.mapped().second;
  }

  Status next_call() {
    const int call = calls++;
    if (fail_at >= 0 && (call == fail_at || (fail_on && call > fail_at))) return failure;
    return Status::ok;
  }
};

}  // namespace opdump::tests
