#include "src/config/options_json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "opdump/ring.hpp"
#include "src/config/json/node_reader.hpp"
#include "src/config/option_reader.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::array<std::string_view, 2> kWatch = {"every", "verdict"};
constexpr std::array<std::string_view, 2> kNumbers = {"server", "nano"};
constexpr std::array<std::string_view, 2> kCards = {"on", "off"};
constexpr std::array<std::string_view, 2> kOptionSwitch = {"off", "on"};
constexpr std::array<std::string_view, 2> kOnCrash = {"as_asked", "dump"};

/// A key that only some programs follow, and why another refuses it.
struct OptionalKey {
  std::string_view key;
  const OptionReader* ConfigContext::*reader;
  std::string_view why;
};

constexpr std::string_view kUnread = "this program does not read it: nothing is dumped";
constexpr std::string_view kPrivacyUnread =
    build::kLean ? "a build with OPDUMP_SMALL_CODE cannot follow it: nothing is dumped" : kUnread;
constexpr std::string_view kTriggerUnread =
    build::kLean ? "a build with OPDUMP_SMALL_CODE has no triggers: leave it out" : kUnread;
constexpr std::string_view kSealUnread =
    build::kLean ? "a build with OPDUMP_SMALL_CODE seals by its program alone, not by a config: leave it out"
                 : kUnread;

/// In the order in which they are read: "seal" is last, as it looks at all others. Keys of one reader follow one
/// another.
constexpr OptionalKey kOptionalKeys[] = {
    {"privacy", &ConfigContext::privacy, kPrivacyUnread},
    {"privacy_unmatched", &ConfigContext::privacy, kPrivacyUnread},
    {"seal", &ConfigContext::seal, kSealUnread},
    {"trigger", &ConfigContext::triggers, kTriggerUnread},
    {"trigger_limits", &ConfigContext::triggers, kTriggerUnread},
};

/// The longest wait that a clock of 32-bit milliseconds can distinguish from none.
constexpr std::uint32_t kMaxWaitMs = 0x7fffffff;

/// The largest limit of bytes or files that a file system can report.
constexpr std::uint64_t kMaxRoom = 0x7fffffffffffffff;

template <class Value>
struct Plain {
  using Type = Value;
};
template <class Value>
struct Plain<std::optional<Value>> {
  using Type = Value;
};
/// What an option holds when it is there.
template <class Value>
using NumberOf = typename Plain<Value>::Type;

constexpr std::uint32_t kMaxSteps = 1'000'000;
constexpr std::uint32_t kMinHistory = 4096;
constexpr std::uint32_t kMaxHistory = 0x40000000;

/// The number of bytes that "4M" or "64 KiB" means; empty for what is no such number.
std::string plain_number(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (text.empty()) return decimal(number);
  const std::size_t unit = kUnits.find(static_cast<char>(text[0] & ~0x20));
  const std::string_view rest = text.substr(1);
  if (unit == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "iB")) return {};
  const std::size_t shift = 10 * (unit + 1);
  return number > UINT64_MAX >> shift ? std::string() : decimal(number << shift);
}

}  // namespace

bool OptionsJson::read(DumpConfig& config) {
  if (!check_type(&node_, JsonType::object, kOpdump) || !check_keys()) return false;
  DumpOptions& options = config.options;
  put_number("ring_bytes", Ring::kMinBytes, Ring::kMaxBytes, options.ring_bytes);
  put_word("when_full", kWhenFullWords, options.when_full);
  put_number("block_limit_ms", 0, kMaxWaitMs, options.block_limit_ms);
  put_word("journal", kJournalWords, options.journal);
  put_word("model_card", kCards, options.without_cards);
  put_word("on_crash", kOnCrash, options.dump_on_crash);
  put_number("max_bytes", 1, kMaxRoom, options.max_bytes);
  put_number("max_files", 1, kMaxRoom, options.max_files);
  put_number("reserve_bytes", 0, kMaxRoom, options.reserve_bytes);
  put_word("keep", kKeepWords, options.keep);
  put_word("fsync", kFsyncWords, options.fsync);
  put_word("file_format", kFileFormatWords, config.form.file_format);
  put_word("layout", kLayoutWords, config.form.layout);
  put_word("statistic_numbers", kNumbers, config.form.fixed_point);
  put_word("trailing_comma", kOptionSwitch, config.form.trailing_comma);
  put_word("watch", kWatch, config.watch_changes_only);
  put_number("history_steps", 1, kMaxSteps, options.history_steps);
  put_number("after_steps", 0, kMaxSteps, options.after_steps);
  put_number("history_bytes", kMinHistory, kMaxHistory, options.history_bytes);
  return good_ && settle_layout(config) && settle_digest(config) && read_optional();
}

/// A digest takes the place of the tensors, so what says something else of them contradicts it.
bool OptionsJson::settle_digest(DumpConfig& config) {
  std::size_t digest = 0;
  const JsonNode* const key = node_.member("digest");
  if (!read_word("digest", kDigestWords, digest)) return good_;
  std::string_view why;
  if (config.form.data != DumpData::tensor) {
    why = "it takes the place of statistics: ask for tensors, as when \"dump_data\" is left out";
  } else if (config.overflow || config.watch || config.exception != ExceptionDump::none) {
    why = "it does not go with the dump of overflows, failures or overwritten memory, which has tensors";
  } else if (config.sample_number != 0) {
    why = "it is of whole tensors: do not ask for their first elements";
  } else if (config.options.history_steps != 0) {
    why = "it does not go with history_steps: digests are small enough to be written at once";
  } else if (node_.member("file_format") != nullptr) {
    why = "it takes the place of the files that \"file_format\" is for: leave that out";
  } else if (config.options.when_full == WhenFull::degrade) {
    why =
        "\"when_full\": \"degrade\" keeps statistics, and nothing is smaller than a digest: take "
        "\"drop\"";
  }
  if (!why.empty()) return refuse(ConfigFault::conflict, *key, kOpdump.key("digest"), why);
  config.form.data = DumpData::statistics;
  config.form.statistics = static_cast<StatBits>(kDigestCrc32c << digest);
  return true;
}

bool OptionsJson::read_optional() {
  const OptionReader* last = nullptr;
  for (const OptionalKey& optional : kOptionalKeys) {
    const JsonNode* const node = node_.member(optional.key);
    if (node == nullptr) continue;
    const OptionReader* const reader = build::kLean ? nullptr : reading_.input.context.*optional.reader;
    if (reader == nullptr)
      return refuse(ConfigFault::conflict, *node, kOpdump.key(optional.key), optional.why);
    if (reader != last && !reader->read(node_, reading_)) return false;
    last = reader;
  }
  return true;
}

/// A layout for one format brings it, and takes it away again.
bool OptionsJson::settle_layout(DumpConfig& config) {
  const bool lite = config.form.layout == Layout::mindspore_lite;
  const JsonNode* const format = node_.member("file_format");
  if (lite && config.single_ops)
    return refuse(ConfigFault::conflict, *node_.member("layout"), kOpdump.key("layout"),
                  "\"mindspore_lite\" has no place for operators outside a model: switch dump_op_switch off");
  if (go_together(config.form.layout, config.form.file_format)) return true;
  if (format != nullptr)
    return refuse(ConfigFault::conflict, *format, kOpdump.key("file_format"),
                  lite ? "the files of \"layout\": \"mindspore_lite\" are \"bin\": leave this key out"
                       : "\"bin\" only goes with \"layout\": \"mindspore_lite\": set that");
  config.form.file_format = lite ? FileFormat::bin : FileFormat::nano;
  return true;
}

bool OptionsJson::check_keys() {
  for (const JsonNode* member = node_.first(); member != nullptr; member = member->next()) {
    if (position_of(member->key(), kOptionKeys) != kOptionKeys.size()) continue;
    return reading_.refuse(
        ConfigFault::not_in_list, member->key_offset(), kOpdump.key(member->key()),
        joined({"unknown key", belongs_in(member->key(), {kKeysOfDump, kKeysOfList}),
                "; allowed: ", listed(kOptionKeys), did_you_mean(member->key(), kOptionKeys)}));
  }
  return true;
}

const JsonNode* OptionsJson::find(std::string_view key) const {
  return good_ ? node_.member(key) : nullptr;
}

bool OptionsJson::read_number(std::string_view key, std::uint64_t least, std::uint64_t most,
                              std::uint64_t& number) {
  const JsonNode* node = find(key);
  if (node == nullptr) return false;
  const KeyPath at = kOpdump.key(key);
  if (node->type() == JsonType::string) {
    const std::string plain = plain_number(node->text());
    good_ = false;
    return refuse(ConfigFault::wrong_type, *node, at,
                  joined({"a string, but it must be a number", plain.empty() ? "" : ": write ", plain}));
  }
  good_ = check_type(node, JsonType::number, at);
  if (!good_) return false;
  const std::string_view text = number_text(*node);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  good_ = error == std::errc{} && end == text.data() + text.size() && number >= least && number <= most;
  return good_ ||
         refuse(
             ConfigFault::invalid_value, *node, at,
             joined({in_quotes(text), " is no whole number from ", decimal(least), " to ", decimal(most)}));
}

bool OptionsJson::read_word(std::string_view key, Words words, std::size_t& position) {
  const JsonNode* node = find(key);
  if (node == nullptr) return false;
  const KeyPath at = kOpdump.key(key);
  good_ = check_type(node, JsonType::string, at) && check_word(*node, node->text(), words, at);
  if (good_) position = position_of(node->text(), words);
  return good_;
}

template <class Value>
void OptionsJson::put_number(std::string_view key, std::uint64_t least, std::uint64_t most, Value& value) {
  std::uint64_t number = 0;
  if (read_number(key, least, most, number)) value = static_cast<NumberOf<Value>>(number);
}

template <class Value>
void OptionsJson::put_word(std::string_view key, Words words, Value& value) {
  std::size_t position = 0;
  if (read_word(key, words, position)) value = static_cast<NumberOf<Value>>(position);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
