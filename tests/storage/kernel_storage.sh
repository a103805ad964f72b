#!/bin/sh
# Dumps into what the kernel of a machine made for it has: MTD devices of mtdram and nandsim, a UBI volume, a partition of
# a loop device. Needs root, and no more than a shell besides. kernel_machine.sh makes such a machine.
#
# usage: kernel_storage.sh OPDUMP NODE...
# All bytes of the nodes are lost.
set -eu
tool=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() {
  echo "FAILED: $*"
  exit 1
}
config() {
  echo "{\"dump\": {\"dump_path\": \"$1\", \"dump_list\": [{\"model_name\": \"net\"}]}, \"opdump\": {\"journal\": \"records\", \"keep\": \"newest\"}}"
}
run() {
  echo "{\"steps\": $1, \"models\": [{\"name\": \"net\", \"id\": 1, \"ops\": [{\"name\": \"conv\", \"type\": \"Conv2D\", \"outputs\": [{\"fill\": \"ramp\", \"dtype\": \"float32\", \"shape\": [1000]}]}]}]}"
}
replay() {
  run "$1" >run.json
  "$tool" replay run.json --config acl.json --when-full inline >out 2>&1
}
# Erases all of a node.
erase() {
  case $1 in
    /dev/mtd*) flash_erase -q "$1" 0 0 ;;
    /dev/ubi*) ubiupdatevol -t "$1" ;;
    *) dd if=/dev/zero of="$1" bs=65536 2>/dev/null || true ;;
  esac
}
sum() {
  dd if="$1" bs=4096 count=64 2>/dev/null | md5sum
}
for node; do
  config "$node" >acl.json
  # What is somebody else's stays: a file system at the beginning of a later block.
  erase "$node"
  size=65536
  [ "${node#/dev/ubi}" = "$node" ] || size=$(cat "/sys/class/ubi/${node#/dev/}/usable_eb_size")
  dd if=/dev/zero bs="$size" count=2 2>/dev/null | tr '\0' '\377' >other
  (printf hsqs && dd if=/dev/zero bs=4092 count=1 2>/dev/null) >>other
  case $node in
    /dev/ubi*) ubiupdatevol "$node" other ;;
    *) dd if=other of="$node" bs=4096 conv=notrunc 2>/dev/null ;;
  esac
  before=$(sum "$node")
  ! replay 1 || fail "$node: a file system is not refused"
  grep -q 'a SquashFS file system' out || fail "$node: $(cat out)"
  [ "$before" = "$(sum "$node")" ] || fail "$node: a file system was written to"
  erase "$node"
  "$tool" check acl.json >out || fail "$node: check: $(cat out)"
  grep '^  storage' out | grep 'a log has 0 blocks' || fail "$node: $(cat out)"
  # Several boots, and of each what was written last.
  for boot in 1 2 3; do
    replay 20 || fail "$node: boot $boot: $(cat out)"
    grep "^session .* this is boot [0-9]*$" out || fail "$node: boot $boot: $(cat out)"
  done
  rm -rf got
  "$tool" extract "$node" -o got >out 2>&1 || fail "$node: extract: $(cat out)"
  tail -n 1 out
  [ "$(ls got | wc -l)" = 3 ] || fail "$node: $(ls got) in place of 3 boots"
  for boot in got/*; do
    "$tool" verify "$boot" >out 2>&1 && grep -q '^complete' out || fail "$node: $boot: $(cat out)"
  done
  # More than it holds: the log goes round, and erases what it wrote first.
  first=$(ls got | head -n 1)
  for boot in 1 2 3 4; do
    replay 300 || fail "$node: round: $(cat out)"
  done
  "$tool" extract "$node" --verify >out 2>&1 || fail "$node: after a round: $(cat out)"
  rm -rf got
  "$tool" extract "$node" -o got >out 2>&1 || fail "$node: extract after a round: $(cat out)"
  [ ! -e "got/$first" ] || fail "$node: the log did not go round"
  "$tool" verify "got/$(ls got | tail -n 1)" >out 2>&1 || fail "$node: the newest boot: $(cat out)"
  echo "passed: $node"
done
