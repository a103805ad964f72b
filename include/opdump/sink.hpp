#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/bytes.hpp"
#include "opdump/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// Name of an object in a dump. The sink copies what it keeps.
struct ObjectName {
  std::string_view root{};       ///< the config's `dump_path`; a sink without directories may leave it out
  std::string_view directory{};  ///< below root, '/'-separated, no empty, "." or ".." part; may be empty
  std::string_view file{};       ///< no '/'; may be longer than a file system allows
};

/// One object that a sink has open.
enum class ObjectId : std::uint32_t {};

/// Where a dump goes: a tree of files, a raw flash log, a callback. Objects are written by begin, append and
/// commit, and exist for a reader only after commit. All calls come from the drainer, one at a time; several
/// objects may be open at once, one per recorder.
class Sink {
 public:
  /// Opens a new object. `already_exists` when one of that name is there (the drainer then picks another
  /// name); any other error: nothing is open.
  virtual Result<ObjectId> begin(const ObjectName& name) = 0;

  /// Adds `parts` to the end, in order. After an error the object can only be aborted.
  [[nodiscard]] virtual Status append(ObjectId object, std::span<const Bytes> parts) = 0;

  /// Makes the object appear whole under its name and closes it. After an error it is gone, as after `abort`.
  [[nodiscard]] virtual Status commit(ObjectId object) = 0;

#if OPDUMP_FAULTS
  /// `commit` of two objects that only make sense together: both appear, `first` before `second`, or neither.
  /// After an error both are gone.
  [[nodiscard]] virtual Status commit_both(ObjectId first, ObjectId second) = 0;
#endif

  /// Closes the object and takes back what was written of it.
  virtual void abort(ObjectId object) = 0;

  /// Adds `parts` to the journal of that name in one piece, and makes the journal if there is none. What was
  /// added counts at once and stays, also when nothing is ever committed; a crash may cut the last piece
  /// short.
  [[nodiscard]] virtual Status append_journal(const ObjectName& name, std::span<const Bytes> parts) = 0;

  /// Returns when everything committed so far would survive a loss of power.
  [[nodiscard]] virtual Status sync() = 0;

 protected:
  ~Sink() = default;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
