/// What the search for infinities and NaNs costs on top of copying the same bytes through a ring, one thread;
/// both are measured in turns, because neighbours on the machine make them vary.
///
/// usage: overflow_bench [MiB]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "opdump/impl/stats/non_finite.hpp"
#include "turns.hpp"

using namespace opdump;
using namespace opdump::bench;

namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr std::size_t kRingBytes = 1024 * 1024;

/// Copies the tensor piece by piece; each piece is searched when it has just been copied, if `kernel` says so.
bool pass(const std::vector<std::byte>& tensor, std::vector<std::byte>& ring, DType dtype, bool search,
          NonFiniteKernel kernel) {
  bool found = false;
  for (std::size_t at = 0; at < tensor.size(); at += kPieceBytes) {
    const std::size_t bytes = std::min(kPieceBytes, tensor.size() - at);
    std::byte* const to = ring.data() + at % kRingBytes;
    std::memcpy(to, tensor.data() + at, bytes);
    if (search) found |= holds_non_finite(dtype, to, bytes, kernel);
  }
  return found;
}

void measure(DType dtype, const char* kernel_name, NonFiniteKernel kernel,
             const std::vector<std::byte>& tensor, std::vector<std::byte>& ring) {
  constexpr int kRounds = 15;
  std::vector<double> copies, costs, alone;
  bool found = false;
  for (int round = 0; round < kRounds; ++round) {
    const double copy = thread_seconds_of([&] { found |= pass(tensor, ring, dtype, false, kernel); });
    const double both = thread_seconds_of([&] { found |= pass(tensor, ring, dtype, true, kernel); });
    const double search =
        thread_seconds_of([&] { found |= holds_non_finite(dtype, tensor.data(), tensor.size(), kernel); });
    copies.push_back(copy);
    costs.push_back(both / copy - 1);
    alone.push_back(search / copy);
  }
  if (found) std::puts("the tensor should hold nothing of the kind");
  const double copy = median(copies);
  std::printf("%-14s%-10s%14.2f%16.2f%16.2f\n", info(dtype).name.data(), kernel_name,
              static_cast<double>(tensor.size()) / copy / 1e9, median(costs), median(alone));
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t bytes = (argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 64) << 20;
  const std::vector<std::byte> tensor(bytes, std::byte{1});  // written, so that each page is one of its own
  std::vector<std::byte> ring(kRingBytes);
  constexpr DType kDTypes[] = {DType::float32,     DType::float16,       DType::bfloat16, DType::float64,
                               DType::float8_e5m2, DType::float8_e4m3fn, DType::complex64};
  std::printf("search of %zu MiB for infinities and NaNs; costs: of the time of the copy\n", bytes >> 20);
  std::printf("%-14s%-10s%14s%16s%16s\n", "dtype", "kernel", "copy GB/s", "on top of it", "without a copy");
  for (const DType dtype : kDTypes) {
    measure(dtype, "vectors", non_finite_kernel(), tensor, ring);
    measure(dtype, "portable", nullptr, tensor, ring);
  }
}
