#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace opdump::tool {

/// Steps that a user chose: "0,3-5".
class StepList {
 public:
  /// On false `error` says what is wrong.
  bool read(std::string_view text, std::string& error);

  /// Whether the step at the end of a place, "model/step", is among them; of an empty list each is.
  bool has(std::string_view place) const;

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;
};

}  // namespace opdump::tool
