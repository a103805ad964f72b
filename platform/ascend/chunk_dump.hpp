#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "opdump/acl.h"
#include "opdump/config/parse.hpp"
#include "opdump/port/listeners.hpp"
#include "platform/ascend/chunk_consumer.hpp"

namespace opdump::ascend {
inline namespace OPDUMP_NAMESPACE {

/// A ChunkConsumer with everything it needs inside: it dumps into a tree of files, as a config file says,
/// with a ring of 4 MiB and a drain thread unless the config says otherwise.
///
///     ChunkDump dump;
///     dump.start("acl.json");
///     acldumpRegCallback(a function that calls dump.take, 0);
///
/// Threads: one control thread calls everything but `take` and `counts`, which any thread may call between
/// `start` and `stop`. Allocates in its constructor, `start` and `stop`.
class ChunkDump {
 public:
  ChunkDump();
  ~ChunkDump();
  ChunkDump(const ChunkDump&) = delete;
  ChunkDump& operator=(const ChunkDump&) = delete;

  /// `hook` gets a line for each key of the config without effect, and for what was lost. Null: nobody gets
  /// them. Without this call they go to stderr.
  void log_to(LogHook hook, void* context);

  /// Reads `config_path` and begins. After an error, which `error()` gives in words, nothing is taken:
  /// `config_refused`, `already_initialised`, `no_memory`, `not_supported` for another layout than CANN's and
  /// for "history_steps" and "digest", or an error of the drain thread.
  [[nodiscard]] Status start(const char* config_path);

  /// As ChunkConsumer.
  Status take(const acldumpChunk& chunk, std::int32_t bytes);
  [[nodiscard]] ChunkCounts counts() const;

  /// Ends the dump: call it after `acldumpUnregCallback`, or after CANN has ended its own. `ok` when every wanted
  /// file is as CANN would have written it; otherwise `error()` gives the reason. Errors as ChunkConsumer's.
  [[nodiscard]] Status stop();

  /// Why the last failed call failed.
  const std::string& error() const;

 private:
  struct Body;

  std::unique_ptr<Body> body_;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::ascend
