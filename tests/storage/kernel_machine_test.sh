#!/bin/sh
# Runs kernel_machine.sh with the packages in the folder that OPDUMP_KERNEL names, or with those that apt-get downloads into
# a folder of its own, which is removed. Skips, saying so, without QEMU or the packages.
#
# usage: kernel_machine_test.sh OPDUMP
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tool=$(realpath "$1")
skip() {
  echo "skipped: $*"
  exit 77
}
[ -n "${QEMU-}" ] || command -v qemu-system-x86_64 >/dev/null || skip 'qemu-system-x86_64 is not installed'
folder=${OPDUMP_KERNEL-}
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  command -v apt-get >/dev/null || skip 'OPDUMP_KERNEL names no folder, and there is no apt-get'
  kernel=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/^ *Depends: *\(linux-image-[0-9].*-amd64\)$/\1/p' | head -n 1)
  [ -n "$kernel" ] || skip 'no package linux-image-amd64 is known'
  (cd "$folder" && apt-get download "$kernel" busybox-static mtd-utils >said 2>&1) ||
    skip "$kernel, busybox-static or mtd-utils cannot be downloaded: $(tail -n 1 "$folder/said")"
  for package in "$folder"/*.deb; do
    dpkg-deb -x "$package" "$folder"
  done
fi
sh "$here/kernel_machine.sh" "$tool" "$folder"
