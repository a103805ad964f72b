// For LD_PRELOAD: a machine with an MTD device /dev/mtd6, whose bytes lie in the file OPDUMP_EMULATED_MTD and
// whose bad blocks OPDUMP_BAD_BLOCKS names. It is what emulated_mtd.hpp says, no kernel's.
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "tests/support/emulated_mtd.hpp"

namespace {

using opdump::tests::EmulatedMtd;

constexpr char kPath[] = "/dev/mtd6";
constexpr int kFiles = 1024;
bool is_emulated[kFiles];
EmulatedMtd* part = nullptr;

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool is_part(int file) {
  return file >= 0 && file < kFiles && is_emulated[file];
}

int open_part(const char* path, int flags, unsigned mode) {
  static const auto real = next<int (*)(const char*, int, ...)>("open64");
  const char* const backing = getenv("OPDUMP_EMULATED_MTD");
  if (backing == nullptr || strcmp(path, kPath) != 0) return real(path, flags, mode);
  const int file = real(backing, O_RDWR | O_CLOEXEC);
  if (file < 0) return file;
  if (part == nullptr) {
    const std::size_t bytes = static_cast<std::size_t>(lseek(file, 0, SEEK_END));
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return -1;
    part = new EmulatedMtd({static_cast<std::byte*>(memory), bytes}, {});
    const char* text = getenv("OPDUMP_BAD_BLOCKS");
    for (char* end = nullptr; text != nullptr && *text != '\0'; text = *end == ',' ? end + 1 : end)
      part->bad.insert(static_cast<std::uint32_t>(strtoul(text, &end, 10)));
  }
  is_emulated[file] = true;
  return file;
}

/// What breaks a rule ends the program.
template <class T>
T checked(T result) {
  if (!part->violation.empty()) {
    dprintf(2, "emulated MTD: %s\n", part->violation.c_str());
    _exit(86);
  }
  return result;
}

template <class Stat>
void make_character_device(Stat* status) {
  status->st_mode = S_IFCHR | 0600;
  status->st_rdev = makedev(90, 6);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(rest, unsigned) : 0;
  va_end(rest);
  return open_part(path, flags, mode);
}

int open64(const char* path, int flags, ...) __attribute__((alias("open")));

int close(int file) {
  if (is_part(file)) is_emulated[file] = false;
  return next<int (*)(int)>("close")(file);
}

int stat64(const char* path, struct stat64* status) {
  static const auto real = next<int (*)(const char*, struct stat64*)>("stat64");
  const char* const backing = getenv("OPDUMP_EMULATED_MTD");
  if (backing == nullptr || strcmp(path, kPath) != 0) return real(path, status);
  const int result = real(backing, status);
  make_character_device(status);
  return result;
}

int fstat64(int file, struct stat64* status) {
  const int result = next<int (*)(int, struct stat64*)>("fstat64")(file, status);
  if (is_part(file)) make_character_device(status);
  return result;
}

int access(const char* path, int mode) {
  return strcmp(path, kPath) == 0 ? 0 : next<int (*)(const char*, int)>("access")(path, mode);
}

int ioctl(int file, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  if (is_part(file)) return checked(part->ioctl(request, argument));
  return next<int (*)(int, unsigned long, ...)>("ioctl")(file, request, argument);
}

ssize_t pread64(int file, void* to, size_t bytes, off64_t at) {
  if (is_part(file)) return checked(part->pread(to, bytes, at));
  return next<ssize_t (*)(int, void*, size_t, off64_t)>("pread64")(file, to, bytes, at);
}

ssize_t pwrite64(int file, const void* from, size_t bytes, off64_t at) {
  if (is_part(file)) return checked(part->pwrite(from, bytes, at));
  return next<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64")(file, from, bytes, at);
}
}
