#include <string>

#include "opdump/config/parse.hpp"
#include "platform/posix/config_file.hpp"
#include "platform/posix/impl/dump_path.hpp"
#include "platform/posix/impl/trusted_variable.hpp"
#include "src/c_api/c_text.hpp"
#include "src/c_api/config_text.hpp"
#include "src/c_api/handles.hpp"

using namespace opdump;

namespace {

/// `keeps_text`: the text stays as long as the config; else what refers to it is copied.
Status parse(void* memory, std::size_t bytes, std::string_view text, bool keeps_text,
             const OptionReader* triggers, opdump_config*& config, ConfigOutcome& outcome) {
  c_api::HandleMemory room(memory, bytes);
  opdump_config* const made = room.take<opdump_config>();
  if (room.full()) return Status::no_memory;
  ::new (made) opdump_config{};
  Arena& arena = room.arena();
  if (!keeps_text && is_plan(text)) {
    const Result<std::string_view> copy = arena.text(text);
    if (!copy.ok()) return copy.status();
    text = copy.value();
  }
  ConfigContext context;
  context.privacy = privacy_reader();
  context.seal = seal_reader();
  context.triggers = triggers;
  context.read_seal_key = posix::read_seal_key_file;
  if (const char* const path = posix::trusted_variable("MS_DIAGNOSTIC_DATA_PATH"))
    context.diagnostic_path = path;
  const Status status = parse_config({text, arena, posix::check_dump_path, context}, outcome);
  made->config = outcome.config;
  if (status == Status::ok) config = made;
  return outcome.error.fault == ConfigFault::no_memory ? Status::no_memory : status;
}

}  // namespace

opdump_status c_api::parse_config_text(void* memory, std::size_t bytes, std::string_view text,
                                       const OptionReader* triggers, opdump_config** config, char* message,
                                       std::size_t message_bytes) {
  c_api::give_text("", message, message_bytes);
  if (config == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *config = nullptr;
  if (text.data() == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  ConfigOutcome outcome;
  const ConfigError& error = outcome.error;
  const Status status = parse(memory, bytes, text, true, triggers, *config, outcome);
  if (error.fault != ConfigFault::none) c_api::give_text(to_string(error, "config"), message, message_bytes);
  return c_api::to_c(status);
}

opdump_status c_api::read_config_text(void* memory, std::size_t bytes, const char* path,
                                      const OptionReader* triggers, opdump_config** config, char* message,
                                      std::size_t message_bytes) {
  c_api::give_text("", message, message_bytes);
  if (config == nullptr) return OPDUMP_ERR_INVALID_ARGUMENT;
  *config = nullptr;
  path = posix::find_config(path).path;
  if (path == nullptr) return OPDUMP_ERR_NOT_FOUND;
  posix::ConfigText text;
  ConfigOutcome outcome;
  ConfigError& error = outcome.error;
  Status status = posix::read_config_file(path, text, error);
  if (status == Status::ok) status = parse(memory, bytes, text.view(), false, triggers, *config, outcome);
  if (error.fault != ConfigFault::none) c_api::give_text(to_string(error, path), message, message_bytes);
  return c_api::to_c(status);
}

extern "C" {

opdump_status opdump_config_parse(void* memory, std::size_t bytes, const char* text, std::size_t text_bytes,
                                  opdump_config** config, char* message, std::size_t message_bytes) {
  return c_api::parse_config_text(memory, bytes, {text, text == nullptr ? 0 : text_bytes}, nullptr, config,
                                  message, message_bytes);
}

std::size_t opdump_config_file_size(const char* path) {
  posix::ConfigText text;
  ConfigError error;
  path = posix::find_config(path).path;
  if (path == nullptr || posix::read_config_file(path, text, error) != Status::ok) return 0;
  return opdump_config_size(text.size);
}

opdump_status opdump_config_read(void* memory, std::size_t bytes, const char* path, opdump_config** config,
                                 char* message, std::size_t message_bytes) {
  return c_api::read_config_text(memory, bytes, path, nullptr, config, message, message_bytes);
}

}  // extern "C"
