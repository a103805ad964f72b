/// Speed of the statistics engine, as a fraction of the memory's read bandwidth on one thread, which is
/// measured in turns with it, because neighbours on the machine make both vary.
///
/// usage: statistics_bench [MiB]
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "memory_read.hpp"
#include "opdump/impl/stats/statistics.hpp"
#include "turns.hpp"

using namespace opdump;
using namespace opdump::bench;

namespace {

void fill(std::vector<std::byte>& bytes, DType dtype) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(1 << 20);
  for (float& value : values) value = normal(random);
  const std::size_t width = info(dtype).bits / 8;
  for (std::size_t i = 0; i < bytes.size() / width; ++i) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(values[i % values.size()]);
    std::byte* const to = bytes.data() + i * width;
    if (dtype == DType::float32) {
      std::memcpy(to, &bits, 4);
    } else if (dtype == DType::bfloat16) {
      const auto half = static_cast<std::uint16_t>(bits >> 16);
      std::memcpy(to, &half, 2);
    } else if (dtype == DType::float16) {
      const std::uint32_t exponent = bits >> 23 & 0xff;
      const std::uint32_t size = exponent < 113 ? 0 : (exponent - 112) << 10 | (bits >> 13 & 0x3ff);
      const auto half = static_cast<std::uint16_t>(bits >> 31 << 15 | size);
      std::memcpy(to, &half, 2);
    } else if (dtype == DType::float64) {
      const double wide = static_cast<double>(values[i % values.size()]);
      std::memcpy(to, &wide, 8);
    } else if (width == 8) {
      // Numbers of 32 bits, as most of this dtype are small.
      const std::int64_t wide =
          dtype == DType::int64 ? std::int64_t{static_cast<std::int32_t>(bits)} : std::int64_t{bits};
      std::memcpy(to, &wide, 8);
    } else {
      std::memcpy(to, &bits, width);
    }
  }
}

/// Medians over rounds that measure all three in turn. The machine's pace changes within a run; a ratio
/// within one round hardly does.
struct Speeds {
  double read;          ///< bytes per second
  double whole_ratio;   ///< of `read`, the tensor in one piece
  double chunks_ratio;  ///< of `read`, in pieces of 4 KiB, as they come from a small ring
};

Speeds measure(const std::vector<std::byte>& bytes, DType dtype, const StatisticsKernels* kernels) {
  constexpr int kRounds = 11;
  std::vector<double> read, whole, chunks;
  double sink = 0;
  for (int round = 0; round < kRounds; ++round) {
    // Machines differ in whether fetching ahead helps; the limit is the better of the two.
    const auto* const words = reinterpret_cast<const std::uint64_t*>(bytes.data());
    const double plain =
        thread_seconds_of([&] { sink += static_cast<double>(read_plainly(words, bytes.size() / 8)); });
    const double ahead =
        thread_seconds_of([&] { sink += static_cast<double>(read_ahead(words, bytes.size() / 8)); });
    const double read_seconds = std::min(plain, ahead);
    const double whole_seconds = thread_seconds_of([&] {
      Statistics statistics(dtype, Statistics::kAllElements, kernels);
      statistics.add(bytes);
      sink += statistics.summary(StatisticsDialect::cann).l2norm;
    });
    const double chunks_seconds = thread_seconds_of([&] {
      Statistics statistics(dtype, Statistics::kAllElements, kernels);
      for (std::size_t at = 0; at < bytes.size(); at += 4096)
        statistics.add(Bytes(bytes).subspan(at, std::min<std::size_t>(4096, bytes.size() - at)));
      sink += statistics.summary(StatisticsDialect::cann).l2norm;
    });
    read.push_back(static_cast<double>(bytes.size()) / read_seconds);
    whole.push_back(read_seconds / whole_seconds);
    chunks.push_back(read_seconds / chunks_seconds);
  }
  if (sink == 0.5) std::puts("");
  return {median(read), median(whole), median(chunks)};
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t size = (argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 64) << 20;
  constexpr std::pair<const char*, StatisticsLevel> kLevels[] = {{"avx2", StatisticsLevel::avx2},
                                                                 {"sse2", StatisticsLevel::sse2},
                                                                 {"neon", StatisticsLevel::neon},
                                                                 {"portable", StatisticsLevel::portable}};
  constexpr DType kDTypes[] = {DType::float32, DType::float16, DType::bfloat16, DType::float64,
                               DType::int8,    DType::uint8,   DType::int16,    DType::int32,
                               DType::int64,   DType::uint64,  DType::boolean};

  std::printf("full statistics of %zu MiB, one thread; ratio: of the read bandwidth, median of turns\n",
              size >> 20);
  std::printf("%-10s%-10s%10s%10s%10s%16s\n", "dtype", "kernels", "read GB/s", "GB/s", "ratio",
              "in 4 KiB chunks");
  std::vector<std::byte> bytes(size);
  for (const DType dtype : kDTypes) {
    fill(bytes, dtype);
    for (const auto& [name, level] : kLevels) {
      const StatisticsKernels* const kernels = statistics_kernels(level);
      if (kernels == nullptr) continue;
      const Speeds speeds = measure(bytes, dtype, kernels);
      std::printf("%-10s%-10s%10.2f%10.2f%10.2f%16.2f\n", info(dtype).name.data(), name, speeds.read / 1e9,
                  speeds.read * speeds.whole_ratio / 1e9, speeds.whole_ratio, speeds.chunks_ratio);
    }
  }
}
