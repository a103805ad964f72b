#!/bin/sh
# usage: quickstart_test.sh SOURCE_ROOT
# The first command of the README ends in what it promises, in a copy of the source. Its build, of many files at once, is
# made nowhere else.

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$1" && tar -cf - --exclude=./build --exclude=./.git .) | (cd "$work" && tar -xf -)
cd "$work"
# As on a new machine, where none is chosen.
if command -v clang++ >/dev/null; then unset CXX CC; fi
sh examples/quickstart.sh >printed 2>&1 || {
  tail -n 60 printed
  exit 1
}
for text in 'reading digits' 'Conv' 'report.html'; do
  grep -qi "$text" printed || {
    cat printed
    echo "the quickstart printed nothing of $text"
    exit 1
  }
done
[ -s build/quickstart/report.html ]
