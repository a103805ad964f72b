#include "src/config/mindspore/mindspore_kernels.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "src/config/letters.hpp"
#include "src/config/pattern/pattern_compiler.hpp"
#include "src/config/pattern/sorted_names.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::string_view kPatternHead = "name-regex(";
constexpr std::size_t kMaxPatterns = 1000;

bool is_dropped(char c) {
  return c == ' ' || c == '"';
}

}  // namespace

bool MindSporeKernels::read(ModelRule& rule) {
  std::size_t found[5] = {};
  for (const JsonNode* node = list_.first(); node != nullptr; node = node->next())
    ++found[static_cast<std::size_t>(classify(*node).kind)];
  const auto number = [&found](Kind kind) { return found[static_cast<std::size_t>(kind)]; };
  rule.all_layers = number(Kind::blank) == count(&list_);
  if (rule.all_layers) {
    note(list_, at_, "names no operator, which stands for every one");
    return true;
  }
  if (number(Kind::pattern) > kMaxPatterns)
    return refuse(ConfigFault::invalid_value, list_, at_,
                  std::to_string(number(Kind::pattern)) + " regular expressions, and at most " +
                      std::to_string(kMaxPatterns) + " are allowed: join some of them with |");
  const auto names = memory().array<std::string_view>(number(Kind::name));
  const auto types = memory().array<std::string_view>(number(Kind::type));
  const auto patterns = memory().array<NamePattern>(number(Kind::pattern));
  const auto extras = memory().array<ModelExtras>(1);
  if (!names.ok() || !types.ok() || !patterns.ok() || !extras.ok()) return no_memory(list_, at_);
  rule.layers = names.value();
  rule.extras = extras.value().data();
  extras.value()[0].type_parts = types.value();
  extras.value()[0].patterns = patterns.value();
  next_name_ = names.value().data();
  next_type_ = types.value().data();
  next_pattern_ = patterns.value().data();
  note_duplicates();
  if (!check_each(&list_, at_, [this](const JsonNode& element, const KeyPath& at) {
        return store(element, at, classify(element));
      }))
    return false;
  return sort_layers(rule, memory()) || no_memory(list_, at_);
}

/// MindSpore reads the JSON text of an element, without its blanks and quotes, so it takes numbers too. It
/// takes a regular expression as the JSON string says, with blanks and backslashes.
MindSporeKernels::Entry MindSporeKernels::classify(const JsonNode& element) const {
  if (element.type() == JsonType::array || element.type() == JsonType::object) return {Kind::nothing, {}};
  const bool is_string = element.type() == JsonType::string;
  const std::string_view rest = reading_.text().substr(element.offset());
  const std::string_view text =
      is_string ? element.text() : rest.substr(0, std::min(rest.find_first_of(",] \t\r\n"), rest.size()));
  Entry entry;
  std::copy_if(text.begin(), text.end(), std::back_inserter(entry.text),
               [](char c) { return !is_dropped(c); });
  if (entry.text.empty()) return entry;
  if (entry.text.starts_with(kPatternHead) && entry.text.ends_with(')')) {
    entry.kind = Kind::pattern;
    const std::size_t begin = text.find('(') + 1;
    entry.text = text.substr(begin, text.rfind(')') - begin);
    return entry;
  }
  const bool is_name =
      entry.text.find('/') != std::string::npos || entry.text.find("-op") != std::string::npos;
  entry.kind = is_name ? Kind::name : Kind::type;
  if (!is_name) std::transform(entry.text.begin(), entry.text.end(), entry.text.begin(), lower);
  return entry;
}

void MindSporeKernels::note_duplicates() {
  if (!reading_.takes_notes()) return;
  std::vector<std::pair<std::string, const JsonNode*>> texts;
  for (const JsonNode* node = list_.first(); node != nullptr; node = node->next())
    texts.emplace_back(classify(*node).text, node);
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first && !a.first.empty(); };
  std::stable_sort(texts.begin(), texts.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto twice = std::adjacent_find(texts.begin(), texts.end(), same);
  if (twice != texts.end())
    note(*std::next(twice)->second, at_, in_quotes(twice->first) + " is named twice and counts once");
}

bool MindSporeKernels::store(const JsonNode& element, const KeyPath& at, const Entry& entry) {
  if (element.type() != JsonType::string && entry.kind != Kind::nothing)
    note(element, at, "is no string, and counts as " + in_quotes(entry.text));
  switch (entry.kind) {
    case Kind::blank:
      return true;
    case Kind::nothing:
      note(element, at, "matches nothing: it is no string");
      return true;
    case Kind::name:
      return copy(entry.text, *next_name_++) || no_memory(element, at);
    case Kind::type:
      return copy(entry.text, *next_type_++) || no_memory(element, at);
    case Kind::pattern:
      break;
  }
  std::string reason;
  const Result<NamePattern> pattern = compile_pattern(entry.text, memory(), reason);
  if (pattern.status() == Status::no_memory) return no_memory(element, at);
  if (!pattern.ok()) return refuse(ConfigFault::invalid_value, element, at, std::move(reason));
  *next_pattern_++ = pattern.value();
  return true;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
