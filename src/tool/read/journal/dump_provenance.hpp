#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/types/account.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/read/dump/clock_steps.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/run/beside_cards.hpp"

namespace opdump::tool {

/// What journals and cards tell of where a dump, or several, come from.
struct DumpProvenance {
  std::set<std::string> builds;
  std::set<std::string> configs;
  std::set<std::string> versions;  ///< of opdump
  std::set<std::string> runtimes;
  std::set<std::string> models;       ///< SHA-256 of models' files, of journals alone
  std::set<std::string> card_models;  ///< the same, of cards
};

/// "build 5d3a..., config 9a3b12cd, opdump 0.1.0": what of it is told. For people.
std::string provenance_text(const Provenance& provenance);

/// The same of all of it.
std::string provenance_text(const DumpProvenance& provenance);

/// Adds key "provenance" with what is told of it; none when nothing is.
void write_provenance(JsonWriter& json, const DumpProvenance& provenance);

/// Reads the journals of dumps when they are asked for, and remembers what they tell.
class ProvenanceReader {
 public:
  explicit ProvenanceReader(BesideCards& cards) : cards_(cards) {}

  /// Adds what is told in `directory` of a dump or the nearest one above it that has a journal or a card.
  void add(std::string directory, DumpProvenance& to);

 private:
  struct Found {
    bool any = false;
    DumpProvenance told;
  };

  const Found& in(const std::string& directory);

  BesideCards& cards_;
  std::map<std::string, Found> read_;
};

/// That the only models of both are other files, as a journal tells of one at least; empty: nothing tells so.
std::string unlike_models(const std::string& a_name, const DumpProvenance& a, const std::string& b_name,
                          const DumpProvenance& b);

/// What else differs, a sentence each. What one of them does not tell does not differ.
std::vector<std::string> unlike_provenance(const std::string& a_name, const DumpProvenance& a,
                                           const std::string& b_name, const DumpProvenance& b);

/// Moves the times in the names of files to what the calendar said then, as far as journals tell when the
/// clock was set. Where several journals lie in one directory, as after boots that began at the same time,
/// and they tell different steps, a file's own journal counts, which is the one that names it; a file that
/// none of them names keeps its time.
class DumpClocks {
 public:
  /// Journals are looked for in `files`, and above the directories named on the command line.
  explicit DumpClocks(const std::vector<FoundFile>& files);

  /// The time by the calendar of `us`, a time in the name of `file` or in its rows.
  std::uint64_t time_of(const FoundFile& file, std::uint64_t us);

 private:
  /// The journals of one directory.
  struct Journals {
    std::vector<std::string> paths;
    bool read = false;
    bool differ = false;
    ClockSteps steps;                         ///< of all, unless they differ
    std::map<std::string, ClockSteps> own{};  ///< by path below the directory, if they differ
  };

  void add(const std::string& directory, const std::string& path);

  /// The nearest directory at or above `root`, which was named, that has a journal; empty: none has.
  const std::string& look_above(const std::string& root);

  static void read(Journals& journals);

  std::map<std::string, Journals> directories_;
  std::map<std::string, std::string> above_;  ///< what `look_above` has found
};

}  // namespace opdump::tool
