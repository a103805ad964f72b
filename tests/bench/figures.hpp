#pragma once
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

/// Figures of a benchmark for `run.sh --json`, beside the table that the benchmark prints.

namespace opdump::bench {

enum class Better { less, more };

/// Appends a line of JSON to the file that OPDUMP_BENCH_FIGURES names, and does nothing where it names none. `what` is
/// the row of the table with the size it was measured at, `figure` the column with its unit; `runs` has one value per
/// repetition. Names hold no character that JSON escapes. Ends the program if the file cannot be written.
inline void add_figure(std::string_view topic, const std::string& what, std::string_view figure,
                       Better better, const std::vector<double>& runs) {
  const char* const path = std::getenv("OPDUMP_BENCH_FIGURES");
  if (path == nullptr) return;
  std::string line = "{\"topic\": \"" + std::string(topic) + "\", \"what\": \"" + what +
                     "\", \"figure\": \"" + std::string(figure) + "\", \"better\": \"" +
                     (better == Better::less ? "less" : "more") + "\", \"runs\": [";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    char number[32];
    std::snprintf(number, sizeof number, "%s%.6g", i == 0 ? "" : ", ", runs[i]);
    line += number;
  }
  line += "]}\n";
  std::FILE* const file = std::fopen(path, "a");
  const bool written = file != nullptr && std::fputs(line.c_str(), file) >= 0;
  if (file != nullptr && std::fclose(file) == 0 && written) return;
  std::perror(path);
  std::exit(2);
}

}  // namespace opdump::bench
