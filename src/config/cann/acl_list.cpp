#include "src/config/cann/acl_list.hpp"

#include <array>
#include <charconv>

#include "src/config/json/node_reader.hpp"
#include "src/config/pattern/sorted_names.hpp"

namespace opdump::config {
inline namespace OPDUMP_NAMESPACE {
namespace {

constexpr std::size_t kMaxBlacklistEntries = 100;
constexpr std::array<std::string_view, 2> kNameLists = {"layer", "watcher_nodes"};
constexpr std::array<std::string_view, 2> kBlacklists = {"optype_blacklist", "opname_blacklist"};

/// With single operators an item may be present but empty; it then selects nothing of any model.
bool names_something(const JsonNode& item, bool nano) {
  const JsonNode* name = item.member("model_name");
  const JsonNode* layer = item.member("layer");
  const JsonNode* ranges = item.member("opname_range");
  return (name == nullptr ? !nano : !name->text().empty()) &&
         (layer == nullptr || layer->first() != nullptr || (ranges != nullptr && ranges->first() != nullptr));
}

/// Reads `input0` or `output12`; CANN's graph engine ignores anything else.
bool parse_position(std::string_view text, TensorPosition& position) {
  position.output = text.starts_with("output");
  if (!position.output && !text.starts_with("input")) return false;
  text.remove_prefix(position.output ? 6 : 5);
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, position.index);
  return error == std::errc{} && at == end;
}

std::string_view text_of(const JsonNode* node) {
  return node == nullptr ? std::string_view{} : node->text();
}

/// Whether an entry of a blacklist can leave anything out.
bool excludes_something(const JsonNode& entry) {
  const JsonNode* positions = entry.member("pos");
  TensorPosition position;
  if (text_of(entry.member("name")).empty() || positions == nullptr) return false;
  for (const JsonNode* node = positions->first(); node != nullptr; node = node->next()) {
    if (parse_position(node->text(), position)) return true;
  }
  return false;
}

}  // namespace

bool AclList::check_types() {
  return check_array_of(list_, JsonType::object, at_, [this](const JsonNode& item, const KeyPath& at) {
    return check_item_types(item, at);
  });
}

bool AclList::check_item_types(const JsonNode& item, const KeyPath& at) {
  if (!check_type(item.member("model_name"), JsonType::string, at.key("model_name"))) return false;
  for (const std::string_view key : kNameLists) {
    if (!check_array_of(item.member(key), JsonType::string, at.key(key))) return false;
  }
  for (const std::string_view key : kBlacklists) {
    const KeyPath list = at.key(key);
    if (!check_array_of(item.member(key), JsonType::object, list)) return false;
    if (!check_each(item.member(key), list, [this](const JsonNode& entry, const KeyPath& entry_at) {
          return check_type(entry.member("name"), JsonType::string, entry_at.key("name")) &&
                 check_array_of(entry.member("pos"), JsonType::string, entry_at.key("pos"));
        }))
      return false;
  }
  const KeyPath ranges = at.key("opname_range");
  return check_array_of(item.member("opname_range"), JsonType::object, ranges) &&
         check_each(item.member("opname_range"), ranges, [this](const JsonNode& entry, const KeyPath& range) {
           return check_type(entry.member("begin"), JsonType::string, range.key("begin")) &&
                  check_type(entry.member("end"), JsonType::string, range.key("end"));
         });
}

bool AclList::read(const Context& context, std::span<const ModelRule>& models) {
  if (!check_each(list_, at_,
                  [&](const JsonNode& item, const KeyPath& at) { return check_item(item, at, context); }))
    return false;
  if (!has_elements(list_)) return true;

  std::size_t rule_count = 0;
  for (const JsonNode* item = list_->first(); item != nullptr; item = item->next())
    rule_count += names_something(*item, context.nano);
  const Result<std::span<ModelRule>> rules = memory().array<ModelRule>(rule_count);
  if (!rules.ok()) return no_memory(*list_, at_);
  models = rules.value();
  ModelRule* rule = rules.value().data();
  return check_each(list_, at_, [&](const JsonNode& item, const KeyPath& at) {
    if (!names_something(item, context.nano)) {
      note(item, at,
           context.nano && item.member("model_name") == nullptr
               ? "selects nothing: it names no model, which a nano product wants"
               : "selects nothing: its name or its list of layers is empty");
      return true;
    }
    return read_rule(item, *rule++) || no_memory(item, at);
  });
}

bool AclList::check_item(const JsonNode& item, const KeyPath& at, const Context& context) {
  if (!context.single_ops && !context.nano && !check_not_empty(item, at)) return false;
  if (!check_watched(item, at, context.watch)) return false;
  for (const std::string_view key : kBlacklists) {
    if (!check_blacklist(item.member(key), at.key(key), context.level)) return false;
  }
  if (!check_ranges(item, at, context.level)) return false;
  note_wildcards(item, at);
  note_unknown_keys(item, at, kListKeys, {kKeysOfDump, kKeysOfOptions});
  return true;
}

/// One note for a list: the first name that looks like a pattern.
void AclList::note_wildcards(const JsonNode& item, const KeyPath& at) {
  for (const std::string_view key : kNameLists) {
    const JsonNode* const list = item.member(key);
    for (const JsonNode* name = list == nullptr ? nullptr : list->first(); name != nullptr;
         name = name->next()) {
      // Two searches of the name: find_first_of is one of "*?" for each character.
      if (name->text().find('*') == std::string_view::npos &&
          name->text().find('?') == std::string_view::npos)
        continue;
      note(*name, at.key(key),
           joined({in_quotes(name->text()), " is taken letter by letter: there are no wildcards here"}));
      break;
    }
  }
}

bool AclList::check_not_empty(const JsonNode& item, const KeyPath& at) {
  const JsonNode* name = item.member("model_name");
  if (name != nullptr && name->text().empty())
    return empty(*name, at.key("model_name"), ": name a model, or leave the key out to mean every model");
  const JsonNode* layer = item.member("layer");
  if (layer != nullptr && layer->first() == nullptr)
    return empty(*layer, at.key("layer"), ": name operators, or leave the key out to mean every operator");
  return true;
}

bool AclList::check_watched(const JsonNode& item, const KeyPath& at, bool watch) {
  const JsonNode* watched = item.member("watcher_nodes");
  const KeyPath watched_at = at.key("watcher_nodes");
  if (!watch) {
    if (!has_elements(watched)) return true;
    return refuse(ConfigFault::conflict, *watched, watched_at,
                  "only goes with \"dump_scene\": \"watcher\": set that, or leave this key out");
  }
  if (watched == nullptr)
    return refuse(ConfigFault::missing, item, watched_at,
                  "missing: with \"dump_scene\": \"watcher\" every item names the operators to watch");
  if (watched->first() == nullptr) return empty(*watched, watched_at, ": name the operators to watch");
  if (const JsonNode* name = item.member("model_name"))
    return refuse(ConfigFault::conflict, *name, at.key("model_name"),
                  "does not go with \"dump_scene\": \"watcher\", which holds for every model: leave it out");
  return true;
}

bool AclList::check_blacklist(const JsonNode* list, const KeyPath& at, DumpLevel level) {
  const std::size_t entries = count(list);
  if (entries > kMaxBlacklistEntries)
    return refuse(
        ConfigFault::invalid_value, *list, at,
        joined({decimal(entries), " entries, and at most ", decimal(kMaxBlacklistEntries), " are allowed"}));
  if (entries == 0) return true;
  if (!check_level(*list, at, level)) return false;
  return check_each(list, at, [this](const JsonNode& entry, const KeyPath& entry_at) {
    if (!excludes_something(entry))
      note(entry, entry_at, "leaves nothing out: it takes a name, and a \"pos\" of input0, output1, ...");
    return true;
  });
}

bool AclList::check_ranges(const JsonNode& item, const KeyPath& at, DumpLevel level) {
  const JsonNode* ranges = item.member("opname_range");
  const KeyPath ranges_at = at.key("opname_range");
  if (!has_elements(ranges)) return true;
  if (!check_level(*ranges, ranges_at, level)) return false;
  const JsonNode* name = item.member("model_name");
  if (name == nullptr)
    return refuse(ConfigFault::missing, item, at.key("model_name"),
                  "missing: an item with opname_range names its model");
  if (name->text().empty())
    return empty(*name, at.key("model_name"), ": an item with opname_range names its model");
  return check_each(ranges, ranges_at, [this](const JsonNode& range, const KeyPath& range_at) {
    for (const std::string_view key : {"begin", "end"}) {
      const JsonNode* node = range.member(key);
      if (node == nullptr || node->text().empty())
        return refuse(ConfigFault::invalid_value, node == nullptr ? range : *node, range_at.key(key),
                      joined({node == nullptr ? "missing" : "empty",
                              ": a range names its first operator in \"begin\" and its last in \"end\""}));
    }
    return true;
  });
}

bool AclList::check_level(const JsonNode& node, const KeyPath& at, DumpLevel level) {
  return level == DumpLevel::op || refuse(ConfigFault::conflict, node, at,
                                          "only goes with \"dump_level\": \"op\", which must be written: the "
                                          "default is \"all\"");
}

bool AclList::read_rule(const JsonNode& item, ModelRule& rule) {
  const JsonNode* name = item.member("model_name");
  const JsonNode* layer = item.member("layer");
  rule.any_model = name == nullptr;
  rule.all_layers = layer == nullptr && !has_elements(item.member("opname_range"));
  if (name != nullptr && !copy(name->text(), rule.model_name)) return false;
  if (!copy_texts(layer, rule.layers) || !sort_layers(rule, memory())) return false;
  bool plain = true;
  for (const std::string_view key : kListKeys)
    plain &= key == "model_name" || key == "layer" || !has_elements(item.member(key));
  if (plain) return true;
  const Result<std::span<ModelExtras>> extras = memory().array<ModelExtras>(1);
  if (!extras.ok()) return false;
  rule.extras = extras.value().data();
  return read_extras(item, extras.value()[0]);
}

bool AclList::read_extras(const JsonNode& item, ModelExtras& extras) {
  return copy_texts(item.member("watcher_nodes"), extras.watched) &&
         read_ranges(item.member("opname_range"), extras.ranges) && read_exclusions(item, extras.exclusions);
}

bool AclList::read_ranges(const JsonNode* list, std::span<const OpRange>& ranges) {
  const Result<std::span<OpRange>> read = memory().array<OpRange>(count(list));
  if (!read.ok()) return false;
  ranges = read.value();
  OpRange* range = read.value().data();
  for (const JsonNode* node = list == nullptr ? nullptr : list->first(); node != nullptr;
       node = node->next()) {
    if (!copy(node->member("begin")->text(), range->begin) || !copy(node->member("end")->text(), range->end))
      return false;
    ++range;
  }
  return true;
}

bool AclList::read_exclusions(const JsonNode& item, std::span<const TensorExclusion>& exclusions) {
  const auto for_each_effective = [&item](auto use) {
    for (const std::string_view key : kBlacklists) {
      const JsonNode* list = item.member(key);
      for (const JsonNode* node = list == nullptr ? nullptr : list->first(); node != nullptr;
           node = node->next()) {
        if (excludes_something(*node) && !use(*node, key == "optype_blacklist")) return false;
      }
    }
    return true;
  };
  std::size_t entries = 0;
  for_each_effective([&entries](const JsonNode&, bool) { return ++entries != 0; });
  const Result<std::span<TensorExclusion>> read = memory().array<TensorExclusion>(entries);
  if (!read.ok()) return false;
  exclusions = read.value();
  TensorExclusion* exclusion = read.value().data();
  return for_each_effective([&](const JsonNode& entry, bool by_type) {
    exclusion->by_type = by_type;
    const bool fits = copy(entry.member("name")->text(), exclusion->name) &&
                      read_positions(entry.member("pos"), exclusion->positions);
    ++exclusion;
    return fits;
  });
}

bool AclList::read_positions(const JsonNode* list, std::span<const TensorPosition>& positions) {
  TensorPosition position;
  std::size_t found = 0;
  for (const JsonNode* node = list->first(); node != nullptr; node = node->next())
    found += parse_position(node->text(), position);
  const Result<std::span<TensorPosition>> read = memory().array<TensorPosition>(found);
  if (!read.ok()) return false;
  positions = read.value();
  TensorPosition* to = read.value().data();
  for (const JsonNode* node = list->first(); node != nullptr; node = node->next()) {
    if (parse_position(node->text(), position)) *to++ = position;
  }
  return true;
}

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::config
