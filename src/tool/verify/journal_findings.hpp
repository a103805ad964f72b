#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "src/tool/read/journal/journal_line.hpp"
#include "src/tool/verify/findings.hpp"
#include "src/tool/verify/journal_check.hpp"

namespace opdump::tool {

/// Puts what one journal tells besides its records into words. A call for each thing that a JournalListener
/// is told, with the same arguments.
class JournalFindings {
 public:
  /// Both outlive this.
  JournalFindings(const std::string& journal, Findings& findings) : journal_(journal), findings_(findings) {}

  void gap(std::uint32_t recorder, std::uint32_t first, std::uint32_t last, std::string_view causes);
  void op(const JournalLine& line);
  void chunk(const JournalLine& line);
  void provenance(const Provenance& provenance);
  void clock(const ClockStep& step);
  void driver(std::string_view call, std::int32_t code);
  void fired(const ToldFiring& firing);
  void trigger(const ToldFiring& trigger, const FiringCounts& counts);
  void refused_by_sink(std::uint32_t lost);
  void untold(std::uint64_t number, std::uint32_t untold, const DumpCounts& counts);
  void untold_reduced(std::uint64_t number, std::uint32_t untold);
  void forgotten(const JournalLine& line, bool names_files);
  void files_removed(std::uint64_t count);
  void dumps_removed(std::uint64_t count, std::uint64_t first, std::uint64_t last);
  void unreceived(std::uint64_t first, std::uint64_t last);
  void problem(std::uint64_t number, const std::string& what);

  /// That the journal does not end in `closed`.
  void not_final(const JournalCheck& check);

 private:
  const std::string& journal_;
  Findings& findings_;
};

}  // namespace opdump::tool
