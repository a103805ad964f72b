#!/usr/bin/env python3
"""Compiles every public header alone and included twice with all and with the least of opdump, those for C as C and as C++11 too,
and all of them together under every configuration of profiles.txt. Under C++17 each C++ header says what it needs, but for
those that C++17 compiles. What a program that links the library reads of opdump's headers stays within MOST_READ, and
what knobs switch elsewhere than in knobs.hpp within MOST_REGIONS.

usage: header_check.py COMPILER SOURCE_ROOT [--few] [SHARE [PROFILE...]]

Of the headers alone one in SHARE is compiled, which are others with each commit, and each that the last 20 commits have
changed, unless SHARE is more than 8; and only under the PROFILEs if there are any. With --few all of them together too
only under those.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

from profiles import PROFILES, configurations
from turns import turn

FLAGS = '-std=c++20 -fno-exceptions -fno-rtti -Wall -Wextra -Wconversion -Wshadow -Wundef -Werror -fsyntax-only -xc++ -'.split()

# C's headers are for programs in any C++, and in C.
C_CXX_FLAGS = '-std=c++11 -pedantic -Wall -Wextra -Wconversion -Wshadow -Wundef -Werror -fsyntax-only -xc++ -'.split()
C_FLAGS = '-std=c99 -pedantic -Wall -Wextra -Wconversion -Wshadow -Wundef -Werror -fsyntax-only -xc -'.split()
OLD_FLAGS = '-std=c++17 -fsyntax-only -xc++ -'.split()

# C++ headers for programs in C++17 or later.
FOR_CXX17 = ('opdump/attach.hpp',)
CXX17_FLAGS = '-std=c++17 -pedantic -Wall -Wextra -Wconversion -Wshadow -Wundef -Werror -fsyntax-only -xc++ -'.split()

# What a header forgets to include shows where most and where least is compiled.
ALONE = ('full', 'lean')

# Knobs that are gone, with what takes their place, and values that some builds have not.
REFUSED = {
    'OPDUMP_DEGRADE=0': ('OPDUMP_DEGRADE is gone', 'OPDUMP_STATISTICS'),
    'OPDUMP_OVERFLOW=1': ('OPDUMP_OVERFLOW is gone', 'OPDUMP_FAULTS'),
    'OPDUMP_ALL_STATISTICS=0': ('OPDUMP_ALL_STATISTICS is gone', 'OPDUMP_SMALL_CODE'),
    'OPDUMP_PROFILE=tiny': ('OPDUMP_PROFILE is small, firmware or full',),
    'OPDUMP_FAULTS=1': ('OPDUMP_FAULTS is 0 or 2',),
}

# Headers of opdump, itself among them, that are read for one of them.
MOST_READ = {'opdump/attach.hpp': 6, 'platform/posix/file_dump.hpp': 31, 'opdump/session.hpp': 71, 'opdump/types/plan.hpp': 17}

# Lines of the preprocessor that ask for a knob, in include/ and platform/, but for knobs.hpp and the guards of headers.
MOST_REGIONS = 23
REGION = re.compile(r'^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*\bOPDUMP_(?!\w+_H$).*$', re.M)


def compile_source(compiler, root, source, flags):
    command = [compiler, f'-I{root}/include', f'-I{root}', *flags]
    done = subprocess.run(command, input=source, text=True, capture_output=True)
    return done.returncode, done.stderr


def compile_twice(compiler, root, header, flags):
    # An empty translation unit is no C.
    return compile_source(compiler, root, f'#include "{header}"\n#include "{header}"\nextern int one;\n', flags)


def compile_alone(compiler, root, header, flags):
    """Why the header does not compile; None if it does."""
    code, text = compile_twice(compiler, root, header, flags)
    return None if code == 0 else f'{header} does not compile alone{told(flags)}:\n{text}'


def compile_all(compiler, root, headers, flags):
    """Why the headers do not compile together; None if they do."""
    source = ''.join(f'#include "{header}"\n' for header in headers)
    code, text = compile_source(compiler, root, source, flags)
    return None if code == 0 else f'the headers do not compile together{told(flags)}:\n{text}'


def compile_as_old(compiler, root, header):
    """What the header fails to say to a compiler of C++17; None if it says what it needs, and nothing else."""
    code, text = compile_source(compiler, root, f'#include "{header}"\n', OLD_FLAGS)
    errors = [line for line in text.splitlines() if 'error' in line.partition(' ')[2]]
    named = [line for line in errors if 'error:' in line and 'opdump needs C++20' in line]
    if code != 0 and named and len([line for line in errors if 'error:' in line]) == len(named) == 2:
        return None
    return f'{header} as C++17 should say that it needs C++20, and says:\n' + '\n'.join(text.splitlines()[:20])


def session_fits(compiler, root, profile):
    """Why a session is not as large as the README says; None if it is."""
    most = json.loads((root / 'tests/firmware/size.json').read_text())['profiles'][profile]['host']['budget']
    source = ('#include "opdump/session.hpp"\n#include "platform/host/host_memory.hpp"\n#ifdef __x86_64__\n'
              f'static_assert(sizeof(opdump::BasicSession<opdump::HostMemory>) == {most});\n#endif\n')
    code, text = compile_source(compiler, root, source, [f'-DOPDUMP_PROFILE={profile}', *FLAGS])
    return None if code == 0 else f'a session in the profile {profile} is not of {most} bytes:\n{text}'


def count_read(compiler, root, header):
    """What is wrong with how many headers of opdump are read for this one; None if nothing is."""
    command = [compiler, f'-I{root}/include', f'-I{root}', '-std=c++20', '-DOPDUMP_LINKED', '-M', '-xc++', '-']
    # Elsewhere a header that stands in this folder would be taken for the one in `include`.
    done = subprocess.run(command, input=f'#include "{header}"\n', text=True, capture_output=True, cwd='/')
    if done.returncode != 0:
        return f'{header} does not compile for a program that links the library:\n{done.stderr}'
    read = sorted({word for word in done.stdout.split() if word.startswith(f'{root}/')})
    if 0 < len(read) <= MOST_READ[header]:
        return None
    return f'{header} reads {len(read)} headers of opdump, at most {MOST_READ[header]} are wanted:\n' + '\n'.join(read)


def count_regions(root):
    """Why there are too many regions of knobs; None if there are not."""
    found = []
    for folder in ('include', 'platform'):
        for path in sorted((root / folder).rglob('*')):
            if path.suffix in ('.h', '.hpp', '.inl', '.c', '.cpp', '.py') and path.name != 'knobs.hpp':
                found += [f'{path.relative_to(root)}: {line.strip()}' for line in REGION.findall(path.read_text())]
    if 0 < len(found) <= MOST_REGIONS:
        return None
    return f'{len(found)} regions of knobs outside knobs.hpp, at most {MOST_REGIONS} are wanted:\n' + '\n'.join(found)


def refuse(compiler, root, knob, names):
    """What is wrong with how knobs.hpp takes `knob`; None if it is an error that names all of `names`."""
    code, text = compile_source(compiler, root, '#include "opdump/knobs.hpp"\n', [f'-D{knob}', *FLAGS])
    told = [line for line in text.splitlines() if 'error' in line and all(name in line for name in names)]
    return None if code != 0 and told else f'knobs.hpp with {knob} should be refused with {names}, and is not:\n{text}'


def told(flags):
    knobs = [flag[2:] for flag in flags if flag.startswith('-DOPDUMP_')]
    return ' with ' + ' '.join(knobs) if knobs else ''


def chosen(root, headers, share):
    """One in `share`, and those that changed of late where there is time for them."""
    done = subprocess.run(['git', '-C', root, 'diff', '--name-only', 'HEAD~20'], capture_output=True, text=True, check=False)
    changed = {path.removeprefix('include/') for path in done.stdout.split()} if done.returncode == 0 and share <= 8 else set()
    start = turn(root) % share
    return [header for number, header in enumerate(headers) if number % share == start or str(header) in changed]


def has_header(compiler, header):
    return subprocess.run([compiler, '-fsyntax-only', '-xc', '-'], input=f'#include <{header}>\n', text=True,
                          capture_output=True, check=False).returncode == 0


def main():
    compiler, root, *options = sys.argv[1:]
    root = pathlib.Path(root)
    few = '--few' in options
    numbers = [option for option in options if option != '--few']
    share = int(numbers[0]) if numbers else 1
    alone = numbers[1:] or ALONE
    headers = [p.relative_to(root / 'include') for p in sorted((root / 'include/opdump').rglob('*.hpp'))]
    headers += [p.relative_to(root) for p in sorted((root / 'platform').rglob('*.hpp'))]
    for folder, header in (('opencl', 'CL/cl.h'), ('psa', 'psa/crypto.h')):
        if not has_header(compiler, header):
            print(f'left out: platform/{folder}, as {header} is not there')
            headers = [p for p in headers if p.parts[:2] != ('platform', folder)]
    c_headers = [p.relative_to(root / 'include') for p in sorted((root / 'include/opdump').rglob('*.h'))]
    # Those of nano are for no lean build. Those of runtimes and of an RTOS need the headers of these, which tests/runtimes
    # and rtos_test.py have.
    headers = [p for p in headers if p.parts[:3] != ('platform', 'ascend', 'nano')]
    headers = [p for p in headers if p.parts[1] not in ('runtimes', 'freertos', 'zephyr', 'esp-idf')]
    if len(headers) < 10 or not c_headers:
        sys.exit(f'only {len(headers)} headers found below {root}')
    if unknown := set(alone) - set(configurations()):
        sys.exit(f'profiles.txt has no {unknown}')
    some = headers if share == 1 else chosen(root, headers, share)
    work = [(compile_alone, header, [*flags, *core]) for header in c_headers for flags in (C_FLAGS, C_CXX_FLAGS)
            for core in ([], ['-DOPDUMP_CORE_ONLY'])]
    for name, knobs in configurations().items():
        flags = [f'-D{knob}' for knob in knobs] + FLAGS
        if name in alone:
            work += [(compile_alone, header, flags) for header in some + c_headers]
        if name in alone or not few:
            work += [(compile_all, headers, flags)]
    work += [(compile_alone, header, CXX17_FLAGS) for header in FOR_CXX17]
    work += [(compile_as_old, header) for header in some if str(header) not in FOR_CXX17]
    work += [(count_read, header) for header in MOST_READ] + [(session_fits, profile) for profile in PROFILES]
    work += [(refuse, knob, names) for knob, names in REFUSED.items()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = [*filter(None, pool.map(lambda item: item[0](compiler, root, *item[1:]), work))]
    faults += filter(None, [count_regions(root)])
    print('\n'.join([*faults, f'{len(work)} compilations, {len(faults)} failed']))
    sys.exit(1 if faults else 0)


if __name__ == '__main__':
    main()
