#include "src/tool/commands/doctor/board_json.hpp"

#include "src/tool/cli/json.hpp"
#include "src/tool/commands/doctor/board_text.hpp"

namespace opdump::tool {
namespace {

void put_text(JsonWriter& json, std::string_view key, std::string_view text) {
  json.key(key);
  if (text.empty())
    json.json("null");
  else
    json.text(text);
}

void put_libraries(JsonWriter& json, const std::vector<FoundLibrary>& libraries) {
  json.key("libraries").open('[');
  for (const FoundLibrary& library : libraries) {
    json.line(1).open('{').key("name").text(library.name).key("purpose").text(library.purpose);
    put_text(json, "path", library.path);
    put_text(json, "reason", library.reason);
    put_text(json, "elsewhere", library.elsewhere);
    json.key("broken").flag(library.broken).key("functions").open('{');
    for (const FoundFunction& function : library.functions) json.key(function.name).flag(function.is_there);
    json.close('}').close('}');
  }
  json.close(']');
}

void put_device(JsonWriter& json, const FoundDevice& device) {
  json.line().key("device").open('{');
  put_text(json, "library", device.library);
  put_text(json, "untried", device.untried);
  put_text(json, "interface_version", device.interface_version);
  put_text(json, "package_version", device.package_version);
  put_text(json, "chip", device.chip);
  json.key("count");
  device.count ? json.number(*device.count) : json.json("null");
  json.key("id").number(device.id).key("run_mode").text(word_of(device.run_mode));
  json.key("nano").flag(device.is_nano).key("opened").text(to_string(device.opened));
  json.key("at_once").text(word_of(device.at_once)).key("in_background").text(word_of(device.in_background));
  json.key("in_place").text(word_of(device.in_place)).key("unaligned").text(word_of(device.unaligned));
  json.key("unaligned_refused").flag(device.unaligned_refused).key("pinned_offset");
  device.pinned_offset ? json.number(*device.pinned_offset) : json.json("null");
  json.key("overflow").text(word_of(device.overflow)).key("failed").open('[');
  for (const FailedCall& failed : device.failed) {
    json.open('{').key("call").text(failed.call).key("code").json(std::to_string(failed.code)).close('}');
  }
  json.close(']').close('}');
}

void put_surroundings(JsonWriter& json, const Board& board) {
  json.line().key("variables").open('{');
  for (const FoundVariable& variable : board.variables) json.key(variable.name).text(variable.value);
  json.close('}').line().key("files").open('{');
  put_text(json, "config", board.files.config);
  put_text(json, "refusal", board.files.refusal);
  json.key("active").flag(board.files.active).key("dump_path").text(board.files.dump_path);
  put_text(json, "unwritable", board.files.unwritable);
  json.key("free_bytes").number(board.files.free_bytes).close('}');
  json.line().key("clock").open('{').key("by_counter").flag(board.clock.by_counter);
  json.key("unix_us").number(board.clock.unix_us).key("utc_offset_seconds");
  json.json(std::to_string(board.clock.utc_offset_seconds)).key("is_set").flag(board.clock.is_set).close('}');
}

}  // namespace

std::string board_json(const Board& board, const std::vector<Prospect>& prospects, int exit_status) {
  JsonWriter json;
  json.open('{').key("opdump").text(OPDUMP_VERSION);
  json.line();
  put_libraries(json, board.libraries);
  put_device(json, board.device);
  put_surroundings(json, board);
  json.line().key("works").open('[');
  for (const Prospect& prospect : prospects) {
    json.line(1).open('{').key("what").text(prospect.what).key("answer").text(word_of(prospect.answer));
    json.key("why").text(prospect.why).close('}');
  }
  json.close(']').line().key("exit_status").number(static_cast<std::uint64_t>(exit_status)).close('}');
  return json.take();
}

}  // namespace opdump::tool
