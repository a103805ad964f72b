#!/bin/sh
# Installs what the tests need, builds opdump and runs its tests. See --help.

set -eu
cd "$(dirname "$0")/.."
. examples/build_tools.sh
. tests/firmware/run.sh

help() {
  cat <<END
usage: sh tests/run.sh [--all | --firmware [TARGET...]]

Builds opdump under build/tests, unoptimised, and runs its tests. Of what a test tries out exhaustively it takes
one in ten. Missing tools are installed with apt-get where there is one.

  --all       instead of this, everything: an optimised build, whose tests try out all and to which the models and
              mutants of the ring and the stress test under its compiler's thread sanitizer belong; a build with
              the address and undefined behaviour sanitizers; and one with clang's thread sanitizer
  --quick     neither of the two, as without any option
  --firmware  instead of these, build for other machines and run the tests there, emulated: all, or some of
              $firmware_boards
              $firmware_linux
  --help      this text

environment
  OPDUMP_MODELS     folders with .onnx and .tflite models, with ":" between them: each is described
  OPDUMP_MSACCUCMP  folder of the vendor's msaccucmp, or its msaccucmp.py: it has to read our dumps
  OPDUMP_MSPROBE    folder of msprobe's package; where OPDUMP_MSACCUCMP lies in it if not said: it has to take the
                    names and tables of MindSpore's layouts, and to compare what is exported for it
  OPDUMP_POLYGRAPHY  folder of Polygraphy's package (GitHub NVIDIA/TensorRT, tools/Polygraphy): it has to load what is
                    exported for it
  OPDUMP_NANO_PY    nano.py, an independent reader of nano records: it has to read ours too
  OPDUMP_GE         folder with what was built of the vendor's nano executor (tests/interop/nano_executor_test.py
                    says what): it has to run with our libge_dbg
  OPDUMP_DEBIAN     any value: builds the Debian packages, and as root installs and purges them; --all only
  OPDUMP_KERNEL     a folder into which Debian's packages linux-image-*-amd64, busybox-static and mtd-utils were
                    unpacked, for --all; they are downloaded otherwise
  OPDUMP_SPDX_SCHEMA  the schema of SPDX 2.3 in JSON: the bill of materials of the build has to keep it
  OPDUMP_FIRMWARE_KILLS  how often --firmware kills each of five boards; 20 by default
  OPDUMP_FREERTOS   checkout of FreeRTOS's kernel (GitHub FreeRTOS/FreeRTOS-Kernel): its tasks have to capture and
                    drain on a Cortex-M3
  CXX               the compiler of the first build
  OPDUMP_CANN_INCLUDE  folder of CANN's headers, which holds acl/acl_rt.h: opdump's have to compile with them
  OPDUMP_ASCEND_RECORDS  how many records the simulated Ascend device copies in random order; 2000 by default
  OPDUMP_NANO_EVENTS  how many events of the mailbox libdatadump takes in random order; 100000 by default
  OPDUMP_FLASH_CUTS  any value: more than a million losses of power in the flash log's tests, and a million
                     records; 'full': at every byte, and again at every byte of the recovery
Tests that need something that is not there are skipped, and listed as such; OpenCL, libsodium and mbed TLS are
installed if they can be.

The last line is 'N passed, N failed'. The exit status is 1 if anything failed.
END
}

all=no firmware=no
targets=
for argument; do
  case $argument in
    --all) all=yes ;;
    --quick) all=no ;;
    --firmware) firmware=yes ;;
    [a-z]*)
      case " $firmware_boards $firmware_linux " in
        *" $argument "*) targets="$targets $argument" ;;
        *) fail "there is no target '$argument', but: $firmware_boards $firmware_linux" ;;
      esac
      ;;
    --help)
      help
      exit 0
      ;;
    *) fail "unknown argument '$argument'; see 'sh tests/run.sh --help'" ;;
  esac
done

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

has_thread_sanitizer() {
  compiles_cxx20 clang++ &&
    printf '%s\n' 'int main() {}' | clang++ -fsanitize=thread -x c++ -o build/probe - &&
    rm build/probe
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
  need cmake 'cmake (Meson finds doctest with it)' command -v cmake
  need relacy-dev 'relacy (the model checker of the ring)' has_relacy
  need protobuf-compiler 'protoc (reads our protobuf records)' command -v protoc
  need python3-numpy 'Python 3 with NumPy' has_python numpy
  need python3-pandas 'pandas (reads our statistics)' has_python pandas
  [ "$all" = no ] || need 'clang libclang-rt-dev' 'clang++ >= 14 with its sanitizers' has_thread_sanitizer
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
  rm -f "$folder/meson-logs/testlog.json"
  build "$folder" -Dtests=enabled "$@" || return 0
  say "== $name: testing"
  $meanwhile
  # A test may take three times as long as it says, so that a slow or busy machine fails none of them.
  # shellcheck disable=SC2086  # a list of options
  # One test more than processors, as some wait.
  meson test -C "build/tests/$name" --no-rebuild --timeout-multiplier 3 --num-processes "$(($(processors) + 1))" --print-errorlogs \
    $selection || true
}

[ -z "$targets" ] || [ "$firmware" = yes ] || fail 'targets come after --firmware'

mkdir -p build
ensure test_tools
[ "$firmware" = yes ] || try_to_have 'OpenCL with a device' has_opencl pocl-opencl-icd ocl-icd-opencl-dev
[ "$firmware" = yes ] || try_to_have libsodium has_sodium libsodium23
[ "$firmware" = yes ] || try_to_have 'mbed TLS' has_mbedcrypto libmbedtls-dev

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
[ "$firmware" = yes ] || try_to_have 'Kconfig of Zephyr and ESP-IDF' has_kconfiglib python3-kconfiglib
[ "$all" = no ] || try_to_have 'QEMU for PCs' has_pc qemu-system-x86

# What compiles fast: files share translation units, and nothing is told to debuggers beyond -g1.
fast='-Dunity=on -Dunity_size=30 -Ddebug=false'
results=
if [ "$firmware" = yes ]; then
  # shellcheck disable=SC2086  # a list of targets
  run_firmware $targets
elif [ "$all" = no ]; then
  # shellcheck disable=SC2086  # a list of options
  run plain '' $fast -Doptimization=0 -Dcpp_args= -Dslow_tests=false -Dtest_share=10
else
  # clang compiles what the sanitizers add in half of GCC's time, and unoptimised in a third of its own. The vptr check
  # needs type information, which the library is built without.
  sanitized="$fast -Db_lundef=false"
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
  # Tests wait now and then, and the last of them is alone: a tenth of the time of two processors.
  meanwhile='of_address ahead address'
  # -g1 is enough to name lines, and what -g adds is a quarter of GCC's time.
  # shellcheck disable=SC2086  # a list of options
  run optimised '' $fast -Doptimization=2 -Dcpp_args=-g1
  meanwhile='of_thread ahead thread'
  of_address run address '--suite unit --suite tool --timeout-multiplier 5'
  meanwhile=
  of_thread run thread '--suite unit --timeout-multiplier 5'
fi

say "logs: build/tests/*/meson-logs/testlog.txt"
# shellcheck disable=SC2086  # a list of files
python3 tests/tally.py $results
