#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "opdump/parts/forecast.hpp"
#include "opdump/types/config.hpp"
#include "opdump/types/model.hpp"

namespace opdump::tool {

/// What looks of one kind read in a step, as far as the tensors are told.
struct LookCost {
  std::uint64_t looks = 0;
  std::uint64_t bytes = 0;

  void add(std::uint64_t tensor_bytes) {
    ++looks;
    bytes += tensor_bytes;
  }
};

/// For extremes and counts, for sums, and for changes.
using LookCosts = std::array<LookCost, 3>;

/// What a config matches in one described model.
struct ModelMatch {
  std::string model;
  std::vector<std::string> matched{};  ///< names of operators, in execution order
  std::vector<std::uint8_t> bits{};    ///< of each operator, as in a plan; empty: none is wanted
  Forecast forecast{};
  std::vector<std::string> kept{};        ///< in words: what the config's privacy keeps of its tensors
  LookCosts look_costs{};                 ///< of triggers
  std::vector<std::string> look_lines{};  ///< in words: what triggers look at
  bool is_long = false;                   ///< it cannot be loaded: its name is too long
  bool refused = false;          ///< nothing is dumped: a rule of the privacy names none of its tensors
  bool lacks_producers = false;  ///< so the Data operators that the config promises cannot be found
};

/// A name of the config that matches nothing.
struct Miss {
  std::string what;     ///< like `layer "conv" of model "m"`
  std::string closest;  ///< a name that is nearly the same; empty: there is none
  std::string model{};  ///< whose name or operator it is; empty: of any model
  std::string op{};     ///< whose name it is; empty: no operator's
};

struct MatchReport {
  std::vector<ModelMatch> models;
  std::vector<Miss> misses;
  std::vector<std::string> stand_ins;   ///< in words: names that only files have, and their operators
  Forecast forecast{};                  ///< of all models
  std::vector<std::string> triggers{};  ///< in words: what looks, firings and boots of triggers cost
  std::uint64_t partition_bytes = 0;    ///< size of the dump's partition; 0: not known
};

/// Matches `config` with `models`, as a session does when it loads them.
MatchReport match_models(const DumpConfig& config, std::span<const ModelDesc> models);

/// Text like `layer "conv" of model "m" matches nothing; did you mean "conv1"?`.
std::string miss_text(const Miss& miss);

/// Lines that say what matches, which names match nothing, and what a step costs.
std::vector<std::string> match_lines(const MatchReport& report);

}  // namespace opdump::tool
