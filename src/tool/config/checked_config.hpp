#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "opdump/base/bytes.hpp"
#include "opdump/config/parse.hpp"
#include "platform/posix/config_file.hpp"

namespace opdump::tool {

/// What is told of an adapter for a runtime. The texts are Markdown without links.
struct Runtime {
  std::string_view name;
  std::string_view header;    ///< from the source's root on; empty: there is no adapter yet
  std::string_view attached;  ///< how
  std::string_view seen;      ///< inputs, outputs
  std::string_view inside;    ///< of operators that the runtime has fused or handed to a delegate
  std::string_view off;       ///< what it costs while nothing is dumped
  std::string_view on;        ///< what an operator that is dumped costs, besides the dump
  std::string_view state;     ///< where it runs, and which revision it was read at
};

/// In the order of a listing: those that run in the tests first.
std::span<const Runtime> runtimes();

/// A config with the text it was read from and the memory it lies in.
class CheckedConfig : public ConfigOutcome {
 public:
  /// Reads `file`, or standard input for "-". The directory of a compiled plan lies on the device, and is not checked.
  Status load(const std::string& file, DumpPathCheck check_path, const ConfigContext& context = {});

  /// Applies this process's environment variables that take precedence over an acl.json, for instance on the
  /// directory. Makes nothing in the file system. A compiled plan is for another process, and stays as it is.
  Status follow_environment();

  /// What was read, as far as it could be.
  std::string_view text() const { return text_.view(); }

 private:
  Status read_standard_input();

  posix::ConfigText text_;
  posix::ConfigMemory memory_;
};

/// The words of `--personality`, for people.
inline constexpr char kPersonalities[] = "o0, o1, o2, cpu or lite";

/// Sets MindSpore's mode or, for `lite`, the dialect. False for any other word. Without a word `context` stays.
bool read_personality(const std::optional<std::string>& word, ConfigContext& context);

/// Says on stderr what is wrong with `file`, with the line of `text` if there is one.
void print_refusal(const std::string& file, const ConfigError& error, std::string_view text);

/// Whether `name` can name an array in C and in C++.
bool is_c_name(std::string_view name);

/// A C and C++ header that holds `plan` as the array `name`, 8-byte aligned. `memory_bytes`: the most memory
/// that loading the plan takes.
std::string plan_source(Bytes plan, std::string_view name, std::size_t memory_bytes);

}  // namespace opdump::tool
