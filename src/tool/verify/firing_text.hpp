#pragma once
#include <string>

#include "src/tool/read/journal/journal_line.hpp"

namespace opdump::tool {

/// For people: why a trigger has fired, as "max 0.42 < 0.5".
std::string firing_text(const ToldFiring& firing);

/// The same of what became of all firings, as "2 firings; 3 held back: ...".
std::string firing_counts_text(TriggerCause cause, const FiringCounts& counts);

}  // namespace opdump::tool
