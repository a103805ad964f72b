#pragma once
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/attach.hpp"
#include "tests/support/temporary_directory.hpp"

namespace opdump::tests {

/// A config file, the dump that it asks for, and the log of a program that attaches.
class AttachRun {
 public:
  /// `dump` and `options` go into the objects "dump", behind the path, and "opdump".
  explicit AttachRun(const std::string& dump = R"("dump_list": [{}])",
                     const std::string& options = R"("when_full": "block", "block_limit_ms": 60000)") {
    std::filesystem::create_directory(directory_.path() / "dump");
    write_file(config(), R"({"dump": {"dump_path": ")" + dump_path().string() + R"(", )" + dump +
                             R"(}, "opdump": {)" + options + "}}");
  }

  std::string config() const { return (directory_.path() / "acl.json").string(); }
  std::filesystem::path dump_path() const { return directory_.path() / "dump"; }
  std::string path(const std::string& name) const { return (directory_.path() / name).string(); }

  /// For attach::Dump: its log goes to `log`.
  opdump_attach_options options(std::uint32_t max_threads = 0) {
    opdump_attach_options options = attach::Dump::make_options();
    options.say = [](void* self, const char* line, std::size_t bytes) {
      auto& run = *static_cast<AttachRun*>(self);
      const std::lock_guard lock(run.mutex_);
      run.log_.append(line, bytes).append("\n");
    };
    options.context = this;
    options.max_threads = max_threads;
    return options;
  }

  std::string log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  std::size_t told(std::string_view text) const {
    const std::string log = this->log();
    std::size_t count = 0;
    for (std::size_t at = log.find(text); at != log.npos; at = log.find(text, at + 1)) ++count;
    return count;
  }

  /// The records of the dump, by "STEP/TYPE.NAME".
  std::map<std::string, std::string> records() const {
    std::map<std::string, std::string> records;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dump_path())) {
      if (!entry.is_regular_file() || entry.path().extension() == ".journal" || is_card(entry)) continue;
      const std::string name = entry.path().filename().string();
      const std::string step = entry.path().parent_path().filename().string();
      records[step + "/" + name.substr(0, name.find('.', name.find('.') + 1))] = read_file(entry.path());
    }
    return records;
  }

  /// The cards of the dump, by the names of their files.
  std::map<std::string, std::string> cards() const {
    std::map<std::string, std::string> cards;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dump_path())) {
      if (is_card(entry)) cards[entry.path().filename().string()] = read_file(entry.path());
    }
    return cards;
  }

  bool has_dump() const { return !std::filesystem::is_empty(dump_path()); }

  std::string journal() const {
    std::string text;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dump_path())) {
      if (entry.path().extension() == ".journal") text += read_file(entry.path());
    }
    return text;
  }

 private:
  static bool is_card(const std::filesystem::directory_entry& entry) {
    return entry.path().filename().string().ends_with(".model.json");
  }

  TemporaryDirectory directory_;
  mutable std::mutex mutex_;
  std::string log_;
};

/// Whether the data of a record's last tensor are `values`.
template <class Values>
bool ends_with(const std::string& record, const Values& values) {
  const std::size_t bytes = values.size() * sizeof values[0];
  return record.size() > bytes &&
         std::memcmp(record.data() + record.size() - bytes, values.data(), bytes) == 0;
}

/// The keys of `records`.
inline std::vector<std::string> keys(const std::map<std::string, std::string>& records) {
  std::vector<std::string> keys;
  for (const auto& record : records) keys.push_back(record.first);
  return keys;
}

}  // namespace opdump::tests
