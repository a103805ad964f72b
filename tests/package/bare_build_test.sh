#!/bin/sh
# usage: bare_build_test.sh SOURCE_ROOT CONFIGURATIONS COMPILER...
# opdump without any build system: a user copies include/, the platform folders and the .cpp files of the sink, and
# calls the compiler. Translation units that disagree about a knob do not link. CONFIGURATIONS is how many of
# profiles.txt at most that is tried with.

set -eu
source_root=$1
configurations=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp -R "$source_root/include" "$work"
mkdir -p "$work/platform" "$work/dump"
cp -R "$source_root/platform/host" "$source_root/platform/posix" "$work/platform"
cp "$source_root"/tests/package/bare_build*.cpp "$work"
cd "$work"

warnings='-Wall -Wextra -Wconversion -Wundef -Werror'
strict="-std=c++20 -fno-exceptions -fno-rtti $warnings -Iinclude -I."

# shellcheck disable=SC2086  # lists of options
"$@" $strict -O2 bare_build.cpp platform/posix/tree_sink.cpp platform/posix/tree/*.cpp -o firmware
./firmware dump
files=$(find dump -type f -name 'Conv2D.conv1.*' | wc -l)
if [ "$files" != 1 ]; then
  echo "the program should have dumped one record, and dumped $files"
  exit 1
fi

printf '#include "opdump/opdump.hpp"\n' >headers.cpp
# shellcheck disable=SC2086
"$@" $strict -ffreestanding -c headers.cpp -o headers.o

# Every configuration of profiles.txt but the profile of a system. What is of a CRC changes no type.
grep '^[^#].*: ' "$source_root/tests/package/profiles.txt" | grep -v '^full:\|OPDUMP_CRC_[A-Z_]*=[0-9]*$' | sed 's/.*: /-D/; s/ / -D/g' |
  head -n "$configurations" >configurations
[ "$(wc -l <configurations)" -ge 3 ]
# shellcheck disable=SC2086
"$@" $strict -c bare_build_callee.cpp -o other.o
# shellcheck disable=SC2086
while read -r knobs; do
  "$@" $strict -c $knobs bare_build_caller.cpp -o caller.o
  "$@" $strict -c $knobs bare_build_callee.cpp -o same.o
  "$@" caller.o same.o -o together
  ./together
  if "$@" caller.o other.o -o together 2>link.log; then
    echo "a caller with $knobs should not link with one without"
    exit 1
  fi
  grep -q knobs_ link.log || {
    echo "the linker should have named the knobs:"
    cat link.log
    exit 1
  }
done <configurations
