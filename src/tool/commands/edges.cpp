#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/commands.hpp"
#include "src/tool/cli/exit_code.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/options.hpp"
#include "src/tool/judge/edges/edges.hpp"
#include "src/tool/read/flash/flash_image.hpp"

namespace opdump::tool {
namespace {

constexpr char kEdgesHelp[] =
    R"(opdump edges - tells which operator's output each input of a dump is

usage: opdump edges DUMP [--model CARD] [--json]

  --model CARD  also by the names of tensors in the model, or in the card that 'opdump describe' has written
  --json        the same for programs

DUMP is a directory with all that is below it, or a flash image. Its records have to hold inputs and outputs
("dump_mode": "all"). An input is the output that was written last, at the same step, to the bytes of the device
in which the input lies: the whole of it, or a part ("view"). An input without such an output is an input of the
model, a constant, or the output of an operator that was not dumped; with a card the names of tensors tell more.

If the dump holds the bytes of both, they are compared. Where the input holds elements that the output does not,
something wrote to the output's memory before the operator ran that reads it: a finding. Where it holds the same
elements in another order, it is a permuted view, or what lies there was moved: no finding, but said.

  $ opdump edges dump
  net/0  relu1 input 0  is  conv1 output 0  same address, same bytes

exit status
  0  every file was read, and no output was overwritten before it was read
  1  one does, or something could not be read; stderr says what
  2  the command line is wrong
)";

std::string tensor_text(const DumpSide& side, const DumpTensor& tensor) {
  return side.files[tensor.file].op + ' ' + role_text(tensor);
}

constexpr std::string_view kSources[] = {"same address", "view", "same name"};
constexpr std::string_view kBytesTold[] = {"bytes unknown", "same bytes", "other bytes",
                                           "same elements in another order"};

std::string place_text(const DumpFile& file) {
  return (file.boot ? "boot " + std::to_string(*file.boot) + ' ' : std::string()) +
         (file.place.empty() ? "-" : file.place);
}

std::vector<std::string> row_of(const DumpSide& side, const Edge& edge) {
  const DumpTensor& to = side.tensors[edge.to];
  return {printable(place_text(side.files[to.file])), printable(tensor_text(side, to)), "is",
          printable(tensor_text(side, side.tensors[edge.from])),
          std::string(kSources[static_cast<std::size_t>(edge.source)]) + ", " +
              std::string(kBytesTold[static_cast<std::size_t>(edge.bytes)])};
}

void print_edges(const DumpSide& side, const Edges& edges) {
  Table table("", "lllll");
  for (const Edge& edge : edges) table.add(row_of(side, edge));
  table.print();
}

void write_end(JsonWriter& json, const DumpSide& side, const DumpTensor& tensor) {
  json.open('{').key("op").text(side.files[tensor.file].op).key("index").number(tensor.index).close('}');
}

void print_json(const DumpSide& side, const Edges& edges) {
  JsonWriter json;
  json.open('{').key("edges").open('[');
  for (const Edge& edge : edges) {
    const DumpFile& file = side.files[side.tensors[edge.to].file];
    json.line(2).open('{');
    if (!file.place.empty()) json.key("place").text(file.place);
    if (file.boot) json.key("boot").number(*file.boot);
    write_end(json.key("input"), side, side.tensors[edge.to]);
    write_end(json.key("output"), side, side.tensors[edge.from]);
    json.key("by").text(kSources[static_cast<std::size_t>(edge.source)]);
    json.key("bytes").text(kBytesTold[static_cast<std::size_t>(edge.bytes)]);
    if (edge.bytes == EdgeBytes::differ) json.key("differs_at").number(edge.differs_at);
    json.close('}');
    std::fputs(json.take().c_str(), stdout);
  }
  json.line().close(']').close('}');
  std::puts(json.take().c_str());
}

}  // namespace

int run_edges(Words words) {
  std::optional<std::string> model;
  bool json = false;
  const Option options[] = {{"--model", {}, nullptr, &model}, {"--json", {}, &json}};
  std::vector<std::string> paths;
  if (const std::optional<int> end = read_options({"edges", kEdgesHelp, options}, words, paths)) return *end;
  if (paths.empty()) return usage_error("edges", "a DUMP is missing");
  if (paths.size() > 1) return usage_error("edges", "one DUMP at a time, not also '" + paths[1] + "'");
  RunFile card;
  if (model && !load_or_say(*model, card)) return kExitFailed;
  const CardedOps carded(card);

  std::uint64_t faults = 0;
  const SearchReport search = said_by("edges", faults);
  ExtractedImage image;
  const DumpSide side = read_side(image.open(paths[0], search, std::nullopt), search);
  std::vector<std::string> errors;
  const Edges edges = find_edges(side, model ? &carded : nullptr, errors);
  for (const std::string& error : errors) search.error(error);
  if (json) {
    print_json(side, edges);
  } else {
    print_edges(side, edges);
  }
  std::size_t inputs = 0;
  for (const DumpTensor& tensor : side.tensors) inputs += tensor.is_output ? 0 : 1;
  if (side.tensors.empty()) search.error(paths[0] + ": there is no tensor");
  if (!json && !side.tensors.empty()) {
    if (!edges.empty()) std::puts("");
    const auto moved = std::count_if(edges.begin(), edges.end(), [](const Edge& edge) {
      return edge.bytes == EdgeBytes::reordered && edge.source != EdgeSource::name;
    });
    print_line(
        count_text(inputs, "input") + ", " + std::to_string(edges.size()) + " of them an output of the dump" +
        (moved == 0
             ? ""
             : ", " + std::to_string(moved) + " in another order (permuted views, or moved in between)"));
  }
  for (const Edge& edge : edges) {
    if (!edge.is_overwritten()) continue;
    const DumpTensor& to = side.tensors[edge.to];
    search.error(place_text(side.files[to.file]) + ": " + tensor_text(side, side.tensors[edge.from]) +
                 " was overwritten before " + tensor_text(side, to) + " was read: byte " +
                 std::to_string(edge.differs_at) + " differs");
  }
  return faults == 0 ? kExitOk : kExitFailed;
}

}  // namespace opdump::tool
