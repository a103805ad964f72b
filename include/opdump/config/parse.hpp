#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/base/arena.hpp"
#include "opdump/types/config.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// The longest config text that is read, in bytes; CANN's limit.
inline constexpr std::size_t kMaxConfigBytes = 10 * 1024 * 1024;

/// Why a config is refused; CANN's user-visible codes EP0001 to EP0005 tell the same kinds apart.
enum class ConfigFault : std::uint8_t {
  none,
  unreadable,     ///< the file cannot be read, or is too large
  too_deep,       ///< nested too deeply
  syntax,         ///< not JSON
  missing,        ///< a key is missing
  wrong_type,     ///< a value has the wrong type
  empty,          ///< a value is present but empty
  not_in_list,    ///< a value is none of those allowed
  invalid_value,  ///< a value has the right type but is wrong
  conflict,       ///< two keys exclude each other
  no_memory,      ///< the memory given for the result is too small
  damaged_plan,   ///< a compiled plan that is truncated or damaged
  newer_plan,     ///< a compiled plan of a version that this build does not know
  swapped_plan,   ///< a compiled plan whose bytes were swapped on the way
};

/// Where and why a config is refused.
struct ConfigError {
  ConfigFault fault = ConfigFault::none;
  std::string key;           ///< path of the key: "dump.dump_list[1].layer"; empty when no key is to blame
  std::string reason;        ///< what is wrong and what would be right
  std::size_t offset = 0;    ///< byte in the text
  std::uint32_t line = 1;    ///< from 1
  std::uint32_t column = 1;  ///< from 1, in bytes
  /// The refused file, if it is not the config given but a file that the config names; else empty.
  std::string file;
};

/// The refusal as "file:line:column: key: reason". `file` is the config given; `error.file` takes its place if set.
std::string to_string(const ConfigError& error, std::string_view file);

/// The aclError that CANN returns for such a config: 100003 (file), 100006 (nested too deeply), 100009
/// (refused), 200000 (memory), 0 for `none`.
int acl_error(const ConfigError& error);

/// The message that CANN's log shows for such a config, EP0001 to EP0005; empty where it has none.
std::string_view cann_message_id(ConfigFault fault);

/// A part of an accepted config that has no effect, or not its full effect.
struct ConfigNote {
  std::string key;   ///< path of the key
  std::string text;  ///< what has no effect, and the consequence
  std::size_t offset = 0;
  std::uint32_t line = 1;  ///< 0: the note is about no place in the file
  std::uint32_t column = 1;
  std::string file;  ///< as `ConfigError::file`
};

/// One text gets at most this many notes; the last one then says that there are more.
inline constexpr std::size_t kMaxConfigNotes = 64;

/// The note as "file:line:column: note: key: text".
std::string to_string(const ConfigNote& note, std::string_view file);

/// Says whether `dump_path` can be dumped to; on `false`, `reason` says why not.
using DumpPathCheck = bool (*)(std::string_view dump_path, std::string& reason);

/// Reads the public key of X25519 from the file `path`; on `false`, `reason` says why not.
using SealKeyReader = bool (*)(std::string_view path, std::span<std::byte, 32> key, std::string& reason);

/// The dialects of config files. Each is recognised by its own top-level key, "dump", "common_dump_settings"
/// or "dump_config"; if a text has several, the first counts. "common_dump_settings" with `dump_mode` and
/// `path` and without any key that only MindSpore knows, such as `iteration`, which it demands, is MindSpore
/// Lite's, unless the context names a mode of MindSpore.
enum class ConfigDialect : std::uint8_t {
  by_key,
  acl,             ///< CANN's acl.json
  mindspore,       ///< MindSpore's data_dump.json
  torchair,        ///< the options of torchair's dump_config, as {"dump_config": {...}}
  mindspore_lite,  ///< the config of MindSpore Lite's benchmark tool
};

/// MindSpore's ways to run a network; each has its own rules for data_dump.json.
enum class MindSporeMode : std::uint8_t {
  by_file,  ///< on Ascend, as the file says: `kernel` with an "e2e_dump_settings" object, `graph` without
  kernel,   ///< on Ascend, kernel by kernel: jit levels O0 and O1
  graph,    ///< on Ascend, whole graphs: jit level O2
  cpu,      ///< on CPU or GPU
};

/// What reads keys of the "opdump" object that only some programs follow.
struct OptionReader;

/// What the meaning of a config depends on besides its text.
struct ConfigContext {
  ConfigDialect dialect = ConfigDialect::by_key;  ///< not `by_key`: a text of another dialect is refused
  MindSporeMode mindspore = MindSporeMode::by_file;
  /// A MindSpore config without `path` dumps to "debug_dump" in this directory. MindSpore takes it from the
  /// environment variable MS_DIAGNOSTIC_DATA_PATH.
  std::string_view diagnostic_path{};
  bool ge_dump = false;          ///< MindSpore's ENABLE_MS_GE_DUMP is 1: a note says that it has no effect
  std::uint32_t world_size = 1;  ///< processes of a distributed run, for the rank folders
  std::uint32_t rank = 0;        ///< of this process; if alone, its folder has the device's id
  /// Set to torchair's `dump_config_path` when that key is given and counts; the caller then reads that file
  /// as an acl.json, and uses it instead of this config. Null: the file is not read, and a note says so.
  std::string* acl_file = nullptr;
  /// An acl.json is for one of CANN's nano products. `dump_scene` is then "normal", "debug" or "exception",
  /// and `dump_data` is "stats" by default. `dump_list` is required for operators, and must be empty for
  /// overflows and exceptions; an item without a model's name selects nothing. Keys that such a product does
  /// not read, such as `dump_step`, count all the same.
  bool nano = false;
  const OptionReader* privacy = nullptr;   ///< `privacy_reader`; null, to be small, refuses "privacy"
  const OptionReader* seal = nullptr;      ///< `seal_reader` if dumps may be sealed; null refuses "seal"
  SealKeyReader read_seal_key = nullptr;   ///< for a "seal" that names a file; null refuses it
  const OptionReader* triggers = nullptr;  ///< `trigger_reader` beside a history; null refuses "trigger"
};

/// What reads "privacy", "seal", and "trigger" with "trigger_limits". Only a program that calls such a
/// function has its code.
const OptionReader* privacy_reader();
const OptionReader* seal_reader();
const OptionReader* trigger_reader();

/// Whether `text` begins as a compiled plan does, even if one of its first bytes is damaged or they are swapped.
bool is_plan(std::string_view text);

/// A config that is to be read.
struct ConfigInput {
  std::string_view text{};
  Arena& memory;                       ///< for the texts and lists of the DumpConfig
  DumpPathCheck check_path = nullptr;  ///< null: the path is taken as it is
  ConfigContext context{};
  bool wants_notes = false;
};

/// What became of it.
struct ConfigOutcome {
  DumpConfig config{};  ///< inactive when it is refused
  ConfigError error{};
  std::vector<ConfigNote> notes{};  ///< if wanted, to be shown to the user; never with an error
};

/// Turns the text of a config file into a DumpConfig whose texts and lists lie in the input's memory. Recognises the
/// dialect by its top-level key, and a compiled plan by its first bytes. An empty text is a valid config that switches
/// nothing on. `config_refused` with the error filled when the text is refused; the config is then inactive, without
/// notes. What `outcome` held before is gone in any case. For boot and for hosts: allocates while it runs, and leaves
/// only error and notes on the heap. Rules: CANN's server implementation of acl.json, MindSpore 2.5 to 2.7, torchair,
/// MindSpore Lite as of 2025-07. A text of a dialect that the build leaves out (OPDUMP_DIALECTS) is refused by name.
[[nodiscard]] Status parse_config(const ConfigInput& input, ConfigOutcome& outcome);

/// As `parse_config`, for CANN's acl.json and its "opdump" object only: another dialect or a compiled plan is refused.
/// A program that calls no other parser links no other dialect; the README of this folder says what that saves.
[[nodiscard]] Status parse_acl_config(const ConfigInput& input, ConfigOutcome& outcome);

/// Bytes of arena that are enough for any config text of `text_bytes` bytes.
constexpr std::size_t config_memory_bytes(std::size_t text_bytes) {
  constexpr std::size_t kShortestEntryBytes = 3;  // "{},", which becomes a ModelRule
  constexpr std::size_t kPerEntry = (sizeof(ModelRule) + kShortestEntryBytes - 1) / kShortestEntryBytes;
  constexpr std::size_t kPerName = 16;  // in any list of names
  return 4096 + (kPerEntry > kPerName ? kPerEntry : kPerName) * text_bytes;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
