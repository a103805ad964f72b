#!/bin/sh
# usage: without_cmake_test.sh SOURCE_ROOT
# The build is set up on a machine without CMake, as the quickstart finds it.

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
IFS=:
for folder in $PATH; do
  for program in "$folder"/*; do
    case ${program##*/} in
      cmake*) ;;
      *) [ -e "$work/bin/${program##*/}" ] || ln -s "$program" "$work/bin" ;;
    esac
  done
done
PATH=$work/bin
if command -v cmake; then
  echo 'cmake is there still'
  exit 1
fi
meson setup "$work/build" "$1" -Dtests=disabled --wrap-mode=nodownload >"$work/log" || {
  cat "$work/log"
  exit 1
}
for file in opdumpConfig.cmake opdumpConfigVersion.cmake; do
  [ -s "$work/build/$file" ] || {
    echo "no $file"
    exit 1
  }
done
