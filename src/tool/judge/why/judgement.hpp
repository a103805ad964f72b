#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/tool/judge/compare/compare_report.hpp"
#include "src/tool/judge/compare/dump_comparison.hpp"
#include "src/tool/judge/compare/verdict_report.hpp"
#include "src/tool/judge/edges/edges.hpp"

namespace opdump::tool {

/// What a judge says of a dump, for people or programs.
struct Judgement {
  std::string headline{};               ///< empty: nothing is wrong
  std::optional<std::size_t> tensor{};  ///< of the operator that the headline names
  std::string cause{};
  bool certain = false;
  std::string judged{};  ///< what it stands on, as "7 operators: 6 agree, 1 culprit"
  std::vector<std::string> evidence{};
  std::vector<std::string> others{};
  std::vector<std::string> unjudged{};
  bool any = false;  ///< something could be judged
};

/// Of a comparison, which stays as it is, and of that with a dump of mine's precision, which may be null.
Judgement judge_against_golden(const CompareReport& report, const CompareReport* expected = nullptr);

/// The headline of `verdicts`, which are those of `report`, becomes the one by the dump of mine's precision, if
/// `dumps` have one.
void judge_by_expected(DumpComparison& dumps, const CompareReport& report, VerdictReport& verdicts);

/// Of a dump alone. `is_plain` tells of a tensor that its elements need not be read, as all of them are finite and
/// few saturated; null: of none.
Judgement judge_alone(const DumpSide& side, const Edges& edges,
                      const std::function<bool(std::size_t tensor)>& is_plain = nullptr);

/// "12 tensors of mine without golden, the first output 0 of Relu "relu"".
class CountedTensors {
 public:
  void add(const DumpSide& side, const DumpTensor& tensor, const std::string& why = {});
  void tell(const std::string& what, std::vector<std::string>& lines) const;

 private:
  std::uint64_t count_ = 0;
  std::string first_;
};

}  // namespace opdump::tool
