#include "platform/posix/tree_sink.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "opdump/base/fnv.hpp"
#include "platform/posix/base/errno_status.hpp"
#include "platform/posix/base/write_all.hpp"
#include "platform/posix/impl/working_directory.hpp"
#include "platform/posix/tree/tree_files.hpp"

/// 1: `sync` flushes whole file systems with syncfs, once. 0: there is none, and every `commit` waits for
/// fsync of its file and directory.
#ifndef OPDUMP_POSIX_SYNCFS
#if defined(__linux__)
#define OPDUMP_POSIX_SYNCFS 1
#else
#define OPDUMP_POSIX_SYNCFS 0
#endif
#endif

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {
namespace {

/// Whether a FAT file system takes the name; it refuses other names with EINVAL.
bool fits_fat(std::string_view name) {
  return std::none_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 ||
           std::string_view("\"*:<>?\\|").find(c) != std::string_view::npos;
  });
}

constexpr std::string_view kSuffix = ".part";

static_assert(TreeSink::kMaxOpenObjects <= 0xff, "an object id keeps the slot in 8 bits");

bool is_path_part(std::string_view part) {
  return !part.empty() && part != "." && part != ".." && part.find('/') == part.npos &&
         part.find('\0') == part.npos;
}

bool is_file_name(std::string_view name) {
  return is_path_part(name) && !name.ends_with(kSuffix) && name != kMappingFile;
}

std::uint64_t bytes_of(std::span<const Bytes> parts) {
  std::uint64_t bytes = 0;
  for (const Bytes part : parts) bytes += part.size();
  return bytes;
}

}  // namespace

TreeOptions tree_options(const DumpOptions& options, const TreeOptions& otherwise) {
  const TreeLimits& limits = otherwise.limits;
  return {
      .limits = {.max_bytes = options.max_bytes != 0 ? options.max_bytes : limits.max_bytes,
                 .max_files = options.max_files != 0 ? options.max_files : limits.max_files,
                 .reserve_bytes = options.reserve_bytes != 0 ? options.reserve_bytes : limits.reserve_bytes,
                 .keep = options.keep.value_or(limits.keep)},
      .fsync = options.fsync.value_or(otherwise.fsync),
      .has_journal = options.journal ? *options.journal != JournalDetail::none : otherwise.has_journal};
}

TreeSink::~TreeSink() {
  for (Object& object : objects_)
    if (object.directory != nullptr) release(object);
}

Result<ObjectId> TreeSink::begin(const ObjectName& name) {
  return open_object(name, false);
}

Result<ObjectId> TreeSink::open_object(const ObjectName& name, bool whole) {
  if (!is_ours()) return refuse(Status::not_supported);
  if (!is_file_name(name.file)) return refuse(Status::invalid_argument);
  if (name.file.size() > kMaxNameBytes) return refuse(Status::name_too_long);
  std::size_t slot = 0;
  while (slot < kMaxOpenObjects && objects_[slot].directory != nullptr) ++slot;
  if (slot == kMaxOpenObjects) return refuse(Status::too_many_objects);

  if (const Status status = quota_.admit_file(name); status != Status::ok) return refuse(status);
  if (!journal_room_.leaves(file_systems_[0].fd.get(), 0)) return fail(ENOSPC);
  Object& object = objects_[slot];
  object.bytes = 0;
  object.name_bytes = name.file.copy(object.name, kMaxNameBytes);
  object.name[object.name_bytes] = '\0';
  object.failed = Status::ok;
  for (bool again = false;; again = true) {
    Directory* directory = nullptr;
    if (const int error = find_directory(name, directory)) return fail(error);
    object.directory = directory;
    ++directory->users;
    const int error = claim(object, whole);
    if (error == 0) break;
    release(object);
    if (again || (error != ENOENT && error != ESTALE)) return fail(error);
    directory->path_bytes = 0;  // somebody deleted it
  }
  quota_.hold();
  object.generation = (object.generation + 1) & 0xffffff;
  return static_cast<ObjectId>(object.generation << 8 | static_cast<std::uint32_t>(slot));
}

Status TreeSink::append(ObjectId id, std::span<const Bytes> parts) {
  Object* object = find(id);
  if (object == nullptr) return refuse(Status::invalid_argument);
  if (!is_ours()) return refuse(Status::not_supported);
  if (object->failed == Status::ok) write(*object, parts);
  return object->failed;
}

/// Adds `parts` to the file; `failed` says whether that went well.
void TreeSink::write(Object& object, std::span<const Bytes> parts) {
  const std::uint64_t bytes = bytes_of(parts);
  object.failed = quota_.admit_bytes(object.bytes, bytes);
  if (object.failed == Status::ok) {
    const bool leaves_room = journal_room_.leaves(object.file.get(), bytes);
    const int error = leaves_room ? write_all(object.file.get(), parts) : ENOSPC;
    if (error == 0) {
      object.bytes += bytes;
      quota_.add(0, bytes);
      return;
    }
    object.failed = fail(error);
  }
  take_back(object);
}

Status TreeSink::commit(ObjectId id, ObjectId with) {
  if (with != kNoObject) return commit_pair(id, with);
  Object* object = find(id);
  if (object == nullptr) return refuse(Status::invalid_argument);
  if (!is_ours()) return refuse(Status::not_supported);
  return end(*object);
}

/// Publishes the object, unless it has failed, and releases it.
Status TreeSink::end(Object& object) {
  Status status = object.failed;
  if (status == Status::ok) {
    int error = finish(object);
    if (error == 0) status = admit_rows(object);
    if (error == 0 && status == Status::ok) error = publish(object);
    if (error != 0) status = fail(error);
  }
  release(object);
  return status;
}

Status TreeSink::put_object(const ObjectName& name, std::span<const Bytes> parts) {
  const Result<ObjectId> id = open_object(name, true);
  if (!id.ok()) return id.status();
  Object& object = *find(id.value());
  write(object, parts);
  return end(object);
}

Status TreeSink::commit_pair(ObjectId first_id, ObjectId second_id) {
  Object* const first = find(first_id);
  Object* const second = find(second_id);
  Status status = Status::ok;
  if (first == nullptr || second == nullptr || first == second || first->directory != second->directory) {
    status = refuse(Status::invalid_argument);
  } else if (!is_ours()) {
    return refuse(Status::not_supported);
  } else {
    status = first->failed != Status::ok ? first->failed : second->failed;
  }
  if (status == Status::ok) {
    int error = finish(*first);
    if (error == 0) error = finish(*second);
    if (error == 0) status = admit_rows(*first, row_bytes(*second));
    if (error == 0 && status == Status::ok) error = publish_both(*first, *second);
    if (error != 0) status = fail(error);
  }
  abort(first_id);
  abort(second_id);
  return status;
}

void TreeSink::abort(ObjectId id) {
  if (Object* object = find(id)) release(*object);
}

Status TreeSink::claim_journal(const ObjectName& name) {
  if (!is_ours()) return refuse(Status::not_supported);
  if (!is_file_name(name.file)) return refuse(Status::invalid_argument);
  if (name.file.size() > kMaxFileNameBytes) return refuse(Status::name_too_long);
  char file_name[kMaxFileNameBytes + 1];
  file_name[name.file.copy(file_name, kMaxFileNameBytes)] = '\0';
  // First, so that the quota counts what existed before; the first line counts the file.
  if (const Status status = quota_.admit_appended(name, 0); status != Status::ok) return refuse(status);
  Directory* directory = nullptr;
  if (const int error = find_directory(name, directory)) return fail(error);
  const UniqueFd file(
      open_at(directory->fd.get(), file_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  return file ? Status::ok : fail(errno);
}

Status TreeSink::append_lines(const ObjectName& name, std::span<const Bytes> parts) {
  if (!is_ours()) return refuse(Status::not_supported);
  if (!is_file_name(name.file)) return refuse(Status::invalid_argument);
  if (name.file.size() > kMaxFileNameBytes) return refuse(Status::name_too_long);
  char file_name[kMaxFileNameBytes + 1];
  file_name[name.file.copy(file_name, kMaxFileNameBytes)] = '\0';
  const std::uint64_t bytes = bytes_of(parts);
  const bool is_journal = TreeQuota::is_journal(name);
  const Status admitted = quota_.admit_appended(name, bytes);
  if (admitted != Status::ok && !is_journal) return refuse(admitted);
  const std::uint64_t most = is_journal ? quota_.journal_room() : 0;
  const bool is_short = admitted != Status::ok || quota_.is_short_for_journals(bytes);
  for (bool again = false;; again = true) {
    Directory* directory = nullptr;
    if (const int error = find_directory(name, directory)) return fail(error);
    Appended done;
    const int fd = directory->fd.get();
    const int error = is_journal ? lines_.append_journal(fd, file_name, parts, syncs_each(), journal_room_,
                                                         is_short, most, done)
                                 : lines_.append(fd, file_name, parts, syncs_each(), done);
    directory->file_system->dirty = true;
    if (is_journal && (error == ENOSPC || error == EDQUOT) && quota_.gives_way()) continue;
    if (error == ENOSPC && admitted != Status::ok) return refuse(admitted);
    if (error == 0) {
      quota_.add(done.made ? 1 : 0, done.growth > 0 ? static_cast<std::uint64_t>(done.growth) : 0);
      if (done.growth < 0) quota_.take_back(0, static_cast<std::uint64_t>(-done.growth));
      quota_.tell_in(name, fsync_, syncs_each());
      return Status::ok;
    }
    if (again || (error != ENOENT && error != ESTALE)) return fail(error);
    directory->path_bytes = 0;  // somebody deleted it
  }
}

Status TreeSink::sync() {
  if (!is_ours()) return refuse(Status::not_supported);
  quota_.let_go();
  int unsynced = 0;
#if OPDUMP_POSIX_SYNCFS
  for (FileSystem& file_system : file_systems_) {
    if (!file_system.dirty || fsync_ != Fsync::finalize) continue;
    const int error = synced(syncfs(file_system.fd.get()));
    file_system.dirty = error != 0;
    if (unsynced == 0) unsynced = error;
  }
#endif
  if (unsynced != 0) quota_.add(0, lines_.tell_unsynced(unsynced));
  const int closed = lines_.close();
  const int error = unsynced != 0 ? unsynced : closed;
  return error == 0 ? Status::ok : fail(error);
}

bool TreeSink::is_ours() {
  const pid_t self = getpid();
  if (owner_ == 0) {
    owner_ = self;
    stay_here();
  }
  return owner_ == self;
}

/// Whatever the working directory becomes, a relative root is where it is now.
void TreeSink::stay_here() {
  here_ = open_working_directory();
  quota_.stay_in(here_.get());
  for (Directory& directory : directories_) directory.path_bytes = 0;
}

bool TreeSink::syncs_each() const {
  return fsync_ == Fsync::record || (fsync_ == Fsync::finalize && !OPDUMP_POSIX_SYNCFS);
}

Status TreeSink::refuse(Status status) {
  last_errno_ = 0;
  return status;
}

Status TreeSink::fail(int error) {
  last_errno_ = error;
  return status_of(error);
}

TreeSink::Object* TreeSink::find(ObjectId id) {
  const auto value = static_cast<std::uint32_t>(id);
  if ((value & 0xff) >= kMaxOpenObjects) return nullptr;
  Object& object = objects_[value & 0xff];
  return object.directory != nullptr && object.generation == value >> 8 ? &object : nullptr;
}

/// `whole`: it is published next, with nothing asked of its name in between.
int TreeSink::claim(Object& object, bool whole) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
  const int directory = object.directory->fd.get();
  const std::string_view name(object.name, object.name_bytes);
  object.mapped = false;

  bool shortened = name.size() + kSuffix.size() > kMaxFileNameBytes;
  bool refused = false;
  if (!shortened) {
    name.copy(object.temporary, name.size());
    kSuffix.copy(object.temporary + name.size(), kSuffix.size());
    object.temporary[name.size() + kSuffix.size()] = '\0';
    object.file.reset(open_at(directory, object.temporary, kFlags, 0600));
    refused = !object.file && errno == EINVAL && !fits_fat(name);
    shortened = refused || (!object.file && errno == ENAMETOOLONG);
  }
  if (shortened) {
    char* const end = put_short_name(object.temporary, name);
    std::memcpy(end, kSuffix.data(), kSuffix.size() + 1);
    object.file.reset(open_at(directory, object.temporary, kFlags, 0600));
  }
  if (!object.file) return errno;
  object.claimed = true;
  quota_.add(1, 0);
  if (!object.directory->keeps_mode) {
    if (const int error = force_mode(object.file.get(), 0600, object.directory->keeps_mode)) return error;
  }

  if (whole && !shortened) return 0;  // the renaming finds out
  // Only now: before the claim, another writer could still have renamed its file to this name.
  const int error = name.size() > kMaxFileNameBytes ? ENAMETOOLONG : check_absent(directory, object.name);
  if (!(refused && error == 0) && (error != ENAMETOOLONG || !shortened)) return error;
  if (name.find_first_of("\r\n") != name.npos) return EINVAL;
  object.mapped = true;
  char final_name[sizeof object.temporary];
  const std::string_view short_name(object.temporary, std::strlen(object.temporary) - kSuffix.size());
  final_name[short_name.copy(final_name, short_name.size())] = '\0';
  return check_absent(directory, final_name);
}

/// Puts all bytes where the name may follow.
int TreeSink::finish(Object& object) {
  if (syncs_each() && fsync(object.file.get()) != 0) return errno;
  return object.file.close();
}

int TreeSink::publish(Object& object) {
  const int directory = object.directory->fd.get();
  char memory[sizeof object.temporary];
  const char* const final_name = name_of_file(object, memory);
  if (object.mapped) {
    // The row comes first: if this process ends in between, no number is left without its name.
    if (const int error = add_row(object, final_name)) return error;
  }
  if (const int error = rename_exclusively(directory, object.temporary, final_name)) return error;
  object.claimed = false;  // from here on the temporary name may be another writer's

  object.directory->file_system->dirty = true;
  const int error = syncs_each() ? sync_directory(directory) : 0;
  if (error != 0) retract(object);
  return error;
}

/// No system call renames two files at once. Until both are renamed, a note beside them says that neither
/// counts; removing the note commits them.
int TreeSink::publish_both(Object& first, Object& second) {
  const int directory = first.directory->fd.get();
  char note[32];
  std::snprintf(note, sizeof note, "%llu%s", static_cast<unsigned long long>(fnv1a(first.temporary)),
                kPairSuffix.data());
  char memory[2][sizeof first.temporary];
  const Bytes end = as_bytes(std::string_view("", 1));
  const Bytes names[] = {as_bytes(name_of_file(first, memory[0])), end,
                         as_bytes(name_of_file(second, memory[1])), end};
  if (const int error = make_file(directory, note, names, syncs_each())) return error;
  int error = publish(first);
  if (error == 0) {
    error = publish(second);
    if (error == 0) {
      error = end_note(directory, note);
      if (error == 0) return 0;
      retract(second);
    }
    retract(first);
  }
  unlinkat(directory, note, 0);
  return error;
}

int TreeSink::end_note(int directory, const char* note) const {
  if (unlinkat(directory, note, 0) != 0) return errno;
  return syncs_each() ? sync_directory(directory) : 0;
}

/// Makes room for the object's row, and for `more` bytes of rows beside it.
Status TreeSink::admit_rows(const Object& object, std::uint64_t more) {
  const std::uint64_t bytes = row_bytes(object) + more;
  if (bytes == 0 || !quota_.limited()) return Status::ok;
  const Status status = quota_.admit_rows(lacks_mapping(object), bytes);
  return status == Status::ok ? status : refuse(status);
}

/// Of the object's row in `mapping.csv`; 0: it has none.
std::uint64_t TreeSink::row_bytes(const Object& object) {
  constexpr std::size_t kSeparators = 2;
  return object.mapped ? std::strlen(object.temporary) - kSuffix.size() + object.name_bytes + kSeparators : 0;
}

bool TreeSink::lacks_mapping(const Object& object) {
  return check_absent(object.directory->fd.get(), kMappingFile.data()) == 0;
}

/// Waits for other writers of rows, but only once while they hold the file: a drain of many names has one limit.
int TreeSink::add_row(const Object& object, const char* final_name) {
  const bool is_new = lacks_mapping(object);
  const int error = append_mapping(object.directory->fd.get(), final_name, {object.name, object.name_bytes},
                                   syncs_each(), mapping_is_held_ ? 0 : kMaxMappingWaitMs);
  mapping_is_held_ = error == ETIMEDOUT;
  if (error == 0) quota_.add(is_new ? 1 : 0, row_bytes(object));
  return error;
}

/// Takes back an object that has been published.
void TreeSink::retract(Object& object) {
  char memory[sizeof object.temporary];
  if (unlinkat(object.directory->fd.get(), name_of_file(object, memory), 0) == 0)
    quota_.take_back(1, object.bytes);
}

/// The name of the object's file; it may lie in `memory`.
const char* TreeSink::name_of_file(const Object& object, std::span<char> memory) {
  if (!object.mapped) return object.name;
  const std::string_view temporary(object.temporary);
  memory[temporary.copy(memory.data(), temporary.size() - kSuffix.size())] = '\0';
  return memory.data();
}

void TreeSink::release(Object& object) {
  take_back(object);
  --object.directory->users;
  object.directory = nullptr;
}

void TreeSink::take_back(Object& object) {
  object.file.reset();
  if (object.claimed && is_ours()) {
    unlinkat(object.directory->fd.get(), object.temporary, 0);
    quota_.take_back(1, object.bytes);
  }
  object.claimed = false;
}

int TreeSink::find_directory(const ObjectName& name, Directory*& found) {
  const std::size_t path_bytes = name.root.size() + name.directory.size();
  for (Directory& directory : directories_) {
    const std::string_view path(directory.path, directory.path_bytes);
    if (!path.empty() && directory.root_bytes == name.root.size() && path.size() == path_bytes &&
        path.starts_with(name.root) && path.ends_with(name.directory)) {
      found = &directory;
      return 0;
    }
  }

  if (name.root.empty() || name.root.find('\0') != name.root.npos) return EINVAL;
  for (std::size_t at = 0; !name.directory.empty() && at <= name.directory.size();) {
    const std::string_view part = name.directory.substr(at, name.directory.find('/', at) - at);
    if (!is_path_part(part)) return EINVAL;
    at += part.size() + 1;
  }
  if (path_bytes > kMaxPathBytes) return ENAMETOOLONG;

  // There are more places for directories than objects, so one is unused.
  while (directories_[next_evicted_].users != 0) next_evicted_ = (next_evicted_ + 1) % kMaxDirectories;
  Directory& directory = directories_[next_evicted_];
  next_evicted_ = (next_evicted_ + 1) % kMaxDirectories;
  directory.path_bytes = 0;
  directory.keeps_mode = false;
  directory.fd.reset();
  if (const int error = open_tree(here_.get(), name.root, name.directory, syncs_each(), directory.fd))
    return error;
  if (const int error = find_file_system(directory.fd.get(), directory.file_system)) return error;
  name.root.copy(directory.path, name.root.size());
  name.directory.copy(directory.path + name.root.size(), name.directory.size());
  directory.root_bytes = name.root.size();
  directory.path_bytes = path_bytes;
  found = &directory;
  return 0;
}

int TreeSink::find_file_system(int directory, FileSystem*& found) {
  struct stat status;
  if (fstat(directory, &status) != 0) return errno;
  for (FileSystem& file_system : file_systems_) {
    if (!file_system.fd) {
      file_system.fd.reset(fcntl(directory, F_DUPFD_CLOEXEC, 0));
      if (!file_system.fd) return errno;
      file_system.device = status.st_dev;
    }
    if (file_system.device == status.st_dev) {
      found = &file_system;
      return 0;
    }
  }
  return EMFILE;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
