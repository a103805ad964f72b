#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/judge/compare/dump_comparison.hpp"
#include "src/tool/judge/compare/verdict_report.hpp"
#include "src/tool/judge/diverge/ort_reference.hpp"
#include "src/tool/judge/diverge/replay_model.hpp"
#include "src/tool/judge/edges/edges.hpp"
#include "src/tool/judge/why/judgement.hpp"
#include "src/tool/page/journal_facts.hpp"
#include "src/tool/page/tensor_facts.hpp"
#include "src/tool/page/tensor_pictures.hpp"

namespace opdump::tool {

/// A moment of a model: its step, and the boot if there are several.
struct ReportPlace {
  std::string text;   ///< "digits/3", "boot 2 digits/3"; empty: not told
  std::string model;  ///< empty: not told
  std::optional<std::uint64_t> step;
};

/// An operator of a model, at whatever step; one that runs twice within a step is two.
struct ReportOp {
  std::string name;
  std::string type;
  std::string model;
};

/// An operator at one moment.
struct ReportRun {
  std::size_t op = 0;
  std::size_t place = 0;
  std::size_t file = 0;                ///< of its first tensor
  std::vector<std::size_t> tensors{};  ///< inputs first
  std::optional<Verdict> verdict{};    ///< nothing: nothing was compared

  double isolated = TensorFacts::kUnknown;  ///< the greatest error of its outputs, by what its inputs make
  bool is_own_fault = false;                ///< that is more than it may be

  // Of its outputs; of its inputs where it has no outputs.
  std::uint64_t nonfinite = 0;
  double peak = TensorFacts::kUnknown;
  double zeros = TensorFacts::kUnknown;      ///< share
  double saturated = TensorFacts::kUnknown;  ///< share

  std::uint64_t bytes = 0;                     ///< of all its tensors
  double error = TensorFacts::kUnknown;        ///< the greatest of its outputs, a Euclidean distance
  double input_error = TensorFacts::kUnknown;  ///< the same of its inputs
  double cosine = TensorFacts::kUnknown;       ///< the least of its outputs
  double by_expected = TensorFacts::kUnknown;  ///< the greatest of its outputs
  std::uint64_t golden_nonfinite = 0;
  bool other_dtype = false;  ///< a tensor of golden has another dtype
};

/// An input, and the run whose output it is.
struct ReportEdge {
  std::size_t from = 0;
  std::size_t to = 0;
  std::uint32_t output = 0;
  std::uint32_t input = 0;
  EdgeSource source = EdgeSource::address;
  EdgeBytes bytes = EdgeBytes::unknown;
};

struct ReportPicture {
  std::size_t tensor = 0;
  PairPicture picture{};
};

/// Everything that goes into the page. Runs are in the order in which they ran.
struct ReportFacts {
  const DumpComparison& dumps;
  const CompareReport* compared = nullptr;  ///< null: there is no golden dump
  const VerdictReport* verdicts = nullptr;
  Judgement alone{};  ///< where there is no golden dump
  JournalFacts journal{};
  ConfigFacts config{};
  std::string root{};        ///< stands before names of files for who reads the page
  std::string image{};       ///< the flash image that they lie in; empty: they lie in files
  std::string provenance{};  ///< what journals and cards tell of where the dump comes from

  std::vector<ReportPlace> places{};
  bool has_boots = false;  ///< places of several boots may have the same step
  std::vector<ReportOp> ops{};
  std::vector<ReportRun> runs{};
  std::map<std::size_t, std::string> evidence{};  ///< of few runs: why the verdict is as it is
  std::map<std::size_t, std::string> replayed{};  ///< the same: what is off, or why it was not recomputed
  std::vector<ReportEdge> edges{};
  std::vector<std::uint32_t> run_of{};  ///< of each tensor of mine
  std::vector<TensorFacts> mine{};
  std::vector<TensorFacts> golden{};      ///< of the partner of each tensor of mine
  std::vector<std::size_t> flagged{};     ///< tensors that deserve a look, the worst first
  std::vector<ReportPicture> pictures{};  ///< of some of them
  std::uint64_t unread_files = 0;         ///< of either dump
  std::uint64_t unread_tensors = 0;       ///< of mine, where there is no golden dump
  std::vector<std::string> notes{};       ///< what could not be read, and what else to know
  std::string recomputed{};               ///< what came of recomputing the runs; empty: that was not done
  std::string own_fault{};                ///< the first that is off by itself; empty: none is
  std::optional<std::size_t> first{};     ///< run: that the verdict names

  /// Of a tensor of mine; nothing: there is no golden dump.
  const PairResult* result_of(std::size_t tensor) const;

  std::vector<std::size_t> worst_runs() const;  ///< at most 50, the worst first
};

/// Looks at all tensors, and recomputes all runs of `model` by `reference`, unless that is null. Shows its
/// progress on a terminal. Ends early when interrupted.
void gather_facts(ReportFacts& facts, const ReplayModel& model, OpReference* reference,
                  const SearchReport& search);

}  // namespace opdump::tool
