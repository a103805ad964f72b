#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/tool/verify/findings.hpp"

namespace opdump::tool {

/// Files of one device: what its journals say about files they do not name.
struct JournaledDevice {
  bool has_journal = false;
  bool all_closed = true;
  bool has_gaps = false;      ///< a journal that names no files
  std::uint64_t unnamed = 0;  ///< records that such journals count
  bool is_unsure = false;     ///< how many is not known
  std::uint64_t found = 0;    ///< files that may be those
  std::uint64_t removed = 0;  ///< files that were those
  bool is_cut = false;        ///< a log that went round took the oldest
  bool has_history = false;   ///< a journal that names no files is of a history
  bool counts_rows = false;   ///< another one is not
  bool has_rows = false;      ///< of tables, in `found`

  /// Takes over what `other` counts, so that both are one.
  void join(JournaledDevice& other);
};

/// The devices of one dump that journals or removals tell of.
class JournaledDevices {
 public:
  using Devices = std::map<std::uint64_t, JournaledDevice>;

  JournaledDevice& operator[](std::uint64_t device) { return devices_[device]; }
  bool empty() const { return devices_.empty(); }
  bool has(std::uint64_t device) const { return devices_.contains(device); }

  /// The device of the file at that path below the dump's directory; `end` without one. Where a layout does
  /// not tell it, the files of all devices without names are counted together.
  Devices::iterator of(const std::string& path);
  Devices::iterator end() { return devices_.end(); }

  /// Whether all journals of `device` are closed, or of all devices for `end`.
  bool all_closed(Devices::iterator device) const;

  /// Of a journal that names no files, the count of files is all that can be compared.
  struct Teller {
    std::function<void(FindingKind, std::uint64_t device, const std::string&)> file;
    std::function<void(std::uint64_t records)> nameless;  ///< of those that are removed or missing
    std::function<void(std::uint64_t device, const std::string&, std::uint64_t records)> overwritten;
  };
  void tell(const Teller& teller);

 private:
  void join();

  Devices devices_;
  bool is_shared_ = false;  ///< files without names are counted for all devices together
};

/// A directory that holds journals, or should.
struct JournaledDump {
  std::string directory;
  std::vector<std::string> journals;
};

/// Adds the dumps in and below `directory`; what lies below one belongs to it.
void find_dumps(const std::string& directory, std::vector<JournaledDump>& dumps, std::uint64_t& journal_bytes,
                Findings& findings);

}  // namespace opdump::tool
