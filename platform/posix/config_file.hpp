#pragma once
#include <cstddef>
#include <memory>

#include "opdump/parse_config.hpp"

namespace opdump::posix {

/// Owns the bytes that a DumpConfig refers to.
class ConfigMemory {
 public:
  /// Heap bytes held: `config_memory_bytes` of the file's size.
  std::size_t size() const { return size_; }

 private:
  friend Status load_config_file(const char* path, ConfigMemory& memory, DumpConfig& config,
                                 ConfigError& error, std::vector<ConfigNote>* notes);

  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
};

/// Reads the config file `path` and checks its dump path with `check_dump_path`. `config_refused` with
/// `error` filled when the file cannot be read, is not a regular file, is longer than `kMaxConfigBytes`, or
/// when its text is refused; `config` is then inactive and `memory` is as it was. On success `memory` holds
/// the bytes of the new config, and what it held before is freed: give another one while a config of it is in
/// use. `notes` as `parse_config`. For boot: allocates.
Status load_config_file(const char* path, ConfigMemory& memory, DumpConfig& config, ConfigError& error,
                        std::vector<ConfigNote>* notes = nullptr);

}  // namespace opdump::posix
