#include "src/tool/read/flash/image_losses.hpp"

#include "platform/flashlog/impl/damaged_places.hpp"
#include "src/tool/cli/interrupt.hpp"
#include "src/tool/cli/progress.hpp"

namespace opdump::tool {

void find_losses(FlashImage& image, std::optional<std::uint32_t> boot,
                 const std::function<void(const std::string& message)>& error) {
  for (const std::string& hole : image.holes(boot)) error(hole);
  const flashlog::LogRuns& runs = image.reader().runs();
  flashlog::DamagedPlaces places(runs);
  Progress progress(runs.segments().size(), "blocks checked");
  std::uint32_t checked = 0;
  for (std::optional<flashlog::DamagedPlace> place; !interrupted() && places.go_past(place);) {
    progress.add(places.segment() - checked);
    checked = places.segment();
    if (!place || (boot && place->boot != *boot)) continue;
    progress.wipe();
    error("boot " + std::to_string(place->boot) + " is damaged from byte " +
          std::to_string(image.byte_of(place->begin)) + " on, up to what is good again at byte " +
          std::to_string(image.byte_of(place->end)) + ": what it told there is lost");
  }
  // The search behind damage has used up what opening the image allows it.
  static_cast<void>(image.rewind());
}

}  // namespace opdump::tool
