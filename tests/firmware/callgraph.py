"""The deepest stack of a program, by what GCC writes with -fcallgraph-info=su."""

import collections
import re
import sys

from budget import run

INDIRECT = '__indirect_call'
Deepest = collections.namedtuple('Deepest', 'stack path indirect')


class CallGraph:
    """Functions by their mangled names: how much stack each takes itself, and whom it calls."""

    def __init__(self, text):
        self.own, self.calls = {}, {}
        for title, label in re.findall(r'node: { title: "([^"]*)" label: "([^"]*)"', text):
            size = re.search(r'(\d+) bytes \((\w[\w,]*)\)', label)
            if size and 'static' not in size[2] and 'bounded' not in size[2]:
                sys.exit(f'{title} takes stack without a bound')
            # Another file may know it by name alone.
            if size or title not in self.own:
                self.own[title] = int(size[1]) if size else 0
        for source, target in re.findall(r'edge: { sourcename: "([^"]*)" targetname: "([^"]*)"', text):
            self.calls.setdefault(source, set()).add(target)

    def add_virtual(self, pairs, each=True, linked=None):
        """Who calls whom virtually, by parts of names. `each`: each pair has to be found. `linked`: the symbols of a
        program, which calls none but these."""
        for caller, callee in pairs:
            found = [(a, b) for a in self.calls if caller in a and INDIRECT in self.calls[a] for b in self.own
                     if callee in b and (linked is None or b.split(':')[-1] in linked)]
            if each and not found:
                sys.exit(f'size.json: no virtual call from {caller} to {callee}')
            for source, target in found:
                self.calls[source].add(target)

    def add_frames(self, frames):
        """Of functions that come from libraries."""
        for title in self.own:
            if self.own[title] == 0 and title in frames:
                self.own[title] = frames[title]

    def deepest(self, roots=None):
        """Bytes and functions of the deepest path, from any function or from `roots`, and who on the way calls
        indirectly."""
        done, indirect = {}, set()

        def depth(function, above):
            if function in above:
                return 0, ('recursion',)
            if function not in done:
                targets = self.calls.get(function, ())
                if INDIRECT in targets:
                    indirect.add(function)
                below = max((depth(f, above | {function}) for f in targets), default=(0, ()))
                done[function] = self.own.get(function, 0) + below[0], (function, *below[1])
            return done[function]

        total, path = max(depth(function, frozenset()) for function in roots or self.own)
        return Deepest(total, [(self.own.get(function, 0), function.split(':')[-1]) for function in path], indirect)


def frames_of(binary):
    """Bytes that each function of a linked program pushes, by its instructions: no less than it takes."""
    frames, function = collections.Counter(), ''
    for line in run('arm-none-eabi-objdump', '-d', '--no-show-raw-insn', str(binary)).splitlines():
        if start := re.match(r'[0-9a-f]+ <(.*)>:', line):
            function = start[1]
        elif pushed := re.search(r'\t(?:push|stmdb\tsp!,|vpush)\s*\{(.*)\}', line):
            frames[function] += 4 * sum(registers_in(part) for part in pushed[1].split(', '))
        elif taken := re.search(r'\tsub(?:\.w)?\tsp, (?:sp, )?#(\d+)|\[sp, #-(\d+)\]!', line):
            frames[function] += int(taken[1] or taken[2])
    return frames


def registers_in(part):
    """How many `part` names: r4, or r4-r7."""
    first, _, last = part.partition('-')
    return int(last[1:]) - int(first[1:]) + 1 if last else 1
