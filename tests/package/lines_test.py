#!/usr/bin/env python3
"""Each room keeps its budget of lines and files, counted as `wc -l` counts tracked files, none of which is a link.

usage: lines_test.py SOURCE_ROOT

A budget only falls: whoever makes a room smaller lowers it, down to its goal. It is raised only in a commit that names
what was taken out elsewhere.
"""
import os
import subprocess
import sys

SKIPPED = 77
# room: (lines, files), the goal of both
BUDGETS = {
    'include': ((28851, 162), (22000, 120)),
    'platform': ((26431, 235), (16000, 140)),
    'src': ((18172, 186), (16000, 150)),
    'src/python': ((150, 6), (2000, 15)),
    'src/tool': ((44116, 266), (24000, 220)),
    'tests': ((91037, 643), (58000, 450)),
    'examples': ((4070, 60), (3500, 50)),
}
WORDS = (26900, 14000)


def room_of(name):
    return max((room for room in BUDGETS if name.startswith(room + '/')), key=len, default=None)


def main():
    root = sys.argv[1]
    told = subprocess.run(['git', '-C', root, 'ls-files', '-z'], capture_output=True, text=True, check=False)
    if told.returncode:
        print('no git here, which tells the tracked files')
        return SKIPPED
    counts = {room: [0, 0] for room in BUDGETS}
    words, over = 0, []
    for name in told.stdout.split('\0'):
        path = os.path.join(root, name)
        if os.path.islink(path):
            over.append(f'{name} is a symbolic link, of which archives and Windows make something else')
        if not name or os.path.islink(path) or not os.path.isfile(path):
            continue
        with open(path, 'rb') as file:
            text = file.read()
        if name.endswith('.md'):
            words += len(text.split())
        room = room_of(name)
        if room:
            counts[room][0] += text.count(b'\n')
            counts[room][1] += 1
    for room, (budget, goal) in BUDGETS.items():
        print(f'{room:<10} {counts[room][0]:>7} lines of {budget[0]:>6} (goal {goal[0]:>6}), '
              f'{counts[room][1]:>4} files of {budget[1]:>4} (goal {goal[1]:>4})')
        if counts[room][0] > budget[0] or counts[room][1] > budget[1]:
            over.append(room)
    print(f'{"Markdown":<10} {words:>7} words of {WORDS[0]:>6} (goal {WORDS[1]:>6})')
    if words > WORDS[0]:
        over.append('Markdown')
    if over:
        print('over budget: ' + ', '.join(over))
    return 1 if over else 0


if __name__ == '__main__':
    sys.exit(main())
