#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/judge/diff/digest_columns.hpp"
#include "src/tool/judge/diff/run_merge.hpp"
#include "src/tool/read/dump/numbered_texts.hpp"
#include "src/tool/read/dump/spilled_list.hpp"
#include "src/tool/read/journal/dump_provenance.hpp"
#include "src/tool/read/run/model_sums.hpp"

namespace opdump::tool {

/// A tensor of an operator, whatever the step. Names are as a dump's files have them.
struct SummedTensor {
  std::string model;  ///< empty: the operator ran outside a model, or its dump does not tell
  std::string type;
  std::string op;
  bool is_output = false;
  std::uint32_t index = 0;
  std::string what;  ///< dtype and shape, as far as they are told

  /// "output 0 of conv1 (Conv2D)".
  std::string text() const;
};

void write_fields(FieldWriter& to, const SummedTensor& tensor);
void read_fields(FieldReader& from, SummedTensor& tensor);

/// A run as the command line names it.
struct Run {
  std::string name;
  std::size_t side = 0;  ///< runs of one side should be the same
  ModelSums models{};    ///< as far as they are told
  DumpProvenance provenance{};
};

/// The digests of several runs, side by side. Rows are in the order in which the first run that has them ran
/// them. In bounded memory but for 8 to 16 bytes for each tensor, whatever its steps, and some 10 KiB for
/// each run.
class RunTable {
 public:
  /// Begins a run; `set` is of this one from then on.
  void begin_run(std::string name, std::size_t side, ModelSums models = {}, DumpProvenance provenance = {});

  /// The run that was begun has a model whose file has that SHA-256.
  void add_model(const std::string& name, const std::string& sha256) {
    runs_.back().models.emplace(name, sha256);
  }

  /// The number of that tensor. Of two with another dtype or shape alone the names count.
  std::uint32_t tensor(const SummedTensor& tensor);

  /// The number of a basis other than `kOfElements`, such as "MD5 of 0:4"; digests of one basis alone can be
  /// compared. Nothing where there are too many.
  std::optional<std::uint16_t> basis(const std::string& text, bool is_statistics);

  /// Adds the next tensor of the run.
  void set(std::uint32_t tensor, std::uint64_t step, const RunDigest& digest);

  /// Orders the rows by step. To be called once after all runs.
  void finish();

  const std::vector<Run>& runs() const { return runs_; }
  const SpilledList<SummedTensor>& tensors() const { return tensors_; }
  const SpilledList<RunPlace>& places() const { return places_; }
  /// Numbers of `places` in the order of execution.
  const SpilledList<std::size_t>& order() const { return order_; }
  RunDigest at(std::size_t run, std::size_t place) const { return digests_.at(run, place); }
  /// Empty for `kOfElements`.
  const std::string& basis_text(std::uint16_t basis) const { return bases_[basis].text; }
  bool is_statistics(const RunDigest& digest) const { return bases_[digest.basis].is_statistics; }

  /// Why rows are missing: what is wrong with the temporary file. Else empty.
  const std::string& error() const { return error_; }

 private:
  /// Of which the places are also kept in memory, as each run asks for them.
  static constexpr std::size_t kMostFirst = std::size_t{1} << 16;

  RunPlace place_of(std::size_t row) const { return row < first_.size() ? first_[row] : places_[row]; }
  struct Basis {
    std::string text;
    bool is_statistics = false;
  };

  void end_run();
  void check(const std::string& error);

  std::vector<Run> runs_;
  NumberedTexts known_;  ///< what tells tensors apart
  SpilledList<SummedTensor> tensors_;
  SpilledList<RunPlace> places_;
  std::vector<RunPlace> first_;  ///< the first of them
  std::vector<Basis> bases_{1};
  DigestColumns digests_;
  std::optional<RunMerge> merge_;  ///< what of the run does not follow the rows that there are
  SpilledList<std::size_t> order_;
  std::string error_;
};

}  // namespace opdump::tool
