#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/cli/json.hpp"
#include "src/tool/judge/compare/compare_report.hpp"
#include "src/tool/judge/compare/op_verdicts.hpp"

namespace opdump::tool {

/// The operators of a comparison, and which of them went wrong first.
class VerdictReport {
 public:
  explicit VerdictReport(const CompareReport& report);

  /// Prints how many operators agree, and in one sentence where what diverges comes from.
  void print() const;

  /// The member "ops" of an object, and as far as there are such "headline", "first_diverging",
  /// "first_unequal" and "greatest_growth". What it has written may be taken away by `flush` meanwhile.
  void write(JsonWriter& json, const std::function<void()>& flush) const;

  const OpVerdicts& ops() const { return ops_; }
  /// The operator of the headline: the first at which it is proved where a divergence comes from; where that
  /// is nowhere, the first whose output diverges. Nothing: none does.
  const std::optional<OpVerdict>& first() const { return judged_ ? judged_op_ : proof_ ? proof_ : first_; }
  /// "first cause: ...", or "first diverging operator: ..., not certain: ..."; empty: none diverges.
  std::string headline() const;
  /// What who knows more says in the place of the headline and of `others`.
  struct Judged {
    std::string headline;
    std::optional<std::size_t> tensor;  ///< of mine, of the operator that it names
    std::string cause;
    std::vector<std::string> others;
  };
  void judge(Judged judged);
  std::string evidence_of(const OpVerdict& op) const;  ///< "its 2 inputs agree, output 0 does not (...)"
  std::string name_of(const OpVerdict& op) const;      ///< `Conv2D "conv1" at net/3`
  /// What else there is to know than the headline, a sentence each.
  std::vector<std::string> others() const;
  /// "7 operators: 6 agree, 1 culprit".
  std::string counts() const;

 private:
  std::string first_text(const OpVerdict& op) const;
  /// Since when it is so, where the same operator was right at a step before; else empty.
  std::string steps_text(const OpVerdict& op) const;
  std::string cause_text(const OpVerdict& op) const;
  std::string own_text(const OpVerdict& op) const;
  std::string uncompared_text(const OpVerdict& op) const;  ///< which constants were not compared; or empty
  std::string victim_text(const OpVerdict& op) const;
  std::string uncertain_text(const OpVerdict& op) const;
  std::string misread_text(const OpVerdict& op) const;     ///< "it takes input 0 by zero point 0, ...: "
  std::string miswritten_text(const OpVerdict& op) const;  ///< the same of who wrote it
  std::string unequal_text(const OpVerdict& op) const;  ///< "its 2 inputs are equal, output 0 is not (...)"
  std::string growth_text(const OpVerdict& op) const;   ///< "its error is 7 times that of its inputs, ..."
  std::string dtype_text(const OpVerdict& op) const;    ///< "output 0 is float16 for float32"; or empty
  std::string fused_text(const OpVerdict& op) const;    ///< "output 0 is that of golden's ..."; or empty
  std::string golden_name_of(std::size_t golden_tensor) const;
  std::string output_text(const OpVerdict& op) const;  ///< how far the output is off
  std::string bad_text(std::size_t result) const;
  std::string measured_text(std::size_t result) const;
  void write_op(JsonWriter& json, std::string_view key, const OpVerdict& op, std::string_view cause,
                const std::string& text) const;
  DumpTensor my_tensor(std::size_t result) const;

  const CompareReport& report_;
  OpVerdicts ops_;
  std::optional<Judged> judged_;
  std::optional<OpVerdict> judged_op_;  ///< of it
  std::optional<OpVerdict> first_;      ///< the first whose output diverges
  std::optional<OpVerdict> proof_;      ///< the first with a cause that is proved
  std::optional<OpVerdict> unequal_;    ///< the first whose output is not equal
  std::optional<OpVerdict> grown_;      ///< of those that diverge, the one in which the error grows most
};

}  // namespace opdump::tool
