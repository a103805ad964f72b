#pragma once
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/cli/options.hpp"
#include "src/tool/judge/compare/compare_report.hpp"
#include "src/tool/read/flash/flash_image.hpp"

namespace opdump::tool {

/// Which dumps are compared, and how, in the words of the command line.
struct CompareChoice {
  std::optional<std::string> mine;
  std::optional<std::string> golden;  ///< nothing: mine is only read
  std::optional<std::string> expected;
  std::optional<std::string> op;
  std::optional<std::string> step;
  std::optional<std::string> limits;
  std::optional<std::string> map;
  std::optional<std::string> boot;
  std::optional<std::string> golden_boot;
  std::optional<std::string> model;
  std::optional<std::string> golden_model;
  bool any_model = false;
  bool by_order = false;
  bool align = false;
  bool stored = false;  ///< also keep mine as it lies in its files
};

/// The options of a choice and a command's own; the values go into `choice`, but for mine.
std::vector<Option> compare_options(CompareChoice& choice, std::initializer_list<Option> own);

/// What the options of a choice do, for the help of every command that has them.
extern const std::string_view kCompareOptionsHelp;

/// Dumps that are read and compared as a choice says. Keeps the heads of their files, the cards and the
/// contents of flash images as long as it lives.
class DumpComparison {
 public:
  DumpComparison() = default;
  DumpComparison(const DumpComparison&) = delete;
  DumpComparison& operator=(const DumpComparison&) = delete;

  /// Takes the choice, which has to outlive this object. On false `error` says what is wrong with it.
  bool choose(const CompareChoice& choice, std::string& error);

  /// Reads all dumps and cards. The exit status when nothing can be compared, which `search` was told.
  std::optional<int> read(const SearchReport& search);

  /// Pairs and compares what was read.
  void compare(bool detail);

  const std::vector<Threshold>& thresholds() const { return thresholds_; }
  const DumpSide& mine() const { return mine_; }
  const DumpSide& golden() const { return golden_; }

  /// Mine without what cards tell of it, with its tensors in the same order; empty unless it was chosen.
  const DumpSide& stored() const { return stored_; }
  const PairResults& results() const { return results_; }

  /// The directory or file that mine was read from, in a copy if it is a flash image.
  const std::string& my_path() const { return my_path_; }

  /// The card that was named for mine; null: none was.
  const CardedOps* my_card() const { return carded_ ? &*carded_ : nullptr; }
  BesideCards& beside() const { return *beside_; }

  /// Refers to this object and to `measures`.
  CompareReport report(const std::vector<const Measure*>& measures) const {
    return {mine_, golden_, results_, measures, thresholds_};
  }

  /// The same against the dump of expected errors, which are pairs of their own; nothing without such a dump.
  std::optional<CompareReport> compare_expected(bool detail, const std::vector<const Measure*>& measures);

 private:
  bool read_expected(const SearchReport& search);

  const CompareChoice* choice_ = nullptr;
  std::optional<std::uint32_t> boot_;
  std::optional<std::uint32_t> golden_boot_;
  ChosenSteps steps_;
  std::vector<Threshold> thresholds_;
  NameMap names_;
  PairingOptions pairing_;
  RunFile card_;
  RunFile golden_card_;
  std::optional<CardedOps> carded_;
  std::optional<CardedOps> golden_carded_;
  std::unique_ptr<BesideCards> beside_;
  ExtractedImage my_image_;
  ExtractedImage golden_image_;
  ExtractedImage expected_image_;
  std::string my_path_;
  DumpSide mine_;
  DumpSide stored_;
  DumpSide golden_;
  DumpSide expected_;
  ExpectedErrors errors_;
  PairResults results_;
  PairResults expected_results_;
};

/// Why no tensors go together, and what to do.
std::string no_pair_text(const CompareReport& report);

/// Tells what could not be compared. False when something of mine was not, or diverges; inputs of mine may be
/// without a partner where the golden dump has outputs alone, which is a note.
bool tell_problems(const CompareReport& report, const SearchReport& search);

}  // namespace opdump::tool
