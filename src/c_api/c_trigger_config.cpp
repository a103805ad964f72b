#include "src/c_api/config_text.hpp"

using namespace opdump;

// Apart, so that a program links the reader only with these.
extern "C" {

opdump_status opdump_config_parse_triggers(void* memory, std::size_t bytes, const char* text,
                                           std::size_t text_bytes, opdump_config** config, char* message,
                                           std::size_t message_bytes) {
  return c_api::parse_config_text(memory, bytes, {text, text == nullptr ? 0 : text_bytes}, trigger_reader(),
                                  config, message, message_bytes);
}

opdump_status opdump_config_read_triggers(void* memory, std::size_t bytes, const char* path,
                                          opdump_config** config, char* message, std::size_t message_bytes) {
  return c_api::read_config_text(memory, bytes, path, trigger_reader(), config, message, message_bytes);
}

}  // extern "C"
