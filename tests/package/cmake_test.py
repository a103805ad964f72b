#!/usr/bin/env python3
"""Projects that are built with CMake take opdump installed, and as a part of their own build, where the library and
programs are as large and as fast as those of Meson's build with the same flags.

usage: cmake_test.py SOURCE_ROOT BUILD_ROOT COMPILER
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CONSUMER = """cmake_minimum_required(VERSION 3.18)
project(consumer C CXX)
{opdump}
add_executable(consumer "{here}/consumer.cpp")
target_link_libraries(consumer PRIVATE opdump::opdump)
add_executable(consumer_attach "{here}/consumer_attach.cpp")
target_link_libraries(consumer_attach PRIVATE opdump::opdump)
add_executable(c_consumer "{here}/consumer.c")
target_link_libraries(c_consumer PRIVATE opdump::opdump)
add_executable(acl_consumer acl.cpp)
target_link_libraries(acl_consumer PRIVATE opdump::acl)
add_executable(header_consumer headers.cpp)
target_link_libraries(header_consumer PRIVATE opdump::headers)
add_executable(other_knobs EXCLUDE_FROM_ALL acl.cpp)
target_link_libraries(other_knobs PRIVATE opdump::acl)
target_compile_definitions(other_knobs PRIVATE OPDUMP_MAX_CONFIGS=9)
"""
ACL = """#include "opdump/acl.hpp"
int main() { return opdump::acl::session().initialised() ? 1 : 0; }
"""
HEADERS = """#include "opdump/opdump.hpp"
#ifdef OPDUMP_LINKED
#error "the headers alone have no library"
#endif
int main() { return opdump::is_known(opdump::DType::float16) ? 0 : 1; }
"""
KNOBS_ARE_TOLD = """get_target_property(knobs opdump::headers INTERFACE_COMPILE_DEFINITIONS)
if(NOT knobs STREQUAL "OPDUMP_MAX_RECORDERS=8")
  message(FATAL_ERROR "knobs: ${knobs}")
endif()"""
BUILT = ['consumer', 'consumer_attach', 'c_consumer', 'acl_consumer', 'header_consumer']


def fail(text):
    sys.exit(f'FAILED: {text}')


def call(*command, code=0, **options):
    """What the command printed; it has to end with `code`, or with any other than 0 if that is None."""
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != code and not (code is None and done.returncode != 0):
        fail(f'{" ".join(map(str, command))} ended with {done.returncode}:\n{done.stdout}')
    return done.stdout


def configure(project, compiler, *options, code=0):
    return call('cmake', '-G', 'Ninja', '-S', project, '-B', project / 'build', f'-DCMAKE_CXX_COMPILER={compiler}',
                '-DFETCHCONTENT_FULLY_DISCONNECTED=OFF', *options, code=code)


def make(folder, root, opdump):
    folder.mkdir()
    (folder / 'CMakeLists.txt').write_text(CONSUMER.format(opdump=opdump, here=root / 'tests/package'))
    (folder / 'acl.cpp').write_text(ACL)
    (folder / 'headers.cpp').write_text(HEADERS)
    return folder


def consume(project, compiler, version, *options):
    """Builds and runs the programs, but for the one that must not link."""
    configure(project, compiler, *options)
    call('cmake', '--build', project / 'build', '-j', os.cpu_count() or 1)
    (project / 'attach.json').write_text(json.dumps({'dump': {'dump_path': str(project), 'dump_list': [{}]}}))
    for name in BUILT:
        arguments = [project / 'attach.json'] if name == 'consumer_attach' else []
        printed = call(project / 'build' / name, *arguments, cwd=project)
        if name == 'c_consumer' and not printed.startswith(f'opdump {version}, '):
            fail(f'{name} printed: {printed}')
    log = call('cmake', '--build', project / 'build', '--target', 'other_knobs', code=None)
    if 'undefined reference' not in log or 'knobs_' not in log:
        fail(f'the linker should have named the knobs that differ:\n{log}')


def included(source):
    """The sources that Meson has put together into this one; itself if it has not."""
    if '-unity' not in pathlib.Path(source).name:
        return [source]
    return re.findall(r'#include\s*[<"](.+)[>"]', pathlib.Path(source).read_text())


def test_same_sources(root, build):
    script = ('include(platform/cmake/sources.cmake)\n'
              'foreach(list vector core c config dialect_cann dialect_mindspore dialect_torchair dialect_lite system '
              'system_c hosted card acl)\n'
              '  foreach(source IN LISTS opdump_${list}_sources opdump_${list})\n'
              '    message(STATUS "${source}")\n  endforeach()\nendforeach()\n')
    with tempfile.NamedTemporaryFile('w', suffix='.cmake') as file:
        file.write(script)
        file.flush()
        cmake = {line[3:] for line in call('cmake', '-P', file.name, cwd=root).split('\n') if line.endswith('.cpp')}
    parts = {'opdump', 'opdump_core', 'opdump_vectors', 'opdump_templates', 'opdump_attach', 'opdump_card', 'opdump_acl'}
    meson = set()
    for target in json.loads(call('meson', 'introspect', build, '--targets')):
        if target['name'] in parts and target['type'] == 'static library':
            for group in target['target_sources']:
                for source in group.get('sources', []) + group.get('generated_sources', []):
                    meson |= {os.path.relpath(one, root) for one in included(source)}
    if len(cmake) < 50 or cmake != meson:
        fail(f'only in CMake: {sorted(cmake - meson)}, only in Meson: {sorted(meson - cmake)}')


def test_translation_units(root, compiler, work):
    """Attach is one unit and the cards are one, as in Meson's build; compiled one by one they make a build take an eighth
    more."""
    call('cmake', '-G', 'Ninja', '-S', root / 'platform/cmake', '-B', work / 'units', f'-DCMAKE_CXX_COMPILER={compiler}')
    compiled = re.findall(r' -c (\S+)', call('ninja', '-C', work / 'units', '-t', 'commands', 'libopdump.a'))
    shared = [pathlib.Path(name).read_text() for name in compiled if name.endswith('/unity_0_cxx.cxx')]
    alone = [name for name in compiled if '/src/attach/' in name or '/src/card/' in name]
    if len(shared) != 2 or alone:
        fail(f'{len(shared)} units, and compiled by themselves: {alone}')
    for file in 'src/attach/dump_object.cpp', 'src/card/card_json.cpp':
        if sum(file in unit for unit in shared) != 1:
            fail(f'{file} is not in one of:\n' + '\n'.join(shared))


def optimisations(project, compiler, generator, build_type, flags):
    """The options -O of opdump's commands of the compiler, and those of a program that links to it."""
    build = project / f'build {generator}'
    call('cmake', '-G', generator, '-S', project, '-B', build, f'-DCMAKE_CXX_COMPILER={compiler}',
         f'-DCMAKE_BUILD_TYPE={build_type}', f'-DCMAKE_CXX_FLAGS={flags}')
    files = ['-f', 'build-Debug.ninja'] if generator == 'Ninja Multi-Config' else []
    commands = call('ninja', '-C', build, *files, '-t', 'commands', 'opdump', 'opdump_acl', 'consumer').split('\n')
    found = {'opdump': set(), 'consumer': set()}
    for command in commands:
        if ' -c ' in command:
            of_consumer = 'CMakeFiles/consumer.dir' in command
            found['consumer' if of_consumer else 'opdump'].add(' '.join(re.findall(r' (-O\S*)', command)))
    return found['opdump'], found['consumer']


def test_optimised(root, compiler, work):
    """Where nobody says how, opdump is optimised as Meson does it, and the program that takes it in is left alone."""
    project = make(work / 'optimised', root, f'add_subdirectory("{root}/platform/cmake" opdump)')
    for generator, build_type, flags, opdump, consumer in [
            ('Ninja', '', '', '-O2', ''), ('Ninja', 'MinSizeRel', '', '-Os', '-Os'), ('Ninja', 'Debug', '', '', ''),
            ('Ninja', '', '-Os', '-Os', '-Os'), ('Ninja Multi-Config', '', '', '', '')]:
        found = optimisations(project, compiler, generator, build_type, flags)
        if found != ({opdump}, {consumer}):
            fail(f'{generator} {build_type} {flags}: opdump is compiled with {found[0]}, the program with {found[1]}')


def test_only_what_is_linked(root, compiler, work):
    """A program of headers compiles itself, and a project that takes opdump in installs nothing of it."""
    project = work / 'headers'
    project.mkdir()
    (project / 'main.cpp').write_text(HEADERS)
    (project / 'CMakeLists.txt').write_text('cmake_minimum_required(VERSION 3.18)\nproject(app CXX)\nadd_executable(app main.cpp)\n'
                                            f'add_subdirectory("{root}/platform/cmake" opdump)\n'
                                            'target_link_libraries(app PRIVATE opdump::headers)\n')
    configure(project, compiler)
    compiled = re.findall(r' -c (\S+)', call('ninja', '-C', project / 'build', '-t', 'commands', 'all'))
    if compiled != [str(project / 'main.cpp')]:
        fail(f'for a program of headers these are compiled: {compiled}')
    call('cmake', '--build', project / 'build')
    call('cmake', '--install', project / 'build', '--prefix', work / 'nothing')
    if (work / 'nothing').exists():
        fail('opdump should not be installed by a project that takes it in')


def headers_of(prefix):
    """The headers below it, from the folder that a program includes."""
    top = next(prefix.rglob('opdump.hpp')).parents[1]
    return {str(path.relative_to(top)) for path in top.rglob('*') if path.suffix in ('.h', '.hpp', '.inl')}


def test_knobs(root):
    cmake = (root / 'platform/cmake/CMakeLists.txt').read_text()
    knobs = [line.split()[1] for line in (root / 'include/opdump/knobs.hpp').read_text().split('\n')
             if line.startswith('#ifndef OPDUMP_')]
    for knob in knobs:
        if knob not in cmake:
            fail(f'{knob} cannot be set in CMake')


def test_old_compiler(root):
    for identity, version, code in [('GNU', '10.5', None), ('GNU', '11.1', 0), ('Clang', '13.0.1', None), ('Clang', '14', 0)]:
        with tempfile.NamedTemporaryFile('w', suffix='.cmake') as file:
            file.write(f'include({root}/platform/cmake/compiler.cmake)\nopdump_check_compiler({identity} {version})\n')
            file.flush()
            printed = call('cmake', '-P', file.name, code=code)
        if code is None and f'opdump needs g++ 11 or clang++ 14; this compiler is {identity} {version}' not in printed:
            fail(f'{identity} {version}: {printed}')


def test_installed(root, build, compiler, version, work):
    call('meson', 'install', '-C', build, '--no-rebuild', '--quiet', '--destdir', work / 'root')
    config = next((work / 'root').rglob('opdumpConfig.cmake'))
    prefix = config.parents[3] if config.parents[3].name != 'lib' else config.parents[4]
    moved = work / 'another' / 'prefix'
    moved.parent.mkdir()
    shutil.move(prefix, moved)
    search = f'-DCMAKE_PREFIX_PATH={moved}'

    project = make(work / 'installed', root, f'find_package(opdump {version[:-2]} REQUIRED COMPONENTS acl headers)')
    with open(project / 'CMakeLists.txt', 'a') as lists:
        lists.write(f'add_executable(shared_consumer "{root}/tests/package/consumer.c")\n'
                    'target_link_libraries(shared_consumer PRIVATE opdump::c)\n')
    consume(project, compiler, version, search)
    call(project / 'build/shared_consumer', cwd=project)
    for wrong in ['0.2', '1.0', '0.0.9']:
        project = make(work / f'wrong-{wrong}', root, f'find_package(opdump {wrong} REQUIRED)')
        printed = configure(project, compiler, search, code=None)
        if f'version: {version}' not in printed or wrong not in printed:
            fail(f'version {wrong}: {printed}')
    project = make(work / 'component', root, 'find_package(opdump REQUIRED COMPONENTS colour)')
    if 'colour' not in configure(project, compiler, search, code=None):
        fail('a component that does not exist should be named')
    next(moved.rglob('libopdump.a')).unlink()
    project = make(work / 'damaged', root, 'find_package(opdump REQUIRED)')
    if 'libopdump.a is not there' not in configure(project, compiler, search, code=None).replace('\n  ', ' '):
        fail('a library that is missing should be named')


def flags_of_meson(build):
    """How Meson was told to compile opdump: what CMake has to be told for the same code."""
    commands = json.loads((build / 'compile_commands.json').read_text())
    command = next(one['command'] for one in commands if one['output'].startswith('src/libopdump_core.a.p/'))
    flags = re.findall(r'(?<= )(?:-O\S+|-g\S*|-fPIC)(?= )', command)
    # Meson puts together as many files as unity_size says.
    options = {one['name']: one['value'] for one in json.loads(call('meson', 'introspect', build, '--buildoptions'))}
    return flags, options['unity_size'] if options['unity'] == 'on' else None


def bytes_of(file):
    """Text, data and bss; of an archive those of all its objects."""
    return sum(int(line.split()[3]) for line in call('size', file).splitlines()[1:])


def instructions_of(program, work, *arguments):
    """All that a run of the program takes."""
    out = work / 'callgrind'
    call('valgrind', '--tool=callgrind', f'--callgrind-out-file={out}', program, *arguments, cwd=work)
    return int(re.search(r'^summary: (\d+)', out.read_text(), re.M)[1])


def same(what, cmake, meson, share):
    print(f'{what}: {cmake} with CMake, {meson} with Meson')
    if not meson or abs(cmake - meson) > share * meson:
        fail(f'{what}: {cmake} with CMake, {meson} with Meson, which is more than {share:.1%} apart')


def compare_with_meson(build, project, compiler, work):
    """The library and programs that link it, which were built by CMake with the flags of Meson's build."""
    meson, cmake = build / 'src/libopdump.a', next(project.rglob('libopdump.a'))
    same('bytes of the library', bytes_of(cmake), bytes_of(meson), 0.005)
    config = project / 'attach.json'
    for name, arguments in (('consumer', []), ('consumer_attach', [config])):
        built, other = project / 'build' / name, work / f'{name} over the library of Meson'
        call(compiler, next((project / f'build/CMakeFiles/{name}.dir').rglob('*.o')), '-o', other, meson, '-lsimdjson', '-pthread', '-ldl')
        same(f'bytes of {name}', bytes_of(built), bytes_of(other), 0.005)
        if shutil.which('valgrind') is None:
            print('left out: instructions, as valgrind is not installed')
        else:
            same(f'instructions of {name}', *(instructions_of(one, work, *arguments) for one in (built, other)), 0.005)
    units = {'cmake': set(re.findall(r' -c (\S+)', call('ninja', '-C', project / 'build', '-t', 'commands', 'opdump'))),
             'meson': set(re.findall(r' -c (\S+)', call('ninja', '-C', build, '-t', 'commands', 'src/libopdump.a')))}
    same('translation units', len(units['cmake']), len(units['meson']), 0)


def test_fetched(root, build, compiler, version, work):
    """From a repository, as FetchContent takes it, with a knob that the program sets; as large and as fast as Meson's."""
    source = work / 'source'
    files = call('git', '-C', root, 'ls-files', '--cached', '--others', '--exclude-standard', '-z', 'include', 'src',
                 'platform', 'meson.build').split('\0')
    for file in filter(None, files):
        if (root / file).exists():
            (source / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / file, source / file)
    call('git', 'init', '-q', source)
    call('git', '-C', source, 'add', '-A')
    call('git', '-C', source, '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '-m', 'all')
    fetch = (f'include(FetchContent)\nFetchContent_Declare(opdump GIT_REPOSITORY "file://{source}" GIT_TAG HEAD '
             'SOURCE_SUBDIR platform/cmake)\nset(OPDUMP_MAX_RECORDERS 8)\nFetchContent_MakeAvailable(opdump)\n'
             + KNOBS_ARE_TOLD)
    project = make(work / 'fetched', root, fetch)
    flags, unity_size = flags_of_meson(build)
    consume(project, compiler, version, f'-DCMAKE_CXX_FLAGS={" ".join(flags)}', '-DCMAKE_CXX_EXTENSIONS=OFF',
            '-DOPDUMP_INSTALL=ON', f'-DCMAKE_UNITY_BUILD={"OFF" if unity_size is None else "ON"}', f'-DCMAKE_UNITY_BUILD_BATCH_SIZE={unity_size}')
    commands = call('ninja', '-C', project / 'build', '-t', 'commands', 'opdump').split('\n')
    if any(' -c ' in command and ' -DOPDUMP_MAX_RECORDERS=8 ' not in command for command in commands):
        fail(f'the knob of the project is not told to each unit of opdump:\n{commands}')
    compare_with_meson(build, project, compiler, work)
    call('cmake', '--install', project / 'build', '--prefix', work / 'prefix')
    if different := headers_of(work / 'prefix') ^ headers_of(work / 'another/prefix'):
        fail(f'CMake or Meson alone installs {different}')
    project = make(work / 'from cmake', root, f'find_package(opdump {version[:-2]} REQUIRED COMPONENTS acl headers)\n' + KNOBS_ARE_TOLD)
    consume(project, compiler, version, f'-DCMAKE_PREFIX_PATH={work}/prefix')


def main():
    root, build, compiler = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), sys.argv[3]
    if shutil.which('cmake') is None:
        print('SKIPPED: cmake is not there')
        sys.exit(77)
    version = json.loads(call('meson', 'introspect', build, '--projectinfo'))['version']
    test_same_sources(root, build)
    test_knobs(root)
    test_old_compiler(root)
    with tempfile.TemporaryDirectory() as work:
        test_translation_units(root, compiler, pathlib.Path(work))
        test_only_what_is_linked(root, compiler, pathlib.Path(work))
        test_optimised(root, compiler, pathlib.Path(work))
        test_installed(root, build, compiler, version, pathlib.Path(work))
        test_fetched(root, build, compiler, version, pathlib.Path(work))
    print('all passed')


if __name__ == '__main__':
    main()
