#!/bin/sh
# Installs what the tests need, builds opdump and runs its tests. See --help.

set -eu
cd "$(dirname "$0")/.."
. examples/build_tools.sh
. tests/firmware/run.sh

help() {
  cat <<END
usage: sh tests/run.sh [--all | ROOM... | --firmware [TARGET...]]

Builds opdump under build/tests as users do, with the default options, runs its tests, and runs the unit tests once more
with the address and undefined behaviour sanitizers. Of what a test tries out exhaustively it takes one in ten. Some
20 minutes on two processors. Missing tools are installed with apt-get where there is one.

  --all       everything, which takes longer: every case of a test, models and mutants of the ring, runtimes, a browser,
              the quickstart, packages, sizes, RTOSes, the machine of a kernel, emulated boards; the release build; unit and
              tool tests with the address and undefined behaviour sanitizers; unit tests with clang's thread sanitizer
  ROOM...     the tests of these rooms: those of that suite (a folder of tests/unit, flashlog, seal, tool, interop, package,
              ...) and those that are named so (compare, verify, extract, ...), in the build without sanitizers
  --firmware  instead of these, build for other machines and run the tests there, emulated: all, or some of
              $firmware_boards
              $firmware_linux
  --help      this text

environment
  OPDUMP_MODELS     folders with .onnx and .tflite models, with ":" between them: each is described
  OPDUMP_MSACCUCMP  folder of the vendor's msaccucmp, or its msaccucmp.py: it has to read our dumps
  OPDUMP_MSPROBE    folder of msprobe's package; where OPDUMP_MSACCUCMP lies in it if not said: it has to take the
                    names and tables of MindSpore's layouts, and 'opdump compare' has to read what its writer makes
  OPDUMP_NANO_PY    nano.py, an independent reader of nano records: it has to read ours too
  OPDUMP_GE         folder with what was built of the vendor's nano executor (tests/interop/nano_executor_test.py
                    says what): it has to run with our libge_dbg
  OPDUMP_GGML       libggml-base.so of llama.cpp: its cards have to name the same operators
  OPDUMP_ORT_HEADERS  folder with onnxruntime_c_api.h, whose numbers the adapter for ONNX Runtime repeats
  OPDUMP_STORAGE_NODES  nodes such as /dev/mtd0 whose bytes may be lost: dumps are written to them
  OPDUMP_DEBIAN     not empty: builds the Debian packages, and as root installs and purges them; --all sets it if it is not
                    set
  OPDUMP_KERNEL     a folder into which Debian's packages linux-image-*-amd64, busybox-static and mtd-utils were
                    unpacked, for --all; they are downloaded otherwise
  OPDUMP_SPDX_SCHEMA  the schema of SPDX 2.3 in JSON: the bill of materials of the build has to keep it
  OPDUMP_FIRMWARE_KILLS  how often --firmware kills each of five boards; 20 by default
  OPDUMP_FREERTOS   checkout of FreeRTOS's kernel (GitHub FreeRTOS/FreeRTOS-Kernel): its tasks have to capture and
                    drain on a Cortex-M3
  CXX               the compiler of the build without sanitizers
  OPDUMP_CANN_INCLUDE  folder of CANN's headers, which holds acl/acl_rt.h: opdump's have to compile with them
  OPDUMP_ASCEND_RECORDS  how many records the simulated Ascend device copies in random order; 2000 by default
  OPDUMP_NANO_EVENTS  how many events of the mailbox libdatadump takes in random order; 100000 by default
  OPDUMP_FLASH_CUTS  any value: more than a million losses of power in the flash log's tests, and a million
                     records; 'full': at every byte, and again at every byte of the recovery
Tests that need something that is not there are skipped, and listed with what to install or set; OpenCL, libsodium and
mbed TLS are installed if they can be.

The last line is 'N passed, N failed'. The exit status is 1 if anything failed.
END
}

all=no firmware=no
targets=
rooms=
for argument; do
  case $argument in
    --all) all=yes ;;
    --firmware) firmware=yes ;;
    [a-z]*) if [ "$firmware" = yes ]; then targets="$targets $argument"; else rooms="$rooms $argument"; fi ;;
    --help)
      help
      exit 0
      ;;
    *) fail "unknown argument '$argument'; see 'sh tests/run.sh --help'" ;;
  esac
done
for target in $targets; do
  case " $firmware_boards $firmware_linux " in
    *" $target "*) ;;
    *) fail "there is no target '$target', but: $firmware_boards $firmware_linux" ;;
  esac
done
[ "$all$firmware" != yesyes ] && { [ -z "$rooms" ] || [ "$all" = no ]; } ||
  fail "--all, --firmware and rooms do not go together; see 'sh tests/run.sh --help'"

has_doctest() {
  printf '%s\n' '#include <doctest/doctest.h>' | ${CXX:-c++} -x c++ -fsyntax-only -
}

# has_python MODULE. The Python tests look for it in these two (tests/support/system_python.py).
has_python() {
  for python in python3 /usr/bin/python3; do
    "$python" -c "import $1" && return 0
  done
  return 1
}

has_kconfiglib() {
  has_python kconfiglib
}

has_abidiff() {
  command -v abidiff
}

# Those that read what the packages bring along.
has_manual_readers() {
  command -v groff && command -v zsh
}

has_valgrind() {
  command -v valgrind
}

has_pc() {
  command -v qemu-system-x86_64
}

has_oldest_compiler() {
  command -v g++-11
}

has_relacy() {
  printf '%s\n' '#include <relacy/relacy.hpp>' | $CXX -std=c++20 -Wno-attributes -x c++ -fsyntax-only -
}

has_sanitizers() {
  compiles_cxx20 clang++ || return 1
  for sanitizer in address,undefined thread; do
    printf '%s\n' 'int main() {}' | clang++ -fsanitize=$sanitizer -x c++ -o build/probe - || return 1
  done
  rm build/probe
}

has_formatter() {
  command -v clang-format-14
}

has_opencl() {
  printf '%s\n' '#include <CL/cl.h>' | $CXX -x c -fsyntax-only - && pkg-config OpenCL && ls /etc/OpenCL/vendors/*.icd
}

has_sodium() {
  python3 tests/seal/sodium_there.py
}

has_mbedcrypto() {
  printf '%s\n' '#include <psa/crypto.h>' | $CXX -x c -fsyntax-only -
}

test_tools() {
  build_tools
  need doctest-dev doctest has_doctest
  [ -n "$rooms" ] || need 'clang libclang-rt-dev' 'clang++ >= 14 with its sanitizers' has_sanitizers
}

optional_tools() {
  need cmake cmake command -v cmake
  need relacy-dev 'relacy (the model checker of the ring)' has_relacy
  need protobuf-compiler 'protoc (reads our protobuf records)' command -v protoc
  need python3-numpy 'Python 3 with NumPy' has_python numpy
  need python3-pandas 'pandas (reads our statistics)' has_python pandas
}

has_optional() {
  look_for optional_tools
  [ -z "$missing_packages" ]
}

# ahead NAME MESON_OPTION...: compiles build NAME with what the processors have left over, until stop_ahead.
ahead_pid=
ahead() {
  ahead_folder=build/tests/$1
  shift
  configure "$ahead_folder" -Dtests=enabled "$@" --wrap-mode=nodownload >"$ahead_folder.log" 2>&1 || return 0
  nice -n 19 ninja -C "$ahead_folder" -j 1 >/dev/null 2>&1 </dev/null &
  ahead_pid=$!
}

stop_ahead() {
  [ -z "$ahead_pid" ] && return 0
  kill "$ahead_pid" 2>/dev/null || true
  wait "$ahead_pid" || true
  ahead_pid=
}

# A limit of a test is for one that hangs: no slow or busy machine reaches it. One test more than processors, as some wait.
test_options="--timeout-multiplier 10 --num-processes $(($(processors) + 1)) --print-errorlogs"

# run NAME MESON_TEST_OPTIONS MESON_OPTION...: adds the log of results to $results; a build that fails leaves
# none. Before the tests begin, it calls what $meanwhile says.
meanwhile=
run() {
  stop_ahead
  name=$1 selection=$2
  shift 2
  folder=build/tests/$name
  results="$results $folder/meson-logs/testlog.json"
  say "== $name: building"
  begun=$(date +%s)
  rm -f "$folder/meson-logs/testlog.json"
  build "$folder" -Dtests=enabled "$@" || return 0
  say "== $name: built in $(($(date +%s) - begun)) s, testing"
  $meanwhile
  begun=$(date +%s)
  # `configure`, which $meanwhile calls, has another folder by now.
  # shellcheck disable=SC2086  # lists of options
  meson test -C "build/tests/$name" --no-rebuild $test_options $selection || true
  say "== $name: tested in $(($(date +%s) - begun)) s"
}

# run_rooms ROOM...: the tests of these rooms, in the ordinary build, of which it compiles what they need.
run_rooms() {
  folder=build/tests/ordinary
  results=$folder/meson-logs/testlog.json
  configure "$folder" -Dtests=enabled $ordinary --wrap-mode=nodownload >"$folder.log" 2>&1 || {
    tail -n 60 "$folder.log" >&2
    return 0
  }
  rm -f "$results"
  meson introspect --tests "$folder" | python3 tests/rooms.py "$@" >"$folder.rooms" || exit 2
  while IFS= read -r name; do set -- "$@" "$name"; done <"$folder.rooms"
  shift "$(($# - $(wc -l <"$folder.rooms")))"
  # shellcheck disable=SC2086  # a list of options
  meson test -C "$folder" $test_options "$@" || true
}

# build_release: adds to $results whether the build compiles that the quickstart advises.
build_release() {
  log=build/tests/release/meson-logs/testlog.json
  results="$results $log"
  say '== release: building'
  result=FAIL
  if build build/tests/release --buildtype release -Dtests=disabled; then result=OK; fi
  mkdir -p "${log%/*}"
  printf '{"name": "release build", "result": "%s"}\n' "$result" >"$log"
}

mkdir -p build
ensure test_tools
# shellcheck disable=SC2086  # a list of packages
has_optional >build/probe 2>&1 || try_to_have "$missing_tools" has_optional $missing_packages
[ "$firmware" = yes ] || try_to_have 'OpenCL with a device' has_opencl pocl-opencl-icd ocl-icd-opencl-dev
[ "$firmware" = yes ] || try_to_have libsodium has_sodium libsodium23
[ "$firmware" = yes ] || try_to_have 'mbed TLS' has_mbedcrypto libmbedtls-dev
[ "$firmware" = yes ] || try_to_have 'clang-format 14' has_formatter clang-format-14

# The leak check of clang 14 may crash in the thread-local blocks of a thread that has just ended, once in hundreds of
# runs (google/sanitizers#1267, mended in LLVM 17); without intercept_tls_get_addr it leaves them alone.
export ASAN_OPTIONS="${ASAN_OPTIONS-halt_on_error=1:detect_stack_use_after_return=1:intercept_tls_get_addr=0}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS-halt_on_error=1:print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS-halt_on_error=1}"

[ "$all" = no ] || try_to_have 'arm-none-eabi-g++ with its C++ library, and qemu-system-arm' has_bare_metal \
  gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm
[ "$all" = no ] || try_to_have 'the oldest g++ that is taken' has_oldest_compiler g++-11
[ "$all" = no ] || try_to_have valgrind has_valgrind valgrind
[ "$all" = no ] || try_to_have 'groff and zsh' has_manual_readers groff zsh
[ "$all" = no ] || try_to_have 'abidiff of libabigail' has_abidiff abigail-tools
[ "$all" = no ] || try_to_have 'Kconfig of Zephyr and ESP-IDF' has_kconfiglib python3-kconfiglib
[ "$all" = no ] || try_to_have 'QEMU for PCs' has_pc qemu-system-x86

# Of the build that users make, with one in ten of what is tried out exhaustively and without the tests that take minutes.
ordinary='-Dslow_tests=false -Dtest_share=10'

# clang compiles what the sanitizers add in half of GCC's time, and unoptimised in a third of its own. Files share
# translation units, and nothing is told to debuggers beyond lines. The vptr check needs type information, which the
# library is built without.
sanitized='-Dunity=on -Dunity_size=30 -Db_pch=false -Ddebug=false -Db_lundef=false'
# shellcheck disable=SC2086  # a list of options
of_address() {
  CC=clang CXX=clang++ "$@" $sanitized -Doptimization=0 '-Dcpp_args=-g1 -fno-sanitize=vptr' \
    -Db_sanitize=address,undefined
}
# shellcheck disable=SC2086  # a list of options
of_thread() {
  CC=clang CXX=clang++ "$@" $sanitized -Doptimization=1 -Dcpp_args=-g1 -Db_sanitize=thread -Dtool=disabled
}

trap stop_ahead EXIT
trap 'exit 130' INT TERM
results=
# While tests run, the next build is compiled: tests wait now and then, and the last of them is alone.
# shellcheck disable=SC2086  # lists of options and of rooms
if [ "$firmware" = yes ]; then
  run_firmware $targets
elif [ -n "$rooms" ]; then
  run_rooms $rooms
elif [ "$all" = no ]; then
  meanwhile='of_address ahead address -Dslow_tests=false -Dtool=disabled'
  run ordinary '' $ordinary
  meanwhile=
  of_address run address '--suite unit' -Dslow_tests=false -Dtool=disabled
else
  export OPDUMP_DEBIAN="${OPDUMP_DEBIAN-1}"
  meanwhile='of_address ahead address'
  run whole ''
  meanwhile='of_thread ahead thread'
  of_address run address '--suite unit --suite tool'
  meanwhile=
  of_thread run thread '--suite unit'
  build_release
fi

say "logs: build/tests/*/meson-logs/testlog.txt"
# shellcheck disable=SC2086  # a list of files
python3 tests/tally.py $results
