#pragma once
#include <cstddef>
#include <memory>
#include <string_view>

#include "opdump/config/parse.hpp"

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

/// The bytes of a config file, on the heap.
struct ConfigText {
  std::unique_ptr<char[]> bytes;
  std::size_t size = 0;

  std::string_view view() const { return {bytes.get(), size}; }
};

/// Reads the config file `path`. `config_refused` with `error` filled when it cannot be read, is not a
/// regular file or is longer than `kMaxConfigBytes`.
Status read_config_file(const char* path, ConfigText& text, ConfigError& error);

/// Owns the bytes that a DumpConfig refers to.
class ConfigMemory {
 public:
  /// Heap bytes held: `config_memory_bytes` of the size of the file in force.
  std::size_t size() const { return size_; }

  /// A copy of `text` that lasts as long as the other bytes held, and replaces the last copy; empty when
  /// there is no memory. For a directory that a config does not name itself.
  std::string_view keep(std::string_view text);

 private:
  friend class ConfigLoader;

  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
  std::unique_ptr<char[]> kept_;
};

/// Reads the config file `path` and checks its dump path with `check_dump_path`. `config_refused` with the error filled
/// when the file cannot be read, is not a regular file, is longer than `kMaxConfigBytes`, or when its text is
/// refused; the config is then inactive and `memory` is as it was. On success `memory` holds the bytes of the new
/// config, and what it held before is freed: give another one while a config of it is in use. Notes are kept.
/// `context` as for `parse_config`, with three additions: without a `diagnostic_path` the environment variable
/// MS_DIAGNOSTIC_DATA_PATH is taken; ENABLE_MS_GE_DUMP=1 also sets `ge_dump`; and torchair's `dump_config_path` is
/// read here, so that `acl_file` is not used. Error and notes then name that file. For boot: allocates.
Status load_config_file(const char* path, ConfigMemory& memory, ConfigOutcome& outcome,
                        const ConfigContext& context = {});

/// The reader of the key files that a config names, see `ConfigContext::read_seal_key`.
bool read_seal_key_file(std::string_view path, std::span<std::byte, 32> key, std::string& reason);

/// The same for a text that is in memory already, with the caller's path check. `name` stands for the file in errors.
Status load_config_text(std::string_view text, const char* name, ConfigMemory& memory, ConfigOutcome& outcome,
                        const ConfigContext& context, DumpPathCheck check_path);

struct FoundConfig {
  const char* path = nullptr;  ///< null: there is none
  const char* by = nullptr;    ///< the environment variable that names it; null: the program does
};

/// The config file that a program starts with, for all that start with one: `path`, or where that is null what
/// OPDUMP_CONFIG names, or else MINDSPORE_DUMP_CONFIG.
FoundConfig find_config(const char* path);

/// Reads the data_dump.json that the environment variable MINDSPORE_DUMP_CONFIG names, as `load_config_file`.
/// `ok` and an inactive config when the variable is not set or empty. Also refuses a file whose name does not
/// end with .json, and any other dialect. With `ConfigDialect::mindspore_lite` in `context` it is the config of
/// MindSpore Lite's benchmark tool, whatever the name ends with.
Status load_mindspore_config(ConfigMemory& memory, ConfigOutcome& outcome, const ConfigContext& context = {});

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
