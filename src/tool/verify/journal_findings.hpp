#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "src/tool/read/journal/journal_line.hpp"
#include "src/tool/verify/findings.hpp"
#include "src/tool/verify/journal_check.hpp"

namespace opdump::tool {

/// Puts what one journal tells besides its records into words.
class JournalFindings : public JournalListener {
 public:
  /// Both outlive this.
  JournalFindings(const std::string& journal, Findings& findings) : journal_(journal), findings_(findings) {}

  void on_gap(std::uint32_t recorder, std::uint32_t first, std::uint32_t last,
              std::string_view causes) override;
  void on_op(const JournalLine& line) override;
  void on_chunk(const JournalLine& line) override;
  void on_provenance(const Provenance& provenance) override;
  void on_clock(const ClockStep& step) override;
  void on_driver(std::string_view call, std::int32_t code) override;
  void fired(const ToldFiring& firing);
  void trigger(const ToldFiring& trigger, const FiringCounts& counts);
  void refused_by_sink(std::uint32_t lost);
  void on_untold(std::uint64_t number, std::uint32_t untold, const DumpCounts& counts) override;
  void on_untold_reduced(std::uint64_t number, std::uint32_t untold) override;
  void on_forgotten(const JournalLine& line, bool names_files) override;
  void files_removed(std::uint64_t count);
  void on_dumps_removed(std::uint64_t count, std::uint64_t first, std::uint64_t last) override;
  void on_unreceived(std::uint64_t first, std::uint64_t last) override;
  void on_unsynced(std::int32_t code) override;
  void on_problem(std::uint64_t number, const std::string& what) override;

  /// That the journal does not end in `closed`.
  void not_final(const JournalCheck& check);

 private:
  const std::string& journal_;
  Findings& findings_;
};

}  // namespace opdump::tool
