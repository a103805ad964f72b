#pragma once
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "platform/flashlog/flash_history.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/flash_emulator.hpp"

namespace opdump::tests {

/// An area, and what its history keeps.
struct HistorySetup {
  flashlog::Geometry geometry;
  std::uint32_t page_bytes = 128;
  std::uint32_t history_steps = 3;
  std::uint32_t after_steps = 1;
  flashlog::Options options{};
};

/// The bytes of an object, which its name tells.
inline std::string bytes_of_file(const std::string& file, std::size_t bytes) {
  std::string text;
  std::uint32_t state = 1;
  for (const char c : file) state = state * 31 + static_cast<unsigned char>(c);
  for (; text.size() < bytes; state = state * 1664525 + 1013904223) text += static_cast<char>(state >> 24);
  return text;
}

/// What a FakeSink was given, as `{step}/{file}` in order. Each has to have the bytes that its name tells.
inline std::vector<std::string> files_of(const FakeSink& sink) {
  std::vector<std::string> files;
  std::string broken;
  for (const std::string& path : sink.order) {
    const std::size_t bar = path.rfind('|');
    const std::string file = path.substr(bar + 1);
    const std::vector<std::byte>& data = sink.objects.at(path);
    if (as_text(data) != bytes_of_file(file, data.size())) broken += "other bytes: " + path + "\n";
    if (std::to_string(data.size()) != file.substr(file.rfind('.') + 1))
      broken += "other length: " + path + "\n";
    const std::size_t slash = path.rfind('/', bar);
    files.push_back(path.substr(slash + 1, bar - slash - 1) + "/" + file);
  }
  if (!broken.empty()) FAIL(broken);
  return files;
}

/// A history over an emulated area.
class FlashHistoryBench {
 public:
  explicit FlashHistoryBench(const HistorySetup& setup)
      : FlashHistoryBench(setup, FlashEmulator(setup.geometry, setup.page_bytes)) {}

  FlashHistoryBench(const HistorySetup& setup, const FlashEmulator& part)
      : flash(part),
        device_(flash.device()),
        page_(flashlog::FlashHistory::kPrefixBytes + setup.page_bytes),
        memory_(flashlog::FlashHistory::memory_bytes(setup.history_steps) / 8 + 1),
        history(inner, device_, page_, setup.options) {
    flash.power_on();
    history.configure(std::as_writable_bytes(std::span(memory_)), setup.history_steps, setup.after_steps);
    REQUIRE(history.mount() == Status::ok);
  }
  FlashHistoryBench(const FlashHistoryBench&) = delete;
  FlashHistoryBench& operator=(const FlashHistoryBench&) = delete;

  /// Whether each object that was committed is accounted for.
  bool balances() const {
    return committed == history.handed_on() + history.lost() + history.let_go() + history.kept();
  }

  Status write(std::uint64_t step, const std::string& file, std::size_t bytes = 100,
               ObjectKind kind = ObjectKind::record) {
    const Status status = write_object(history, step, file, bytes, kind);
    if (status == Status::ok) ++committed;
    return status;
  }

  /// Objects of `step` in any history.
  template <class History>
  static Status write_object(History& history, std::uint64_t step, const std::string& file, std::size_t bytes,
                             ObjectKind kind) {
    const std::string name = file + "." + std::to_string(bytes);
    const Result<ObjectId> object = begin(history, step, name, kind);
    if (!object.ok()) return object.status();
    const std::string data = bytes_of_file(name, bytes);
    const Bytes parts[] = {as_bytes(data).first(bytes / 3), as_bytes(data).subspan(bytes / 3)};
    const Status status = history.append(object.value(), parts);
    if (status != Status::ok) {
      history.abort(object.value());
      return status;
    }
    return history.commit(object.value());
  }

  template <class History>
  static Result<ObjectId> begin(History& history, std::uint64_t step, const std::string& name,
                                ObjectKind kind = ObjectKind::record) {
    const std::string directory = "20260101000000/0/net/1/" + std::to_string(step);
    return history.begin(
        {"/dump", directory, name, ObjectFacts{.kind = kind, .dump_bytes = 14, .load = 1, .step = step}});
  }

  FlashEmulator flash;
  FakeSink inner;
  std::uint32_t committed = 0;

 private:
  flashlog::Device device_;
  std::vector<std::byte> page_;
  std::vector<std::uint64_t> memory_;

 public:
  flashlog::FlashHistory history;
};

inline const HistorySetup kHistorySetups[] = {
    {.geometry = {.block_bytes = 2048, .block_count = 12, .program_bytes = 1, .bits_only_clear = true}},
    {.geometry = {.block_bytes = 4096, .block_count = 8, .program_bytes = 4, .bits_only_clear = true},
     .page_bytes = 256},
    {.geometry = {.block_bytes = 2048, .block_count = 16, .program_bytes = 16},
     .options = {.verify = true, .prepared_blocks = 2}},
    {.geometry = {.block_bytes = 4096, .block_count = 12, .program_bytes = 512}, .page_bytes = 1024},
    {.geometry = {.block_bytes = 2048, .block_count = 12, .program_bytes = 64, .erased = std::byte{0}}},
};

}  // namespace opdump::tests
