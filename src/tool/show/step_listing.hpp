#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "src/tool/dump/numbered_texts.hpp"
#include "src/tool/dump/spilled_sort.hpp"
#include "src/tool/show/numbers_listing.hpp"

namespace opdump::tool {

/// How the statistics of each tensor go from step to step, a line each. In bounded memory but for 16 bytes
/// for each operator.
class StepListing final : public NumbersListing {
 public:
  void finish(const DumpProvenance& provenance);

  /// What is wrong with the temporary file; else empty.
  const std::string& error() const { return entries_.error().empty() ? ops_.error() : entries_.error(); }

 private:
  /// A tensor of an operator at one step.
  struct Entry {
    std::uint64_t op = 0;
    std::uint64_t step = 0;
    TensorNumbers numbers{};

    bool is_of_tensor(const Entry& other) const {
      return op == other.op && numbers.is_output == other.numbers.is_output &&
             numbers.index == other.numbers.index;
    }
  };
  /// The steps of one tensor.
  struct Steps {
    std::uint64_t count = 0;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };

  class Entries;

  static Entry entry_in(std::string_view text);
  static bool by_tensor(std::string_view a, std::string_view b);
  UseNumbers use_of(const ShownRecord& record) override;
  static Steps count_steps(Entries& ahead);
  void print(const Steps& steps, Entries& entries) const;

  NumberedTexts ops_;  ///< their titles, in the order in which they ran first
  SpilledSort entries_{by_tensor};
};

}  // namespace opdump::tool
