#!/usr/bin/env python3
"""Each command has a manual page with all that its help says, and shells complete what it lists.

usage: manual_test.py OPDUMP FOLDER
"""
import pathlib
import re
import shutil
import subprocess
import sys


def fail(text):
    sys.exit(f'FAILED: {text}')


def printed(*command):
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True).stdout


def commands_of(opdump):
    block = printed(opdump, '--help').split('usage:')[1].split('\n\n')[1]
    return [line.split()[0] for line in block.split('\n')]


def words_of(text):
    """The words of a text, whatever breaks its lines."""
    return re.findall(r'[\w{}*=./:]+', re.sub(r'\n\s*', ' ', text))


def check_page(opdump, folder, command):
    page = folder / ('-'.join(['opdump', *command]) + '.1')
    if not page.is_file():
        fail(f'{page.name} is not there')
    if shutil.which('groff') is None:
        return False
    done = subprocess.run(['groff', '-man', '-ww', '-Tascii', '-P-c', '-rHY=0', page], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode or done.stderr:
        fail(f'{page.name}: {done.stderr}')
    shown = words_of(re.sub('.\b', '', done.stdout))
    lost = [word for word in words_of(printed(opdump, *command, '--help')) if word not in set(shown)]
    if [word for word in lost if word not in ('usage:', 'status', 'exit')]:
        fail(f'{page.name} does not say {lost}')
    return True


def completed(folder, *words):
    script = (f'source {folder / "opdump.bash"}; COMP_WORDS=({" ".join(map(repr, words))}); '
              f'COMP_CWORD={len(words) - 1}; _opdump; echo "${{COMPREPLY[@]}}"')
    return printed('bash', '-c', script).split()


def main():
    opdump, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    commands = commands_of(opdump)
    if len(commands) < 18:
        fail(f'the help lists only {commands}')
    shown = [check_page(opdump, folder, command) for command in [(), *((command,) for command in commands)]]
    for words, wanted in [
        (('opdump', 'ver'), ['verify']),
        (('opdump', 'co'), ['compare', 'compile', 'convert']),
        (('opdump', 'verify', '--q'), ['--quick']),
        (('opdump', 'verify', 'di'), []),
        (('opdump', 'compare', '--golden-b'), ['--golden-boot']),
    ]:
        if sorted(completed(folder, *words)) != wanted:
            fail(f'{words} is completed with {completed(folder, *words)}')
    zsh = (folder / '_opdump').read_text()
    if any(f"'{command}:" not in zsh for command in commands):
        fail('zsh does not complete every command')
    print(f'{len(shown)} pages' if shown[0] else 'left out: what the pages show, as groff is not there')


if __name__ == '__main__':
    main()
