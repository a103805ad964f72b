#include "src/tool/read/run/beside_cards.hpp"

#include <memory>

#include "src/config/text/human_text.hpp"
#include "src/tool/read/dump/found_files.hpp"
#include "src/tool/read/dump/record_name.hpp"

namespace opdump::tool {

BesideCards::BesideCards(std::function<void(const std::string&)> note)
    : note_(std::move(note)),
      files_(kCardSuffix,
             [note = note_](const std::string& path, const std::string& name) -> std::unique_ptr<BesideCard> {
               auto card = std::make_unique<BesideCard>();
               card->path = path;
               card->name = *parse_beside_name(name, kCardSuffix);
               ConfigError error;
               if (!card->run.load(path, error)) {
                 note("the card is not used: " + to_string(error, path));
                 return nullptr;
               }
               if (card->run.models.size() != 1) return nullptr;
               card->ops.emplace(card->run);
               return card;
             }) {}

const CardedOps* BesideCards::of(const std::string& directory) {
  if (found_.size() >= kMostDirectories) found_.clear();
  const auto [at, is_new] = found_.try_emplace(directory);
  if (is_new) at->second = find(real_path(directory));
  return at->second;
}

const CardedOps* BesideCards::find(const std::string& directory) {
  const std::optional<RecordPlace> place = parse_record_place(directory);
  if (!place) return nullptr;
  const auto [card, other] = files_.above(directory, [&](const BesideCard& each) {
    return is_of_model(*place, each.model().name, each.model().id);
  });
  if (other == nullptr) return card == nullptr ? nullptr : &*card->ops;
  const std::string both = card->path + " and " + other->path;
  if (told_.insert(both).second)
    note_("no card is used for model \"" + printable(card->model().name) + "\", as " + both +
          " are both of it; name one with --model");
  return nullptr;
}

}  // namespace opdump::tool
