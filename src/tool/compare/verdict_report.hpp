#pragma once
#include <string>
#include <vector>

#include "src/tool/cli/json.hpp"
#include "src/tool/compare/compare_report.hpp"
#include "src/tool/compare/op_verdicts.hpp"

namespace opdump::tool {

/// The operators of a comparison, and which of them went wrong first.
class VerdictReport {
 public:
  explicit VerdictReport(const CompareReport& report);

  /// Prints how many operators agree, and about the first that diverges one sentence.
  void print() const;

  /// The members "ops" and "first_diverging" of an object.
  void write(JsonWriter& json) const;

 private:
  std::string name_of(const OpVerdict& op) const;      ///< `Conv2D "conv1" at net/3`
  std::string evidence_of(const OpVerdict& op) const;  ///< "its 2 inputs agree, output 0 does not (...)"
  std::string bad_text(std::size_t result) const;

  const CompareReport& report_;
  std::vector<OpVerdict> ops_;
  const OpVerdict* first_ = nullptr;  ///< the first whose output diverges
};

}  // namespace opdump::tool
