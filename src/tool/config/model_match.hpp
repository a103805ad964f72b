#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "opdump/parts/forecast.hpp"
#include "opdump/types/config.hpp"
#include "src/tool/run/run_file.hpp"

namespace opdump::tool {

/// What a config takes of one described model.
struct ModelMatch {
  std::string model;
  std::vector<std::string> matched{};  ///< names of operators, in execution order
  Forecast forecast{};
  bool lacks_producers = false;  ///< so that Data operators that the config promises are not found
};

/// A name of the config that is that of nothing.
struct Miss {
  std::string what;     ///< as `layer "conv" of model "m"`
  std::string closest;  ///< a name that is nearly the same; empty: none
};

struct MatchReport {
  std::vector<ModelMatch> models;
  std::vector<Miss> misses;
  std::vector<std::string> stand_ins;  ///< names of the config that only files have, and whose they are
  Forecast forecast{};                ///< of all models
  std::uint64_t partition_bytes = 0;  ///< of the place where the dump goes; 0: not known
};

/// Holds `config` against the models of `run`, as a session would when it loads them.
MatchReport match_models(const DumpConfig& config, const RunFile& run);

/// As `layer "conv" of model "m" matches nothing; did you mean "conv1"?`.
std::string miss_text(const Miss& miss);

/// A line each: what matches, what matches nothing, and what a step costs.
std::vector<std::string> match_lines(const MatchReport& report);

}  // namespace opdump::tool
