#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/tool/commands/doctor/board.hpp"

namespace opdump::tool {

/// Something that opdump can do, and whether it will on this board.
struct Prospect {
  enum class Answer : std::uint8_t {
    no,
    untried,  ///< the functions are there; nobody has called them
    yes,
  };

  std::string_view what;
  Answer answer = Answer::no;
  std::string why{};
};

std::vector<Prospect> prospects_of(const Board& board);

/// The command's exit status: `kExitOk` where tensors of an Ascend device can be dumped, `kExitInactive`
/// where there is no such device but host memory can be dumped, `kExitFailed` where something is there and
/// does not work, or no file can be written.
int exit_status_of(const Board& board);

}  // namespace opdump::tool
