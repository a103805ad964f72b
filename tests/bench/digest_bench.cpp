/// Speed of the digests, beside that of memcpy on one thread, which is measured in turns with it, because
/// neighbours on the machine make both vary.
///
/// usage: digest_bench [MiB]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "opdump/base/crc32c.hpp"
#include "opdump/base/digest.hpp"
#include "opdump/base/xxh3.hpp"
#include "turns.hpp"

using namespace opdump;
using namespace opdump::bench;

namespace {

template <class Digest>
void digest(Digest sum, Bytes bytes, std::size_t piece, std::byte& sink) {
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    sum.add(bytes.subspan(at, std::min(piece, bytes.size() - at)));
  std::byte result[Digest::kBytes];
  sum.finish(result);
  sink ^= result[0];
}

template <class Digest>
void measure(const char* name, Digest sum, Bytes bytes, std::vector<std::byte>& copy) {
  constexpr int kRounds = 11;
  constexpr std::size_t kChunk = 4096;
  std::vector<double> copied, whole, chunks;
  std::byte sink{};
  for (int round = 0; round < kRounds; ++round) {
    const double size = static_cast<double>(bytes.size());
    copied.push_back(size / thread_seconds_of([&] {
                       std::memcpy(copy.data(), bytes.data(), bytes.size());
                       // Or the compiler would see that nobody reads it.
                       asm volatile("" : : "r"(copy.data()) : "memory");
                     }));
    whole.push_back(size / thread_seconds_of([&] { digest(sum, bytes, bytes.size(), sink); }));
    chunks.push_back(size / thread_seconds_of([&] { digest(sum, bytes, kChunk, sink); }));
  }
  if (sink == std::byte{0x55}) std::puts("");
  std::printf("%-18s%12.2f%10.2f%10.2f%16.2f\n", name, median(copied) / 1e9, median(whole) / 1e9,
              median(whole) / median(copied), median(chunks) / 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t size = (argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 64) << 20;
  std::vector<std::byte> bytes(size);
  std::vector<std::byte> copy(size);
  std::mt19937 random(1);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  std::printf("digests of %zu MiB, one thread; medians of turns\n", size >> 20);
  std::printf("%-18s%12s%10s%10s%16s\n", "digest", "memcpy GB/s", "GB/s", "ratio", "in 4 KiB chunks");
  measure("crc32c", Crc32c(crc32c_kernel()), bytes, copy);
  measure("crc32c, portable", Crc32c(), bytes, copy);
  measure("xxh3", Xxh3(), bytes, copy);
  measure("md5", Md5(), bytes, copy);
}
