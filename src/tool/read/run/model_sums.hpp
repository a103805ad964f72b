#pragma once
#include <map>
#include <string>

#include "src/tool/read/run/beside_cards.hpp"

namespace opdump::tool {

/// The SHA-256 of models' files, by the models' names in a dump, as the cards beside its journals tell them.
using ModelSums = std::map<std::string, std::string>;

/// Adds those of the cards in `directory` of a dump or the nearest one above it that has any.
void add_model_sums(BesideCards& cards, std::string directory, ModelSums& sums);

/// What the dumps `a` and `b`, of those names, tell of different models; empty: nothing.
std::string unlike_models(const std::string& a_name, const ModelSums& a, const std::string& b_name,
                          const ModelSums& b);

}  // namespace opdump::tool
