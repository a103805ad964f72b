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

failed=0
for target in $targets; do
  case $target in
    nano | proto) sources='src/tool/read/dump/npy_array.cpp src/tool/read/dump/elements.cpp src/format/relayout.cpp' ;;
    npy) sources='src/tool/cli/decimal.cpp src/tool/read/dump/lite_name.cpp src/tool/read/dump/npy_header.cpp src/tool/read/dump/record_name.cpp src/format/relayout.cpp' ;;
    op_debug) sources='src/card/json_writer.cpp src/tool/read/overflow/op_debug.cpp' ;;
    csv) sources='src/tool/read/dump/mapping_file.cpp' ;;
    dbg) sources='src/nano/dbg_file.cpp' ;;
    image) sources='src/tool/read/flash/flash_image.cpp platform/flashlog/log_reader.cpp platform/flashlog/impl/log_runs.cpp platform/flashlog/impl/lost_blocks.cpp platform/posix/base/flash_file.cpp platform/storage/raw_storage.cpp' ;;
    model) sources='src/card/*.cpp src/attach/onnx_nodes.cpp src/tool/read/card/onnx_*.cpp src/tool/read/card/tflite_file.cpp src/tool/cli/decimal.cpp src/tool/read/dump/elements.cpp' ;;
    card)
      sources='src/tool/read/run/dbg_model.cpp src/tool/read/run/json_fields.cpp src/tool/read/run/quantisation_reader.cpp src/tool/read/run/regular_file.cpp'
      sources="$sources src/tool/read/run/run_fault_reader.cpp src/tool/read/run/run_file.cpp src/tool/read/run/run_tensor_reader.cpp"
      sources="$sources src/tool/cli/decimal.cpp src/config/text/display_text.cpp"
      sources="$sources src/tool/cli/messages.cpp src/tool/cli/refused_line.cpp src/tool/read/dump/block_format.cpp"
      sources="$sources src/tool/read/dump/elements.cpp src/tool/read/dump/lite_name.cpp src/tool/read/dump/npy_header.cpp"
      sources="$sources src/tool/read/dump/record_name.cpp src/nano/dbg_file.cpp"
      sources="$sources src/config/json/*.cpp src/config/refusal.cpp src/config/config_error.cpp"
      sources="$sources -DSIMDJSON_EXCEPTIONS=0 -lsimdjson"
      ;;
    container)
      sources='src/tool/read/card/onnx_tensor.cpp src/tool/judge/compare/array_container.cpp src/tool/cli/decimal.cpp'
      sources="$sources src/tool/read/dump/array_form.cpp src/tool/read/dump/npy_header.cpp"
      sources="$sources src/format/relayout.cpp src/config/json/*.cpp src/config/refusal.cpp"
      sources="$sources src/config/config_error.cpp -DSIMDJSON_EXCEPTIONS=0 -lsimdjson"
      ;;
    config) sources="$(ls src/config/*.cpp src/config/*/*.cpp | grep -v /text/ | tr '\n' ' ') -DSIMDJSON_EXCEPTIONS=0 -lsimdjson" ;;
  esac
  folder=build/fuzz/$target
  mkdir -p "$folder/corpus"
  echo "== $target: building"
  # shellcheck disable=SC2086  # a list of files
  ${CLANGXX:-clang++} -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
    -Iinclude -I. "tests/fuzz/${target}_fuzz.cpp" $sources -o "$folder/fuzz"
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
