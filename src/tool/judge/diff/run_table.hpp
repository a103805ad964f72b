#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/tool/judge/compare/compare_side.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/mapped_file.hpp"
#include "src/tool/read/journal/dump_provenance.hpp"
#include "src/tool/read/run/beside_cards.hpp"

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

/// The basis of digests of all elements, in the algorithm that the runs share.
inline constexpr std::uint16_t kOfElements = 0;

/// What one run has at one place, or what several have.
struct RunDigest {
  enum class State : std::uint16_t {
    absent,
    there,
    flaky,    ///< a signature says that it differs from run to run
    unknown,  ///< it is there, and neither its elements nor what tells of them
  };

  State state = State::absent;
  std::uint16_t basis = kOfElements;  ///< of what the bytes are the digest, see `RunTable::basis`
  std::uint16_t form = 0;             ///< the number of its dtype and shape at its tensor; 0: not told
  std::array<std::byte, 16> bytes{};

  /// A form that is not told is that of the other.
  bool operator==(const RunDigest& other) const {
    return state == other.state && basis == other.basis && bytes == other.bytes &&
           (form == other.form || form == 0 || other.form == 0);
  }
};

/// A tensor as one run has it.
struct FormedTensor {
  std::uint32_t number = 0;  ///< index in `RunTable::tensors`
  std::uint16_t form = 0;    ///< as `RunDigest` has it
};

/// One row of the table: a tensor at a step.
struct RunPlace {
  std::uint32_t tensor = 0;  ///< index in `RunTable::tensors`
  std::uint32_t turn = 0;    ///< of the same tensor in the same step, from 0
  std::uint64_t step = 0;
};

/// A run as the command line names it.
struct Run {
  std::string name;
  std::size_t side = 0;  ///< runs of one side should be the same
  ModelSums models{};    ///< as far as they are told
  DumpProvenance provenance{};
};

/// The digests of several runs, side by side. Rows are in the order in which the first run that has them ran them.
class RunTable {
 public:
  /// Begins a run; `set` is of this one from then on.
  void begin_run(std::string name, std::size_t side, ModelSums models = {}, DumpProvenance provenance = {});

  /// The run that was begun has a model whose file has that SHA-256.
  void add_model(const std::string& name, const std::string& sha256) {
    runs_.back().models.emplace(name, sha256);
  }

  /// The number of that tensor, which has the same one with another dtype or shape.
  FormedTensor tensor(const SummedTensor& tensor);

  /// The dtypes and shapes that the runs tell of it, "float32 [2,2] or float32 [4]".
  std::string forms_text(std::uint32_t tensor) const;

  /// The number of a basis other than `kOfElements`, such as "MD5 of 0:4"; digests of one basis alone can be
  /// compared. Nothing where there are too many.
  std::optional<std::uint16_t> basis(const std::string& text, bool is_statistics);

  /// Adds the next tensor of the run.
  void set(FormedTensor tensor, std::uint64_t step, RunDigest digest);

  /// Orders the rows by step. To be called once after all runs.
  void finish();

  const std::vector<Run>& runs() const { return runs_; }
  const std::vector<SummedTensor>& tensors() const { return tensors_; }
  const std::vector<RunPlace>& places() const { return places_; }
  /// Numbers of `places` in the order of execution.
  const std::vector<std::size_t>& order() const { return order_; }
  /// An absent one where the run does not have it.
  RunDigest at(std::size_t run, std::size_t place) const {
    return place < digests_[run].size() ? digests_[run][place] : RunDigest();
  }
  /// Empty for `kOfElements`.
  const std::string& basis_text(std::uint16_t basis) const { return bases_[basis].text; }
  bool is_statistics(const RunDigest& digest) const { return bases_[digest.basis].is_statistics; }

 private:
  struct Basis {
    std::string text;
    bool is_statistics = false;
  };

  /// A tensor at a step.
  using Moment = std::pair<std::uint32_t, std::uint64_t>;

  std::vector<Run> runs_;
  NumberedTexts known_;  ///< what tells tensors apart
  std::vector<SummedTensor> tensors_;
  std::vector<std::vector<std::string>> forms_;  ///< of each tensor, those that are told
  std::vector<RunPlace> places_;
  std::map<Moment, std::vector<std::size_t>> rows_;  ///< by turn
  std::map<Moment, std::size_t> turns_;              ///< of the run, so far
  std::vector<Basis> bases_{1};
  std::vector<std::vector<RunDigest>> digests_;  ///< of each run, by row
  std::vector<std::size_t> order_;
};

/// Whether each run has a model that the first one has too, and models of one name are of one file, as far as
/// that is told. Runs that tell no model have every one. On false `error` names both.
bool have_common_model(const RunTable& table, std::string& error);

/// What else, of where the runs come from, is not as for the first one: builds, configs, runtimes, versions.
std::vector<std::string> unlike_runs(const RunTable& table);

/// Whether a dump lacks bytes of the elements that the shape of a tensor counts.
bool lacks_elements(DType dtype, Shape shape, std::uint64_t data_bytes);

/// The digest of no bytes.
RunDigest sum_of_nothing(std::string_view algorithm);

/// Computes digests of tensors whose bytes a dump has, as a device would have.
class TensorSums {
 public:
  /// `algorithm`: "crc32c", "xxh3" or "md5".
  explicit TensorSums(std::string_view algorithm) : algorithm_(algorithm) {}

  /// The digest of a tensor's elements, without padding. False, with `error()`, when they cannot be read.
  bool of(const DumpTensor& tensor, const std::string& path, RunDigest& digest);

  const std::string& error() const { return error_; }

 private:
  template <class Sum>
  bool add(Sum sum, const DumpTensor& tensor, std::uint64_t bytes, RunDigest& digest);

  std::string_view algorithm_;
  std::string path_;
  MappedFile file_;
  std::string error_;
};

}  // namespace opdump::tool
