#include "platform/posix/base/flash_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "platform/posix/base/errno_status.hpp"
#include "platform/posix/base/write_all.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

Status FlashFile::open(const char* path, const flashlog::Geometry& part, bool create) {
  last_errno_ = 0;
  if (!is_usable(part)) return Status::invalid_argument;
  part_ = part;
  fd_.reset(::open(path, O_RDWR | O_CLOEXEC));
  if (!fd_ && errno == ENOENT && create) {
    fd_.reset(::open(path, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0600));
    if (!fd_) return fail(errno);
    for (std::uint32_t block = 0; block < part.block_count; ++block) {
      if (const Status status = erase(block); status != Status::ok) return status;
    }
  }
  if (!fd_) return fail(errno);
  const off_t bytes = lseek(fd_.get(), 0, SEEK_END);
  if (bytes < 0) return fail(errno);
  if (static_cast<std::uint64_t>(bytes) < place(part.block_count, 0)) return Status::no_space;
#if defined(O_DIRECT)
  // Without O_DIRECT everything works too, through the page cache.
  if (part.program_bytes % kDirectBytes == 0) direct_.reset(::open(path, O_RDWR | O_CLOEXEC | O_DIRECT));
#endif
  return Status::ok;
}

flashlog::Device FlashFile::device() {
  return {
      .geometry = part_,
      .context = this,
      .read = [](void* context, std::uint32_t block, std::uint32_t offset,
                 MutableBytes to) { return static_cast<FlashFile*>(context)->read(block, offset, to); },
      .program = [](void* context, std::uint32_t block, std::uint32_t offset,
                    Bytes from) { return static_cast<FlashFile*>(context)->program(block, offset, from); },
      .erase = [](void* context,
                  std::uint32_t block) { return static_cast<FlashFile*>(context)->erase(block); },
      .sync = [](void* context) { return static_cast<FlashFile*>(context)->sync(); },
  };
}

Status FlashFile::fail(int error) {
  last_errno_ = error;
  return error == 0 ? Status::ok : status_of(error);
}

Status FlashFile::read(std::uint32_t block, std::uint32_t offset, MutableBytes to) {
  for (std::size_t done = 0; done < to.size();) {
    const ssize_t result =
        pread(fd_.get(), to.data() + done, to.size() - done, static_cast<off_t>(place(block, offset) + done));
    if (result < 0 && errno == EINTR) continue;
    if (result <= 0) return fail(result < 0 ? errno : EIO);
    done += static_cast<std::size_t>(result);
  }
  return fail(0);
}

Status FlashFile::program(std::uint32_t block, std::uint32_t offset, Bytes from) {
  if (!direct_) return fail(write_all_at(fd_.get(), from, place(block, offset)));
  // The kernel wants memory that is aligned like the file.
  if (reinterpret_cast<std::uintptr_t>(from.data()) % kDirectBytes == 0)
    return fail(write_all_at(direct_.get(), from, place(block, offset)));
  for (std::size_t done = 0; done < from.size(); done += kDirectBytes) {
    copy_bytes(buffer_, from.subspan(done, kDirectBytes));
    const int error = write_all_at(direct_.get(), buffer_, place(block, offset) + done);
    if (error != 0) return fail(error);
  }
  return Status::ok;
}

Status FlashFile::erase(std::uint32_t block) {
  std::fill_n(buffer_, sizeof buffer_, part_.erased);
  for (std::uint32_t offset = 0; offset < part_.block_bytes; offset += kDirectBytes) {
    const std::size_t bytes = std::min<std::size_t>(part_.block_bytes - offset, kDirectBytes);
    const int error = write_all_at(fd_.get(), Bytes(buffer_, bytes), place(block, offset));
    if (error != 0) return fail(error);
  }
  return Status::ok;
}

Status FlashFile::sync() {
  return fail(fdatasync(fd_.get()) == 0 ? 0 : errno);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
