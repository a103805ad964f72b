#!/bin/sh
# usage: subproject_test.sh SOURCE_ROOT
# A project that has opdump under subprojects/ builds it, without tests, tool and examples, and links with it.

set -eu
source_root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/subprojects/opdump"
# What is committed or will be, and nothing that lies about; all of an archive, which has no git.
if git -C "$source_root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  # shellcheck disable=SC2016  # for the inner shell
  (cd "$source_root" && git ls-files --cached --others --exclude-standard -z include src platform meson.build \
    meson_options.txt examples subprojects tests/meson.build | xargs -0 sh -c 'for file; do [ ! -e "$file" ] || printf "%s\\0" "$file"; done' sh |
    tar --null --no-recursion -T - -cf -) | tar -xf - -C "$work/subprojects/opdump"
else
  cp -R "$source_root/." "$work/subprojects/opdump"
fi
cat >"$work/meson.build" <<'END'
project('firmware', 'cpp', default_options: ['cpp_std=c++20'])
opdump = dependency('opdump', version: '>=0.1', fallback: 'opdump')
executable('firmware', 'main.cpp', dependencies: opdump, build_by_default: false)
executable('headers', 'headers.cpp', dependencies: dependency('opdump_headers', fallback: 'opdump'))
END
printf '#include "opdump/opdump.hpp"\n#include "platform/host/host_memory.hpp"\nint main() {}\n' >"$work/headers.cpp"
cp "$(dirname "$0")/consumer.cpp" "$work/main.cpp"
# No folder within opdump/ is on the include path.
printf '#if __has_include("status.hpp")\n#error "status.hpp is on a user'"'"'s include path"\n#endif\n' >>"$work/main.cpp"

# A version that is not there is refused, in one line.
mkdir "$work/newer"
cat >"$work/newer/meson.build" <<'END'
project('firmware', 'cpp', default_options: ['cpp_std=c++20'])
dependency('opdump', version: '>=9', fallback: 'opdump')
END
ln -s "$work/subprojects" "$work/newer/subprojects"
if meson setup "$work/newer/build" "$work/newer" --wrap-mode=nodownload --force-fallback-for=opdump >"$work/newer.log" 2>&1; then
  echo 'opdump 9 should not have been found'
  exit 1
fi
if [ "$(grep -c 'ERROR' "$work/newer.log")" != 1 ] || ! grep -q "opdump found: NO found .* but need: '>=9'" "$work/newer.log"; then
  echo 'that opdump 9 is not there should be told in one line:'
  cat "$work/newer.log"
  exit 1
fi

cd "$work"
meson setup build --wrap-mode=nodownload --force-fallback-for=opdump -Dbuildtype=plain -Dunity=on -Dunity_size=40
if ! ninja -C build | grep -q '2/2'; then
  echo 'a program of headers should be all that is compiled by default'
  exit 1
fi
ninja -C build firmware

built=$(meson introspect build --targets | python3 -c '
import json, sys
for target in json.load(sys.stdin):
    if target["type"] == "executable" and target.get("subproject"):
        print(target["name"])
')
if [ -n "$built" ]; then
  echo "a subproject should build no programs, but there are: $built"
  exit 1
fi
build/firmware
