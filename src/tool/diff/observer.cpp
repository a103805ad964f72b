#include "src/tool/diff/observer.hpp"

#include <cstdio>

#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/human_text.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/diff/run_reader.hpp"
#include "src/tool/diff/run_verdicts.hpp"
#include "src/tool/flash/extracted_image.hpp"

namespace opdump::tool {
namespace {

struct Common {
  std::uint64_t tensors = 0;
  std::uint64_t different = 0;
  std::size_t first = 0;  ///< of those that are different
};

Common count_common(const RunTable& table) {
  Common common;
  for (const std::size_t place : table.order()) {
    const RunDigest a = table.at(0, place);
    const RunDigest b = table.at(1, place);
    if (a.state != RunDigest::State::there || b.state != RunDigest::State::there) continue;
    ++common.tensors;
    if (a == b) continue;
    if (common.different++ == 0) common.first = place;
  }
  return common;
}

void print_json(const RunTable& table, const Common& common, bool complete) {
  JsonWriter json;
  json.open('{').key("common").number(common.tensors).key("different").number(common.different);
  json.key("complete").flag(complete);
  json.key("unchanged").flag(complete && common.different == 0);
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
    return kExitFailed;
  RunTable table;
  if (!reader.read(table)) return kExitFailed;
  if (table.runs().size() != 2) {
    say("opdump: one of the two holds several runs: name the directory of one");
    return kExitFailed;
  }
  const Common common = count_common(table);
  if (common.tensors == 0) {
    say("opdump: " + without + " and " + with + " have no tensor in common, so nothing is proved");
    return kExitFailed;
  }
  const std::string both = count_text(common.tensors, "tensor");
  if (as_json) {
    print_json(table, common, reader.complete());
  } else if (common.different == 0 && !reader.complete()) {
    print_line("nothing is proved: " + both + " that both have are equal, and some could not be read");
  } else if (common.different == 0) {
    print_line("the dump did not change the result: " + both + " that both have are equal");
  } else {
    print_line("the dump changed the result: " + place_text(table, common.first) + " is the first of " +
               count_text(common.different, "tensor") + " that " +
               (common.different == 1 ? "differs" : "differ") + ", of " + std::to_string(common.tensors) +
               " that both have");
  }
  return reader.complete() && common.different == 0 ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
