#pragma once
#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "opdump/port/sink.hpp"
#include "opdump/types/config.hpp"
#include "platform/posix/tree_sink.hpp"

namespace opdump::storage {
inline namespace OPDUMP_NAMESPACE {

struct Kernel;
template <class System>
class BasicRawLog;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::storage

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Whether something other than a directory is at `dump_path`, so that a dump would go to raw storage.
bool is_raw_place(std::string_view dump_path);

/// As `check_dump_path`, and raw storage is good too, if its bytes are erased or of a flash log: reads the
/// beginning of each block and writes nothing. A `DumpPathCheck` for what dumps into a DumpStore.
bool check_dump_place(std::string_view dump_path, std::string& reason);

/// What raw storage cannot do of what `config` asks for, "PATH: reason"; empty if it can do all, or if the
/// place is a directory.
std::string raw_refusal(const DumpConfig& config);

/// Where a config's `dump_path` leads: to a directory, which gets a tree of files, or to raw storage (an MTD
/// device, a UBI volume, a block device, a file in place of one), which gets a flash log. A child after
/// fork() can write to neither. Not thread-safe.
class DumpStore final : public Sink {
 public:
  DumpStore();
  DumpStore(const DumpStore&) = delete;
  DumpStore& operator=(const DumpStore&) = delete;
  ~DumpStore();

  /// Gets the place that `config` names ready. A directory is left alone. Raw storage is opened, and stays
  /// open until `close`; a place that is open already stays as it is. `not_supported` for raw storage with
  /// limits or with a layout other than CANN's, and for another place than the one that is open; else errors
  /// as `storage::RawLog::open`. `error()` says more. Allocates.
  [[nodiscard]] Status open(const DumpConfig& config);

  /// While no object is open.
  void close();

  /// See ConfigurableSink. In raw storage `keep` counts ("oldest" if it is absent) and `fsync` (with `record`
  /// each commit is followed by a `sync`).
  [[nodiscard]] Status follow(const DumpOptions& options, JournalDetail journal);

  /// Whether raw storage is open.
  bool is_raw() const { return raw_ != nullptr; }

  /// Bytes that a log can have in the raw storage that is open; 0 for a directory.
  std::uint64_t room() const;

  /// Of raw storage: what it is, and how much of it was in use when it was opened. Else empty.
  std::string report() const;

  /// Why `open` failed, or why raw storage takes nothing any more; empty if that is not known.
  const std::string& error() const;

  /// Records of a dump that was being written, which its limits have removed for newer ones. Raw storage,
  /// whose oldest blocks go, counts none.
  std::uint64_t removed_records() const { return tree_.quota_counts().removed_records; }

  /// The errno behind the last error, for messages; 0 if the system was not its cause.
  int last_errno() const;

  Result<ObjectId> begin(const ObjectName& name) override;
  [[nodiscard]] Status append(ObjectId object, std::span<const Bytes> parts) override;
  [[nodiscard]] Status commit(ObjectId object, ObjectId with = kNoObject) override;
  [[nodiscard]] Status put_object(const ObjectName& name,
                                  std::span<const Bytes> parts) OPDUMP_OVERRIDE_IF_WIDE;
  void abort(ObjectId object) override;
  [[nodiscard]] Status claim_journal(const ObjectName& name) override;
  [[nodiscard]] Status append_lines(const ObjectName& name, std::span<const Bytes> parts) override;
  [[nodiscard]] Status sync() override;

 private:
  /// Null in a child after fork(), which must leave the parent's log alone.
  Sink* now();

  TreeSink tree_;
  std::unique_ptr<storage::BasicRawLog<storage::Kernel>> raw_;
  std::string raw_path_;
  std::string error_;
  pid_t owner_ = 0;
  bool sync_each_ = false;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
