#include "opdump/config/parse.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

std::string to_string(const ConfigError& error, std::string_view file) {
  std::string text = error.file.empty() ? std::string(file) : error.file;
  text += ':' + std::to_string(error.line) + ':' + std::to_string(error.column) + ": ";
  if (!error.key.empty()) text += error.key + ": ";
  return text + error.reason;
}

std::string to_string(const ConfigNote& note, std::string_view file) {
  std::string text = note.file.empty() ? std::string(file) : note.file;
  if (note.line != 0) text += ':' + std::to_string(note.line) + ':' + std::to_string(note.column);
  text += ": note: ";
  return text + note.key + ": " + note.text;
}

int acl_error(const ConfigError& error) {
  constexpr int kInvalidFile = 100003;
  constexpr int kParseFile = 100006;
  constexpr int kInvalidDumpConfig = 100009;
  constexpr int kBadAlloc = 200000;
  switch (error.fault) {
    case ConfigFault::none:
      return 0;
    case ConfigFault::unreadable:
      return kInvalidFile;
    case ConfigFault::too_deep:
      return kParseFile;
    case ConfigFault::no_memory:
      return kBadAlloc;
    default:
      return kInvalidDumpConfig;
  }
}

std::string_view cann_message_id(ConfigFault fault) {
  switch (fault) {
    case ConfigFault::missing:
    case ConfigFault::wrong_type:
    case ConfigFault::empty:
      return "EP0001";
    case ConfigFault::not_in_list:
      return "EP0002";
    case ConfigFault::invalid_value:
      return "EP0003";
    case ConfigFault::syntax:
      return "EP0004";
    case ConfigFault::conflict:
      return "EP0005";
    default:
      return {};
  }
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
