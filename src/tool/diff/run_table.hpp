#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "opdump/base/bytes.hpp"
#include "src/tool/run/model_sums.hpp"
#include "src/tool/verify/dump_provenance.hpp"

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

/// What one run has at one place, or what several have.
struct RunDigest {
  enum class State : std::uint8_t {
    absent,
    there,
    flaky,  ///< a signature says that it differs from run to run
  };

  State state = State::absent;
  std::array<std::byte, 16> bytes{};

  bool operator==(const RunDigest&) const = default;
};

/// One row of the table: a tensor at a step.
struct RunPlace {
  std::uint32_t tensor = 0;  ///< index in `RunTable::tensors`
  std::uint32_t turn = 0;    ///< of the same tensor in the same step, from 0
  std::uint64_t step = 0;

  bool operator==(const RunPlace&) const = default;
};

/// A run as the command line names it.
struct Run {
  std::string name;
  std::size_t side = 0;  ///< runs of one side should be the same
  ModelSums models{};    ///< as far as they are told
  DumpProvenance provenance{};
};

/// The digests of several runs, side by side. Rows are in the order in which the first run that has them ran
/// them.
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

  /// Adds the next tensor of the run.
  void set(std::uint32_t tensor, std::uint64_t step, const RunDigest& digest);

  /// Orders the rows by step.
  void finish();

  const std::vector<Run>& runs() const { return runs_; }
  const std::vector<SummedTensor>& tensors() const { return tensors_; }
  const std::vector<RunPlace>& places() const { return places_; }
  /// Indexes of `places` in the order of execution.
  const std::vector<std::size_t>& order() const { return order_; }
  const RunDigest& at(std::size_t run, std::size_t place) const;

 private:
  struct PlaceHash {
    std::size_t operator()(const RunPlace& place) const {
      std::uint64_t hash =
          (place.step * 0x9e3779b97f4a7c15) ^ (std::uint64_t{place.turn} << 32 | place.tensor);
      return static_cast<std::size_t>((hash ^ hash >> 29) * 0xbf58476d1ce4e5b9);
    }
  };

  std::vector<Run> runs_;
  std::vector<SummedTensor> tensors_;
  std::unordered_map<std::string, std::uint32_t> known_;
  std::vector<RunPlace> places_;
  std::unordered_map<RunPlace, std::size_t, PlaceHash> rows_;
  std::vector<std::vector<RunDigest>> digests_;  ///< by run, then by place
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;  ///< the place behind the one that was set last
};

}  // namespace opdump::tool
