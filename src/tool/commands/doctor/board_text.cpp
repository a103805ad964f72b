#include "src/tool/commands/doctor/board_text.hpp"

#include <cstdlib>
#include <string>

#include "src/config/text/human_text.hpp"
#include "src/tool/cli/json.hpp"
#include "src/tool/cli/messages.hpp"
#include "src/tool/cli/table.hpp"

namespace opdump::tool {
namespace {

constexpr std::size_t kWidth = 110;

/// Adds `text` in the column behind `head`, in as many rows as it takes. `before` is the width of what stands
/// before that column.
void add_wrapped(Table& table, const std::string& head, std::string text, std::size_t before) {
  const std::size_t most = kWidth - before;
  std::string first = head;
  while (text.size() > most && text.rfind(' ', most) != std::string::npos) {
    const std::size_t cut = text.rfind(' ', most);
    table.add({first, text.substr(0, cut)});
    text.erase(0, cut + 1);
    first.clear();
  }
  table.add({first, text});
}

std::string functions_text(const FoundLibrary& library, bool there) {
  std::string text;
  for (const FoundFunction& function : library.functions) {
    if (function.is_there != there) continue;
    text += (text.empty() ? "" : ", ") + std::string(function.name);
  }
  return text;
}

std::string copies_text(const FoundDevice& device, Trial trial) {
  if (trial == Trial::right) return byte_text(device.bytes) + " came back as they were written";
  if (trial == Trial::wrong) return "other bytes came back than were written";
  return trial == Trial::failed ? "failed" : "the runtime does not do that here";
}

std::string alignment_text(const FoundDevice& device) {
  std::string text =
      device.unaligned_refused
          ? "the driver refuses addresses that are not multiples of 64; opdump goes by aligned ones"
          : "the driver copies from and to any address";
  if (device.unaligned == Trial::failed)
    text = "copies from and to addresses that are not multiples of 64 fail";
  if (device.unaligned == Trial::wrong)
    text = "copies from and to addresses that are not multiples of 64 bring other bytes";
  if (device.pinned_offset)
    text += *device.pinned_offset == 0 ? "; its pinned memory begins at multiples of 64"
                                       : "; its pinned memory begins elsewhere, which opdump makes up for";
  return text;
}

std::string run_mode_text(FoundDevice::RunMode mode) {
  if (mode == FoundDevice::RunMode::host) return "host: the program runs beside the device";
  return mode == FoundDevice::RunMode::device ? "device: the program runs on the device's own CPU"
                                              : "not told (aclrtGetRunMode)";
}

std::string offset_text(std::int32_t seconds) {
  const std::int32_t minutes = std::abs(seconds) / 60;
  char text[16];
  std::snprintf(text, sizeof text, "UTC%c%02d:%02d", seconds < 0 ? '-' : '+', minutes / 60, minutes % 60);
  return text;
}

}  // namespace

std::string_view word_of(FoundDevice::RunMode mode) {
  constexpr std::string_view kWords[] = {"untold", "host", "device"};
  return kWords[static_cast<std::size_t>(mode)];
}

std::string_view word_of(Trial trial) {
  constexpr std::string_view kWords[] = {"untried", "right", "wrong", "failed"};
  return kWords[static_cast<std::size_t>(trial)];
}

std::string_view word_of(Prospect::Answer answer) {
  constexpr std::string_view kWords[] = {"no", "untried", "yes"};
  return kWords[static_cast<std::size_t>(answer)];
}

void print_libraries(const std::vector<FoundLibrary>& libraries) {
  print_line("Libraries");
  Table table("  ", "lll");
  for (const FoundLibrary& library : libraries) {
    const char* const state = library.is_loaded() ? "found" : library.broken ? "broken" : "missing";
    table.add({std::string(library.name), state,
               library.is_loaded() ? library.path : std::string(library.purpose)});
  }
  table.print();
  for (const FoundLibrary& library : libraries) {
    if (library.broken) print_line("  " + std::string(library.name) + ": " + library.reason);
    if (!library.elsewhere.empty())
      print_line(
          "  " + library.elsewhere +
          " is there, and the loader does not look there: source CANN's set_env.sh, or add its folder to "
          "LD_LIBRARY_PATH");
  }
  for (const FoundLibrary& library : libraries) {
    if (!library.is_loaded()) continue;
    print_line("Functions of " + std::string(library.name));
    Table functions("  ", "ll");
    const std::string there = functions_text(library, true);
    const std::string missing = functions_text(library, false);
    add_wrapped(functions, "there", there.empty() ? "none that opdump or a program around it calls" : there,
                11);
    if (!missing.empty()) add_wrapped(functions, "missing", missing, 11);
    functions.print();
  }
}

void print_device(const FoundDevice& device) {
  print_line("Device");
  if (device.library.empty()) {
    print_line("  none: " + device.untried);
    return;
  }
  const auto or_untold = [](const std::string& text, const char* function) {
    return text.empty() ? "not told (" + std::string(function) + ")" : text;
  };
  Table table("  ", "ll");
  const auto add = [&table](const char* head, const std::string& text) {
    add_wrapped(table, head, text, 16);
  };
  add("runtime",
      device.library + (device.is_nano ? ", of a nano product: no streams and memory of the host's" : ""));
  const bool asked = device.untried != "--no-trial";
  if (asked) {
    add("versions", "AscendCL " + or_untold(device.interface_version, "aclrtGetVersion") + ", package " +
                        or_untold(device.package_version, "aclsysGetVersionStr"));
    add("devices", device.count ? std::to_string(*device.count) : or_untold({}, "aclrtGetDeviceCount"));
  }
  if (!device.untried.empty()) {
    add("trial", "none: " + device.untried);
  } else {
    add("tried", "device " + std::to_string(device.id) +
                     (device.chip.empty() ? ", chip not told (aclrtGetSocName)" : ", " + device.chip));
  }
  if (device.untried.empty()) {
    add("run mode", run_mode_text(device.run_mode));
    if (device.opened != Status::ok)
      add("AscendMemory", "does not open: " + std::string(to_string(device.opened)));
    if (device.opened == Status::ok || device.in_place == Trial::right) {
      add("at once", copies_text(device, device.at_once));
      add("background", copies_text(device, device.in_background));
      add("in place", copies_text(device, device.in_place));
      add("alignment", alignment_text(device));
      add("overflow", device.overflow == Trial::right ? "the device tells its overflow status"
                      : device.overflow == Trial::failed
                          ? "the device was asked for its overflow status in vain"
                          : "the runtime has no overflow status");
    }
  }
  for (const FailedCall& failed : device.failed)
    add("failed", failed.call + " returned " + std::to_string(failed.code));
  table.print();
}

void print_surroundings(const Board& board) {
  print_line("Files and time");
  Table table("  ", "ll");
  const auto add = [&table](const std::string& head, const std::string& text) {
    add_wrapped(table, head, text, 16);
  };
  const FoundFiles& files = board.files;
  if (files.config.empty()) {
    add("config", "none named: neither CONFIG, MINDSPORE_DUMP_CONFIG nor acl.json in the current directory");
  } else if (!files.refusal.empty()) {
    add("config", files.refusal);
  } else {
    add("config", files.config + ", named by " + files.config_from +
                      (files.active ? ": valid and active" : ": valid, and it switches nothing on"));
  }
  if (files.unwritable.empty()) {
    add("dumps go to", files.dump_path + ": writable, " + byte_text(files.free_bytes) + " free");
  } else {
    add("dumps go to", files.dump_path + ": " + files.unwritable);
  }
  for (const FoundVariable& variable : board.variables)
    add("variable", std::string(variable.name) + "=" + variable.value + ": " + std::string(variable.effect));
  const FoundClock& clock = board.clock;
  add("clock", (clock.by_counter ? "the processor's counter, set by CLOCK_REALTIME: " : "CLOCK_REALTIME: ") +
                   time_text(clock.unix_us) + " " + offset_text(clock.utc_offset_seconds) +
                   (clock.is_set ? "" : "; not set, so directories of dumps will have wrong times"));
  table.print();
}

void print_prospects(const std::vector<Prospect>& prospects) {
  print_line("What will work");
  Table table("  ", "ll");
  for (const Prospect& prospect : prospects) {
    const bool untried = prospect.answer == Prospect::Answer::untried;
    const std::string head = untried ? "perhaps" : std::string(word_of(prospect.answer));
    add_wrapped(table, head, std::string(prospect.what) + ": " + prospect.why, 11);
  }
  table.print();
}

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
  for (const FailedCall& failed : device.failed)
    json.open('{').key("call").text(failed.call).key("code").json(std::to_string(failed.code)).close('}');
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
