#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/base/status.hpp"

namespace opdump::tool {

struct FoundFunction {
  std::string_view name;
  bool is_there = false;
};

/// A library that opdump, or a program around it, may use on a board.
struct FoundLibrary {
  std::string_view name;
  std::string_view purpose;
  std::string path{};       ///< of the file that the loader took; empty: it took none
  std::string reason{};     ///< why it took none
  bool broken = false;      ///< there is such a file, and it cannot be loaded
  std::string elsewhere{};  ///< such a file where the loader does not look
  std::vector<FoundFunction> functions{};

  bool is_loaded() const { return !path.empty(); }

  /// Whether it was loaded with that function in it.
  bool has(std::string_view function) const;
};

/// What became of something that was tried on the device.
enum class Trial : std::uint8_t {
  untried,
  right,
  wrong,  ///< the driver said that it went well, and other bytes came
  failed,
};

struct FailedCall {
  std::string call{};
  std::int32_t code = 0;
};

/// What the device and its driver told and did.
struct FoundDevice {
  enum class RunMode : std::uint8_t { untold, host, device };

  std::string library{};  ///< path of the runtime; empty: there is none that can copy
  std::string untried{};  ///< why nothing was tried; empty: it was
  std::string interface_version{};
  std::string package_version{};
  std::string chip{};
  std::optional<std::uint32_t> count{};
  std::uint32_t id = 0;  ///< of the device that was tried
  RunMode run_mode = RunMode::untold;
  bool is_nano = false;         ///< AscendCL without memory and streams of the host's
  bool has_background = false;  ///< the functions of copies in the background are there
  Status opened = Status::ok;
  std::uint64_t bytes = 0;  ///< of the copies that were tried
  Trial at_once = Trial::untried;
  Trial unaligned = Trial::untried;  ///< the same from and to addresses that are not multiples of 64
  bool unaligned_refused = false;    ///< by the driver, so that aligned addresses have to stand between
  Trial in_background = Trial::untried;
  Trial in_place = Trial::untried;
  std::optional<std::uint32_t> pinned_offset{};  ///< of aclrtMallocHost's memory behind a multiple of 64
  Trial overflow = Trial::untried;               ///< whether the device was asked for its overflow status
  std::vector<FailedCall> failed{};              ///< calls of the driver, in order
};

struct FoundVariable {
  std::string_view name;
  std::string_view effect;
  std::string value{};
};

/// The config that a program would be started with, and the directory that it would dump to.
struct FoundFiles {
  std::string config{};       ///< its path; empty: none is named
  std::string config_from{};  ///< who names it
  std::string refusal{};      ///< empty: the config is valid
  bool active = false;
  std::string dump_path{};
  std::string unwritable{};  ///< why files cannot be made there; empty: they can
  std::uint64_t free_bytes = 0;
};

struct FoundClock {
  bool by_counter = false;  ///< the processor's, between readings of CLOCK_REALTIME
  std::uint64_t unix_us = 0;
  std::int32_t utc_offset_seconds = 0;
  bool is_set = false;  ///< false: the time lies before this program was built
};

/// All that `opdump doctor` finds.
struct Board {
  std::vector<FoundLibrary> libraries;
  FoundDevice device;
  std::vector<FoundVariable> variables;  ///< those that are set
  FoundFiles files;
  FoundClock clock;

  const FoundLibrary& library(std::string_view name) const;
};

}  // namespace opdump::tool
