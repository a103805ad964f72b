#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/journal/journal_line.hpp"
#include "src/tool/verify/journal_findings.hpp"

namespace opdump::tool {

/// For people: why a trigger has fired, as "max 0.42 < 0.5".
std::string firing_text(const ToldFiring& firing);

/// The same of what became of all firings, as "2 firings; 3 held back: ...".
std::string firing_counts_text(TriggerCause cause, const FiringCounts& counts);

/// Calls `tell` with a line for each firing that the journals among `files` tell of, and for what became of all firings
/// of each trigger, in the order of the journals. Lines that cannot be read are left to `opdump verify`.
void tell_firings(const std::vector<FoundFile>& files, const std::function<void(const std::string&)>& tell);

/// What the lines of one journal tell of its triggers: whether the firings are as many as are counted.
class TriggerAccounts {
 public:
  /// It outlives this.
  explicit TriggerAccounts(JournalFindings& told) : told_(told) {}

  void clear() { accounts_.clear(); }
  /// `forgotten`: so many firings that have no line any more; else 0.
  void add_firing(const ToldFiring& firing, std::uint32_t forgotten);

  /// `number` is that of the line. Of a journal that `may_be_cut`, firings may be missing.
  void add_counts(std::uint64_t number, const ToldFiring& trigger, const FiringCounts& counts,
                  bool may_be_cut);

  /// Of a journal that is `closed`, each trigger has its counts.
  void tell(bool closed);

 private:
  struct Account {
    ToldFiring trigger{};     ///< number and cause
    std::uint32_t fired = 0;  ///< lines of firings, also those that are forgotten
    FiringCounts counts{};    ///< of the last line of counts
    bool counted = false;
  };

  Account& account_of(const ToldFiring& trigger);

  JournalFindings& told_;
  std::map<std::uint32_t, Account> accounts_;  ///< by their numbers
};

}  // namespace opdump::tool
