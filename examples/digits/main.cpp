// Classifies held-out images, one per step, and prints how many it read right.
// Exit code: 0 if at least 95 % are, 1 if not, 2 for wrong arguments.

#include <charconv>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <system_error>

#include "images.hpp"
#include "network.hpp"

namespace {

constexpr int kUsageError = 2;

bool parse_image_count(std::string_view text, std::size_t& count) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  return error == std::errc{} && stop == end && count >= 1 && count <= digits::kImageCount;
}

std::size_t count_right(std::size_t images) {
  digits::Network network;
  std::size_t right = 0;
  for (std::size_t step = 0; step < images; ++step) {
    network.load_image(step);
    for (std::size_t i = 0; i < network.ops().size(); ++i) network.run_op(i);
    if (network.predicted() == digits::kLabels[step]) ++right;
  }
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t images = digits::kImageCount;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option != "--images") {
      std::fprintf(stderr, "digits: unknown argument '%s'; usage: digits [--images N]\n", argv[i]);
      return kUsageError;
    }
    const char* value = ++i < argc ? argv[i] : "";
    if (!parse_image_count(value, images)) {
      std::fprintf(stderr, "digits: --images wants a number from 1 to %zu, not '%s'\n", digits::kImageCount,
                   value);
      return kUsageError;
    }
  }

  const std::size_t right = count_right(images);
  const double percent = 100.0 * static_cast<double>(right) / static_cast<double>(images);
  std::printf("%zu of %zu images right (%.1f %%)\n", right, images, percent);
  return percent >= 95.0 ? 0 : 1;
}
