#include "src/config/glob_reader.hpp"

#include <algorithm>
#include <string>

#include "opdump/impl/plan/privacy.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

/// Steps of the program for `text`, the last one included.
std::size_t count_steps(std::string_view text) {
  std::size_t count = 1;
  for (const char c : text) count += c == '*' ? 3 : 1;
  return count;
}

/// Writes the program for `text`, where `*` stands for any characters and `?` for one. The first set is of
/// all.
void put_steps(std::string_view text, NameStep* to) {
  using Kind = NameStep::Kind;
  std::uint8_t at = 0;
  const auto put = [&](Kind kind, std::size_t a, std::size_t b = 0) {
    to[at++] = {kind, static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b)};
  };
  for (const char c : text) {
    if (c == '*') {
      put(Kind::fork, at + 1u, at + 3u);
      put(Kind::set, 0);
      put(Kind::fork, at - 2u, at - 2u);
    } else if (c == '?') {
      put(Kind::set, 0);
    } else {
      put(Kind::byte, static_cast<std::uint8_t>(c));
    }
  }
  to[at] = {};
}

}  // namespace

bool GlobReader::read_pattern(const JsonNode& node, const KeyPath& at, NamePattern& to) {
  if (!check_type(&node, JsonType::string, at)) return false;
  const std::string_view text = node.text();
  if (text.empty()) return empty(node, at, ": leave the key out to mean every name");
  const std::size_t count = count_steps(text);
  if (count > kMaxNameSteps)
    return refuse(
        ConfigFault::invalid_value, node, at,
        "a pattern has at most " + decimal(kMaxNameSteps - 1) + " characters, of which * counts as three");
  const auto steps = memory_.array<NameStep>(count);
  const auto sets = memory_.array<ByteSet>(1);
  if (!steps.ok() || !sets.ok() || !copy(text, to.text)) return no_memory(node, at);
  put_steps(text, steps.value().data());
  sets.value()[0].fill(0xff);
  to.steps = steps.value();
  to.sets = sets.value();
  return true;
}

/// Models that no entry names may come all the same where an entry is for every model.
bool GlobReader::knows_model(std::span<const NamePattern> pattern, const DumpConfig& config) {
  if (config.models.empty()) return true;
  return std::any_of(config.models.begin(), config.models.end(), [pattern](const ModelRule& model) {
    return model.any_model || takes_name(pattern, model.model_name);
  });
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
