/// Speed of `opdump compare`'s engine, all ten measures and equality together, as a fraction of one thread's
/// memory read bandwidth over both arrays, which is measured in turns with it, because neighbours on the
/// machine make both vary.
///
/// usage: compare_bench [MiB]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "memory_read.hpp"
#include "src/compare/comparison.hpp"

using namespace opdump;

namespace {

struct Memory final : compare::ElementSource {
  explicit Memory(const std::vector<float>& values)
      : data(reinterpret_cast<const std::byte*>(values.data())) {}
  const std::byte* read(std::uint64_t offset, std::size_t, std::byte*) const override {
    return data + offset;
  }
  void drop(std::uint64_t, std::size_t) const override {}
  const std::byte* data;
};

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t size = (argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 64) << 20;
  const std::size_t count = size / sizeof(float);
  std::vector<float> x(count), y(count);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = normal(random);
    y[i] = x[i] * (1 + 0.001F * x[(i * 7 + 1) % (i + 1)]);
  }
  const Memory x_memory(x), y_memory(y);
  const compare::ComparedArray mine{.source = &x_memory, .dtype = DType::float32, .item_bits = 32};
  const compare::ComparedArray golden{.source = &y_memory, .dtype = DType::float32, .item_bits = 32};
  constexpr struct {
    const char* name;
    StatisticsLevel level;
  } kLevels[] = {{"avx512", StatisticsLevel::avx512},
                 {"avx2", StatisticsLevel::avx2},
                 {"sse2", StatisticsLevel::sse2},
                 {"neon", StatisticsLevel::neon},
                 {"portable", StatisticsLevel::portable}};
  const unsigned processors = std::max(1U, std::thread::hardware_concurrency());

  std::printf("comparison of 2 x %zu MiB float32; ratio: of one thread's read bandwidth, median of turns\n",
              size >> 20);
  std::printf("%-10s%10s%10s%10s%10s\n", "kernels", "threads", "read GB/s", "GB/s", "ratio");
  for (const auto& [name, level] : kLevels) {
    const compare::PairKernels* const kernels = compare::pair_kernels(level);
    if (kernels == nullptr) continue;
    for (unsigned threads = 1; threads <= processors;
         threads = threads == 1 && processors > 1 ? processors : processors + 1) {
      std::vector<double> read, ratio;
      std::uint64_t sum = 0;
      double cosine = 0;
      for (int round = 0; round < 11; ++round) {
        const auto words = [](const std::vector<float>& values) {
          return reinterpret_cast<const std::uint64_t*>(values.data());
        };
        const double plain =
            seconds_of([&] { sum += read_plainly(words(x), size / 8) + read_plainly(words(y), size / 8); });
        const double ahead =
            seconds_of([&] { sum += read_ahead(words(x), size / 8) + read_ahead(words(y), size / 8); });
        const double compared = seconds_of(
            [&] { cosine += compare::compare(mine, golden, count, threads, *kernels)->cosine_similarity; });
        read.push_back(2 * static_cast<double>(size) / std::min(plain, ahead));
        ratio.push_back(std::min(plain, ahead) / compared);
      }
      if (sum == 1 || cosine == 0.5) std::puts("");
      std::printf("%-10s%10u%10.2f%10.2f%10.2f\n", name, threads, median(read) / 1e9,
                  median(read) * median(ratio) / 1e9, median(ratio));
    }
  }
}
