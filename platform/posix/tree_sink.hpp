#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "opdump/knobs.hpp"
#include "opdump/port/sink.hpp"
#include "platform/posix/base/unique_fd.hpp"
#include "platform/posix/tree/appended_file.hpp"
#include "platform/posix/tree/tree_quota.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// What room a TreeSink may take, and what it promises.
struct TreeOptions {
  TreeLimits limits;
  Fsync fsync = Fsync::finalize;
  bool has_journal = true;  ///< false: the session keeps no journal that could name removed files
};

/// The options that a config gives; where one is absent, that of `otherwise`.
TreeOptions tree_options(const DumpOptions& options, const TreeOptions& otherwise = {});

/// A dump as a tree of files: an object becomes `{root}/{directory}/{file}`.
///
/// *Files.* An object is written aside as `{file}.part`, which also claims its name among all processes that
/// dump here, and is renamed when it is committed; nothing is ever replaced. A `.part` file that no process
/// has open was left by a crash or a loss of power. Directories have mode 0700 and files 0600 under any
/// umask; if the umask changes while a directory is in use, files made there later may lose the bits that it
/// masks.
///
/// *Pairs.* The two files of a `commit` are renamed one after the other while a file `{number}.pair.part`
/// beside them holds their names, each followed by a NUL. While that file exists neither of the two counts,
/// even if it has its name already; removing the file commits both. If the process is killed in between, the
/// file stays: all commands of `opdump` skip the files that it names, and `verify` reports them. Other
/// programs do not know of it.
///
/// *Long names.* A file name that the file system does not take (over 255 bytes, or over a lower limit of the
/// file system; on a FAT card a name with a character such as ':') becomes a decimal number, followed by
/// `.npy` or `.bin` if the name ends so. When the object is committed, the row `number,name` is first added
/// to `mapping.csv` beside it, as CANN and MindSpore do: a row may lack its file, but a file never lacks its
/// row. `commit` waits up to kMaxMappingWaitMs for other writers of rows, and then returns `io_error`; it
/// does not wait again until they are done. Such a name holds no line break. The number is a hash of the
/// name, so that two writers of one name still collide; if two names share a number, the second gets
/// `already_exists`.
///
/// *Bounds.* `root` must exist, may be a symbolic link, and may be relative: to the working directory as it was
/// when the sink was configured last, or else when it was first used. Below it
/// no link is followed: a link in the place of a directory or of `mapping.csv` is an error. So is an existing
/// directory that others own or may write to, `permission_denied`; see open_tree. Recently used directories
/// stay open, so a directory that is moved away while it is in use takes its next objects along; a deleted
/// one is made anew. On a file system with neither RENAME_NOREPLACE nor hard links, `commit` replaces a file
/// that another program makes under the object's name during the call.
///
/// *Durability.* With `Fsync::finalize` `commit` does not wait for the disk: until `sync` has returned, a
/// loss of power may leave a committed file missing, empty or cut short. Linux before 5.8 does not report
/// failed write-back to `sync`; the journal tells what is reported (line `unsynced`). With `Fsync::record`, and where there is no syncfs, every `commit` waits
/// instead: about half a millisecond on flash, even for the smallest file. With `Fsync::never` nothing waits.
///
/// *Full disks.* Room for journals is kept (JournalRoom), so that a disk that is full refuses records and takes
/// the lines that name them. When half of that is used, the journal counts what is lost from then on.
///
/// *Limits.* See TreeQuota. An object that does not fit is refused with `quota_exceeded`.
///
/// *Costs.* About 3.4 KiB of RAM for each of kMaxOpenObjects, 2 KiB of stack, no heap; at most
/// 2 * kMaxOpenObjects + kMaxFileSystems + 1 descriptors, and two more during a call.
///
/// Not thread-safe; two sinks, also in two processes, may share a tree. A sink belongs to the process that
/// first configures it or writes with it: in a child after fork() it refuses everything with `not_supported`,
/// and its destructor leaves the parent's files alone.
class TreeSink final : public Sink {
 public:
  static constexpr std::size_t kMaxOpenObjects = opdump::kMaxOpenObjects;
  static constexpr std::size_t kMaxNameBytes = 2048;  ///< of `file`
  static constexpr std::size_t kMaxPathBytes = 1024;  ///< of `root` and `directory` together
  static constexpr std::size_t kMaxFileSystems = 4;   ///< that one sink may write to during its life
  static constexpr unsigned kMaxMappingWaitMs = 100;

  TreeSink() = default;
  explicit TreeSink(const TreeOptions& options) { configure(options); }
  TreeSink(const TreeSink&) = delete;
  TreeSink& operator=(const TreeSink&) = delete;

  /// Aborts what is open.
  ~TreeSink();

  /// Sets the options for everything written from now on. Call it while no object is open.
  void configure(const TreeOptions& options) {
    given_ = options;
    apply(options);
  }

  /// See ConfigurableSink: applies `options` over those of the last `configure`. `not_supported` for
  /// `history_steps`, `seal` and `dump_on_crash`, and with OPDUMP_SMALL_CODE for Keep::newest.
  [[nodiscard]] Status follow(const DumpOptions& options, JournalDetail journal) {
    if (options.history_steps != 0 || !seal_key(options).empty() || options.dump_on_crash ||
        (build::kLean && options.keep == Keep::newest))
      return Status::not_supported;
    TreeOptions now = tree_options(options, given_);
    now.has_journal = journal != JournalDetail::none;
    apply(now);
    return Status::ok;
  }

  /// What the limits have cost so far.
  const QuotaCounts& quota_counts() const { return quota_.counts(); }

  /// `invalid_argument` for a file name that is empty, "." or "..", holds '/' or NUL, ends in ".part" or is
  /// "mapping.csv", and for a directory that is absolute or has such a part; `name_too_long` past the limits
  /// above or for a part of a directory that the file system does not take; `not_found` without the root;
  /// `too_many_objects` when every slot, file system or descriptor is taken; `quota_exceeded` past a limit;
  /// `not_supported` in a child after fork().
  Result<ObjectId> begin(const ObjectName& name) override;

  /// After an error the file is gone; the object waits for its `abort`.
  [[nodiscard]] Status append(ObjectId object, std::span<const Bytes> parts) override;

  /// `already_exists` if another program has made a file of that name meanwhile. `invalid_argument` also for
  /// objects of two directories.
  [[nodiscard]] Status commit(ObjectId object, ObjectId with = kNoObject) override;

  /// In four calls of the system. Errors as of `begin`, `append` and `commit`.
  [[nodiscard]] Status put_object(const ObjectName& name,
                                  std::span<const Bytes> parts) OPDUMP_OVERRIDE_IF_WIDE;

  void abort(ObjectId object) override;

  [[nodiscard]] Status claim_journal(const ObjectName& name) override;

  /// Names as for `begin`. A line that a full disk cut short is taken back if the file system allows that.
  [[nodiscard]] Status append_lines(const ObjectName& name, std::span<const Bytes> parts) override;

  /// Flushes the whole file systems that were written to since the last good `sync`; only with `Fsync::finalize`.
  [[nodiscard]] Status sync() override;

  /// The errno behind the last error, for messages; 0 if the system was not its cause.
  int last_errno() const { return last_errno_; }

 private:
  Status commit_pair(ObjectId first, ObjectId second);

  void apply(const TreeOptions& options) {
    if (is_ours()) stay_here();
    quota_.configure(options.limits, options.has_journal);
    fsync_ = options.fsync;
  }

  static constexpr std::size_t kMaxDirectories = kMaxOpenObjects + 1;  // one more for the journal

  struct FileSystem {
    UniqueFd fd;  // opened before the first write, or syncfs would not report that write's failure
    dev_t device = 0;
    bool dirty = false;
  };

  struct Directory {
    UniqueFd fd;
    FileSystem* file_system = nullptr;
    bool keeps_mode = false;     // a file got the right mode, so that the next ones need no check
    std::size_t users = 0;       // open objects; not evicted while this is not 0
    std::size_t root_bytes = 0;  // of `path`, which holds root and directory without a separator
    std::size_t path_bytes = 0;  // 0: the directory is no longer found
    char path[kMaxPathBytes];
  };

  struct Object {
    UniqueFd file;
    Directory* directory = nullptr;  // null: the slot is free
    std::uint32_t generation = 0;
    std::uint64_t bytes = 0;
    bool claimed = false;        // the temporary file exists and is ours
    bool mapped = false;         // the file gets the temporary file's name without its suffix, and a row
    Status failed = Status::ok;  // the error of a failed append
    std::size_t name_bytes = 0;
    char name[kMaxNameBytes + 1];
    char temporary[256];
  };

  bool is_ours();
  void stay_here();
  bool syncs_each() const;
  Status refuse(Status status);
  Status fail(int error);
  Object* find(ObjectId id);
  Result<ObjectId> open_object(const ObjectName& name, bool whole);
  void write(Object& object, std::span<const Bytes> parts);
  Status end(Object& object);
  int claim(Object& object, bool whole);
  int finish(Object& object);
  int publish(Object& object);
  int publish_both(Object& first, Object& second);
  int end_note(int directory, const char* note) const;
  Status admit_rows(const Object& object, std::uint64_t more = 0);
  static std::uint64_t row_bytes(const Object& object);
  static bool lacks_mapping(const Object& object);
  int add_row(const Object& object, const char* final_name);
  void retract(Object& object);
  static const char* name_of_file(const Object& object, std::span<char> memory);
  void release(Object& object);
  void take_back(Object& object);
  int find_directory(const ObjectName& name, Directory*& found);
  int find_file_system(int directory, FileSystem*& found);

  TreeQuota quota_;
  TreeOptions given_;
  Fsync fsync_ = Fsync::finalize;
  pid_t owner_ = 0;  ///< the process that writes; 0: none yet
  UniqueFd here_;    ///< that a relative root is relative to
  Object objects_[kMaxOpenObjects];
  Directory directories_[kMaxDirectories];
  FileSystem file_systems_[kMaxFileSystems];
  std::size_t next_evicted_ = 0;
  bool mapping_is_held_ = false;  ///< by another process, at the last attempt
  int last_errno_ = 0;
  AppendedFile lines_;
  JournalRoom journal_room_;
};

static_assert(sizeof(TreeSink) <= TreeSink::kMaxOpenObjects * 3456 + 5120);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
