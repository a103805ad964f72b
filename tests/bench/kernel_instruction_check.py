#!/usr/bin/env python3
"""Instructions for each element that the AVX2 kernels of statistics and comparisons run, counted while they do.

Usage: kernel_instruction_check.py COMPILER SOURCE_ROOT
"""
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ELEMENTS = 16384
# With g++ 12 and with clang++ 14, and 5 % besides.
LIMITS = {
    'statistics of float32': (2.06, 1.99),
    'statistics of float16': (1.16, 1.20),
    'statistics of bfloat16': (1.36, 1.42),
    'statistics of float64': (3.83, 4.03),
    'statistics of int64': (3.93, 4.38),
    'statistics of int64 beyond 2^49': (6.01, 5.96),
    'pairs': (5.38, 4.90),
    'divergence': (3.74, 3.97),
    'units in the last place': (2.24, 2.55),
    'closer look': (5.23, 7.19),
}
SOURCES = ('src/kernels/statistics/kernels_avx2.cpp', 'src/kernels/pairs/pair_kernels_avx2.cpp', 'src/kernels/pairs/pair_kernels.cpp')
SOURCE = """
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "src/kernels/pairs/pair_kernel_tables.hpp"
#include "src/kernels/statistics/kernel_tables.hpp"

using namespace opdump;

constexpr std::size_t kElements = 16384;
alignas(64) static std::int64_t integers[kElements];
alignas(64) static double doubles[kElements];
alignas(64) static float x[kElements], y[kElements];
alignas(64) static std::uint16_t float16s[kElements], bfloat16s[kElements];
static std::uint64_t open[kElements / 64];
static FloatLanes lanes;
static HalfLanes half_lanes;
static FloatRun run;
static WideRun wide_run;

template <class Element>
const std::byte* bytes(const Element* elements) {
  return reinterpret_cast<const std::byte*>(elements);
}

extern "C" [[gnu::noinline]] std::size_t counted(std::size_t which) {
  const StatisticsKernels& statistics = kAvx2Kernels;
  const compare::PairKernels& pairs = compare::kAvx2Pairs;
  compare::PairSums sums;
  compare::DivergenceSums divergence;
  compare::ExactSums exact;
  compare::CloseCounts close;
  const compare::CloseLimits limits = {.absolute_at = 2e-2F, .absolute_above = 1, .relative_at = 1e-2F, .relative_above = 1};
  switch (which) {
    case 0:
      return statistics.float32(bytes(x), kElements, lanes, run);
    case 1:
      return statistics.float16(bytes(float16s), kElements, half_lanes, run);
    case 2:
      return statistics.bfloat16(bytes(bfloat16s), kElements, half_lanes, run);
    case 3:
      return statistics.float64(bytes(doubles), kElements, lanes, run);
    case 4:
    case 5:
      return statistics.int64(bytes(integers), kElements, lanes, wide_run);
    case 6:
      pairs.add_pairs_in_runs(x, y, kElements, sums);
      return sums.x_max > sums.x_min ? kElements : 0;
    case 7:
      pairs.add_divergence(x, y, kElements, compare::ShareOf::range(-8, 8), compare::ShareOf::range(-8, 8), divergence);
      return divergence.p > 0 ? kElements : 0;
    case 8:
      pairs.add_exact_float32(bytes(x), bytes(y), kElements, exact);
      return exact.max_ulp > 0 ? kElements : 0;
    default:
      pairs.add_close(x, y, kElements, limits, close, open);
      return close.less_near > close.near ? kElements : 0;
  }
}

int main(int, char** argv) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 77;
  const std::size_t which = std::strtoul(argv[1], nullptr, 10);
  for (std::size_t i = 0; i < kElements; ++i) {
    const float value = static_cast<float>(std::sin(static_cast<double>(i)) * 7);
    x[i] = value;
    y[i] = value * (1 + 0.004F * static_cast<float>(std::cos(static_cast<double>(7 * i))));
    doubles[i] = static_cast<double>(value);
    integers[i] = static_cast<std::int64_t>(value * 1e6F) << (which == 5 ? 32 : 0);
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bfloat16s[i] = static_cast<std::uint16_t>(bits >> 16);
    float16s[i] = static_cast<std::uint16_t>(bits >> 31 << 15 | (0x3000 + i % 0x1800));
  }
  return counted(which) == kElements ? 0 : 1;
}
"""


def count(program, folder, which):
    """Instructions of one call, those it calls included."""
    out = f'{folder}/callgrind.out'
    valgrind = ['valgrind', '-q', '--tool=callgrind', '--toggle-collect=counted', f'--callgrind-out-file={out}']
    done = subprocess.run([*valgrind, program, str(which)], check=False)
    if done.returncode == 77:
        print('there is no AVX2')
        sys.exit(77)
    if done.returncode != 0:
        return None
    return int(re.search(r'^summary: (\d+)', pathlib.Path(out).read_text(), re.MULTILINE).group(1))


def main():
    compiler, root = sys.argv[1], pathlib.Path(sys.argv[2])
    if platform.machine() != 'x86_64' or shutil.which('valgrind') is None:
        print('this takes x86-64 and valgrind')
        sys.exit(77)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        program = f'{folder}/program'
        # Nothing refers to the kernels of other instruction sets but what is left out.
        flags = ['-std=c++20', '-O3', '-fno-exceptions', '-fno-rtti', '-ffunction-sections', '-fdata-sections', '-Wl,--gc-sections']
        subprocess.run([compiler, *flags, f'-I{root}/include', f'-I{root}', *(f'{root}/{source}' for source in SOURCES), '-xc++', '-',
                        '-o', program], input=SOURCE, text=True, check=True)
        for which, (what, limits) in enumerate(LIMITS.items()):
            most = limits['clang' in pathlib.Path(compiler).name]
            instructions = count(program, folder, which)
            if instructions is None:
                failed = True
                print(f'{what}: failed: the kernel did not take all elements')
                continue
            each = instructions / ELEMENTS
            print(f'{what}: {each:.2f} instructions for each')
            if not 0.5 < each <= most:
                failed = True
                print(f'  failed: at most {most:g}')
    sys.exit(failed)


if __name__ == '__main__':
    main()
