#include "src/config/seal_json.hpp"

#include <array>
#include <string>

#include "opdump/base/bytes.hpp"
#include "opdump/config/seal_key.hpp"
#include "src/config/option_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {

bool SealJson::read(DumpConfig& config) {
  const JsonNode& node = *options_.member("seal");
  const KeyPath path = kOpdump.key("seal");
  if (!check_type(&node, JsonType::string, path)) return false;
  if (node.text().empty()) return empty(node, path, ": name a public key");
  std::array<std::byte, kSealKeyBytes> key;
  if (!read_seal_digits(node.text(), key)) {
    const SealKeyReader read_key = reading_.input.context.read_seal_key;
    if (read_key == nullptr)
      return refuse(ConfigFault::invalid_value, node, path,
                    "no public key of X25519, and no file is read here: give 64 hexadecimal digits, or 44 "
                    "letters of base64");
    std::string reason;
    if (!read_key(node.text(), key, reason)) return refuse(ConfigFault::invalid_value, node, path, reason);
  }
  if (const std::string_view why = seal_conflict(config); !why.empty())
    return refuse(ConfigFault::conflict, node, path, why);
  if (options_.member("model_card") != nullptr && !config.options.without_cards)
    return refuse(ConfigFault::conflict, node, path,
                  "cards of models would be in clear: leave \"model_card\": \"on\" out");
  std::string_view kept;
  if (!copy(as_text(key), kept)) return no_memory(node, path);
  config.options.seal = kept;
  config.options.without_cards = true;
  return true;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

const OptionReader* seal_reader() {
  static constexpr OptionReader kReader = {[](const config::JsonNode& options, config::Reading& reading) {
    return config::SealJson(options, reading).read(reading.config);
  }};
  return &kReader;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump
