#include "src/tool/read/dump/mapped_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace opdump::tool {
namespace {

/// What the handler of SIGBUS needs to know of a mapping. `size` is written last and cleared first.
struct Slot {
  std::atomic<std::uintptr_t> start{0};
  std::atomic<std::size_t> size{0};
  std::atomic<bool> taken{false};
  std::atomic<bool> cut_short{false};
};

constexpr int kSlots = 256;
Slot slots[kSlots];

/// A page behind the end of a file that became shorter: zeros take the place of the rest of its mapping.
extern "C" void replace_missing_pages(int signal, siginfo_t* info, void*) {
  const int saved_errno = errno;
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (Slot& slot : slots) {
    const std::size_t size = slot.size.load(std::memory_order_acquire);
    const std::uintptr_t start = slot.start.load(std::memory_order_relaxed);
    if (size == 0 || at < start || at - start >= size) continue;
    const std::uintptr_t page = at & ~(std::uintptr_t{4096} - 1);
    slot.cut_short.store(true, std::memory_order_relaxed);
    if (mmap(reinterpret_cast<void*>(page), start + size - page, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
      break;
    errno = saved_errno;
    return;
  }
  // Not ours: the same access faults again, with nobody to catch it.
  ::signal(signal, SIG_DFL);
  errno = saved_errno;
}

void catch_missing_pages() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = replace_missing_pages;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGBUS, &action, nullptr);
  });
}

int take_slot() {
  for (int i = 0; i < kSlots; ++i) {
    if (!slots[i].taken.exchange(true, std::memory_order_acquire)) return i;
  }
  return -1;
}

/// What the kernel may have mapped for reads within a stretch: where a page is missing it maps those around,
/// too, up to a large page.
std::pair<std::byte*, std::size_t> pages_around(Bytes file, std::uint64_t offset, std::uint64_t count) {
  constexpr std::uintptr_t kMappedAtOnce = 2 * 1024 * 1024;
  const std::uintptr_t file_start = reinterpret_cast<std::uintptr_t>(file.data());
  const std::uintptr_t first = file_start + static_cast<std::uintptr_t>(offset);
  const std::uintptr_t start = std::max(file_start, first / kMappedAtOnce * kMappedAtOnce);
  const std::uintptr_t behind = first + static_cast<std::uintptr_t>(count) + kMappedAtOnce - 1;
  const std::uintptr_t end = std::min(file_start + file.size(), behind / kMappedAtOnce * kMappedAtOnce);
  return {reinterpret_cast<std::byte*>(start), end - start};
}

}  // namespace

MappedFile::~MappedFile() {
  close();
}

void MappedFile::close() {
  if (slot_ >= 0) {
    Slot& slot = slots[slot_];
    slot.size.store(0, std::memory_order_release);
    munmap(reinterpret_cast<void*>(slot.start.load(std::memory_order_relaxed)), bytes_.size());
    slot.cut_short.store(false, std::memory_order_relaxed);
    slot.taken.store(false, std::memory_order_release);
    slot_ = -1;
  }
  bytes_ = {};
  file_.reset();
}

bool MappedFile::fail(int error) {
  error_ = path_ + ": " + strerror(error);
  close();
  return false;
}

bool MappedFile::open(const std::string& path) {
  close();
  path_ = path;
  error_.clear();
  file_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status {};
  if (!file_ || fstat(file_.get(), &status) != 0) return fail(errno);
  if (!S_ISREG(status.st_mode)) {
    error_ = path_ + ": not a regular file";
    close();
    return false;
  }
  const std::uint64_t size = static_cast<std::uint64_t>(status.st_size);
  if (size > SIZE_MAX) return fail(EFBIG);
  if (size <= kCopiedBytes) {
    if (copy_ == nullptr) copy_.reset(new std::byte[kCopiedBytes]);
    if (!read_at(0, {copy_.get(), static_cast<std::size_t>(size)})) {
      close();
      return false;
    }
    bytes_ = {copy_.get(), static_cast<std::size_t>(size)};
    return true;
  }
  const int slot = take_slot();
  if (slot < 0) return fail(EMFILE);
  catch_missing_pages();
  void* const map = mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, file_.get(), 0);
  if (map == MAP_FAILED) {
    const int error = errno;
    slots[slot].taken.store(false, std::memory_order_release);
    return fail(error);
  }
  slot_ = slot;
  bytes_ = {static_cast<const std::byte*>(map), static_cast<std::size_t>(size)};
  slots[slot].start.store(reinterpret_cast<std::uintptr_t>(map), std::memory_order_relaxed);
  slots[slot].size.store(bytes_.size(), std::memory_order_release);
  return true;
}

void MappedFile::drop(std::uint64_t offset, std::uint64_t count) const {
  if (slot_ < 0 || offset >= bytes_.size()) return;
  const auto [start, size] =
      pages_around(bytes_, offset, std::min<std::uint64_t>(count, bytes_.size() - offset));
  // The zeros that stand in for missing pages come back as zeros.
  madvise(start, size, MADV_DONTNEED);
}

bool MappedFile::read_at(std::uint64_t offset, MutableBytes to) {
  return read_at(offset, to, error_);
}

bool MappedFile::read_at(std::uint64_t offset, MutableBytes to, std::string& reason) const {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t got =
        pread(file_.get(), to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      reason = path_ + ": at byte " + std::to_string(offset + done) + ": " +
               (got == 0 ? "the file ends here; it was longer when it was opened" : strerror(errno));
      return false;
    }
    done += static_cast<std::size_t>(got);
  }
  return true;
}

bool MappedFile::cut_short() {
  if (slot_ < 0) return false;
  struct stat status {};
  const bool shorter =
      fstat(file_.get(), &status) == 0 && static_cast<std::uint64_t>(status.st_size) < bytes_.size();
  if (!shorter && !slots[slot_].cut_short.load(std::memory_order_relaxed)) return false;
  error_ = path_ + ": at byte " + std::to_string(status.st_size) +
           ": the file ends here; it was longer when it was opened";
  return true;
}

}  // namespace opdump::tool
