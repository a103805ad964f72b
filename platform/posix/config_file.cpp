#include "config_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "dump_path.hpp"
#include "opdump/arena.hpp"
#include "unique_fd.hpp"

namespace opdump::posix {
namespace {

Status refuse(ConfigError& error, ConfigFault fault, const char* path, const std::string& reason) {
  error = {};
  error.fault = fault;
  error.reason = "the config file \"" + std::string(path) + "\" " + reason;
  return Status::config_refused;
}

Status refuse_unreadable(ConfigError& error, const char* path, int cause) {
  return refuse(error, ConfigFault::unreadable, path, std::string("cannot be read: ") + std::strerror(cause));
}

/// Fewer than `size` only when the file ends; negative with errno set on an error.
ssize_t read_all(int descriptor, char* to, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(descriptor, to + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return got;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

}  // namespace

Status load_config_file(const char* path, ConfigMemory& memory, DumpConfig& config, ConfigError& error,
                        std::vector<ConfigNote>* notes) {
  config = {};
  if (notes != nullptr) notes->clear();
  // Without O_NONBLOCK, opening a pipe by mistake would hang the boot.
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (!file || ::fstat(file.get(), &status) != 0) return refuse_unreadable(error, path, errno);
  if (!S_ISREG(status.st_mode))
    return refuse(error, ConfigFault::unreadable, path, "is not a regular file: name a JSON file");
  if (status.st_size > static_cast<off_t>(kMaxConfigBytes))
    return refuse(error, ConfigFault::unreadable, path,
                  "has " + std::to_string(status.st_size) + " bytes, and at most " +
                      std::to_string(kMaxConfigBytes) + " are allowed");

  const std::size_t size = static_cast<std::size_t>(status.st_size);
  const std::unique_ptr<char[]> text(new (std::nothrow) char[size]);
  ConfigMemory loaded;
  loaded.size_ = config_memory_bytes(size);
  loaded.bytes_.reset(new (std::nothrow) std::byte[loaded.size_]);
  if (text == nullptr || loaded.bytes_ == nullptr)
    return refuse(error, ConfigFault::no_memory, path, "needs more heap than there is: shorten it");
  const ssize_t got = read_all(file.get(), text.get(), size);
  if (got < 0) return refuse_unreadable(error, path, errno);

  Arena arena({loaded.bytes_.get(), loaded.size_});
  const Status parsed =
      parse_config({text.get(), static_cast<std::size_t>(got)}, arena, check_dump_path, config, error, notes);
  if (parsed == Status::ok) memory = std::move(loaded);
  return parsed;
}

}  // namespace opdump::posix
