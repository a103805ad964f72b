#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "src/tool/read/dump/beside_files.hpp"
#include "src/tool/read/run/carded_ops.hpp"
#include "src/tool/read/run/run_file.hpp"

namespace opdump::tool {

/// A card that lies in a dump.
struct BesideCard {
  std::string path;
  BesideName name;
  RunFile run;
  std::optional<CardedOps> ops;  ///< there is always one

  const RunModel& model() const { return run.models[0]; }
};

/// The cards that lie beside the journals of dumps, read when they are asked for and kept.
class BesideCards {
 public:
  using Cards = BesideFiles<BesideCard>::Files;

  /// `note` gets, once each, why a card is not used.
  explicit BesideCards(std::function<void(const std::string&)> note);

  /// Those in the directory, by name; without those that cannot be read.
  const Cards& in(const std::string& directory) { return files_.in(directory); }

  /// The card of a record in `directory`, from the nearest directory above it that has any; null: none is of
  /// its model, or several are.
  const CardedOps* of(const std::string& directory);

 private:
  static constexpr std::size_t kMostDirectories = 4096;

  const CardedOps* find(const std::string& directory);

  std::function<void(const std::string&)> note_;
  BesideFiles<BesideCard> files_;
  std::map<std::string, const CardedOps*> found_;  ///< of the latest directories
  std::set<std::string> told_;
};

}  // namespace opdump::tool
