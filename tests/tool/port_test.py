#!/usr/bin/env python3
"""Does what the guide to a new port says (platform/README.md): a copy of examples/port compiles and makes a whole dump as it is;
then the three marked places are filled in with a port of this test, and the dump shows that each of them is used. With
arm-none-eabi-g++ and QEMU the copy does so on a Cortex-M3.

usage: port_test.py OPDUMP SOURCE_ROOT CXX [unittest arguments]
"""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import Case  # noqa: E402

ROOT, CXX = '', ''
STRICT = '-O0 -Wall -Wextra -Wshadow -Werror'
PLACE = re.compile(r'^ *(?://|/\*) FILL IN (\d):.*?(?://|/\*) End of \1\.(?: \*/)?$', re.S | re.M)

# The memory holds floats with the other sign, the flash is another NOR, and time begins in 2023.
FILLED = ['''
    for (std::size_t i = 0; i < bytes; ++i)
      to[i] = reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(from))[i] ^
              std::byte{static_cast<unsigned char>(i % 4 == 3 ? 0x80 : 0)};
    return opdump::Status::ok;
''', '''
inline constexpr opdump::flashlog::Geometry kFlashGeometry = {
    .block_bytes = 8192, .block_count = 4, .program_bytes = 8, .bits_only_clear = true};
inline std::byte nor[4][8192];
inline opdump::Status flash_read(void*, std::uint32_t block, std::uint32_t offset, opdump::MutableBytes to) {
  std::memcpy(to.data(), nor[block] + offset, to.size());
  return opdump::Status::ok;
}
inline opdump::Status flash_program(void*, std::uint32_t block, std::uint32_t offset, opdump::Bytes from) {
  for (std::size_t i = 0; i < from.size(); ++i) nor[block][offset + i] &= from[i];
  return offset % 8 == 0 && from.size() % 8 == 0 ? opdump::Status::ok : opdump::Status::io_error;
}
inline opdump::Status flash_erase(void*, std::uint32_t block) {
  std::memset(nor[block], 0xff, sizeof nor[block]);
  return opdump::Status::ok;
}
inline opdump::Status flash_sync(void*) {
  std::FILE* const file = std::fopen("nor.img", "wb");
  const bool good = file != nullptr && std::fwrite(nor, sizeof nor, 1, file) == 1;
  return file != nullptr && std::fclose(file) == 0 && good ? opdump::Status::ok : opdump::Status::io_error;
}
''', '''
    return 1'700'000'000'000'000 + 1000 * ++ticks_;
  }
  std::uint64_t ticks_ = 0;
  std::uint64_t ticks() const {
    return ticks_;
''']


class Port(Case):
    def setUp(self):
        super().setUp()
        shutil.copytree(os.path.join(ROOT, 'examples/port'), self.path('board'),
                        ignore=shutil.ignore_patterns('firmware', '*.o', 'dump_plan.h', 'flash.img'))

    def make(self, *arguments):
        environment = dict(os.environ)
        for name in ('MAKEFLAGS', 'OPDUMP', 'LDFLAGS', 'LDLIBS'):
            environment.pop(name, None)
        done = subprocess.run(['make', '-C', self.path('board'), 'OPDUMP_TOOL=' + tool_case.OPDUMP, *arguments],
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def run_firmware(self):
        done = subprocess.run(['./firmware'], cwd=self.path('board'), capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, 'ok: 5 records dumped, 0 lost\n', ''))

    def numbers(self, image):
        """Path, lowest and highest output of each record of the whole dump that the image holds."""
        self.run_tool('extract', 'board/' + image, '-o', 'dump')
        out, _ = self.run_tool('verify', 'dump')
        self.assertTrue(out.startswith('complete\n'), out)
        self.assertIn('5 records written, 0 lost', out)
        records = json.loads(self.run_tool('show', 'dump', '--json')[0])['records']
        shutil.rmtree(self.path('dump'))
        return [(record['file'], tensor['min'], tensor['max'])
                for record in records for tensor in record['tensors'] if tensor['role'] == 'output']

    def places(self):
        """The marked places: number, name of the file, and its text before and behind the place."""
        found = []
        for name in sorted(os.listdir(self.path('board'))):
            if not name.endswith(('.c', '.h', '.cpp', '.hpp')):
                continue
            text = self.read('board', name).decode()
            self.assertEqual(text.count('FILL IN'), len(PLACE.findall(text)), name)
            found += [(int(match[1]), name, text[:match.start()], text[match.end():]) for match in PLACE.finditer(text)]
        return sorted(found)

    def fill_in(self, names, texts):
        places = self.places()
        self.assertEqual([place[:2] for place in places], list(enumerate(names, 1)))
        for (_, name, before, behind), text in zip(places, texts):
            self.write('board/' + name, before + text + behind)
        self.assertEqual(self.places(), [])

    def check_port(self, names, filled, *arguments):
        """Both the skeleton as it is and with the three places filled in."""
        self.make(*arguments, 'firmware')
        self.run_firmware()
        self.assertEqual([numbers[1:] for numbers in self.numbers('flash.img')],
                         [(2 * step, 6 + 2 * step) for step in range(5)])
        self.run_firmware()  # The flash keeps what the boot before has written.
        for boot in ('1', '2'):
            out, _ = self.run_tool('extract', 'board/flash.img', '--boot', boot, '-o', 'boot' + boot)
            self.assertIn('5 committed files', out)

        os.remove(self.path('board', 'flash.img'))
        self.fill_in(names, filled)
        self.make('-B', *arguments, 'firmware')
        self.run_firmware()
        self.assertFalse(os.path.exists(self.path('board', 'flash.img')))
        numbers = self.numbers('nor.img')
        self.assertEqual([number[1:] for number in numbers], [(-6 - 2 * step, -2 * step) for step in range(5)])
        self.assertTrue(all('20231114' in number[0] for number in numbers), numbers)

    def check_on_board(self):
        """The skeleton in C++ as it is, on an emulated Cortex-M3, whose C library opens files of this machine."""
        missing = [tool for tool in ('arm-none-eabi-g++', 'qemu-system-arm') if not shutil.which(tool)]
        if missing:
            print(f'left out: the port on a board, as {missing[0]} is not installed')
            return
        firmware = os.path.join(ROOT, 'tests', 'firmware')
        boards = os.path.join(firmware, 'boards')
        flags = '-Os -mcpu=cortex-m3 -mthumb -fno-threadsafe-statics -ffunction-sections -fdata-sections -Wno-psabi'
        subprocess.run(['arm-none-eabi-g++', '-std=c++20', '-fno-exceptions', '-fno-rtti', *flags.split(), '-I' + ROOT, '-I' + ROOT + '/include',
                        '-c', os.path.join(boards, 'cortex_m.cpp'), '-o', self.path('board', 'start.o')], check=True)
        self.make('OPDUMP=' + ROOT, 'CXX=arm-none-eabi-g++', 'CXXFLAGS=' + flags + ' ' + STRICT.replace('-O0', '-Os'), 'LDLIBS=start.o',
                  'LDFLAGS=-nostartfiles --specs=rdimon.specs -Wl,--gc-sections -L' + boards + ' -T mps2-an385.ld', 'firmware')
        size = subprocess.run(['arm-none-eabi-size', self.path('board', 'main.o')], capture_output=True, text=True, check=True)
        self.assertLess(int(size.stdout.split()[6]), 16384)  # without a word of profiles or knobs
        os.rename(self.path('board', 'firmware'), self.path('board', 'firmware.elf'))
        done = subprocess.run(['sh', os.path.join(firmware, 'qemu.sh'), 'mps2-an385', 'firmware.elf'], cwd=self.path('board'),
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, 'ok: 5 records dumped, 0 lost\n'), done.stderr)
        self.assertEqual([numbers[1:] for numbers in self.numbers('flash.img')], [(2 * step, 6 + 2 * step) for step in range(5)])
        for name in ('firmware.elf', 'flash.img', 'main.o', 'start.o'):
            os.remove(self.path('board', name))

    def test_port(self):
        out, _ = self.run_tool('check', '--for-device', 'board/acl.json')
        self.assertIn('valid and active', out)
        self.check_on_board()
        self.check_port(['memory.hpp', 'sink.hpp', 'clock.hpp'], FILLED,
                        'OPDUMP=' + ROOT, 'CXX=' + CXX, 'CXXFLAGS=' + STRICT)


if __name__ == '__main__':
    ROOT = os.path.abspath(sys.argv.pop(2))
    CXX = sys.argv.pop(2)
    tool_case.main()
