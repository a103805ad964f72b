#!/bin/sh
# Lets libFuzzer look for inputs that break the readers of files from outside. See --help.

set -eu
cd "$(dirname "$0")/../.."

help() {
  cat <<'END'
usage: sh tests/fuzz/run.sh [--seconds N] [TARGET...]

Builds each target with clang's libFuzzer and its address and undefined behaviour sanitizers under build/fuzz, and
runs it from the seeds in tests/fuzz/corpus. What is found stays in build/fuzz.

  TARGET       nano, proto, npy, op_debug, csv, dbg, image, config, model, card or container; all by default
  --seconds N  for each target; default: 600
  --help       this text

environment
  CLANGXX      the compiler; default: clang++

The exit status is 1 if a target found something.
END
}

seconds=600
targets=
while [ $# -gt 0 ]; do
  case $1 in
    --seconds)
      seconds=${2:?}
      shift
      ;;
    --help)
      help
      exit 0
      ;;
    nano | proto | npy | op_debug | csv | dbg | image | config | model | card | container) targets="$targets $1" ;;
    *)
      echo "unknown argument '$1'; see 'sh tests/fuzz/run.sh --help'" >&2
      exit 2
      ;;
  esac
  shift
done
[ -n "$targets" ] || targets='nano proto npy op_debug csv dbg image config model card container'

# The readers and what they stand on, compiled once.
flags='-std=c++20 -O1 -g -fno-sanitize-recover=all -Iinclude -I. -DSIMDJSON_EXCEPTIONS=0 -DOPDUMP_TOOL_ZLIB=0'
mkdir -p build/fuzz/objects
echo '== readers: building'
ls src/tool/cli/*.cpp src/tool/read/*/*.cpp src/card/*.cpp \
  src/attach/onnx_nodes.cpp platform/ascend/nano/dbg_file.cpp src/config/*.cpp src/config/*/*.cpp src/format/*.cpp src/kernels/*.cpp \
  src/kernels/statistics/*.cpp platform/flashlog/*.cpp platform/flashlog/impl/*.cpp platform/posix/base/*.cpp \
  platform/storage/*.cpp |
  xargs -P 2 -I '{}' sh -c 'exec "$@" -o "build/fuzz/objects/$(echo "{}" | tr / _).o" -c "{}"' - \
    ${CLANGXX:-clang++} $flags -fsanitize=fuzzer-no-link,address,undefined
rm -f build/fuzz/readers.a
ar rcs build/fuzz/readers.a build/fuzz/objects/*.o

failed=0
for target in $targets; do
  folder=build/fuzz/$target
  mkdir -p "$folder/corpus"
  echo "== $target: building"
  # shellcheck disable=SC2086  # a list of options
  ${CLANGXX:-clang++} $flags -fsanitize=fuzzer,address,undefined "tests/fuzz/${target}_fuzz.cpp" build/fuzz/readers.a \
    -lsimdjson -ldl -pthread -o "$folder/fuzz"
  echo "== $target: $seconds seconds"
  # What the sanitizer keeps of memory that is free again would reach a limit of memory by itself in some minutes.
  ASAN_OPTIONS=quarantine_size_mb=16 "$folder/fuzz" -max_total_time="$seconds" -max_len=4096 -malloc_limit_mb=64 \
    -rss_limit_mb=2048 -timeout=60 -print_final_stats=1 \
    -artifact_prefix="$folder/" "$folder/corpus" "tests/fuzz/corpus/$target" >"$folder/log" 2>&1 || {
    failed=1
    tail -n 30 "$folder/log"
  }
  grep -E "stat::number_of_executed_units|stat::peak_rss_mb" "$folder/log" || true
done
exit $failed
