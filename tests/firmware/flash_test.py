#!/usr/bin/env python3
"""examples/firmware on emulated boards: its flash holds what a host run of the same network dumps, byte for byte,
also after the emulator is killed at random. Under Linux on other machines the whole image is the host's.

usage: flash_test.py SOURCE_ROOT OPDUMP HOST_COMPILER...

On one board, killed in three boots of one log; with OPDUMP_FIRMWARE_KILLS=N on all five, each killed N times, with a
new log after every fourth. Skips, saying so, without the ARM compiler or QEMU.
"""
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

from budget import run
from emulated import build, opdump_symbols, skip_without_tools

# On boards too in the profile of the host, whose dump theirs are compared with.
OPTIMISE = ['-O2', '-ffp-contract=off', '-DOPDUMP_PROFILE=full']
FLAGS = '-std=c++20 -fno-exceptions -fno-rtti -Wall -Wextra -Wconversion -Wundef -Werror'.split() + OPTIMISE
CLANG = '-fno-threadsafe-statics -ffunction-sections -fdata-sections -nostdinc++ -Wno-unused-command-line-argument'.split()
MIB = 1 << 20
SIMDJSON = 'subprojects/packagecache/simdjson-3.0.1.tar.gz'
MORE = {'mps2-an385': ['clang', 'off'], 'mps3-an547': ['json'], 'virt': ['json'], 'xilinx-zynq-a9': ['json']}
STEPS = 20
REFERENCE_STEPS = 700
BOOTS = 4  # of one log; more would fill it


class Board:
    def __init__(self, machine, cpu, startup, ticks, flash, block, blocks, program, bytes_of_file):
        self.machine, self.cpu, self.startup, self.ticks = machine, cpu.split(), startup, ticks
        self.flash, self.block, self.blocks, self.program = flash, block, blocks, program
        self.bytes_of_file = bytes_of_file

    def options(self, image):
        """Machine and further options of QEMU."""
        if self.flash == 'memory':
            size = self.bytes_of_file // MIB
            return [self.machine.split()[0] + ',memory-backend=fl', *self.machine.split()[1:], '-object',
                    f'memory-backend-file,id=fl,mem-path={image},size={size}M,share=on']
        return [*self.machine.split(), '-drive', f'{self.flash},format=raw,file={image}']

    def write_image(self, image, config):
        """Erased flash with `config` in its last block."""
        with open(image, 'wb') as file:
            file.truncate(self.bytes_of_file)
            file.write(b'\xff' * (self.block * self.blocks))
            file.seek(self.block * (self.blocks - 1))
            file.write(config)


M3, M55 = '-mcpu=cortex-m3', '-mcpu=cortex-m55 -mfloat-abi=hard'
A9, A15 = (f'-mcpu=cortex-{name} -mfpu=vfpv3-d16 -mfloat-abi=hard' for name in ('a9', 'a15'))
BOARDS = {
    'mps2-an385': Board('mps2-an385', M3, 'cortex_m', 'cortex_m_ticks', 'memory', 65536, 256, 4, 16 * MIB),
    'mps3-an547': Board('mps3-an547', M55, 'cortex_m', 'cortex_m_ticks', 'memory', 65536, 256, 4, 2048 * MIB),
    'emcraft-sf2': Board('emcraft-sf2', M3, 'cortex_m', 'cortex_m_ticks', 'if=mtd', 65536, 256, 1, 16 * MIB),
    'virt': Board('virt -cpu cortex-a15 -m 64', A15, 'cortex_a', 'no_ticks', 'if=pflash,unit=1', 262144, 256, 4, 64 * MIB),
    'xilinx-zynq-a9': Board('xilinx-zynq-a9', A9, 'cortex_a', 'no_ticks', 'if=pflash', 131072, 512, 1, 64 * MIB),
}


HOST = BOARDS['mps2-an385']  # for its flash
# Compilers of other machines under Linux, and what their emulators are called.
MACHINES = {'aarch64-linux-gnu': 'aarch64', 'arm-linux-gnueabihf': 'arm', 'riscv64-linux-gnu': 'riscv64',
            's390x-linux-gnu': 's390x'}


class Bench:
    """Programs and the host's dump, made once."""

    def __init__(self, root, opdump, compiler, folder):
        self.root, self.folder = root, folder
        self.here, self.example = root / 'tests/firmware', root / 'examples/firmware'
        self.compiler, self.opdump = compiler, opdump
        self.config = folder / 'plan'
        run(opdump, 'compile', str(self.example / 'acl.json'), '-o', str(self.config))
        self.host = self.host_dump()

    def includes(self):
        return [f'-I{self.root}/include', f'-I{self.root}']

    def sources(self, board, ticks):
        return [str(self.example / 'main.cpp'), str(self.example / f'boards/{board}.cpp'),
                str(self.example / f'boards/{ticks}.cpp'), str(self.root / 'examples/digits/network.cpp')]

    def host_dump(self):
        return self.contents(self.image_of(self.compiler, [], REFERENCE_STEPS), HOST)[1]

    def image_of(self, compiler, wrapper, steps, *options):
        """The flash image of a run under a system."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        run(*compiler, *FLAGS, *options, *self.includes(), *self.sources('host', 'no_ticks'), '-o', str(folder / 'digits'))
        HOST.write_image(folder / 'flash.img', self.config.read_bytes())
        run(*wrapper, str(folder / 'digits'), str(steps), cwd=folder)
        return folder / 'flash.img'

    def program(self, name, variant):
        """The board's program, compiled when it is first asked for."""
        program = self.folder / f'{name}-{variant}.elf'
        if not program.exists():
            board = BOARDS[name]
            sources = self.sources(name, board.ticks)
            if variant == 'clang':
                sources = [self.clang_object(source) for source in sources]
            parser = self.json_parser() if variant == 'json' else ['-DOPDUMP_ENABLED=0'] if variant == 'off' else []
            build(self.root, name, board.startup, sources, program, *OPTIMISE, *board.cpu, *parser)
        return program

    def clang_object(self, source):
        """`source` compiled for a Cortex-M3 by clang, with the C and C++ headers of the ARM compiler."""
        text = subprocess.run(['arm-none-eabi-g++', *M3.split(), '-mthumb', '-E', '-v', '-xc++', '/dev/null'],
                              check=True, text=True, capture_output=True).stderr
        folders = re.findall(r'^ (\S+arm-none-eabi/include\S*)$', text, re.MULTILINE)
        target = str(self.folder / (pathlib.Path(source).stem + '.o'))
        run('clang++', '--target=thumbv7m-none-eabi', '-fshort-enums', *FLAGS, *CLANG, *self.includes(),
            *(f'-isystem{folder}' for folder in folders), '-c', source, '-o', target)
        return target

    def json_parser(self):
        """What a board needs besides to read JSON: opdump's parsers, and simdjson as Meson's fallback has it."""
        folder = self.folder / 'simdjson'
        if not folder.exists():
            with tarfile.open(self.root / SIMDJSON) as archive:
                for member in archive:
                    name = pathlib.PurePath(member.name)
                    if name.parent.name == 'singleheader' and name.stem == 'simdjson':
                        text = archive.extractfile(member).read().decode()
                        folder.mkdir(exist_ok=True)
                        # Where int32_t is long, 0 alone is as near to another overload.
                        (folder / name.name).write_text(re.sub(r'\bpeek\(0\)', 'peek(int32_t(0))', text))
        return ['-w', '-DOPDUMP_EXAMPLE_JSON', '-DSIMDJSON_EXCEPTIONS=0', '-DSIMDJSON_IMPLEMENTATION_FALLBACK=1', '-DNDEBUG',
                '-isystem', str(folder), str(folder / 'simdjson.cpp'),
                *map(str, sorted((self.root / 'src/config').rglob('*.cpp')))]

    def contents(self, image, board):
        """What `opdump extract` gets out of `image`: the folder, and the bytes of each file but journals."""
        part = self.folder / 'part.img'
        with open(image, 'rb') as whole:
            part.write_bytes(whole.read(board.block * board.blocks))
        tree = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        run(self.opdump, 'extract', str(part), '-o', str(tree))
        return tree, self.files(tree)

    def files(self, tree):
        files = (path for path in tree.rglob('*') if path.is_file() and path.suffix != '.journal')
        return {str(path.relative_to(tree)): path.read_bytes() for path in files}

    def boots(self, image, board):
        """The folder of all that `image` holds, and the files of each boot, the oldest first."""
        tree, files = self.contents(image, board)
        boots = sorted(tree.glob('boot_*'))
        return tree, [self.files(boot) for boot in boots] or [files]

    def start(self, name, image, steps, variant='gcc'):
        board = BOARDS[name]
        machine, *options = board.options(image)
        command = ['sh', str(self.here / 'qemu.sh'), machine, *options, str(self.program(name, variant)), str(steps)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                start_new_session=True, env={**os.environ, 'OPDUMP_QEMU_SECONDS': '600'})


class FlashTest(unittest.TestCase):
    bench = None
    kills = 1

    def compare(self, files):
        """Every record of the network is the host's, and every reading of the timer is whole; how many there are."""
        network = readings = 0
        for path, what in files.items():
            if '/Reading.' in path:
                self.assertEqual(what[-16:], what[-4:] * 4, path)
                readings += 1
            else:
                self.assertEqual(what, self.bench.host.get(path), f'{path} is not what the host dumped')
                network += 1
        return network, readings

    def check_whole_run(self, name, variant='gcc'):
        board, image = BOARDS[name], self.bench.folder / f'{name}.img'
        config = self.bench.example / 'acl.json' if variant == 'json' else self.bench.config
        board.write_image(image, config.read_bytes())
        qemu = self.bench.start(name, image, STEPS, variant)
        text, errors = qemu.communicate()
        self.assertEqual(qemu.returncode, 0, text + errors)
        tree, files = self.bench.contents(image, board)
        network, readings = self.compare(files)
        self.assertEqual(network, STEPS * 13)
        self.assertEqual(readings > 0, board.ticks != 'no_ticks')
        self.assertIn(f'{network + readings} records dumped, 0 lost', text)
        run(self.bench.opdump, 'verify', str(tree))

    def check_machine(self, name):
        compiler, emulator = f'{name}-g++', f'qemu-{MACHINES[name]}-static'
        for tool in (compiler, emulator):
            if shutil.which(tool) is None:
                self.skipTest(f'{tool} is not installed')
        theirs = self.bench.image_of([compiler], [emulator], STEPS, '-static')
        ours = self.bench.image_of(self.bench.compiler, [], STEPS)
        self.assertEqual(theirs.read_bytes(), ours.read_bytes())

    def check_json(self, name):
        if not (self.bench.root / SIMDJSON).exists():
            self.skipTest(f'{SIMDJSON} is not there')
        self.check_whole_run(name, 'json')

    def check_clang(self, name):
        if shutil.which('clang++') is None:
            self.skipTest('clang++ is not installed')
        self.check_whole_run(name, 'clang')

    def check_off(self, name):
        """Without OPDUMP_ENABLED nothing of opdump is in the program, which leaves the flash alone."""
        image = self.bench.folder / f'{name}.img'
        BOARDS[name].write_image(image, self.bench.config.read_bytes())
        before = image.read_bytes()
        qemu = self.bench.start(name, image, STEPS, 'off')
        text, errors = qemu.communicate()
        self.assertEqual(qemu.returncode, 0, text + errors)
        self.assertIn('of 20 images right, 0 records dumped, 0 lost', text)
        self.assertEqual(image.read_bytes(), before)
        self.assertEqual(opdump_symbols(self.bench.program(name, 'off')), [])
        self.assertGreater(len(opdump_symbols(self.bench.program(name, 'gcc'))), 100)

    def check_kills(self, name):
        board, image = BOARDS[name], self.bench.folder / f'{name}.img'
        chance = random.Random(name)
        records = 0
        synced_in = []  # each boot of the log
        for kill in range(self.kills):
            if kill % BOOTS == 0:
                board.write_image(image, self.bench.config.read_bytes())
                synced_in = []
            qemu = self.bench.start(name, image, REFERENCE_STEPS)
            first = qemu.stdout.readline()
            time.sleep(chance.uniform(0, 0.5))
            # The script's timeout and QEMU: the group that start_new_session made.
            os.killpg(qemu.pid, 9)
            text, errors = qemu.communicate()
            synced = [int(line.split()[1]) for line in (first + text).splitlines() if line.startswith('synced ')]
            self.assertTrue(synced, f'{name} synced nothing before it was killed: {first}{text}{errors}')
            synced_in.append(synced[-1])
            tree, boots = self.bench.boots(image, board)
            self.assertEqual(len(boots), len(synced_in), f'{name}: the boots are not apart')
            for boot, (files, least) in enumerate(zip(boots, synced_in)):
                found = sum(self.compare(files))
                self.assertGreaterEqual(found, least, f'{name}: committed records of boot {boot} are lost')
            shutil.rmtree(tree)
            records += found
        print(f'{name}: {self.kills} kills, {records} records found, none lost or changed')


def main():
    root, opdump, *compiler = sys.argv[1:]
    kills = os.environ.get('OPDUMP_FIRMWARE_KILLS')
    skip_without_tools()
    FlashTest.kills = int(kills or 3)
    suite = unittest.TestSuite()
    checks = [(name, 'machine') for name in MACHINES] if kills else []
    for name in BOARDS if kills else ['mps2-an385']:
        checks += [(name, what) for what in ('whole_run', 'kills', *(MORE.get(name, ()) if kills else ('off',)))]
    for name, what in checks:
        method = f'test_{name}_{what}'
        setattr(FlashTest, method, lambda self, name=name, what=what: getattr(self, f'check_{what}')(name))
        suite.addTest(FlashTest(method))
    with tempfile.TemporaryDirectory() as folder:
        FlashTest.bench = Bench(pathlib.Path(root), opdump, compiler, pathlib.Path(folder))
        result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(not result.wasSuccessful())


if __name__ == '__main__':
    main()
