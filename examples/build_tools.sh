# shellcheck shell=sh
# Shared by examples/quickstart.sh and tests/run.sh, which source it from the project's root: finds the tools
# that a build needs, installs with apt-get those that are missing, and builds.

missing_packages=
missing_tools=

say() {
  printf '%s\n' "$*"
}

fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# need PACKAGE DESCRIPTION CHECK...: CHECK is a command that succeeds where the tool is there.
need() {
  package=$1 description=$2
  shift 2
  "$@" >/dev/null 2>&1 && return 0
  missing_packages="$missing_packages $package"
  missing_tools="$missing_tools${missing_tools:+, }$description"
}

compiles_cxx20() {
  $1 -std=c++20 -x c++ -fsyntax-only - <<'END'
#include <span>
#if defined __clang__ ? __clang_major__ < 14 : __GNUC__ < 11
#error
#endif
END
}

# Compilers, in the order in which they are taken, and the package of one where there is none.
compilers='c++ g++ clang++'
compiler_package=g++

# Leaves the compiler in CXX, where Meson looks for it.
find_compiler() {
  if [ -n "${CXX:-}" ]; then
    compiles_cxx20 "$CXX"
    return
  fi
  for compiler in $compilers; do
    if compiles_cxx20 "$compiler"; then
      export CXX="$compiler"
      return 0
    fi
  done
  return 1
}

meson_is_new_enough() {
  case $(meson --version) in
    '' | 0.*) return 1 ;;
  esac
}

build_tools() {
  need $compiler_package 'g++ >= 11 or clang++ >= 14' find_compiler
  need meson 'meson >= 1.0' meson_is_new_enough
  need python3 'Python 3, which puts the pages into the command' command -v python3
  need ninja-build ninja command -v ninja
  need pkg-config pkg-config command -v pkg-config
  need libsimdjson-dev 'simdjson >= 3.0' pkg-config --atleast-version=3.0 simdjson
}

# What `need` found missing by calling $1, a function like build_tools.
look_for() {
  missing_packages=
  missing_tools=
  "$1"
}

apt() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=300 "$@" \
    >>build/apt.log 2>&1 </dev/null
}

# Leaves in as_root what lets apt-get install.
find_root() {
  as_root=
  [ "$(id -u)" = 0 ] && return 0
  command -v sudo >/dev/null || return 1
  as_root=sudo
}

# try_to_have WHAT CHECK PACKAGE...: installs the packages if CHECK, a command, does not find WHAT; goes on without.
try_to_have() {
  what=$1 check=$2
  shift 2
  "$check" >/dev/null 2>&1 && return 0
  if command -v apt-get >/dev/null && find_root; then
    say "installing $* (log: build/apt.log)"
    apt update || true
    apt install --no-install-recommends "$@" && "$check" >/dev/null 2>&1 && return 0
  fi
  say "there is no $what: its tests are skipped"
}

# Makes sure that all which $1, a function like build_tools, needs is there; ends the script if it cannot be.
ensure() {
  look_for "$1"
  [ -n "$missing_packages" ] || return 0

  if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
    fail "missing: $missing_tools.
Only on Debian and its relatives are they installed for you. Install them and run this again."
  fi
  by_hand="apt-get update && apt-get install --no-install-recommends$missing_packages"
  find_root || fail "missing: $missing_tools.
Installing them takes root or sudo. As root, run this, then start again:
  $by_hand"

  say "installing$missing_packages (log: build/apt.log)"
  mkdir -p build
  : >build/apt.log
  apt update || say 'apt-get update failed: going on with the package lists that are there'
  # shellcheck disable=SC2086  # a list of packages
  if ! apt install --no-install-recommends $missing_packages; then
    tail -n 15 build/apt.log >&2
    fail "apt-get failed, see above. As root, run this, then start again:
  $by_hand"
  fi

  look_for "$1"
  [ -z "$missing_packages" ] || fail "the packages of this system are too old. Still missing: $missing_tools."
}

processors() {
  getconf _NPROCESSORS_ONLN
}

# A build folder that was moved here, or belongs to a Meson that is gone, is set up anew.
configure() {
  folder=$1
  shift
  if [ -f "$folder/build.ninja" ] && meson setup --reconfigure "$folder" "$@"; then
    return 0
  fi
  rm -rf "$folder"
  meson setup "$folder" "$@"
}

# Compiles all, or what build_targets names.
build_targets=
configure_and_compile() {
  # shellcheck disable=SC2086  # a list of targets
  configure "$@" && ninja -C "$1" -j "$(processors)" $build_targets
}

# build FOLDER MESON_OPTION...: never downloads; the output goes to FOLDER.log, and its end to stderr on
# failure.
build() {
  mkdir -p "$(dirname "$1")"
  if ! configure_and_compile "$@" --wrap-mode=nodownload >"$1.log" 2>&1; then
    tail -n 60 "$1.log" >&2
    say "building $1 failed, see above and $1.log" >&2
    return 1
  fi
}
