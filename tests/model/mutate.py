#!/usr/bin/env python3
"""Breaks ring.hpp and counted_time.hpp in one place at a time and demands that a test of theirs fails each time.

usage: mutate.py SOURCE_ROOT COMPILER...

Every acquire and release of the headers is weakened to relaxed in turn, whatever they are: for the models by a
variable of the environment, in one program, and for the other tests in the text. The other faults are listed below
by the text they replace. A fault whose text is not in the header exactly once is an error:
the list has to follow it. Exit status 1 if a fault goes unnoticed.
"""
import concurrent.futures
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

FLAGS = ['-std=c++20', '-O1', '-w', '-pthread']
# relacy places its objects as malloc does, so the ring may not ask for more alignment.
MODEL_FLAGS = [*FLAGS, '-DOPDUMP_CACHE_LINE_BYTES=8']
RECOVER_FLAGS = [*FLAGS, '-DOPDUMP_SURVIVE_RESET=1']

RING, COUNTED_TIME = 'opdump/ring.hpp', 'platform/posix/time/counted_time.hpp'

# Which order of a header with switched_orders() is relaxed; none unless the environment says it.
SWITCH = 'WEAKENED_ORDER'
SWITCHED = f"""#include <cstdlib>
inline const int weakened_order = std::getenv("{SWITCH}") == nullptr ? -1 : std::atoi(std::getenv("{SWITCH}"));
"""

FAULTS = [
    ('reset: any alignment', 'reinterpret_cast<std::uintptr_t>(memory.data()) % 8 != 0 || ', ''),
    ('reset: any small memory', ' || memory.size() < kMinBytes', ''),
    ('reset: any large memory', 'memory.size() > kMaxBytes', 'false'),
    ('reset: size not rounded', 'memory.size()) / kGranule * kGranule;', 'memory.size());'),
    ('reset: head stays', 'head_.store(0, std::memory_order_relaxed);', ''),
    ('reset: tail stays', 'tail_.store(0, std::memory_order_relaxed);', ''),
    ('reset: cached tail stays', 'cached_tail_ = 0;\n    ahead_end_', 'ahead_end_'),
    ('reset: what was seen ahead stays', 'ahead_end_ = 0;\n    cached_head_', 'cached_head_'),
    ('reset: cached head stays', 'cached_head_ = 0;\n    read_', 'read_'),
    ('reset: reader stays', 'read_ = 0;\n    return Status::ok;', 'return Status::ok;'),
    ('max_chunk: none without memory', '(size_ == 0 ? 0 : kChunkHeadBytes)', 'kChunkHeadBytes'),
    ('max_chunk: the whole ring', 'size_ / kGranule / 2 * kGranule', 'size_'),
    ('max_chunk: a granule less', 'size_ / kGranule / 2 * kGranule', '(size_ / kGranule / 2 - 1) * kGranule'),
    ('max_chunk: head forgotten', '/ 2 * kGranule - (size_ == 0 ? 0 : kChunkHeadBytes)', '/ 2 * kGranule'),
    ('reserve: cached tail not refreshed',
     'cached_tail_ = tail_.load(std::memory_order_acquire);\n      if (!place', 'if (!place'),
    ('reserve: cached tail not trusted',
     'if (!place(position, least)) {', 'if (cached_tail_ = 0, !place(position, least)) {'),
    ('reserve: given up without a look',
     'if (!place(position, least)) {', 'if (!place(position, least)) {\n      return {};'),
    ('reserve: no second check', 'if (!place(position, least)) return {};', 'place(position, least);'),
    ('reserve: chunk head not subtracted', 'reserved_room_ - kChunkHeadBytes;', 'reserved_room_;'),
    ('reserve: most ignored', 'room < most ? room : most', 'room'),
    ('reserve: room ignored', 'room < most ? room : most', 'most'),
    ('reserve: payload over the chunk head',
     'memory_ + reserved_at_ + kChunkHeadBytes, room', 'memory_ + reserved_at_, room'),
    ('reserve: held chunks written over', 'if (!place(position, least)) {',
     'if (position = head_.load(std::memory_order_relaxed), !place(position, least)) {'),
    ('hold: published at once', 'return {reserved_at_, bytes};',
     'publish({reserved_at_, bytes});\n    return {reserved_at_, bytes};'),
    ('commit: wrap marker not written', 'if (reserved_at_ != position) write_length(position, kWrap);', ''),
    ('commit: wrap marker always written',
     'if (reserved_at_ != position) write_length(position, kWrap);\n    write_length(reserved_at_, bytes);',
     'write_length(reserved_at_, bytes);\n    write_length(position, kWrap);'),
    ('commit: wrap marker in the chunk', 'write_length(position, kWrap);', 'write_length(reserved_at_, kWrap);'),
    ('commit: length not written', 'kWrap);\n    write_length(reserved_at_, bytes);', 'kWrap);'),
    ('commit: published before the length', 'write_length(reserved_at_, bytes);\n',
     'head_.store(reserved_at_ + chunk_bytes(bytes) == size_ ? 0 : reserved_at_ + chunk_bytes(bytes), '
     'std::memory_order_release);\n    write_length(reserved_at_, bytes);\n'),
    ('commit: head from where it was',
     'end = chunk.at + chunk_bytes(chunk.bytes);', 'end = position() + chunk_bytes(chunk.bytes);'),
    ('commit: head not wrapped at the end', 'return end == size_ ? 0 : end;', 'return end;'),
    ('commit: head wrapped a granule early',
     'return end == size_ ? 0', 'return end + kGranule == size_ ? 0'),
    ('publish: what was seen ahead stays, head back at the start', 'chunk.at == 0 || end == 0', 'chunk.at == 0'),
    ('publish: what was seen ahead stays, chunk at the start', 'chunk.at == 0 || end == 0', 'end == 0'),
    ('reserve_ahead: any room', 'if (end > ahead_end_) return {};', ''),
    ('reserve_ahead: a granule too many', 'if (end > ahead_end_) return {};', 'if (end > ahead_end_ + kGranule) return {};'),
    ('reserve_ahead: a granule too few', 'if (end > ahead_end_) return {};', 'if (end >= ahead_end_) return {};'),
    ('reserve_ahead: length not written', 'write_length(at, bytes);\n    return {payload, end};', 'return {payload, end};'),
    ('reserve_ahead: published at once', 'return {payload, end};',
     'head_.store(end, std::memory_order_release);\n    return {payload, end};'),
    ('reserve_ahead: payload over the chunk head', 'payload = memory_ + at + kChunkHeadBytes;', 'payload = memory_ + at;'),
    ('commit_ahead: not published', 'head_.store(chunk.end, std::memory_order_release);', ''),
    ('look_ahead: from what was known before',
     'cached_tail_ = tail_.load(std::memory_order_acquire);\n    const std::uint32_t end =', 'const std::uint32_t end ='),
    ('look_ahead: up to the tail', '(head < cached_tail_ ? cached_tail_ : size_) - kGranule',
     'head < cached_tail_ ? cached_tail_ : size_ - kGranule'),
    ('look_ahead: up to the end', '(head < cached_tail_ ? cached_tail_ : size_) - kGranule',
     'head < cached_tail_ ? cached_tail_ - kGranule : size_'),
    ('look_ahead: empty taken for full', '(head < cached_tail_ ?', '(head <= cached_tail_ ?'),
    ('look_ahead: any share of the ring', 'end - head < left ? end : head + left', 'end'),
    ('look_ahead: the share, whatever room there is', 'end - head < left ? end : head + left', 'head + left'),
    ('look_ahead: what is taken not counted', 'taken < most ? most - taken : 0', 'most'),
    ('look_ahead: over the share taken for none', 'taken < most ? most - taken : 0', 'most - taken'),
    ('end_ahead: nothing ends', 'void end_ahead() { ahead_end_ = 0; }', 'void end_ahead() {}'),
    ('look: cached head not refreshed',
     'if (read_ == cached_head_) cached_head_ = head_.load(std::memory_order_acquire);', ''),
    ('look: empty ring not seen', 'return read_ != cached_head_;', 'return true;'),
    ('look: always looks empty', 'return read_ != cached_head_;', 'return false;'),
    ('peek: wrap marker not followed', 'if (read_length(read_) == kWrap) read_ = 0;', ''),
    ('peek: chunk head given out', 'memory_ + read_ + kChunkHeadBytes, bytes', 'memory_ + read_, bytes'),
    ('pop: reader not wrapped at the end', 'read_ = end == size_ ? 0 : end;', 'read_ = end;'),
    ('pop: room given back at once', 'read_ = end == size_ ? 0 : end;',
     'read_ = end == size_ ? 0 : end;\n    tail_.store(read_, std::memory_order_release);'),
    ('pop: nothing popped', 'read_ = end == size_ ? 0 : end;', 'static_cast<void>(end);'),
    ('release: room not given back', 'tail_.store(read_, std::memory_order_release);', ''),
    ('release: unread chunks given back', 'tail_.store(read_,', 'tail_.store(cached_head_,'),
    ('over: from what was known before',
     'cached_tail_ = tail_.load(std::memory_order_acquire);\n    return', 'return'),
    ('over: always when it was once', 'return distance(cached_tail_, position) > bytes;', 'return true;'),
    ('over: never', 'return distance(cached_tail_, position) > bytes;', 'return false;'),
    ('over: at the limit',
     'return distance(cached_tail_, position) > bytes;\n', 'return distance(cached_tail_, position) >= bytes;\n'),
    ('over: not looked at', 'if (distance(cached_tail_, position) <= bytes) return false;', 'return false;'),
    ('over: held chunks not counted', 'if (distance(cached_tail_, position) <= bytes) return false;',
     'position = head_.load(std::memory_order_relaxed);\n    '
     'if (distance(cached_tail_, position) <= bytes) return false;'),
    ('all_popped: always', 'return read_ == cached_head_;', 'return true;'),
    ('all_popped: never', 'return read_ == cached_head_;', 'return false;'),
    ('drained: always', 'return tail_.load(std::memory_order_acquire) == head;', 'return true;'),
    ('drained: never', 'return tail_.load(std::memory_order_acquire) == head;', 'return false;'),
    ('drained: head read last',
     'const std::uint32_t head = head_.load(std::memory_order_acquire);\n    // acquire: what',
     'const std::uint32_t tail = tail_.load(std::memory_order_acquire);\n    '
     'const std::uint32_t head = head_.load(std::memory_order_acquire);\n    return tail == head;\n    // acquire: what'),
    ('used: not around the end', 'head >= tail ? head - tail : size_ - tail + head', 'head - tail'),
    ('used: ring full when empty', 'return head >= tail', 'return head > tail'),
    ('a chunk without its head', 'payload + kChunkHeadBytes + kGranule - 1', 'payload + kGranule - 1'),
    ('a chunk rounded down', 'kChunkHeadBytes + kGranule - 1) / kGranule', 'kChunkHeadBytes) / kGranule'),
    ('a chunk with a granule too many',
     'kChunkHeadBytes + kGranule - 1) / kGranule', 'kChunkHeadBytes + kGranule) / kGranule'),
    ('an empty chunk taken for a wrap', 'kWrap = 0xffffffffu', 'kWrap = 0'),
    ('place: sizes that overflow', 'if (least >= size_) return false;', ''),
    ('place: empty taken for full', 'if (head < tail) {', 'if (head <= tail) {'),
    ('place: behind the tail, full check removed',
     'return need <= reserved_room_;\n    }', 'return true;\n    }'),
    ('place: behind the tail, a granule too many', 'tail - head - kGranule', 'tail - head'),
    ('place: behind the tail, a granule too few',
     'return need <= reserved_room_;\n    }', 'return need < reserved_room_;\n    }'),
    ('place: before the end, full check removed', 'if (need <= reserved_room_) return true;', 'return true;'),
    ('place: before the end, a granule too many', '(tail == 0 ? kGranule : 0)', '0'),
    ('place: before the end, a granule too few', '(tail == 0 ? kGranule : 0)', 'kGranule'),
    ('place: before the end, exact fit refused',
     'if (need <= reserved_room_) return true;', 'if (need < reserved_room_) return true;'),
    ('place: never before the end', 'if (need <= reserved_room_) return true;', ''),
    ('place: wrapped chunk stays where it was', 'reserved_at_ = 0;\n    reserved_room_', 'reserved_room_'),
    ('place: at the start, a granule too many', 'tail == 0 ? 0 : tail - kGranule', 'tail'),
    ('place: at the start, nothing free taken for much',
     'tail == 0 ? 0 : tail - kGranule', 'tail - kGranule'),
    ('place: at the start, full check removed', 'return need <= reserved_room_;\n  }', 'return true;\n  }'),
    ('place: at the start, exact fit refused',
     'return need <= reserved_room_;\n  }', 'return need < reserved_room_;\n  }'),
]

# Those of what survives a reset.
RECOVER_FAULTS = [
    ('publish: not marked', 'mark_payload(chunk.at, chunk.bytes);', ''),
    ('commit_ahead: not marked',
     'mark_payload(static_cast<std::uint32_t>(chunk.payload - memory_) - kChunkHeadBytes, bytes);', ''),
    ('reserve_ahead: marked before it is published', 'return {payload, end};',
     'set_mark(at, mark_of(at, bytes));\n    return {payload, end};'),
    ('pop: mark stays', 'set_mark(read_, 0);', ''),
    ('hold: marked before it is published', 'return {reserved_at_, bytes};',
     'set_mark(reserved_at_, mark_of(reserved_at_, bytes));\n    return {reserved_at_, bytes};'),
    ('recover: any memory',
     'if (const Status status = reset(memory); status != Status::ok) return status;',
     'if (reset(memory) != Status::ok) return Status::ok;'),
    ('recover: only what has wrapped', 'low_end = end_of_row(0);', 'low_end = 0;'),
    ('recover: only what has not wrapped',
     'while (start < size_ && end_of_row(start) == start) start += kGranule;', 'start = size_;'),
    ('recover: rubbish behind the end believed', 'if (end_of_row(at) != at) return Status::malformed;', ''),
    ('recover: a ring without a free granule believed', 'if (low_end == size_) return Status::malformed;', ''),
    ('recover: wrap marker not written', 'if (wraps && low_end != 0 && end != size_) write_length(end, kWrap);', ''),
    ('recover: reader at the start', 'read_ = wraps ? start : 0;', 'read_ = 0;'),
    ('recover: tail at the start', 'tail_.store(wraps ? start : 0, std::memory_order_relaxed);', ''),
    ('recover: head behind what has not wrapped', 'wraps && low_end == 0 ? end % size_ : low_end', 'low_end'),
    ('recover: head behind what has wrapped', 'wraps && low_end == 0 ? end % size_ : low_end', 'end % size_'),
    ('recover: head not wrapped at the end', 'end % size_ : low_end', 'end : low_end'),
    ('recover: cached tail stays', 'cached_tail_ = cached_head_ = read_;', 'cached_head_ = read_;'),
    ('recover: cached head stays', 'cached_tail_ = cached_head_ = read_;', 'cached_tail_ = read_;'),
    ('mark: the same at every place', '(offset * 0x9e3779b1u) ^ ', '(offset - offset) ^ '),
    ('mark: the same for every size of ring', ' ^ size_ ^ 0x474e4952u', ' ^ 0x474e4952u'),
]

# Those of time that is counted on.
COUNTED_FAULTS = [
    ('unix_us: a look under way not seen', 'turn % 2 != 0 || turn_', 'turn_'),
    ('unix_us: a look in between not seen', ' || turn_.load(std::memory_order_relaxed) != turn', ''),
]


ORDER = re.compile(r'std::memory_order_(acquire|release|acq_rel|seq_cst)')


def switched_orders(header):
    """The header with each of its orders relaxed where `weakened_order` is its number."""
    number = itertools.count()
    return ORDER.sub(lambda order: f'(weakened_order == {next(number)} ? std::memory_order_relaxed : {order[0]})', header)


def weakened_orders(header):
    for order in ORDER.finditer(header):
        line = header.count('\n', 0, order.start()) + 1
        mutant = header[:order.start()] + 'std::memory_order_relaxed' + header[order.end():]
        yield f'line {line}: {order[1]} weakened to relaxed', mutant


def listed_faults(header, faults):
    for name, old, new in faults:
        if header.count(old) != 1:
            sys.exit(f'mutate.py: {name}: {header.count(old)} times in its header, not once: {old!r}')
        yield name, header.replace(old, new)


class Test:
    """One test program, compiled against any header in place of one of ours."""

    def __init__(self, name, work, compiler, root, flags, prelude, sources, arguments):
        self.name = name
        self.arguments = arguments
        self.command = [*compiler, *flags]
        self.includes = [f'-I{root}/include', f'-I{root}/tests', f'-I{root}']
        self.sources = [str(root / 'tests' / source) for source in sources]
        self.seconds = None
        # What does not depend on the ring is compiled once.
        self.prelude = work / f'{name}.hpp'
        self.prelude.write_text(SWITCHED + ''.join(f'#include <{header}>\n' for header in prelude))
        self.objects = []
        self.must('-x', 'c++-header', self.prelude, '-o', f'{self.prelude}.gch')
        for source in [s for s in self.sources if s.endswith('/main.cpp')]:
            self.must('-c', source, '-o', work / f'{name}.o')
            self.sources.remove(source)
            self.objects.append(str(work / f'{name}.o'))

    def must(self, *arguments):
        subprocess.run([*self.command, *self.includes, *map(str, arguments)], check=True)

    def build(self, folder):
        """The program with the header of `folder`."""
        program = folder / self.name
        command = [*self.command, '-include', str(self.prelude), f'-I{folder}', *self.includes, *self.sources,
                   *self.objects, '-o', str(program)]
        compiled = subprocess.run(command, capture_output=True, text=True)
        if compiled.returncode != 0:
            sys.exit(f'mutate.py: {folder.name} does not compile:\n{compiled.stderr}')
        return program

    def run(self, program, **environment):
        """'passes', 'fails' or 'hangs'."""
        limit = None if self.seconds is None else 3 * self.seconds + 5
        start = time.monotonic()
        try:
            done = subprocess.run([program, *self.arguments], capture_output=True, timeout=limit, env={**os.environ, **environment})
        except subprocess.TimeoutExpired:
            return 'hangs'
        if self.seconds is None:
            self.seconds = time.monotonic() - start
        return 'passes' if done.returncode == 0 else 'fails'

    def verdict(self, folder):
        """The same of a program that is gone afterwards."""
        program = self.build(folder)
        try:
            return self.run(program)
        finally:
            program.unlink()


def write_header(folder, path, text):
    (folder / path).parent.mkdir(parents=True)
    (folder / path).write_text(text)
    return folder


def main():
    root, compiler = pathlib.Path(sys.argv[1]), sys.argv[2:]
    ring = (root / 'include' / RING).read_text()
    counted_time = (root / COUNTED_TIME).read_text()
    ring_orders = list(weakened_orders(ring))
    time_orders = list(weakened_orders(counted_time))
    if len(ring_orders) < 4 or len(time_orders) < 4:
        sys.exit('mutate.py: fewer acquires and releases than a ring or a sequence lock needs')

    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            def make(name, flags, prelude, *sources):
                arguments = ['--abort-after=1'] if 'main.cpp' in sources else []
                return pool.submit(Test, name, work, compiler, root, flags, prelude, sources, arguments)

            parts = [make('model', MODEL_FLAGS, ['model/clean_relacy.hpp'], 'model/ring_model_test.cpp'),
                     make('unit', FLAGS, ['doctest/doctest.h', 'deque', 'random', 'thread', 'vector'],
                          'main.cpp', 'unit/ring/ring_test.cpp'),
                     make('states', FLAGS, ['doctest/doctest.h', 'deque', 'vector'],
                          'main.cpp', 'model/ring_states_test.cpp'),
                     make('reset', RECOVER_FLAGS, ['doctest/doctest.h', 'deque', 'string', 'vector'],
                          'main.cpp', 'model/ring_recover_test.cpp'),
                     make('time', MODEL_FLAGS, ['model/clean_relacy.hpp', 'iostream'],
                          'model/counted_time_model_test.cpp')]
            model, unit, states, reset, counted = [part.result() for part in parts]
            # Only the models see memory orders reliably; the rest falls sooner to the others.
            groups = [(RING, ring_orders, [model, unit, states]),
                      (RING, listed_faults(ring, FAULTS), [unit, states, model]),
                      (RING, listed_faults(ring, RECOVER_FAULTS), [reset]),
                      (COUNTED_TIME, time_orders, [counted]),
                      (COUNTED_TIME, listed_faults(counted_time, COUNTED_FAULTS), [counted])]
            mutants = [(name, path, text, tests, number if faults in (ring_orders, time_orders) else None)
                       for path, faults, tests in groups for number, (name, text) in enumerate(faults)]
            sound = write_header(work / 'sound', RING, ring)
            for path, header in ((RING, ring), (COUNTED_TIME, counted_time)):
                switched = write_header(work / 'switched', path, switched_orders(header))
            programs = {test: pool.submit(test.build, switched) for test in (model, counted)}
            programs = {test: program.result() for test, program in programs.items()}
            for test, verdict in [*((test, pool.submit(test.run, program)) for test, program in programs.items()),
                                  *((test, pool.submit(test.verdict, sound)) for test in (unit, states, reset))]:
                if verdict.result() != 'passes':
                    sys.exit(f'mutate.py: the {test.name} test fails with the header as it is')

            def killer(number):
                _, path, text, tests, order = mutants[number]
                folder = write_header(work / str(number), path, text)
                for test in tests:
                    if order is not None and test in programs:
                        verdict = test.run(programs[test], **{SWITCH: str(order)})
                    else:
                        verdict = test.verdict(folder)
                    # A race shows at once; a model that hangs may only be slow, which proves nothing.
                    if verdict == 'fails' or (verdict == 'hangs' and test not in (model, counted)):
                        return f'{test.name} {verdict}'
                return None

            killers = list(pool.map(killer, range(len(mutants))))

    for (name, *_), by in zip(mutants, killers):
        print(f'{by or "NOBODY":13}  {name}')
    survivors = killers.count(None)
    found = {verdict: killers.count(verdict) for verdict in sorted(set(killers) - {None})}
    print(f'{len(mutants)} faults: {found}, {survivors} found by nobody')
    sys.exit(1 if survivors else 0)


if __name__ == '__main__':
    main()
