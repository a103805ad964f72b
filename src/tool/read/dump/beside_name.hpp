#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace opdump::tool {

inline constexpr std::string_view kCardSuffix = ".model.json";

/// What the name of a model's file beside the journals says, `opdump.{device}.{model}{suffix}`; a further
/// file of that name has a number behind the model's.
struct BesideName {
  std::uint64_t device = 0;
  std::uint64_t model_id = 0;
};

/// Nothing: it is no such name.
std::optional<BesideName> parse_beside_name(std::string_view name, std::string_view suffix);

/// Such names in `directory` (empty: the working directory), in natural order; none if it cannot be read.
std::vector<std::string> beside_names(const std::string& directory, std::string_view suffix);

/// The names in `directory` (empty: the working directory) that `fits` takes, in natural order; none if it
/// cannot be read. Holds no others.
std::vector<std::string> names_in(const std::string& directory,
                                  const std::function<bool(std::string_view name)>& fits);

}  // namespace opdump::tool
