#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/tool/show/numbers_listing.hpp"

namespace opdump::tool {

/// A strip for each model: operators across, steps down, and how great the outputs are as blocks or letters.
/// Holds a few bytes for each operator and step.
class HeatListing final : public NumbersListing {
 public:
  void finish(const DumpProvenance& provenance);

 private:
  struct Cell {
    double magnitude = -1;  ///< less than 0: no number is known
    std::uint64_t nan = 0;
    std::uint64_t infinite = 0;

    bool alarms() const { return nan != 0 || infinite != 0; }
    void add(const Cell& other);
  };

  using Step = std::optional<std::uint64_t>;

  struct Model {
    std::vector<std::string> ops;  ///< in the order in which they ran first
    std::map<std::string, std::size_t> columns;
    std::map<Step, std::map<std::size_t, Cell>> steps;
  };

  Cell& cell_of(const ShownRecord& record);
  UseNumbers use_of(const ShownRecord& record) override;
  void print(const std::string& title, const Model& model) const;
  void print_alarms(const Model& model) const;

  std::map<std::pair<std::optional<std::uint32_t>, std::string>, Model> models_;
};

}  // namespace opdump::tool
