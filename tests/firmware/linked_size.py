"""Whole firmware for a Cortex-M3, linked with its library functions: what it takes, and that it runs.

The programs are below tests/firmware/linked. Each boots a session, captures, drains and ends, and is run on an
emulator where there is one: its exit status says whether each record was written. Nothing of a heap, of signals or of
abort may be in it. Stack is the deepest path of one call through virtual calls, the port's functions and the library's;
size.json says where virtual calls lead, and has to say so of each.
"""
import re
import shutil

from budget import complaint, run
from callgraph import CallGraph, frames_of
from emulated import execute, opdump_symbols
from profiles import configurations

CPU = ['-mcpu=cortex-m3', '-mthumb']
FLAGS = ('-Os -ffunction-sections -fdata-sections -Wall -Wextra -Wconversion -Wundef -Werror').split()
LANGUAGES = {'.c': ['gcc', '-std=c99'], '.cpp': ['g++', '-std=c++20', '-fno-exceptions', '-fno-rtti',
                                                 '-fno-threadsafe-statics', '-Wno-psabi']}
LINK = '-nostartfiles --specs=nano.specs --specs=nosys.specs -Wl,--gc-sections,--no-warn-rwx-segments'.split()
FLASH = ('.vectors', '.text', '.ARM.extab', '.ARM.exidx', '.init_array', '.data')
UNWANTED = {'malloc', 'free', 'calloc', 'realloc', '_malloc_r', '_free_r', '_sbrk', 'abort', 'exit', 'signal', 'raise',
            '__cxa_pure_virtual', '__cxa_atexit', '__cxa_throw'}
CALLS = {'boot': ('boot', 'load'), 'capture': ('capture',), 'drain': ('drain',)}


def built(root, name, rule, folder, *options):
    """The program, compiled and linked with `options` besides."""
    # The rule's own go before those of its profile.
    values = dict(knob.split('=') for knob in [*configurations()[rule['profile']], *rule.get('knobs', ())])
    knobs = [f'{knob}={value}' for knob, value in values.items()]
    sources = [*rule['sources'], 'tests/firmware/linked/start.cpp']
    objects = []
    for source in map(root.joinpath, sources):
        compiler, *standard = LANGUAGES[source.suffix]
        objects.append(folder / f'{name}-{source.stem}{"".join(options)}.o')
        run(f'arm-none-eabi-{compiler}', *CPU, *FLAGS, *standard, *options, f'-I{root}/include', f'-I{root}',
            '-DOPDUMP_VERSION="size"', *(f'-D{knob}' for knob in knobs), '-fcallgraph-info=su', '-c', str(source),
            '-o', str(objects[-1]))
    program = folder / f'{name}{"".join(options)}.elf'
    run('arm-none-eabi-g++', *CPU, '-Os', *LINK, *options, f'-L{root}/tests/firmware/boards', '-Tmps2-an385.ld',
        *map(str, objects), '-o', str(program))
    graph = ''.join(path.with_suffix('.ci').read_text() for path in objects if path.with_suffix('.ci').exists())
    return program, CallGraph(graph)


def flash_of(program):
    sizes = dict(line.split()[:2] for line in run('arm-none-eabi-size', '-A', str(program)).splitlines()
                 if line.startswith('.'))
    return sum(int(sizes.get(section, 0)) for section in FLASH)


def symbols_of(program):
    return {line.split()[-1] for line in run('arm-none-eabi-nm', str(program)).splitlines()}


def measure(root, name, rule, virtual, folder):
    """Figures, and complaints that are of no figure."""
    program, graph = built(root, name, rule, folder)
    complaints = []
    symbols = symbols_of(program)
    if unwanted := symbols & UNWANTED:
        complaints.append(f'{name} is linked with {", ".join(sorted(unwanted))}')
    if shutil.which('qemu-system-arm') is not None:
        execute(root, 'mps2-an385', program)
    # Nothing of opdump may be left of what it is linked with, nor of the port's functions for flash.
    off, _ = built(root, f'{name}-off', {**rule, 'knobs': [*rule.get('knobs', ()), 'OPDUMP_ENABLED=0']}, folder)
    left = opdump_symbols(off) + [symbol for symbol in symbols_of(off) if '_flash' in symbol]
    if left:
        complaints.append('\n  '.join([f'{name} without OPDUMP_ENABLED has', *left]))
    graph.add_frames(frames_of(program))
    graph.add_virtual(virtual, each=False, linked=symbols)
    figures = {'flash': flash_of(program)}
    unknown = set()
    told = {caller for caller, _ in virtual}
    for call, functions in CALLS.items():
        deepest = graph.deepest([f'firmware_{function}' for function in functions])
        figures[call] = deepest.stack
        print(f'  {call} {deepest.stack}:', ', '.join(f'{plain(function)} {own}' for own, function in deepest.path))
        unknown |= {function for function in deepest.indirect if not any(part in function for part in told)}
    complaints += [f'size.json: where does the virtual call of {plain(function)} in {name} lead?'
                   for function in sorted(unknown)]
    figures['flash, -flto'] = flash_of(built(root, name, rule, folder, '-flto')[0])
    return figures, complaints


def profile_complaints(root, rules, folder):
    """Of what a product takes in each profile."""
    complaints = []
    for profile, rule in rules.items():
        program, _ = built(root, f'product-{profile}', {'profile': profile, 'sources': ['tests/firmware/linked/product.cpp']},
                           folder)
        session = re.search(r' (\w+) B firmware::session$', run('arm-none-eabi-nm', '-SC', str(program)), re.M)[1]
        figures = {'flash': flash_of(program), 'session': int(session, 16)}
        print(f'a product in the profile {profile}:', figures)
        complaints += [complaint(f'a product in the profile {profile}, {what} in bytes', figures[what], rule[what])
                       for what in figures]
    return complaints


def plain(function):
    """A name without its namespaces."""
    return re.sub(r'(opdump|flashlog|c_api|knobs_\w+|\(anonymous namespace\))::', '',
                  run('arm-none-eabi-c++filt', '-p', function.split(':')[-1]).strip())


def linked_rows(root, rules, folder):
    """The table's rows, and all complaints."""
    rows, complaints = [], []
    for name, rule in rules['rows'].items():
        print(f'{name}, linked:')
        figures, others = measure(root, name, rule, rules['virtual'], folder)
        print('  ', figures)
        complaints += others
        complaints.append(complaint(f'{name}, linked, flash in bytes', figures['flash'], rule['flash']))
        complaints += [complaint(f'{name}, linked, stack of {call} in bytes', figures[call], rule['stack'][call])
                       for call in CALLS]
        rows.append((rule['title'], figures['flash'], rule['flash']['budget'], figures['flash, -flto'],
                     *(figures[call] for call in CALLS), rule['stack']['boot']['budget']))
    return rows, complaints


def linked_table(rows):
    return ['| bytes, Cortex-M3, -Os | flash | goal | with -flto | stack of boot | of capture | of drain | goal |',
            '|---|---|---|---|---|---|---|---|', *('| ' + ' | '.join(map(str, row)) + ' |' for row in rows)]
