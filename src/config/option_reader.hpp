#pragma once
#include "opdump/config/parse.hpp"
#include "src/config/json/node_reader.hpp"

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

/// What reads keys of the "opdump" object that only some programs follow. A program that asks for none of it
/// does not link it.
struct OptionReader {
  /// Reads its keys of `options`, at least one of which is there. All keys that every program reads are in
  /// the config by then. False: refused.
  bool (*read)(const config::JsonNode& options, config::Reading& reading);
};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

/// Where the keys of "opdump" stand.
inline constexpr KeyPath kOpdump{nullptr, "opdump", KeyPath::kNoIndex};

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
