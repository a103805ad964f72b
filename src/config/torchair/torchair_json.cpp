#include "src/config/torchair/torchair_json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "opdump/config/torchair.hpp"
#include "src/config/cann/dump_step.hpp"
#include "src/config/json/node_reader.hpp"
#include "src/config/pattern/decimal_digit.hpp"
#include "src/config/pattern/sorted_names.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

using Words = std::span<const std::string_view>;

// The order of the words is that of the enumerations.
constexpr std::array<std::string_view, 3> kTorchairModes = {"input", "output", "all"};
constexpr std::array<std::string_view, 2> kTorchairData = {"tensor", "stats"};
constexpr std::array<std::string_view, 2> kStages = {"original", "optimized"};
constexpr std::string_view kLayerSigns = "_ \"/\\.";

bool is_layer_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kLayerSigns.find(c) != std::string_view::npos;
}

/// Python's $ also matches before a line end.
std::string_view without_line_end(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

/// Takes the digits off the front; false: there are none.
bool skip_digits(std::string_view& text) {
  const std::size_t before = text.size();
  while (const std::size_t bytes = digit_bytes(text)) text.remove_prefix(bytes);
  return text.size() != before;
}

bool skip(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

/// Whether `text` consists of items N and N-M with single bars between, and optionally one bar at the end.
bool is_step_list(std::string_view text) {
  while (!text.empty()) {
    if (!skip_digits(text) || (skip(text, '-') && !skip_digits(text))) return false;
    if (!text.empty() && !skip(text, '|')) return false;
  }
  return true;
}

class Torchair : NodeReader {
 public:
  /// A null `object`: the options come from a program, and have no place.
  Torchair(const JsonNode* object, Reading& reading) : NodeReader(reading), object_(object) {}

  /// torchair checks an option when it is set, and so in the order of the object.
  bool read_object() {
    if (!check_type(object_, JsonType::object, kPath)) return false;
    // If an option stands there twice, the last one counts. Any unknown option is refused.
    std::array<const JsonNode*, kOptions.size() + 1> last{};
    for (const JsonNode* member = object_->first(); member != nullptr; member = member->next())
      last[place_of(member->key(), kOptions)] = member;
    for (const JsonNode* member = object_->first(); member != nullptr; member = member->next()) {
      const std::size_t option = place_of(member->key(), kOptions);
      if ((option == kOptions.size() || last[option] == member) && !read_option(*member)) return false;
    }
    return true;
  }

  bool read_options(const TorchairConfig& options) {
    options_ = options;
    return check_dump_path() && check_word("dump_mode", options_.dump_mode, kTorchairModes) &&
           check_dump_step() && check_dump_layer() &&
           check_word("dump_data", options_.dump_data, kTorchairData) && check_dump_config_path() &&
           check_word("data_dump_stage", options_.data_dump_stage, kStages);
  }

  bool settle(DumpConfig& config) {
    if (options_.dump_config_path) pass_on(*options_.dump_config_path);
    note_set("data_dump_stage", "has no effect: it is for torchair's aclgraph modes");
    if (!options_.enable_dump) return true;
    if (options_.quant_dumpable)
      note_set("quant_dumpable",
               "has no effect here: it is ge.quant_dumpable (atc --quant_dumpable=1), by which the compiler "
               "keeps what is before quantisation when it makes the model");
    config.quant_dumpable = options_.quant_dumpable;
    config.mode = static_cast<DumpMode>(place_of(options_.dump_mode, kTorchairModes));
    config.form.data = static_cast<DumpData>(place_of(options_.dump_data, kTorchairData));
    config.form.world_size = std::max<std::uint32_t>(reading_.input.context.world_size, 1u);
    config.form.rank = config.form.world_size == 1 ? 0 : reading_.input.context.rank;
    if (!copy(options_.dump_path, config.dump_path) || !read_layers(config.models) ||
        !read_steps(config.steps))
      return refuse(ConfigFault::no_memory, "", "the memory for the config is full: give it more");
    config.asked = !config.steps.no_step();
    config.active = config.asked;
    return true;
  }

 private:
  static constexpr KeyPath kPath{nullptr, "dump_config", KeyPath::kNoIndex};
  static constexpr std::array<std::string_view, 9> kOptions = {
      "enable_dump", "dump_path", "dump_mode",        "quant_dumpable", "dump_step",
      "dump_layer",  "dump_data", "dump_config_path", "data_dump_stage"};

  static std::size_t place_of(std::string_view word, Words words) {
    return static_cast<std::size_t>(std::find(words.begin(), words.end(), word) - words.begin());
  }

  // Where options stand.

  const JsonNode* node_of(std::string_view key) const {
    return object_ == nullptr ? nullptr : object_->member(key);
  }

  std::size_t offset_of(std::string_view key) const {
    const JsonNode* node = node_of(key);
    return node != nullptr ? node->offset() : object_ != nullptr ? object_->offset() : 0;
  }

  bool refuse(ConfigFault fault, std::string_view key, std::string_view reason) {
    return reading_.refuse(fault, offset_of(key), key.empty() ? kPath : kPath.key(key), reason);
  }

  void note_option(std::string_view key, std::string_view text) {
    reading_.note(offset_of(key), kPath.key(key), text);
  }

  /// Notes `text`, but only for an option that the object has.
  void note_set(std::string_view key, std::string_view text) {
    if (node_of(key) != nullptr) note_option(key, text);
  }

  // Reading the object.

  bool read_option(const JsonNode& node) {
    const std::string_view key = node.key();
    if (key == "enable_dump") return read_switch(node, options_.enable_dump);
    if (key == "quant_dumpable") return read_switch(node, options_.quant_dumpable);
    if (key == "dump_path") return read_text(node, options_.dump_path) && check_dump_path();
    if (key == "dump_mode")
      return read_text(node, options_.dump_mode) && check_word(key, options_.dump_mode, kTorchairModes);
    if (key == "dump_step") return read_text(node, options_.dump_step) && check_dump_step();
    if (key == "dump_layer") return read_text(node, options_.dump_layer) && check_dump_layer();
    if (key == "dump_data")
      return read_text(node, options_.dump_data) && check_word(key, options_.dump_data, kTorchairData);
    if (key == "dump_config_path") return read_file(node) && check_dump_config_path();
    if (key == "data_dump_stage")
      return read_text(node, options_.data_dump_stage) && check_word(key, options_.data_dump_stage, kStages);
    return reading_.refuse(
        ConfigFault::not_in_list, node.key_offset(), kPath.key(key),
        joined({"unknown option; there are ", listed(kOptions), did_you_mean(key, kOptions)}));
  }

  bool read_text(const JsonNode& node, std::string_view& text) {
    if (node.type() == JsonType::null)
      return NodeReader::refuse(
          ConfigFault::wrong_type, node, kPath.key(node.key()),
          "null, but it must be a string: torchair takes no None here, so leave it out");
    if (!check_type(&node, JsonType::string, kPath.key(node.key()))) return false;
    text = node.text();
    return true;
  }

  bool read_file(const JsonNode& node) {
    options_.dump_config_path = {};
    std::string_view path;
    if (node.type() == JsonType::null) return true;
    if (!read_text(node, path)) return false;
    options_.dump_config_path = path;
    return true;
  }

  /// Takes everything that equals True or False in Python: also 1, 1.0, 0, -0.0 and so on.
  bool read_switch(const JsonNode& node, bool& value) {
    const KeyPath at = kPath.key(node.key());
    if (node.type() != JsonType::number) {
      if (!check_type(&node, JsonType::boolean, at)) return false;
      value = is_true(node, reading_.text());
      return true;
    }
    const std::string_view text = number_text(node);
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || (number != 0 && number != 1))
      return NodeReader::refuse(ConfigFault::not_in_list, node, at,
                                std::string(text) + " is not allowed; allowed: true, false");
    value = number == 1;
    return true;
  }

  // What values are allowed.

  bool check_word(std::string_view key, std::string_view word, Words words) {
    if (std::find(words.begin(), words.end(), word) != words.end()) return true;
    return refuse(
        ConfigFault::not_in_list, key,
        joined({in_quotes(word), " is not allowed; allowed: ", listed(words), did_you_mean(word, words)}));
  }

  bool check_dump_path() {
    std::string reason = "present but empty: name an existing directory";
    if (options_.dump_path.empty()) return refuse(ConfigFault::empty, "dump_path", std::move(reason));
    const DumpPathCheck check_path = reading_.input.check_path;
    return check_path == nullptr || check_path(options_.dump_path, reason) ||
           refuse(ConfigFault::invalid_value, "dump_path", std::move(reason));
  }

  bool check_dump_step() {
    return is_step_list(without_line_end(options_.dump_step)) ||
           refuse(ConfigFault::invalid_value, "dump_step",
                  in_quotes(options_.dump_step) +
                      " is no list of steps: write 5 or 3-5, digits only, with | between the items");
  }

  bool check_dump_layer() {
    const std::string_view names = without_line_end(options_.dump_layer);
    return std::all_of(names.begin(), names.end(), is_layer_byte) ||
           refuse(ConfigFault::invalid_value, "dump_layer",
                  in_quotes(options_.dump_layer) +
                      " may consist of letters, digits and _ \" / \\ . only, with blanks between the names");
  }

  bool check_dump_config_path() {
    if (!options_.dump_config_path) return true;
    const std::string_view path = *options_.dump_config_path;
    if (path.empty())
      return refuse(ConfigFault::empty, "dump_config_path", "present but empty: name an acl.json");
    return path.ends_with(".json") ||
           refuse(ConfigFault::invalid_value, "dump_config_path", in_quotes(path) + " must end with .json");
  }

  // What they mean.

  /// The file must be right even if the options count instead of it.
  void pass_on(std::string_view path) {
    if (options_.enable_dump)
      note_option("dump_config_path", "is only checked: with enable_dump, the other options count");
    if (std::string* const acl_file = reading_.input.context.acl_file) {
      *acl_file = path;
    } else {
      note_option("dump_config_path", "is not acted on: the file that it names is not read here");
    }
  }

  bool read_layers(std::span<const ModelRule>& models) {
    const std::string_view names = without_line_end(options_.dump_layer);
    const auto for_each_name = [names](auto use) {
      for (std::size_t begin = 0; begin < names.size();) {
        const std::size_t end = std::min(names.find(' ', begin), names.size());
        if (end != begin && !use(names.substr(begin, end - begin))) return false;
        begin = end + 1;
      }
      return true;
    };
    std::size_t found = 0;
    for_each_name([&found](std::string_view) { return ++found != 0; });
    const Result<std::span<std::string_view>> layers = memory().array<std::string_view>(found);
    const Result<std::span<ModelRule>> rules = memory().array<ModelRule>(1);
    if (!layers.ok() || !rules.ok()) return false;
    std::string_view* layer = layers.value().data();
    ModelRule& rule = rules.value()[0];
    rule.any_model = true;
    rule.all_layers = found == 0;
    rule.layers = layers.value();
    models = rules.value();
    return for_each_name([&](std::string_view name) { return copy(name, *layer++); }) &&
           sort_layers(rule, memory());
  }

  /// Steps that torchair takes and CANN then refuses switch no step on: torchair only logs that.
  bool read_steps(StepSet& steps) {
    std::string_view text = without_line_end(options_.dump_step);
    if (text.ends_with('|')) text.remove_suffix(1);
    std::string reason;
    const Result<StepSet> read = parse_steps(text, memory(), reason);
    if (read.status() == Status::no_memory) return false;
    steps = read.ok() ? read.value() : kNoSteps;
    if (!read.ok())
      note_option("dump_step", reason + "; torchair takes it, CANN does not, and no step is dumped");
    return true;
  }

  const JsonNode* object_;
  TorchairConfig options_{};
};

}  // namespace

bool read_torchair_json(const JsonNode& root, Reading& reading) {
  const JsonNode* object = root.member("dump_config");
  if (object == nullptr)
    return reading.refuse(ConfigFault::missing, root.offset(), "dump_config",
                          "missing: torchair's options stand in there");
  Torchair torchair(object, reading);
  return torchair.read_object() && torchair.settle(reading.config);
}

bool read_torchair_options(const TorchairConfig& options, Reading& reading) {
  Torchair torchair(nullptr, reading);
  return torchair.read_options(options) && torchair.settle(reading.config);
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
