#include "src/config/options_json.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "opdump/ring.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::array<std::string_view, 17> kOptionKeys = {
    "ring_bytes",   "when_full", "block_limit_ms",    "journal",
    "file_format",  "layout",    "statistic_numbers", "trailing_comma",
    "max_bytes",    "max_files", "reserve_bytes",     "keep",
    "fsync",        "watch",     "history_steps",     "after_steps",
    "history_bytes"};
constexpr std::array<std::string_view, 2> kWatch = {"every", "verdict"};
constexpr std::array<std::string_view, 2> kNumbers = {"server", "nano"};
constexpr std::array<std::string_view, 2> kOptionSwitch = {"off", "on"};
constexpr KeyPath kOpdump{nullptr, "opdump", KeyPath::kNoIndex};

/// The longest wait that a clock of 32-bit milliseconds can distinguish from none.
constexpr std::uint32_t kMaxWaitMs = 0x7fffffff;

/// The largest limit of bytes or files that a file system can report.
constexpr std::uint64_t kMaxRoom = 0x7fffffffffffffff;

constexpr std::uint32_t kMaxSteps = 1'000'000;
constexpr std::uint32_t kMinHistory = 4096;
constexpr std::uint32_t kMaxHistory = 0x40000000;

}  // namespace

bool OptionsJson::read(DumpConfig& config) {
  DumpOptions& options = config.options;
  return check_type(&node_, JsonType::object, kOpdump) && check_keys() &&
         read_number<std::uint32_t>("ring_bytes", Ring::kMinBytes, Ring::kMaxBytes, options.ring_bytes) &&
         read_word<WhenFull>("when_full", kWhenFullWords, options.when_full) &&
         read_number<std::uint32_t>("block_limit_ms", 0, kMaxWaitMs, options.block_limit_ms) &&
         read_word<JournalDetail>("journal", kJournalWords, options.journal) &&
         read_number<std::uint64_t>("max_bytes", 1, kMaxRoom, options.max_bytes) &&
         read_number<std::uint64_t>("max_files", 1, kMaxRoom, options.max_files) &&
         read_number<std::uint64_t>("reserve_bytes", 0, kMaxRoom, options.reserve_bytes) &&
         read_word<Keep>("keep", kKeepWords, options.keep) &&
         read_word<Fsync>("fsync", kFsyncWords, options.fsync) &&
         read_word<FileFormat>("file_format", kFileFormatWords, config.form.file_format) &&
         read_word<Layout>("layout", kLayoutWords, config.form.layout) &&
         read_word<bool>("statistic_numbers", kNumbers, config.form.fixed_point) &&
         read_word<bool>("trailing_comma", kOptionSwitch, config.form.trailing_comma) &&
         read_word<bool>("watch", kWatch, config.watch_changes_only) &&
         read_number<std::uint32_t>("history_steps", 1, kMaxSteps, options.history_steps) &&
         read_number<std::uint32_t>("after_steps", 0, kMaxSteps, options.after_steps) &&
         read_number<std::uint32_t>("history_bytes", kMinHistory, kMaxHistory, options.history_bytes);
}

bool OptionsJson::check_keys() {
  for (const JsonNode* member = node_.first(); member != nullptr; member = member->next()) {
    if (std::find(kOptionKeys.begin(), kOptionKeys.end(), member->key()) != kOptionKeys.end()) continue;
    std::string reason = "unknown key; allowed: " + listed(kOptionKeys);
    if (const std::string_view near = closest(member->key(), kOptionKeys); !near.empty())
      reason += "; did you mean " + in_quotes(near) + "?";
    return refusal_.refuse(ConfigFault::not_in_list, member->key_offset(), kOpdump.key(member->key()).text(),
                           std::move(reason));
  }
  return true;
}

template <class Number, class Value>
bool OptionsJson::read_number(std::string_view key, Number least, Number most, Value& value) {
  const JsonNode* node = node_.member(key);
  if (node == nullptr) return true;
  if (!check_type(node, JsonType::number, kOpdump.key(key))) return false;
  const std::string_view text = number_text(*node);
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < least || number > most)
    return refuse(ConfigFault::invalid_value, *node, kOpdump.key(key),
                  in_quotes(text) + " is no whole number from " + std::to_string(least) + " to " +
                      std::to_string(most));
  value = number;
  return true;
}

template <class Word, class Value>
bool OptionsJson::read_word(std::string_view key, Words words, Value& value) {
  const JsonNode* node = node_.member(key);
  if (node == nullptr) return true;
  const KeyPath at = kOpdump.key(key);
  if (!check_type(node, JsonType::string, at) || !check_word(*node, node->text(), words, at)) return false;
  const auto position = std::find(words.begin(), words.end(), node->text()) - words.begin();
  value = static_cast<Word>(position);
  return true;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
