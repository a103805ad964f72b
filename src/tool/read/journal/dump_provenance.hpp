#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/types/account.hpp"
#include "src/tool/cli/json.hpp"
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

}  // namespace opdump::tool
