#!/bin/sh
# usage: odr_test.sh SOURCE_ROOT LIBRARY_DIR COMPILER...
# A program with other knobs than the libraries links with none of their functions, whatever these take and return:
# all that is not C is in the inline namespace that has the knobs in its name.

set -eu
source_root=$1 core=$2/src/libopdump.a acl=$2/src/acl/libopdump_acl.a
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for library in "$core" "$acl"; do
  # All that other objects can link with: U is what is missing, small letters are local.
  nm --defined-only "$library" 2>"$work/nm.log" | awk 'NF == 3 && $2 ~ /[A-Zvw]/ {print $3}' | sort -u >"$work/symbols"
  if ! grep -q '6opdump.*knobs_' "$work/symbols"; then
    echo "$library should have symbols of opdump"
    exit 1
  fi
  # 6opdump is the namespace, in a mangled name; a handle of opdump.h is 14opdump_session, a struct of attach.h
  # 16opdump_attach_op.
  if grep '^_Z.*[^0-9]6opdump' "$work/symbols" | grep -v knobs_ >"$work/outside"; then
    echo "$library has symbols that do not tell the knobs they were compiled with:"
    head -20 "$work/outside" | c++filt
    exit 1
  fi
done

# A type that is only returned is in no function's name.
cat >"$work/returned.cpp" <<'END'
#include "opdump/acl.hpp"
int main() { return opdump::acl::session().initialised() ? 1 : 0; }
END
link() {
  "$@" -std=c++20 -I"$source_root/include" -I"$source_root" "$work/returned.cpp" "$acl" "$core" -lsimdjson -pthread -o "$work/returned"
}
link "$@"
"$work/returned"
if link "$@" -DOPDUMP_MAX_RECORDERS=16 2>"$work/link.log"; then
  echo 'a program with 16 recorders should not link with a library that has 8'
  exit 1
fi
grep -q knobs_ "$work/link.log" || {
  echo 'the linker should have named the knobs:'
  cat "$work/link.log"
  exit 1
}
