#pragma once
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "opdump/base/bytes.hpp"
#include "opdump/base/status.hpp"
#include "platform/flashlog/device.hpp"
#include "platform/posix/base/errno_status.hpp"
#include "platform/posix/base/unique_fd.hpp"
#include "platform/posix/base/write_all.hpp"

namespace opdump::storage {
inline namespace OPDUMP_NAMESPACE {

/// `write` also refuses storage that cannot be written to.
enum class Access : std::uint8_t { read, write };

/// Most blocks that a log has; of a larger storage it uses the beginning.
inline constexpr std::uint32_t kMostBlocks = 0xffff;

/// What a storage looks like.
struct StorageFacts {
  const char* kind = "";        ///< "NAND flash", "block device", ...
  std::uint64_t bytes = 0;      ///< of all of it, also of what a log does not use
  flashlog::Geometry geometry;  ///< as a log uses it
  std::uint32_t bad_blocks = 0;
};

/// What the storages have in common: the open device, what it looks like, and why it was refused. Stays where
/// it is: a `flashlog::Device` refers to it.
template <class System>
class StorageNode {
 public:
  StorageNode(const StorageNode&) = delete;
  StorageNode& operator=(const StorageNode&) = delete;

  const StorageFacts& facts() const { return facts_; }

  /// "PATH: reason" of the last failed `open`.
  const std::string& error() const { return error_; }

  /// The errno behind the last failed call; 0 if the system was not its cause.
  int last_errno() const { return last_errno_; }

 protected:
  explicit StorageNode(const System& system) : system_(system) {}

  Status refuse(Status status, const std::string& reason) {
    error_ = path_ + ": " + reason;
    file_.reset();
    return status;
  }
  Status refuse_errno(const std::string& what) {
    last_errno_ = errno;
    return refuse(posix::status_of(last_errno_), what + ": " + ::strerror(last_errno_));
  }

  Status fail(int error) {
    last_errno_ = error;
    return error == 0 ? Status::ok : posix::status_of(error);
  }

  Status open_file(const std::string& path, int flags) {
    path_ = path;
    facts_ = {};
    last_errno_ = 0;
    file_.reset(system_.open(path.c_str(), flags | O_CLOEXEC));
    if (!file_) return refuse_errno("cannot be opened");
    const bool writes = (flags & O_ACCMODE) != O_RDONLY;
    if (writes && system_.lock(file_.get()) != 0 && errno == EWOULDBLOCK) {
      last_errno_ = EWOULDBLOCK;
      return refuse(Status::io_error, "another dump writes to it");
    }
    const off_t end = system_.end_of(file_.get());
    if (end < 0) return refuse_errno("does not tell its size");
    facts_.bytes = static_cast<std::uint64_t>(end);
    return Status::ok;
  }

  /// The geometry of blocks of `block_bytes`, as many as there are.
  Status take_geometry(const flashlog::Geometry& geometry) {
    facts_.geometry = geometry;
    facts_.geometry.block_count = geometry.block_bytes == 0
                                      ? 0
                                      : static_cast<std::uint32_t>(std::min<std::uint64_t>(
                                            facts_.bytes / geometry.block_bytes, kMostBlocks));
    if (is_usable(facts_.geometry)) return Status::ok;
    return refuse(Status::not_supported,
                  std::to_string(facts_.bytes) + " bytes in blocks of " +
                      std::to_string(geometry.block_bytes) + ", written by " +
                      std::to_string(geometry.program_bytes) +
                      ", are no place for a log: it takes 3 blocks of at least 256 bytes, written by at "
                      "most 4096");
  }

  std::uint64_t place(std::uint32_t block, std::uint32_t offset) const {
    return std::uint64_t{block} * facts_.geometry.block_bytes + offset;
  }

  /// Calls `transfer(done)` until `bytes` are done.
  template <class Transfer>
  Status transfer_all(std::size_t bytes, Transfer transfer) {
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t now = transfer(done);
      if (now < 0 && errno == EINTR) continue;
      if (now <= 0) return fail(now < 0 ? errno : EIO);
      done += static_cast<std::size_t>(now);
    }
    return fail(0);
  }

  Status read_file(std::uint64_t at, MutableBytes to) {
    return transfer_all(to.size(), [&](std::size_t done) {
      return system_.pread(file_.get(), to.data() + done, to.size() - done, static_cast<off_t>(at + done));
    });
  }

  Status write_file(std::uint64_t at, Bytes from) {
    const posix::FileSizeSignal waits;
    return transfer_all(from.size(), [&](std::size_t done) {
      return system_.pwrite(file_.get(), from.data() + done, from.size() - done,
                            static_cast<off_t>(at + done));
    });
  }

  System system_;
  std::string path_;
  std::string error_;
  posix::UniqueFd file_;
  StorageFacts facts_;
  int last_errno_ = 0;
};

/// The functions of a `flashlog::Device` as calls of the same names of `Node`, which must stay.
template <class Node>
flashlog::Device device_of(Node& node) {
  return {
      .geometry = node.facts().geometry,
      .context = &node,
      .read = [](void* context, std::uint32_t block, std::uint32_t offset,
                 MutableBytes to) { return static_cast<Node*>(context)->read(block, offset, to); },
      .program = [](void* context, std::uint32_t block, std::uint32_t offset,
                    Bytes from) { return static_cast<Node*>(context)->program(block, offset, from); },
      .erase = [](void* context, std::uint32_t block) { return static_cast<Node*>(context)->erase(block); },
      .sync = [](void* context) { return static_cast<Node*>(context)->sync(); },
  };
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::storage
