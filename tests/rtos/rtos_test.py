#!/usr/bin/env python3
"""The ports for Zephyr, ESP-IDF and FreeRTOS, as far as they go without these.

usage: rtos_test.py SOURCE_ROOT HOST_COMPILER...

Their headers compile alone and twice over declarations of our own (declared/), and an application (app.cpp) for a
Cortex-M33 and for rv32imc, without heap and atomics of a library. Kconfig has one symbol for each knob of
opdump/knobs.hpp, with its default and exactly the values that the header takes. CMake hands what Kconfig says to the
compiler, through the module of Zephyr and the component of ESP-IDF, whose functions are stood in for. These and the
library of PlatformIO are what release_archives.py lays out, away from the repository. What is not installed is left
out, saying so.
"""
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path += [str(pathlib.Path(__file__).parents[1] / folder) for folder in ('support', 'package')]
from profiles import PROFILES, knob_values
from system_python import import_here_or_there

kconfiglib = import_here_or_there('kconfiglib')

ROOT = pathlib.Path(sys.argv[1]).resolve()
HOST = sys.argv[2:]
HERE = ROOT / 'tests/rtos'
WARNINGS = '-Wall -Wextra -Wconversion -Wshadow -Wundef -Werror -Wno-psabi'.split()
ALONE = ['-std=c++20', '-fno-exceptions', '-fno-rtti', *WARNINGS]
FLAGS = [*ALONE, f'-I{ROOT}/include', f'-I{ROOT}']
BARE = ['-Os', '-fno-threadsafe-statics', '-DOPDUMP_PROFILE=full']
ARM = ['arm-none-eabi-g++', '-mcpu=cortex-m33', '-mthumb']
RV32 = ['riscv64-unknown-elf-g++', '-march=rv32imc', '-mabi=ilp32', '--specs=picolibc.specs']
HEADERS = {'zephyr': ['platform/zephyr'], 'esp_idf': ['platform/esp-idf', 'platform/freertos']}
# What a build of the system gives its compilers.
SYSTEM = {'zephyr': ['-D__ZEPHYR__=1', '-isystem', str(HERE / 'declared/zephyr')],
          'esp_idf': ['-DESP_PLATFORM=1', '-isystem', str(HERE / 'declared/esp_idf')]}
UNWANTED = re.compile(r'__atomic_|__sync_|malloc|_Zn[wa]|free$|abort|exit$')

# One only where src/config is compiled, which no firmware of these does; the other a choice of three symbols.
NO_SYMBOL = {'OPDUMP_DIALECTS', 'OPDUMP_PROFILE'}
# What Kconfig of the two systems has besides.
AROUND = '''
config CPP
	def_bool y
config STD_CPP20
	def_bool y
config STD_CPP2B
	bool
config REQUIRES_FULL_LIBCPP
	bool
config CPU_CORTEX_M
	bool "Cortex-M"
source "{kconfig}"
'''
ZEPHYR_CMAKE = '''
add_library(system INTERFACE)
function(zephyr_include_directories)
  target_include_directories(system INTERFACE ${ARGV})
endfunction()
function(zephyr_compile_definitions)
  target_compile_definitions(system INTERFACE ${ARGV})
endfunction()
'''
ESP_IDF_CMAKE = '''
function(idf_component_register)
  cmake_parse_arguments(PARSE_ARGV 0 component "" "" "SRCS;INCLUDE_DIRS;REQUIRES")
  if(component_UNPARSED_ARGUMENTS OR component_SRCS)
    message(FATAL_ERROR "unexpected: ${component_UNPARSED_ARGUMENTS}")
  endif()
  add_library(system INTERFACE)
  foreach(folder ${component_INCLUDE_DIRS})
    if(folder MATCHES "^/|[.][.]")
      message(FATAL_ERROR "${folder} is not in the component")
    endif()
    target_include_directories(system INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/${folder})
  endforeach()
  set(COMPONENT_LIB system PARENT_SCOPE)
endfunction()
'''


LAID_OUT = tempfile.TemporaryDirectory()
unittest.addModuleCleanup(LAID_OUT.cleanup)


@functools.lru_cache(maxsize=None)
def unpacked(kind):
    """The folder of the archive for `kind`."""
    place = pathlib.Path(LAID_OUT.name)
    subprocess.run([sys.executable, ROOT / 'platform/release_archives.py', place], check=True)
    with tarfile.open(next(place.glob(f'opdump-{kind}-*.tar.gz'))) as archive:
        archive.extractall(place / kind)
    return place / kind


def module_of(root):
    """The folder of CMake and the Kconfig that west takes for the module at `root`, by the rules of zephyr_module.py."""
    text = (root / 'zephyr/module.yml').read_text()
    found = re.fullmatch(r'name: opdump\nbuild:\n  cmake: (\S+)\n  kconfig: (\S+)\n', text)
    return root / found[1], root / found[2]


def places(system):
    """The same of what is laid out for `system`."""
    return module_of(unpacked(system)) if system == 'zephyr' else (unpacked(system), unpacked(system) / 'Kconfig')


def compile_text(text, *options, compiler=None):
    done = subprocess.run([*(compiler or HOST), *FLAGS, *options, '-fsyntax-only', '-xc++', '-'], input=text, text=True,
                          capture_output=True, check=False)
    return done.stderr if done.returncode else ''


def arm_headers():
    """The folders of the C++ library of the Arm compiler: of the same GCC, and for machines of 32 bits too."""
    done = subprocess.run([*ARM, '-E', '-v', '-xc++', '/dev/null'], text=True, capture_output=True, check=True)
    return re.findall(r'^ (/\S*/c\+\+\S*)$', done.stderr, re.M)


def cross_compilers():
    """Commands of those that are there, by name."""
    if shutil.which(ARM[0]) is None:
        print(f'left out: {ARM[0]}, which is not installed\nleft out: rv32, which takes the C++ headers of {ARM[0]}')
        return {}
    found = {'Cortex-M33': ARM}
    if shutil.which(RV32[0]) is None:
        print(f'left out: rv32, as {RV32[0]} is not installed')
        return found
    rv32 = [*RV32, '-nostdinc++', *(word for folder in arm_headers() for word in ('-isystem', folder))]
    fault = compile_text('#include <span>\n', compiler=rv32)
    if fault:
        print(f'left out: rv32, as a compiler without picolibc or with other C++ headers cannot: {fault.splitlines()[0]}')
        return found
    return {**found, 'rv32imc': rv32}


class Compiled(unittest.TestCase):
    def test_headers_alone_and_twice(self):
        work = [(system, path) for system, folders in HEADERS.items() for folder in folders
                for path in sorted((ROOT / folder).glob('*.hpp'))]
        self.assertGreater(len(work), 7)

        def fault(item):
            include = f'#include "{item[1].relative_to(ROOT)}"\n'
            return compile_text(2 * include, *SYSTEM[item[0]])

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            self.assertEqual([*filter(None, pool.map(fault, work))], [])

    def test_applications(self):
        for name, compiler in cross_compilers().items():
            for system in HEADERS:
                with self.subTest(compiler=name, system=system), tempfile.TemporaryDirectory() as folder:
                    program = f'{folder}/app.o'
                    done = subprocess.run([*compiler, *FLAGS, *BARE, *SYSTEM[system], '-c',
                                           HERE / 'app.cpp', '-o', program], text=True, capture_output=True,
                                          check=False)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    needs = subprocess.run([compiler[0].replace('g++', 'nm'), '-u', program], text=True,
                                           capture_output=True, check=True).stdout.split()
                    self.assertEqual([need for need in needs if UNWANTED.search(need) and 'atexit' not in need], [])


def knob_names():
    names = set(knob_values(compiler=HOST))
    assert {'OPDUMP_ENABLED', 'OPDUMP_DIALECTS'} <= names
    return names - NO_SYMBOL


def header_defaults(*options):
    values = knob_values(*options, compiler=HOST)
    return {name: int(values[name]) for name in knob_names()}


def header_takes(**values):
    """Whether the header compiles with these values."""
    return not compile_text('#include "opdump/knobs.hpp"\n', *(f'-D{name}={value}' for name, value in values.items()))


@unittest.skipIf(kconfiglib is None, 'kconfiglib is not installed')
class KconfigOfKnobs(unittest.TestCase):
    def load(self, system, **values):
        kconfig = places(system)[1]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'Kconfig'
            path.write_text(AROUND.format(kconfig=kconfig))
            config = kconfiglib.Kconfig(str(path), warn_to_stderr=False)
        if system == 'zephyr':
            config.syms['OPDUMP'].set_value('y')
        for name, value in values.items():
            self.assertTrue(config.syms[name].set_value(value), (name, value))
        self.assertEqual(config.warnings, [])
        return config

    def values(self, config):
        return {name: int(config.syms[name].str_value.replace('y', '1').replace('n', '0')) for name in knob_names()}

    def test_defaults_are_those_of_the_header(self):
        for system in ('zephyr', 'esp-idf'):
            self.assertEqual(self.values(self.load(system)), header_defaults('-ffreestanding'))
            self.assertEqual(self.values(self.load(system, CPU_CORTEX_M='y')), header_defaults('-ffreestanding', "-D__ARM_ARCH_PROFILE='M'"))
            for profile in PROFILES:
                self.assertEqual(self.values(self.load(system, **{f'OPDUMP_PROFILE_{profile.upper()}': 'y'})),
                                 header_defaults(f'-DOPDUMP_PROFILE={profile}'))
                self.assertEqual(self.values(self.load(system, OPDUMP_SMALL_CODE='y', **{f'OPDUMP_PROFILE_{profile.upper()}': 'y'})),
                                 header_defaults(f'-DOPDUMP_PROFILE={profile}', '-DOPDUMP_SMALL_CODE=1'))

    def test_each_knob_has_a_symbol_and_no_other_has(self):
        config = self.load('zephyr')
        knobs = knob_names()
        self.assertEqual(knobs - config.syms.keys(), set())
        asked = {name for name, symbol in config.syms.items() if name.startswith('OPDUMP_') and symbol.nodes}
        helpers = {'OPDUMP_FIND_FAULTS'} | {name for name in asked if config.syms[name].choice}
        self.assertEqual(asked - helpers, knobs)
        for name in knobs:
            self.assertEqual(config.syms[name].type in (kconfiglib.BOOL, kconfiglib.INT), True)

    def test_values_are_those_that_the_header_takes(self):
        config = self.load('zephyr')
        ranges = 0
        for name in sorted(knob_names()):
            symbol = config.syms[name]
            if symbol.type == kconfiglib.BOOL:
                low, high = 0, 1
            elif symbol.ranges:
                low, high = (int(bound.str_value) for bound in symbol.ranges[0][:2])
            else:
                continue
            ranges += 1
            self.assertEqual([header_takes(**{name: value}) for value in (low - 1, low, high, high + 1)],
                             [False, True, True, False], name)
        self.assertEqual(ranges, 11)

    def test_numbers_of_several_choices(self):
        reached = {self.values(self.load('zephyr', **{f'OPDUMP_CRC_TABLE_{size}': 'y'}))['OPDUMP_CRC_TABLE_BYTES']
                   for size in (64, 1024, 8192)}
        tried = {0, 63, 64, 65, 128, 1024, 4096, 8191, 8192, 8193}
        self.assertEqual(reached, {value for value in tried if header_takes(OPDUMP_CRC_TABLE_BYTES=value)})
        for small in '01':
            setting = {'OPDUMP_SMALL_CODE': 'ny'[int(small)]}
            reached = {self.values(self.load('zephyr', **setting, OPDUMP_FIND_FAULTS=value))['OPDUMP_FAULTS'] for value in 'ny'}
            self.assertEqual(reached, {value for value in range(4)
                                       if header_takes(OPDUMP_SMALL_CODE=small, OPDUMP_FAULTS=value)})

    def test_the_module_needs_a_library_and_is_off_by_default(self):
        config = self.load('zephyr')
        self.assertEqual(config.syms['REQUIRES_FULL_LIBCPP'].str_value, 'y')
        config.syms['OPDUMP'].set_value('n')
        self.assertEqual(config.syms['OPDUMP_MAX_RECORDERS'].str_value, '')

    def build(self, system, functions, **values):
        """Builds a program that says which knobs the compiler was given."""
        config = self.load(system, **values)
        wanted = self.values(config)
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            config.write_config(here / 'config')
            settings = re.findall(r'^(CONFIG_\w+)=(.*)$', (here / 'config').read_text(), re.M)
            (here / 'CMakeLists.txt').write_text(
                'cmake_minimum_required(VERSION 3.18)\nproject(app CXX)\n'
                'set(CMAKE_CXX_STANDARD 20)\nset(CMAKE_CXX_STANDARD_REQUIRED ON)\n'
                + ''.join(f'set({name} {value})\n' for name, value in settings) + functions
                + f'add_subdirectory({places(system)[0]} opdump)\n'
                'add_executable(app main.cpp)\ntarget_link_libraries(app system)\n')
            (here / 'main.cpp').write_text(
                '#include "opdump/port/clock.hpp"\n#include "platform/flashlog/partition.hpp"\n'
                + ''.join(f'static_assert({name} == {value});\n' for name, value in wanted.items()) + 'int main() {}\n')
            for command in (['cmake', '-S', here, '-B', here / 'build', f'-DCMAKE_CXX_COMPILER={shutil.which(HOST[-1])}'],
                            ['cmake', '--build', here / 'build']):
                done = subprocess.run(command, text=True, capture_output=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipIf(shutil.which('cmake') is None, 'cmake is not installed')
    def test_cmake_hands_them_on(self):
        self.build('zephyr', ZEPHYR_CMAKE, OPDUMP_PROFILE_FIRMWARE='y', OPDUMP_SMALL_CODE='y', OPDUMP_MAX_RECORDERS='3', OPDUMP_WAIT='n',
                   OPDUMP_CACHE_LINE_BYTES='32')
        self.build('esp-idf', ESP_IDF_CMAKE, OPDUMP_JOURNAL='n', OPDUMP_MAX_CONFIGS='1', OPDUMP_CRC_TABLE_1024='y', OPDUMP_CRC_UNIT='2')


class Metadata(unittest.TestCase):
    def test_the_module_is_found(self):
        for root in ROOT / 'platform', unpacked('zephyr'):
            cmake, kconfig = module_of(root)
            self.assertTrue((cmake / 'CMakeLists.txt').exists() and kconfig.exists())

    def test_the_component_has_the_version_of_opdump(self):
        version = re.search(r"^  version: '([^']+)'", (ROOT / 'meson.build').read_text(), re.M)[1]
        self.assertIn(f'version: "{version}"\n', (unpacked('esp-idf') / 'idf_component.yml').read_text())

    def test_the_library_of_platformio_compiles(self):
        root = unpacked('platformio')
        library = json.loads((root / 'library.json').read_text())['build']
        self.assertEqual(library['srcFilter'], '-<*>')
        folders = [f'-I{root / library[key]}' for key in ('includeDir', 'srcDir')]
        headers = ['opdump/boot.hpp', 'platform/flashlog/flash_log.hpp', 'platform/wire/wire_sink.hpp', 'platform/host/host_memory.hpp']
        done = subprocess.run([*HOST, *ALONE, *folders, '-fsyntax-only', '-xc++', '-'], text=True, capture_output=True, check=False,
                              input=''.join(f'#include "{header}"\n' for header in headers))
        self.assertEqual(done.stderr, '')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
