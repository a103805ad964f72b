#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "src/tool/read/flash/flash_image.hpp"

namespace opdump::tool {

/// Calls `error` with a line for each place where blocks of the log are not there, though it did not go
/// round, and for each one where bytes were damaged after they were written; with `boot`, only for those that
/// may be of that boot. What a loss of power may have left is none. Reads all of the image, with a bar,
/// unless it is interrupted. The reader begins again.
void find_losses(FlashImage& image, std::optional<std::uint32_t> boot,
                 const std::function<void(const std::string& message)>& error);

}  // namespace opdump::tool
