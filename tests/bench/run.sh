#!/bin/sh
# Measures opdump beside what one could use instead, and prints one table per topic. See --help.

set -eu
cd "$(dirname "$0")/../.."
. examples/build_tools.sh

help() {
  cat <<'END'
usage: sh tests/bench/run.sh [--quick] [TOPIC...]

Builds opdump with optimisation under build/bench, runs its benchmarks and prints a table per topic. What is
missing is installed with apt-get where there is one. Times are not compared with any limit: the exit status is 1
only when something cannot be built or run.

  TOPIC     recording, file, growth, configs, statistics, digest, overflow, compare, convert or flash; all by default
  --quick   one repetition of everything instead of five
  --help    this text

environment
  OPDUMP_MSACCUCMP     folder of the vendor's msaccucmp, for the topic convert
  OPDUMP_BENCH_FOLDER  folder for the files that are written; /dev/shm if it is there, so that no disk is measured
  OPDUMP_BENCH_DISK    folder on a disk for a log that has to be durable; build/ by default
  CXX                  the compiler
END
}

repetitions=5
topics=
for argument; do
  case $argument in
    --quick) repetitions=1 ;;
    --help)
      help
      exit 0
      ;;
    recording | file | growth | configs | statistics | digest | overflow | compare | convert | flash) topics="$topics $argument" ;;
    *) fail "unknown argument '$argument'; see 'sh tests/bench/run.sh --help'" ;;
  esac
done
[ -n "$topics" ] || topics='recording file growth configs statistics digest overflow compare convert flash'

has_header() {
  printf '%s\n' "#include <$1>" | $CXX -std=c++20 -x c++ -fsyntax-only -
}

# Meson runs with its own Python; the one with NumPy may be another.
find_numpy() {
  for python in python3 /usr/bin/python3; do
    "$python" -c 'import numpy' 2>/dev/null && return 0
  done
  return 1
}

bench_tools() {
  build_tools
  need libbenchmark-dev google-benchmark pkg-config --exists benchmark
}

peers() {
  need nlohmann-json3-dev nlohmann::json has_header nlohmann/json.hpp
  need python3-numpy NumPy find_numpy
}

mkdir -p build
ensure bench_tools
# The peers are a matter of choice: without one there is a row less.
(ensure peers) || say 'going on without them'
look_for peers
[ -z "$missing_tools" ] || say "not measured, because it is missing: $missing_tools"

if [ -z "${OPDUMP_BENCH_FOLDER:-}" ]; then
  OPDUMP_BENCH_FOLDER=$PWD/build
  [ ! -d /dev/shm ] || [ ! -w /dev/shm ] || OPDUMP_BENCH_FOLDER=/dev/shm
fi
scratch=$(mktemp -d "$OPDUMP_BENCH_FOLDER/opdump-bench-XXXXXX")
disk_scratch=$(mktemp -d "${OPDUMP_BENCH_DISK:-$PWD/build}/opdump-bench-XXXXXX")
trap 'rm -rf "$scratch" "$disk_scratch"' EXIT
export OPDUMP_BENCH_FOLDER="$scratch" OPDUMP_BENCH_DISK="$disk_scratch"

folder=build/bench
say "== building $folder"
build "$folder" -Dbenchmarks=enabled -Dtests=disabled -Dtool=enabled -Dexamples=disabled -Dbuildtype=release -Db_ndebug=true || exit 1

results=
for topic in $topics; do
  say "== measuring: $topic"
  if [ "$topic" = configs ]; then
    "$folder/tests/bench/config_bench" || fail 'the benchmark failed'
    continue
  fi
  if [ "$topic" = overflow ] || [ "$topic" = flash ] || [ "$topic" = digest ]; then
    "$folder/tests/bench/${topic}_bench" || fail 'the benchmark failed'
    continue
  fi
  if [ "$topic" = statistics ]; then
    "$folder/tests/bench/statistics_bench" >"$folder/statistics.txt" || fail 'the benchmark failed'
    cat "$folder/statistics.txt"
    if find_numpy; then
      "$python" tests/bench/numpy_statistics.py "$folder/statistics.txt" "$repetitions" || fail 'the benchmark failed'
    fi
    continue
  fi
  if [ "$topic" = convert ]; then
    find_numpy || say 'not measured: msaccucmp, which needs NumPy'
    "$python" tests/bench/convert_bench.py "$folder/src/tool/opdump" "$folder/tests/bench/convert_floor" "$scratch" \
      "$repetitions" ||
      fail 'the benchmark failed'
    continue
  fi
  if [ "$topic" = compare ]; then
    "$folder/tests/bench/compare_bench" || fail 'the benchmark failed'
    if find_numpy; then
      "$python" tests/bench/numpy_compare.py "$folder/src/tool/opdump" "$scratch" "$repetitions" || fail 'the benchmark failed'
    fi
    continue
  fi
  if [ "$topic" = recording ]; then
    if find_numpy; then
      "$python" tests/bench/numpy_save.py "$scratch" "$repetitions" >"$folder/numpy.json"
      results="$results $folder/numpy.json"
    fi
  fi
  "$folder/tests/bench/${topic}_bench" --benchmark_repetitions=$repetitions \
    --benchmark_enable_random_interleaving=true --benchmark_out_format=json \
    --benchmark_out="$folder/$topic.json" >"$folder/$topic.log" 2>&1 || {
    tail -n 20 "$folder/$topic.log" >&2
    fail "the benchmark failed, see above and $folder/$topic.log"
  }
  grep '^not measured' "$folder/$topic.log" || true
  results="$folder/$topic.json $results"
done

if [ -n "$results" ]; then
  say "medians of $repetitions, files in ${scratch%/*}, $(processors) processors"
  # shellcheck disable=SC2086  # a list of files
  python3 tests/bench/report.py $results
fi
