#!/bin/sh
# usage: install_test.sh BUILD_ROOT VERSION COMPILER...
# A program builds against the installed headers and library with nothing but pkg-config, and the installed
# command runs.

set -eu
build_root=$1 version=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

meson install -C "$build_root" --no-rebuild --quiet --destdir "$work/root"

pc=$(find "$work/root" -name opdump.pc)
if [ -z "$pc" ]; then
  echo 'opdump.pc is not installed'
  exit 1
fi
export PKG_CONFIG_PATH="${pc%/*}" PKG_CONFIG_SYSROOT_DIR="$work/root"
pkg-config --exact-version="$version" opdump

# shellcheck disable=SC2046  # lists of options
"$@" -std=c++20 "$(dirname "$0")/consumer.cpp" $(pkg-config --cflags opdump) -o "$work/consumer" \
  $(pkg-config --static --libs opdump)
"$work/consumer"

# C is linked with the C++ compiler, which knows opdump's own libraries.
# shellcheck disable=SC2046
"${CC:-cc}" -std=c99 -Wall -Wextra -Wpedantic -Werror -c "$(dirname "$0")/consumer.c" $(pkg-config --cflags opdump) \
  -o "$work/consumer.o"
# shellcheck disable=SC2046
"$@" "$work/consumer.o" -o "$work/c_consumer" $(pkg-config --static --libs opdump)
printed=$(cd "$work" && ./c_consumer)
if [ "$printed" != "opdump $version, C API 1.3" ]; then
  echo "the program in C printed: $printed"
  exit 1
fi

command=$(find "$work/root" -type f -name opdump -perm -u+x)
printed=$("$command" --version)
case $printed in
  *"$version"*) ;;
  *)
    echo "opdump --version should name $version, and printed: $printed"
    exit 1
    ;;
esac
