#include "src/tool/run/beside_cards.hpp"

#include <dirent.h>

#include <algorithm>

#include "src/tool/cli/decimal.hpp"
#include "src/tool/cli/human_text.hpp"
#include "src/tool/dump/found_files.hpp"

namespace opdump::tool {
namespace {

bool is_of(const RunModel& model, const RecordPlace& place) {
  return sanitised(model.name) == place.model && (!place.has_model_id || model.id == place.model_id);
}

}  // namespace

bool parse_card_name(std::string_view name, CardName& card) {
  constexpr std::string_view kStart = "opdump.";
  constexpr std::string_view kEnd = ".model.json";
  constexpr std::size_t kMostNumbers = 3;
  if (!name.starts_with(kStart) || !name.ends_with(kEnd) || name.size() <= kStart.size() + kEnd.size())
    return false;
  name.remove_prefix(kStart.size());
  name.remove_suffix(kEnd.size());
  std::uint64_t numbers[kMostNumbers] = {};
  std::size_t count = 0;
  for (std::string_view rest = name;; rest.remove_prefix(rest.find('.') + 1)) {
    const std::optional<std::uint64_t> number = parse_decimal(rest.substr(0, rest.find('.')));
    if (!number || count == kMostNumbers) return false;
    numbers[count++] = *number;
    if (rest.find('.') == rest.npos) break;
  }
  card = {numbers[0], numbers[1]};
  return count >= 2;
}

const BesideCards::Cards& BesideCards::in(const std::string& directory) {
  const auto [at, is_new] = read_.try_emplace(directory);
  Cards& cards = at->second;
  if (!is_new) return cards;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.empty() ? "." : directory.c_str()),
                                                 closedir);
  std::vector<std::string> names;
  while (const dirent* entry = open == nullptr ? nullptr : readdir(open.get())) {
    CardName name;
    if (parse_card_name(entry->d_name, name)) names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end(), natural_less);
  for (const std::string& name : names) {
    auto card = std::make_unique<BesideCard>();
    card->path = directory.empty() ? name : directory + '/' + name;
    parse_card_name(name, card->name);
    ConfigError error;
    if (!card->run.load(card->path, error)) {
      note_("the card is not used: " + to_string(error, card->path));
    } else if (card->run.models.size() == 1) {
      card->ops.emplace(card->run);
      cards.push_back(std::move(card));
    }
  }
  return cards;
}

const CardedOps* BesideCards::of(const std::string& directory) {
  const auto [at, is_new] = found_.try_emplace(directory);
  if (is_new) at->second = find(real_path(directory));
  return at->second;
}

const CardedOps* BesideCards::find(const std::string& directory) {
  constexpr int kMostAbove = 4;
  const std::optional<RecordPlace> place = parse_record_place(directory);
  if (!place) return nullptr;
  std::string above = directory;
  for (int i = 0; i < kMostAbove && above.rfind('/') != above.npos; ++i) {
    above.resize(above.rfind('/'));
    const Cards& cards = in(above);
    if (cards.empty()) continue;
    const auto fits = [&](const std::unique_ptr<BesideCard>& card) { return is_of(card->model(), *place); };
    const auto first = std::find_if(cards.begin(), cards.end(), fits);
    if (first == cards.end()) return nullptr;
    const auto second = std::find_if(first + 1, cards.end(), fits);
    if (second == cards.end()) return &*(*first)->ops;
    const std::string both = (*first)->path + " and " + (*second)->path;
    if (told_.insert(both).second)
      note_("no card is used for model \"" + printable((*first)->model().name) + "\", as " + both +
            " are both of it; name one with --model");
    return nullptr;
  }
  return nullptr;
}

}  // namespace opdump::tool
