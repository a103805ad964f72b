#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/base/build.hpp"
#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What an object is.
enum class ObjectKind : std::uint8_t {
  extra,    ///< another file of a framework's dumps
  record,   ///< the record of an operator, or of one of its tensors
  report,   ///< the report of an operator's overflow
  failure,  ///< the record of an operator that failed
  table,    ///< rows of statistics
  journal,
};

/// What is known of an object apart from its name.
struct ObjectFacts {
  ObjectKind kind = ObjectKind::extra;
  /// Bytes of `directory` that name the dump's own, which ends in YYYYMMDDHHMMSS; 0: it has no directory of its own.
  std::uint8_t dump_bytes = 0;
  bool is_spare = false;      ///< lines of a journal that give way to others where room is short
  std::uint32_t load = 0;     ///< which loading of a model the operator is of; 0: none
  std::uint64_t step = 0;     ///< of that model
  std::uint64_t unix_us = 0;  ///< the time in the file's name; 0: none
};

/// Name of an object in a dump, and what the object is. The sink copies what it keeps.
struct ObjectName {
  std::string_view root{};       ///< the config's `dump_path`; a sink without directories may leave it out
  std::string_view directory{};  ///< below root, '/'-separated, no empty, "." or ".." part; may be empty
  std::string_view file{};       ///< no '/'; may be longer than a file system allows
  [[no_unique_address]] Maybe<!build::kLean, ObjectFacts> facts{};  ///< absent with OPDUMP_SMALL_CODE
};

/// One object that a sink has open.
enum class ObjectId : std::uint32_t {};

/// Never an object that is open.
inline constexpr ObjectId kNoObject{0xffffffff};

/// Objects that a session has open at once in its sink: one per recorder, and one more that is committed
/// together with one of them.
inline constexpr std::uint32_t kMaxOpenObjects = OPDUMP_MAX_RECORDERS + (build::kFaults ? 1 : 0);

/// Where a dump goes: a tree of files, a raw flash log, a callback. Objects are written by begin, append and
/// commit, and exist for a reader only after commit. All calls come from the drainer, one at a time;
/// kMaxOpenObjects may be open at once.
class Sink {
 public:
  /// Opens a new object. `already_exists` when there is an object of that name (the drainer then picks
  /// another name); any other error: nothing is open.
  virtual Result<ObjectId> begin(const ObjectName& name) = 0;

  /// Adds `parts` to the end of the object, in order. After an error the object can only be aborted.
  [[nodiscard]] virtual Status append(ObjectId object, std::span<const Bytes> parts) = 0;

  /// Makes the object appear whole under its name and closes it. `with` is another object that only makes
  /// sense together with it: both appear, `object` before `with`, or neither does. After an error what was to
  /// appear is gone, as after `abort`. Without OPDUMP_FAULTS nobody passes `with`, and a sink may ignore it.
  [[nodiscard]] virtual Status commit(ObjectId object, ObjectId with = kNoObject) = 0;

  /// Closes the object and takes back what was written of it.
  virtual void abort(ObjectId object) = 0;

  /// Writes a whole object, which has `parts`: as `begin`, `append` and `commit` together; nothing is open
  /// afterwards. Most records come so. On 64-bit machines a sink that knows a shorter way may override it.
  [[nodiscard]] OPDUMP_VIRTUAL_IF_WIDE Status put_object(const ObjectName& name,
                                                         std::span<const Bytes> parts);

  /// Adds `parts`, which are whole lines, to the object of that name in one piece, and makes the object if
  /// there is none: lines of a journal, rows of a table. The lines count at once and stay, even if nothing is
  /// ever committed; a crash may cut the last piece short.
  [[nodiscard]] virtual Status append_lines(const ObjectName& name, std::span<const Bytes> parts) = 0;

  /// Called before the first piece of a journal. `already_exists` when there is a journal of that name, of
  /// another process or of an earlier process whose clock gave the same time; the drainer then picks another
  /// name. A lean build does not ask. After `ok`, and after any other error, `append_lines` follows.
  [[nodiscard]] virtual Status claim_journal([[maybe_unused]] const ObjectName& name) { return Status::ok; }

  /// Returns when everything committed so far would survive a loss of power.
  [[nodiscard]] virtual Status sync() = 0;

 protected:
  ~Sink() = default;
};

inline Status Sink::put_object(const ObjectName& name, std::span<const Bytes> parts) {
  const Result<ObjectId> object = begin(name);
  if (!object.ok()) return object.status();
  if (const Status status = append(object.value(), parts); status != Status::ok) [[unlikely]] {
    abort(object.value());
    return status;
  }
  return commit(object.value());
}

/// An object that is being written to a sink, and its length so far. After any error nothing is open.
class OpenObject {
 public:
  [[nodiscard]] Status begin(Sink& sink, const ObjectName& name) {
    const Result<ObjectId> object = sink.begin(name);
    if (!object.ok()) return object.status();
    sink_ = &sink;
    object_ = object.value();
    bytes_ = 0;
    return Status::ok;
  }

  [[nodiscard]] Status put(std::span<const Bytes> parts) {
    if constexpr (build::kFullJournal) {
      for (const Bytes part : parts) bytes_ = bytes_ + part.size();
    }
    const Status status = sink_->append(object_, parts);
    if (status != Status::ok) sink_->abort(object_);
    return status;
  }

  /// Apart in small code, so that its frame is not in use while the drainer does other things.
  [[nodiscard]] OPDUMP_APART_IF_LEAN Status put(Bytes part) { return put({&part, 1}); }

  [[nodiscard]] Status commit() { return sink_->commit(object_); }
  /// As `Sink::commit`, for this object and `with`.
  [[nodiscard]] Status commit(const OpenObject& with) { return sink_->commit(object_, with.object_); }
  void abort() { sink_->abort(object_); }

  /// Counted for journals that name records; else it is 0.
  std::uint64_t bytes() const { return bytes_; }

 private:
  Sink* sink_ = nullptr;
  ObjectId object_{};
  [[no_unique_address]] Maybe<build::kFullJournal, std::uint64_t> bytes_{};
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
