/// Speed of `opdump compare`'s engine, the vendor's ten measures and equality together, and "all" that can be asked
/// for, as a fraction of one thread's memory read bandwidth over both arrays, which is measured in turns with it,
/// because neighbours on the machine make both vary. The divergence needs the extremes, so everything is read twice:
/// a row tells how fast that would be if there were nothing to compute.
///
/// usage: compare_bench [MiB]
#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "memory_read.hpp"
#include "src/tool/judge/compare/comparison.hpp"
#include "turns.hpp"

using namespace opdump;
using namespace opdump::bench;

namespace {

struct Memory final : compare::ElementSource {
  explicit Memory(const std::vector<float>& values)
      : data(reinterpret_cast<const std::byte*>(values.data())) {}
  const std::byte* read(std::uint64_t offset, std::size_t, std::byte*) const override {
    return data + offset;
  }
  const std::byte* data;
};

const std::uint64_t* words(const std::vector<float>& values) {
  return reinterpret_cast<const std::uint64_t*>(values.data());
}

/// Reads both arrays `passes` times, each thread its own part of them.
std::uint64_t read_both(const std::vector<float>& x, const std::vector<float>& y, unsigned threads,
                        int passes) {
  const std::size_t share = x.size() * sizeof(float) / sizeof(std::uint64_t) / threads;
  std::atomic<std::uint64_t> sum{0};
  for (int pass = 0; pass < passes; ++pass) {
    const auto work = [&](unsigned thread) {
      sum += read_ahead(words(x) + thread * share, share) + read_ahead(words(y) + thread * share, share);
    };
    std::vector<std::thread> helpers;
    for (unsigned i = 1; i < threads; ++i) helpers.emplace_back(work, i);
    work(0);
    for (std::thread& helper : helpers) helper.join();
  }
  return sum;
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
  constexpr std::pair<const char*, StatisticsLevel> kLevels[] = {{"avx2", StatisticsLevel::avx2},
                                                                 {"neon", StatisticsLevel::neon},
                                                                 {"portable", StatisticsLevel::portable}};
  const unsigned processors = std::max(1U, std::thread::hardware_concurrency());

  std::printf("comparison of 2 x %zu MiB float32; ratio: of one thread's read bandwidth, median of turns\n",
              size >> 20);
  std::printf("%-14s%8s%10s%10s%10s\n", "kernels", "threads", "read GB/s", "GB/s", "ratio");
  std::uint64_t sum = 0;
  double cosine = 0;
  const auto measure = [&](const std::string& name, unsigned threads, const auto& work) {
    std::vector<double> read, ratio;
    for (int round = 0; round < 11; ++round) {
      const double plain = wall_seconds_of(
          [&] { sum += read_plainly(words(x), size / 8) + read_plainly(words(y), size / 8); });
      const double ahead = wall_seconds_of([&] { sum += read_both(x, y, 1, 1); });
      const double done = wall_seconds_of([&] { work(threads); });
      read.push_back(2 * static_cast<double>(size) / std::min(plain, ahead));
      ratio.push_back(std::min(plain, ahead) / done);
    }
    std::printf("%-14s%8u%10.2f%10.2f%10.2f\n", name.c_str(), threads, median(read) / 1e9,
                median(read) * median(ratio) / 1e9, median(ratio));
  };
  const auto with_threads = [&](const std::string& name, const auto& work) {
    measure(name, 1, work);
    if (processors > 1) measure(name, processors, work);
  };
  with_threads("read twice", [&](unsigned threads) { sum += read_both(x, y, threads, 2); });
  for (const auto& [name, level] : kLevels) {
    const compare::PairKernels* const kernels = compare::pair_kernels(level);
    if (kernels == nullptr) continue;
    for (const compare::Closer closer : {compare::Closer::never, compare::Closer::always}) {
      const bool all = closer == compare::Closer::always;
      with_threads(std::string(name) + (all ? ", all" : ""), [&](unsigned threads) {
        cosine += compare::compare(mine, golden, count, threads, closer, *kernels)->cosine_similarity;
      });
    }
  }
  // So that nothing is left out as unused.
  std::printf("(sum %016" PRIx64 ", cosine %.6f)\n", sum, cosine);
}
