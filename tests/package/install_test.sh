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

# With a sysroot pkg-config also names the system's own folder, for simdjson.
folders=$(pkg-config --cflags-only-I opdump | tr ' ' '\n' | grep -v -x -e "-I$work/root/usr/include" -e '' || true)
if [ "$(printf '%s\n' "$folders" | wc -l)" != 1 ] || [ ! -d "${folders#-I}/opdump" ]; then
  echo "one include folder is enough: $folders"
  exit 1
fi
for header in status.hpp opdump.hpp host/host_memory.hpp src/tool/cli/options.hpp tests/support/fakes.hpp; do
  # shellcheck disable=SC2046
  if echo "#include \"$header\"" | "$@" -std=c++20 $(pkg-config --cflags opdump) -fsyntax-only -xc++ - 2>/dev/null; then
    echo "$header should not be on a user's include path"
    exit 1
  fi
done
if [ "$(pkg-config --variable=cxx_std opdump)" != c++20 ]; then
  echo 'opdump.pc should tell the standard that its headers need'
  exit 1
fi

# What the library has instantiated the program does not compile again, unless it leaves OPDUMP_LINKED out; then
# it still links.
for flag in -DOPDUMP_LINKED -UOPDUMP_LINKED; do
  # shellcheck disable=SC2046
  "$@" -std=c++20 -c "$(dirname "$0")/consumer.cpp" $(pkg-config --cflags opdump) $flag -o "$work/consumer.o"
  # shellcheck disable=SC2046
  "$@" "$work/consumer.o" -o "$work/consumer" $(pkg-config --static --libs opdump)
  "$work/consumer"
  defined=no
  nm -C --defined-only "$work/consumer.o" | grep -q 'FileDump<.*>::start(' && defined=yes
  case $flag$defined in
    -D*no | -U*yes) ;;
    *)
      echo "with $flag: is FileDump::start compiled into the program? $defined"
      exit 1
      ;;
  esac
done

# C is linked with the C++ compiler, which knows opdump's own libraries.
# shellcheck disable=SC2046
"${CC:-cc}" -std=c99 -Wall -Wextra -Wpedantic -Werror -c "$(dirname "$0")/consumer.c" $(pkg-config --cflags opdump) \
  -o "$work/consumer.o"
# shellcheck disable=SC2046
"$@" "$work/consumer.o" -o "$work/c_consumer" $(pkg-config --static --libs opdump)
printed=$(cd "$work" && ./c_consumer)
minor=$(sed -n 's/^#define OPDUMP_API_MINOR //p' "$(dirname "$0")/../../include/opdump/opdump.h")
if [ "$printed" != "opdump $version, C API 1.$minor" ]; then
  echo "the program in C printed: $printed"
  exit 1
fi

# The shared library needs no C++ compiler, and the version of its interface is in its name.
# shellcheck disable=SC2046
"${CC:-cc}" -std=c99 "$(dirname "$0")/consumer.c" $(pkg-config --cflags --libs opdump_c) -o "$work/shared_consumer"
libraries=$(dirname "$(find "$work/root" -name "libopdump_c.so.1.$minor.0")")
printed=$(cd "$work" && LD_LIBRARY_PATH="$libraries" ./shared_consumer)
if [ "$printed" != "opdump $version, C API 1.$minor" ] || ! readelf -d "$work/shared_consumer" | grep -q 'libopdump_c.so.1]'; then
  echo "the program in C with the shared library printed: $printed"
  exit 1
fi

# Another prefix, with a space in its name: by the opdump.pc that is made for it, as it is and moved.
meson setup "$work/spaced" "$(dirname "$0")/../.." --prefix='/opt/x y' --libdir=lib -Dtests=disabled \
  -Dexamples=disabled >"$work/spaced.log" || { cat "$work/spaced.log" && exit 1; }
include=$(dirname "$(dirname "$(find "$work/root" -path '*/opdump-*/opdump' -type d)")")
for place in "$work/root/opt/x y" "$work/moved to/here"; do
  mkdir -p "$place/lib/pkgconfig"
  cp -R "$include" "$place/include"
  cp "$(find "$work/root" -name libopdump.a | head -n 1)" "$place/lib"
  cp "$work/spaced/meson-private/opdump.pc" "$place/lib/pkgconfig"
done
# flags_in PLACE OPTION...: what pkg-config says of opdump there, quoted for a shell.
flags_in() {
  place=$1
  shift
  PKG_CONFIG_PATH="$place/lib/pkgconfig" pkg-config "$@" opdump
}
flags_of_prefix=$(flags_in "$work/root/opt/x y" --cflags --static --libs)
flags_of_moved=$(unset PKG_CONFIG_SYSROOT_DIR && flags_in "$work/moved to/here" --define-prefix --cflags --static --libs)
for flags in "$flags_of_prefix" "$flags_of_moved"; do
  "${CC:-cc}" -std=c99 -c "$(dirname "$0")/consumer.c" -I"$include/opdump-0" -o "$work/consumer.o"
  (
    compiler=$*
    eval "set -- $flags"
    # shellcheck disable=SC2086  # the compiler's words
    echo '#include <opdump/version.h>' | $compiler -fsyntax-only "$@" -xc++ -
    # shellcheck disable=SC2086
    $compiler "$work/consumer.o" -o "$work/spaced consumer" "$@"
  )
  printed=$(cd "$work" && "./spaced consumer")
  case $printed in
    "opdump $version, "*) ;;
    *)
      echo "the program that links what lies in '/opt/x y' or was moved printed: $printed"
      exit 1
      ;;
  esac
done

# A runtime is attached from C++17, and from C.
printf '{"dump": {"dump_path": "%s", "dump_list": [{}]}}' "$work" >"$work/attach.json"
# shellcheck disable=SC2046
"$@" -std=c++17 -Wall -Wextra -Wpedantic -Werror "$(dirname "$0")/consumer_attach.cpp" $(pkg-config --cflags opdump) \
  -o "$work/attach" $(pkg-config --static --libs opdump)
# shellcheck disable=SC2046
"${CC:-cc}" -std=c99 -Wall -Wextra -Wpedantic -Werror -c "$(dirname "$0")/consumer_attach.c" \
  $(pkg-config --cflags opdump) -o "$work/attach.o"
# shellcheck disable=SC2046
"$@" "$work/attach.o" -o "$work/c_attach" $(pkg-config --static --libs opdump)
printed="$("$work/attach" "$work/attach.json" 2>/dev/null) $("$work/c_attach" "$work/attach.json" 2>/dev/null)"
if [ "$printed" != '3 records 1 records' ]; then
  echo "the programs that attach printed: $printed"
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
