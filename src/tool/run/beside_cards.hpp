#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/dump/record_name.hpp"
#include "src/tool/run/card_name.hpp"
#include "src/tool/run/carded_ops.hpp"
#include "src/tool/run/run_file.hpp"

namespace opdump::tool {

/// A card that lies in a dump.
struct BesideCard {
  std::string path;
  CardName name;
  RunFile run;
  std::optional<CardedOps> ops;  ///< there is always one

  const RunModel& model() const { return run.models[0]; }
};

/// The cards that lie beside the journals of dumps, read when they are asked for and kept.
class BesideCards {
 public:
  using Cards = std::vector<std::unique_ptr<BesideCard>>;

  /// `note` gets, once each, why a card is not used.
  explicit BesideCards(std::function<void(const std::string&)> note) : note_(std::move(note)) {}

  /// Those in the directory, by name; without those that cannot be read.
  const Cards& in(const std::string& directory);

  /// The card of a record in `directory`, from the nearest directory above it that has any; null: none is of
  /// its model, or several are.
  const CardedOps* of(const std::string& directory);

 private:
  const CardedOps* find(const std::string& directory);

  std::function<void(const std::string&)> note_;
  std::map<std::string, Cards> read_;
  std::map<std::string, const CardedOps*> found_;
  std::set<std::string> told_;
};

}  // namespace opdump::tool
