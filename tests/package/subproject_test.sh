#!/bin/sh
# usage: subproject_test.sh SOURCE_ROOT
# A project that has opdump under subprojects/ builds it, without tests, tool and examples, and links with it.

set -eu
source_root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/subprojects"
ln -s "$source_root" "$work/subprojects/opdump"
cat >"$work/meson.build" <<'END'
project('firmware', 'cpp', default_options: ['cpp_std=c++20'])
opdump = dependency('opdump', version: '>=0.1', fallback: 'opdump')
executable('firmware', 'main.cpp', dependencies: opdump)
END
cp "$(dirname "$0")/consumer.cpp" "$work/main.cpp"
# Of what is not for users nothing is found.
for header in status.hpp src/tool/cli/options.hpp tests/support/fakes.hpp README.md; do
  printf '#if __has_include("%s")\n#error "%s is on a user'"'"'s include path"\n#endif\n' "$header" "$header"
done >>"$work/main.cpp"

cd "$work"
meson setup build --wrap-mode=nodownload --force-fallback-for=opdump -Dbuildtype=plain -Dunity=on -Dunity_size=40
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
