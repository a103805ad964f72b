#include "src/tool/judge/diff/run_reader.hpp"

#include <cstdio>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/judge/diff/run_table.hpp"
#include "src/tool/judge/diff/run_verdicts.hpp"
#include "src/tool/read/flash/flash_image.hpp"

namespace opdump::tool {
namespace {

struct Common {
  std::uint64_t tensors = 0;  ///< that prove something
  std::uint64_t different = 0;
  std::uint64_t unproved =
      0;                  ///< both have them, and what is equal or cannot be compared is not the elements
  std::size_t first = 0;  ///< of those that are different
};

/// Digests of all elements alone.
bool proves(const RunTable& table, const RunDigest& digest) {
  const std::string& basis = table.basis_text(digest.basis);
  return basis.empty() || basis == "MD5" || basis == "SHA1";
}

Common count_common(const RunTable& table, const RunDigest& nothing) {
  Common common;
  for (const std::size_t place : table.order()) {
    const RunDigest a = table.at(0, place);
    const RunDigest b = table.at(1, place);
    if (a.state == RunDigest::State::absent || b.state == RunDigest::State::absent) continue;
    const bool compared =
        a.state == RunDigest::State::there && b.state == RunDigest::State::there && a.basis == b.basis;
    if (!compared || (a == b && !proves(table, a))) {
      ++common.unproved;
      continue;
    }
    if (a == b && a == nothing) continue;
    ++common.tensors;
    if (a == b) continue;
    if (common.different++ == 0) common.first = place;
  }
  return common;
}

void print_json(const RunTable& table, const Common& common, bool complete) {
  JsonWriter json;
  json.open('{').key("common").number(common.tensors).key("different").number(common.different);
  json.key("unproved").number(common.unproved).key("complete").flag(complete);
  json.key("unchanged").flag(complete && common.different == 0 && common.unproved == 0);
  if (common.different != 0) write_place(json.key("first").open('{'), table, common.first).close('}');
  std::puts(json.close('}').take().c_str());
}

}  // namespace

int run_observer(const std::string& without, const std::string& with, bool as_json) {
  const SearchReport report = {[](const std::string& message) { say("opdump: " + message); },
                               [](const std::string& message) { say("opdump: " + message); }};
  ExtractedImage images[2];
  RunReader reader(report);
  if (!reader.look(images[0].open(without, reader.report()), without, 0) ||
      !reader.look(images[1].open(with, reader.report()), with, 1))
    return reader.failed();
  RunTable table;
  if (!reader.read(table)) return reader.failed();
  if (table.runs().size() != 2) {
    say("opdump: one of the two holds several runs: name the directory of one");
    return kExitFailed;
  }
  const Common common = count_common(table, sum_of_nothing(reader.algorithm()));
  const std::string unproved =
      count_text(common.unproved, "tensor") +
      " that both have, there are equal statistics, digests of a part, or nothing to "
      "compare";
  if (common.tensors == 0 && common.unproved != 0) {
    say("opdump: nothing is proved: of " + unproved);
    return kExitUsage;
  }
  if (common.tensors == 0) {
    say("opdump: " + without + " and " + with + " have no tensor in common, so nothing is proved");
    return kExitFailed;
  }
  const std::string both = count_text(common.tensors, "tensor");
  if (as_json) {
    print_json(table, common, reader.complete());
  } else if (common.different == 0 && !reader.complete()) {
    print_line("nothing is proved: " + both + " that both have are equal, and some could not be read");
  } else if (common.different == 0 && common.unproved != 0) {
    print_line("not certain: " + both + " that both have are equal, and of " + unproved);
  } else if (common.different == 0) {
    print_line("the dump did not change the result: " + both + " that both have are equal");
  } else {
    print_line("the dump changed the result: " + place_text(table, common.first) + " is the first of " +
               count_text(common.different, "tensor") + " that " +
               (common.different == 1 ? "differs" : "differ") + ", of " + std::to_string(common.tensors) +
               " that both have");
  }
  const bool proved = reader.complete() && common.different == 0 && common.unproved == 0;
  return proved ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
