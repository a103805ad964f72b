#include "src/tool/verify/firing_text.hpp"

#include "src/config/text/human_text.hpp"

namespace opdump::tool {
namespace {

/// In the order of HeldFiring.
constexpr std::string_view kHeldTexts[] = {"by its cooldown", "by the limit of firings",
                                           "by the limit of bytes", "as the drainer was too far behind"};
static_assert(std::size(kHeldTexts) == kHeldFirings);

}  // namespace

std::string firing_text(const ToldFiring& firing) {
  std::string text(kTriggerWords[static_cast<std::size_t>(firing.cause)]);
  if (!firing.value.empty()) text.append(" ").append(firing.value);
  if (!firing.limit.empty())
    text.append(" ").append(firing.limit.substr(0, 1)).append(" ").append(firing.limit.substr(1));
  return text;
}

std::string firing_counts_text(TriggerCause cause, const FiringCounts& counts) {
  std::string text = count_text(counts.fired, "firing");
  for (std::size_t i = 0; i < kHeldFirings; ++i) {
    if (counts.held[i] != 0)
      text += "; " + std::to_string(counts.held[i]) + " held back " + std::string(kHeldTexts[i]);
  }
  if (counts.cut != 0) text += "; " + count_text(counts.cut, "write-out") + " ended by the limit of bytes";
  const bool is_told = cause == TriggerCause::failure || cause == TriggerCause::call;
  if (is_told && counts.looks == 0) return text + "; the program told of none";
  text += "; " + count_text(counts.looks, "look");
  if (counts.unread != 0)
    text += ", and " + std::to_string(counts.unread) + " more at tensors that could not be read";
  return text;
}

}  // namespace opdump::tool
