#!/bin/sh
# Runs kernel_storage.sh in an emulated PC, whose kernel has mtdram, nandsim with bad blocks, UBI and loop devices: no such
# kernel need run here.
#
# usage: kernel_machine.sh OPDUMP FOLDER
# FOLDER is one into which Debian's packages linux-image-*-amd64, busybox-static and mtd-utils were unpacked (apt-get
# download, dpkg-deb -x). QEMU is a command, qemu-system-x86_64 unless it is set.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tool=$(realpath "$1")
folder=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/tmp" "$root/modules"
cp "$folder/bin/busybox" "$root/bin/"
cp "$tool" "$root/bin/opdump"
for name in flash_erase ubiattach ubimkvol ubiupdatevol; do
  cp "$folder/usr/sbin/$name" "$root/bin/"
done
for library in $(ldd "$root/bin/opdump" "$root/bin/ubimkvol" | grep -o '/[^ :]*\.so[^ :]*' | sort -u); do
  mkdir -p "$root/$(dirname "$library")"
  cp -L "$library" "$root/$library"
done
for name in bch loop mtd mtdram nandcore nand nandsim ubi; do
  cp "$(find "$folder/lib/modules" -name "$name.ko")" "$root/modules/"
done
cp "$here/kernel_storage.sh" "$root/"
cat >"$root/init" <<'END'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc p /proc
mount -t sysfs s /sys
mount -t devtmpfs d /dev
{
  cd /modules
  insmod mtd.ko && insmod mtdram.ko total_size=2048 erase_size=64
  insmod bch.ko && insmod nandcore.ko && insmod nand.ko
  insmod nandsim.ko first_id_byte=0x20 second_id_byte=0x33 parts=256,256 badblocks=3,7,300
  insmod ubi.ko && insmod loop.ko
  cd /
  cat /proc/mtd
  ubiattach -p /dev/mtd2 >/dev/null
  ubimkvol /dev/ubi0 -N log -s 2MiB >/dev/null
  dd if=/dev/zero of=/tmp/disk bs=65536 count=64 2>/dev/null
  losetup /dev/loop0 /tmp/disk
  sh /kernel_storage.sh /bin/opdump /dev/mtd0 /dev/mtd1 /dev/ubi0_0 /dev/loop0 && echo "all passed"
} 2>&1
poweroff -f
END
chmod +x "$root/init"
(cd "$root" && find . | "$folder/bin/busybox" cpio -o -H newc 2>/dev/null | gzip -1 >"$work/root.gz")
${QEMU:-qemu-system-x86_64} -M pc -cpu max -m 512 -nographic -nic none -no-reboot -kernel "$(ls "$folder"/boot/vmlinuz*)" \
  -initrd "$work/root.gz" -append "console=ttyS0 quiet panic=-1" </dev/null | tee "$work/said"
grep -q '^all passed' "$work/said"
