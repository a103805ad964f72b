# shellcheck shell=sh
# Sourced by tests/run.sh: builds and tests opdump for other machines, emulated by QEMU.

firmware_boards='cortex-m0 cortex-m3 cortex-m55 cortex-a9 cortex-a15'
firmware_linux='aarch64 armhf riscv64 s390x'

has_bare_metal() {
  command -v qemu-system-arm &&
    printf '%s\n' '#include <vector>' |
    arm-none-eabi-g++ -std=c++20 -mcpu=cortex-m3 -mthumb -x c++ -fsyntax-only - &&
    [ -f "$(arm-none-eabi-g++ -mcpu=cortex-m3 -mthumb -print-file-name=libstdc++.a)" ]
}

has_rv32() {
  printf '%s\n' '#include <string.h>' |
    riscv64-unknown-elf-g++ -march=rv32imc -mabi=ilp32 --specs=picolibc.specs -x c++ -fsyntax-only -
}

firmware_tools() {
  need 'gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm' \
    'arm-none-eabi-g++ with its C++ library, and qemu-system-arm' has_bare_metal
  need qemu-user-static qemu-user-static command -v qemu-s390x-static
  need g++-aarch64-linux-gnu 'g++ for aarch64' command -v aarch64-linux-gnu-g++
  need g++-arm-linux-gnueabihf 'g++ for armhf' command -v arm-linux-gnueabihf-g++
  need g++-riscv64-linux-gnu 'g++ for riscv64' command -v riscv64-linux-gnu-g++
  need g++-s390x-linux-gnu 'g++ for s390x' command -v s390x-linux-gnu-g++
  need 'gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf' 'g++ for rv32, with picolibc' has_rv32
  need clang 'clang++ >= 14' compiles_cxx20 clang++
}

# Puts simdjson where Meson's fallback looks for it: the source that Debian builds, which has no package for
# another machine beside this one's. Source lists of its own: the machine's need not have any.
simdjson_source() {
  cached=subprojects/packagecache/simdjson-3.0.1.tar.gz
  [ -f "$cached" ] && return 0
  mkdir -p build/apt/parts build/apt/lists subprojects/packagecache
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    [ -f "$list" ] || continue
    sed 's/^Types:.*/Types: deb-src/; s/^deb /deb-src /' "$list" >"build/apt/parts/${list##*/}"
  done
  sources="-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=$PWD/build/apt/parts
    -o Dir::State::Lists=$PWD/build/apt/lists"
  # shellcheck disable=SC2086  # a list of options
  (cd build/apt && apt-get $sources update && apt-get $sources source --download-only simdjson=3.0.1-1) \
    >>build/apt.log 2>&1 || fail 'apt-get found no source of simdjson 3.0.1: see build/apt.log'
  cp build/apt/simdjson_3.0.1.orig.tar.gz "$cached"
}

cross_files() {
  printf '[constants]\nroot = %s\nlauncher = []\n' "'$PWD'" >build/tests/root.ini
  for file; do
    printf ' --cross-file %s' "$file"
  done
}

# firmware_target TARGET: one of the words above.
firmware_target() {
  mkdir -p build/tests
  case $1 in
    cortex-*)
      # shellcheck disable=SC2046  # a list of options
      run "$1" '' $(cross_files build/tests/root.ini tests/firmware/cross/arm-none-eabi.ini \
        "tests/firmware/cross/$1.ini") -Dbuildtype=minsize -Ddebug=false -Dprofile=full
      ;;
    *)
      # shellcheck disable=SC2046  # a list of options
      run "$1" '--suite unit --timeout-multiplier 3' $(cross_files build/tests/root.ini "tests/firmware/cross/$1.ini") \
        --force-fallback-for=simdjson -Dbuildtype=debugoptimized -Ddebug=false
      ;;
  esac
}

# Compares the plans of all configs that the machines named have printed (tests/unit/plan/plan_print.cpp) with those made
# here.
same_plans() {
  here=build/tests/ordinary
  log=build/tests/plans/meson-logs/testlog.json
  results="$results $log"
  say '== plans: the same on every machine'
  rm -f "$log"
  mkdir -p "${log%/*}"
  configure "$here" -Dtests=enabled --wrap-mode=nodownload >"$here.log" 2>&1 &&
    ninja -C "$here" tests/plan_print >>"$here.log" 2>&1 &&
    "$here/tests/plan_print" tests/data/config "$here/tests/plans.txt" || return 0
  for machine; do
    result=FAIL
    cmp "$here/tests/plans.txt" "build/tests/$machine/tests/plans.txt" && result=OK
    printf '{"name": "plans made on %s", "result": "%s"}\n' "$machine" "$result" >>"$log"
  done
}

run_firmware() {
  ensure firmware_tools
  simdjson_source
  machines=
  for target in ${*:-$firmware_boards $firmware_linux}; do
    firmware_target "$target"
    case $target in cortex-*) ;; *) machines="$machines $target" ;; esac
  done
  # shellcheck disable=SC2086  # a list of machines
  [ -z "$machines" ] || same_plans $machines
  [ $# -gt 0 ] || OPDUMP_FIRMWARE_KILLS=${OPDUMP_FIRMWARE_KILLS-20} run whole '--suite firmware'
}
