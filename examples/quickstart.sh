#!/bin/sh
# From nothing to a table of captured tensors: installs what a build needs, builds opdump, lets a small
# network read digits while opdump captures its operators, and shows what was captured.
# Writes only to build/. Can be run again at any time.

set -eu
cd "$(dirname "$0")/.."
. examples/build_tools.sh

# clang++ compiles unoptimised in half of the time that g++ takes.
compilers='clang++ c++ g++'
compiler_package=clang

config=$PWD/examples/digits/acl.json
folder=build/quickstart

say '== 1/4 Tools'
ensure build_tools

# Most of the wait is compiling: only what runs below, unoptimised, many files at once, and without warnings, which a new
# compiler may have more of. Large pages make clang++ a tenth faster.
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1
say "== 2/4 Building opdump and the digits example in $folder, unoptimised to be quick"
build_targets='src/tool/opdump examples/digits/digits'
build "$folder" -Dtests=disabled -Dtool=enabled -Dexamples=enabled \
  -Dwarning_level=0 -Dwerror=false -Doptimization=0 -Ddebug=false -Dunity=on -Dunity_size=25 -Db_pch=false || exit 1

say "== 3/4 Reading digits, dumping what examples/digits/acl.json asks for to $folder/dump"
rm -rf "$folder/dump"
mkdir "$folder/dump"
(cd "$folder" && examples/digits/digits --config "$config")  # its dump_path is "dump"

say '== 4/4 What was captured'
"$folder/src/tool/opdump" show "$folder/dump"

"$folder/src/tool/opdump" report "$folder/dump" -o "$folder/report.html" > "$folder/report.log"

say "
Next: change examples/digits/acl.json and run this again, or turn the dump into NumPy files:
  $folder/src/tool/opdump convert -r -d $folder/dump -out $folder/arrays
For large dumps build an optimised tool:
  meson setup build/release --buildtype release -Dtests=disabled && ninja -C build/release

The dump as a page for any browser:
$PWD/$folder/report.html"
