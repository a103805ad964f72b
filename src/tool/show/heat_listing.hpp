#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/tool/dump/numbered_texts.hpp"
#include "src/tool/dump/spilled_sort.hpp"
#include "src/tool/show/numbers_listing.hpp"

namespace opdump::tool {

/// A strip for each model: operators across, steps down, and how great the outputs are as blocks or letters.
/// In bounded memory but for 16 bytes for each operator.
class HeatListing final : public NumbersListing {
 public:
  void finish(const DumpProvenance& provenance);

  /// What is wrong with the temporary file; else empty.
  std::string error() const;

 private:
  struct Cell {
    double magnitude = -1;  ///< less than 0: no number is known
    std::uint64_t nan = 0;
    std::uint64_t infinite = 0;

    bool alarms() const { return nan != 0 || infinite != 0; }
    void add(const Cell& other);
  };

  /// An operator of a model at one step.
  struct Entry {
    std::uint64_t boot = 0;  ///< 1 more than it; 0: there is none
    bool has_step = false;
    std::uint64_t step = 0;
    std::uint64_t column = 0;
    Cell cell{};

    bool is_at_step_of(const Entry& other) const { return has_step == other.has_step && step == other.step; }
    std::string step_text() const;
  };

  /// Operators in the order in which they ran first.
  struct Model {
    NumberedTexts ops{};
    double low = 0;  ///< the least magnitude that is not 0; infinite: there is none
    double high = 0;
    std::uint64_t steps = 0;
    std::uint64_t alarms = 0;
    std::vector<Entry> first_alarms{};
  };

  using ModelKey = std::pair<std::uint64_t, std::string>;  ///< the boot as in an Entry, and the name

  class Entries;

  static Entry entry_in(std::string_view text);
  static bool by_place(std::string_view a, std::string_view b);
  Model& model_of(const Entry& entry, std::string_view name);
  UseNumbers use_of(const ShownRecord& record) override;
  void end_record();
  void look();
  void print(const std::string& title, const Model& model, Entries& entries) const;
  void print_alarms(const Model& model) const;

  std::map<ModelKey, Model> models_;
  SpilledSort entries_{by_place};
  Entry record_;  ///< what is known of the record that is shown
  std::string model_;
  bool has_record_ = false;
};

}  // namespace opdump::tool
