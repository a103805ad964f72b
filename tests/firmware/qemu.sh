#!/bin/sh
# usage: qemu.sh MACHINE [QEMU_OPTION...] PROGRAM.elf [ARGUMENT...]
# Runs a bare-metal program on an emulated board; its output and exit status are this script's. OPDUMP_QEMU
# holds more options, such as a flash image.

set -eu
machine=$1
shift
options=
while [ "${1%.elf}" = "$1" ]; do
  options="$options $1"
  shift
done
program=$1
shift
semihosting=enable=on,target=native,arg=${program##*/}
for argument; do
  semihosting=$semihosting,arg=$argument
done
# A program that hangs has no exit status of its own, and QEMU heeds no other signal while it writes flash.
# shellcheck disable=SC2086  # lists of options
exec timeout -s KILL "${OPDUMP_QEMU_SECONDS-300}" qemu-system-arm -M "$machine" $options ${OPDUMP_QEMU-} \
  -nodefaults -nographic -monitor none -serial none -semihosting-config "$semihosting" -kernel "$program"
