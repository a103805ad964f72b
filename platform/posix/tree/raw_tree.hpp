#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "opdump/base/text.hpp"
#include "opdump/port/sink.hpp"
#include "platform/posix/base/errno_status.hpp"
#include "platform/posix/base/write_all.hpp"
#include "platform/posix/impl/working_directory.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// Writes files as a TreeSink does, with system calls only: for signal handlers. No heap, no locks; about 1
/// KiB of its own memory per open object. It has none of TreeSink's other promises: links below `root` are
/// followed, there are no limits, long names get `name_too_long`, and nothing is synced. A relative `root` is
/// relative to the working directory as it was when the tree was made.
class RawTree final : public Sink {
 public:
  static constexpr std::size_t kMaxPathBytes = 1024;
  static constexpr std::size_t kMaxOpenObjects = opdump::kMaxOpenObjects;

  Result<ObjectId> begin(const ObjectName& name) override {
    std::size_t slot = 0;
    while (slot < kMaxOpenObjects && objects_[slot].file >= 0) ++slot;
    if (slot == kMaxOpenObjects) return Status::too_many_objects;
    Object& object = objects_[slot];
    if (!make_path(name, object.path)) return Status::name_too_long;
    struct stat status {};
    if (fstatat(here_.get(), object.path, &status, 0) == 0) return Status::already_exists;
    if (!make_aside(object.path)) return Status::name_too_long;
    object.file = openat(here_.get(), aside_, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (object.file < 0) return status_of(errno);
    return ObjectId{static_cast<std::uint32_t>(slot) | ++generation_ << 8};
  }

  Status append(ObjectId id, std::span<const Bytes> parts) override {
    Object* object = find(id);
    if (object == nullptr) return Status::invalid_argument;
    const int error = write_all(object->file, parts);
    return error == 0 ? Status::ok : status_of(error);
  }

  Status commit(ObjectId id, ObjectId with = kNoObject) override {
    return with == kNoObject ? commit_one(id) : commit_pair(id, with);
  }

  void abort(ObjectId id) override {
    Object* object = find(id);
    if (object == nullptr) return;
    close(object->file);
    object->file = -1;
    if (make_aside(object->path)) unlinkat(here_.get(), aside_, 0);
  }

  Status append_lines(const ObjectName& name, std::span<const Bytes> parts) override {
    char path[kMaxPathBytes];
    if (!make_path(name, path)) return Status::name_too_long;
    const int file = openat(here_.get(), path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return status_of(errno);
    const int error = write_all(file, parts);
    close(file);
    return error == 0 ? Status::ok : status_of(error);
  }

  Status sync() override { return Status::ok; }

 private:
  struct Object {
    int file = -1;
    char path[kMaxPathBytes] = {};
  };

  Status commit_one(ObjectId id) {
    Object* object = find(id);
    if (object == nullptr) return Status::invalid_argument;
    make_aside(object->path);
    close(object->file);
    object->file = -1;
    if (renameat(here_.get(), aside_, here_.get(), object->path) == 0) return Status::ok;
    const int error = errno;
    unlinkat(here_.get(), aside_, 0);
    return status_of(error);
  }

  Status commit_pair(ObjectId first, ObjectId second) {
    const Object* const made = find(first);
    Status status = commit_one(first);
    if (status == Status::ok) {
      status = commit_one(second);
      if (status != Status::ok) unlinkat(here_.get(), made->path, 0);
    } else {
      abort(second);
    }
    return status;
  }

  /// The object `id`; null for an id of another sink.
  Object* find(ObjectId id) {
    const std::uint32_t value = static_cast<std::uint32_t>(id);
    const std::size_t slot = value & 0xff;
    const bool mine = slot < kMaxOpenObjects && objects_[slot].file >= 0 && value >> 8 > kForeign;
    return mine ? &objects_[slot] : nullptr;
  }

  bool make_path(const ObjectName& name, char (&path)[kMaxPathBytes]) {
    TextWriter text({path, kMaxPathBytes - 1});
    text.add(name.root).add('/');
    const std::size_t below = text.text().size();
    text.add(name.directory).add('/');
    const std::size_t end = text.text().size();
    text.add(name.file);
    if (text.overflowed()) return false;
    path[text.text().size()] = '\0';
    for (std::size_t i = below; i < end; ++i) {
      if (path[i] != '/') continue;
      path[i] = '\0';
      mkdirat(here_.get(), path, 0700);
      path[i] = '/';
    }
    return true;
  }

  bool make_aside(const char* path) {
    TextWriter text({aside_, sizeof aside_ - 1});
    text.add(path).add(".crash.part");
    aside_[text.text().size()] = '\0';
    return !text.overflowed();
  }

  /// Generations below this belong to no object here: objects that TreeSink had open stay its own.
  static constexpr std::uint32_t kForeign = 0x800000;

  const UniqueFd here_ = open_working_directory();  ///< that a relative root is relative to
  Object objects_[kMaxOpenObjects];
  char aside_[kMaxPathBytes + 16] = {};
  std::uint32_t generation_ = kForeign;
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
