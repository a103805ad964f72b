// What `opdump verify` remembers of operators, of more than it keeps in memory.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "src/tool/verify/findings.hpp"
#include "src/tool/verify/never_lines.hpp"
#include "src/tool/verify/op_steps.hpp"

using namespace opdump;
using namespace opdump::tool;

namespace {

constexpr std::size_t kOps = 40'000;
constexpr std::uint64_t kSteps = 3;

JournalPath path_of_op(std::string_view model, std::string_view op, std::uint64_t step) {
  JournalPath path;
  path.in_model = true;
  path.model = model;
  path.model_id = 1;
  path.step = step;
  path.op = op;
  return path;
}

std::string op_number(std::size_t i) {
  return "Add.op" + std::to_string(100'000 + i);
}

/// Without the cell that says that nothing is wrong.
std::vector<std::vector<std::string>> rows_of(const Findings& findings) {
  const std::vector<FindingGroup> groups = findings.groups();
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].lines == groups[0].rows.size());
  return groups[0].rows;
}

}  // namespace

TEST_CASE("of more operators than fit, those at some steps only are told in the same order") {
  OpSteps steps;
  std::vector<std::vector<std::string>> expected;
  for (const char* const model : {"net", "other"}) {
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      for (std::size_t i = 0; i < kOps; ++i) {
        if (step == 1 && i % 4000 == 7) continue;
        steps.see("b.journal", path_of_op(model, op_number(i), step));
      }
    }
    for (std::size_t i = 7; i < kOps; i += 4000)
      expected.push_back({op_number(i), model, "at 2 of 3 steps", "steps 0, 2"});
  }
  // A journal that is told first, though it was read last.
  steps.see("a.journal", path_of_op("net", "Add.early", 0));
  steps.see("a.journal", path_of_op("net", "Add.late", 1));
  expected.insert(expected.begin(), {{"Add.early", "net", "at 1 of 2 steps", "step 0"},
                                     {"Add.late", "net", "at 1 of 2 steps", "step 1"}});
  Findings findings(nullptr);
  steps.tell(findings);
  CHECK(rows_of(findings) == expected);
}

TEST_CASE("of more operators than fit, each one that ran is known") {
  NeverLines lines;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kOps; ++i) {
    names.push_back(op_number(i).substr(4));
    if (i % 2 == 0) lines.see(0, path_of_op("net", op_number(i), 0));
  }
  std::vector<std::string> expected;
  for (std::size_t i = kOps - 40; i < kOps; ++i) {
    NeverCaptured what{};
    what.cause = NeverCause::not_run;
    what.model = "net";
    what.model_id = 1;
    what.type = "Add";
    what.name = names[i];
    lines.add(0, "a.journal", what);
    if (i % 2 == 1) expected.push_back("Add " + names[i]);
  }
  Findings findings(nullptr);
  lines.tell([](std::uint64_t, const std::string&, const std::string&) { return std::string(); }, findings);
  std::vector<std::string> told;
  for (const std::vector<std::string>& row : rows_of(findings)) told.push_back(row[0]);
  CHECK(told == expected);
}
