#pragma once
#include <string>

#include "opdump/types/privacy.hpp"

namespace opdump::tool {

/// What the rule keeps and of which tensors, such as `stats of 0:4 every 2 of input 0 of op "embed*"`.
std::string privacy_text(const PrivacyRule& rule);

/// What it keeps of a tensor, such as `stats of 0:4 every 2`.
std::string kept_text(const PrivacyRule& rule);

}  // namespace opdump::tool
