#pragma once
#include <cstddef>
#include <string_view>

#include "opdump/config/parse.hpp"
#include "opdump/opdump.h"

namespace opdump::c_api {
inline namespace OPDUMP_NAMESPACE {

/// As `opdump_config_parse`, with a reader of triggers or without (null).
opdump_status parse_config_text(void* memory, std::size_t bytes, std::string_view text,
                                const OptionReader* triggers, opdump_config** config, char* message,
                                std::size_t message_bytes);

/// As `opdump_config_read`, likewise.
opdump_status read_config_text(void* memory, std::size_t bytes, const char* path,
                               const OptionReader* triggers, opdump_config** config, char* message,
                               std::size_t message_bytes);

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::c_api
