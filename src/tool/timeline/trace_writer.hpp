#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "src/tool/cli/json.hpp"
#include "src/tool/convert/export_file.hpp"

namespace opdump::tool {

/// Writes events as Chrome and Perfetto read them: `{"displayTimeUnit": "ms", "traceEvents": [...]}`. Times
/// are in microseconds. After a failure of the file nothing is written any more. Source: the Trace Event
/// Format.
class TraceWriter {
 public:
  /// Writes to `file`, which is created; or, where that is null, to stdout.
  explicit TraceWriter(ExportFile* file);

  /// Where something happened: process and thread.
  struct Track {
    std::uint64_t process = 0;
    std::uint64_t thread = 0;
  };

  void name_process(std::uint64_t process, const std::string& name);
  void name_thread(const Track& track, const std::string& name);

  // Each begins an event; its further arguments are written with the JsonWriter that comes back, each with
  // `key`, and `end` ends it.

  /// A slice of `duration` microseconds.
  JsonWriter& slice(const Track& track, std::uint64_t at, std::uint64_t duration, std::string_view category,
                    std::string_view name);

  /// A moment, of a thread, or if `of_process` of all threads of a process.
  JsonWriter& instant(const Track& track, std::uint64_t at, std::string_view category, std::string_view name,
                      bool of_process = false);

  void end();

  /// A value from `at` on.
  void counter(std::uint64_t process, std::uint64_t at, const std::string& name, std::string_view unit,
               std::uint64_t value);

  /// Something that goes on from `first` to `last`, beside the threads.
  void span(std::uint64_t process, std::uint64_t first, std::uint64_t last, std::string_view category,
            const std::string& name);

  /// Ends the array. False: not everything was written.
  bool finish();

 private:
  void begin(std::string_view phase, const Track& track, std::uint64_t at, std::string_view category,
             std::string_view name);
  void put(const std::string& text);

  ExportFile* const file_;
  JsonWriter json_;
  bool good_ = true;
  std::uint64_t spans_ = 0;
};

}  // namespace opdump::tool
