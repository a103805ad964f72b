#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace opdump::tool {

/// What the name of an `.npy` file says about its tensor. Refers to the name.
struct NpyName {
  std::string_view type{};  ///< empty: not known
  std::string_view op;
  bool is_output = true;
  std::uint32_t index = 0;
  std::uint64_t unix_us = 0;  ///< 0: not known
  std::optional<std::uint64_t> task{};
  std::string_view model{};
  std::optional<std::uint64_t> step{};
};

/// Takes the name of an `.npy` file apart. Understands the names that `opdump convert`, msaccucmp and
/// MindSpore write (`TYPE.OP.task.stream.time.output.0.npy`, with a format's name before `.npy` or without),
/// what frameworks dump for msaccucmp (`OP.0.time.npy`), `OP.output.0.npy`, and what `opdump convert --to` calls
/// tensors in containers (`MODEL/STEP/TYPE.OP/output.0`). Any other name as a whole
/// names the operator, and the file is its output 0.
NpyName parse_array_name(std::string_view file_name);

/// What lies between the dots of a name. Refers to it.
std::vector<std::string_view> parts_of(std::string_view text);

}  // namespace opdump::tool
