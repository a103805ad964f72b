#!/usr/bin/env python3
"""Each command has a manual page with all that its help says, and shells complete what it lists.

usage: manual_test.py OPDUMP FOLDER
"""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
import waiting  # noqa: E402


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


def completed(file, *words):
    """What bash completes the last of the words with, by the file."""
    script = (f'source {file}; COMP_WORDS=({" ".join(map(repr, words))}); '
              f'COMP_CWORD={len(words) - 1}; _opdump; echo "${{COMPREPLY[@]}}"')
    return printed('bash', '-c', script).split()


def zsh_completed(folder, typed):
    """The words that zsh makes of a line of `opdump` and the key TAB, typed at a terminal."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe('zsh', ['zsh', '-f', '-i'], {**os.environ, 'TERM': 'dumb', 'HOME': '/nonexistent'})
    said = b''
    os.write(terminal, f"fpath=('{folder}' $fpath); autoload -Uz compinit; compinit -D -u; "
                       f"opdump() {{ print -r -- 'comp'leted: $@ :'so' }}; print rea'dy'\n".encode())
    for mark, keys in ((b'\nready\r', typed.encode() + b'\t\n'), (b':so\r', b'exit\n')):
        while mark not in said:
            waiting.until(lambda: select.select([terminal], [], [], 0)[0], f'{mark} of zsh', lambda: said)
            said += os.read(terminal, 65536)
        os.write(terminal, keys)
    os.close(terminal)
    os.waitpid(child, 0)
    found = re.search(rb'\ncompleted: (.*?) :so\r', said)
    return found[1].decode() if found else f'nothing: {said.decode(errors="replace")}'


def check_zsh(folder):
    if shutil.which('zsh') is None:
        print('left out: completion by zsh, which is not installed')
        return
    for typed, wanted in (('opdump veri', 'verify'), ('opdump verify --q', 'verify --quick'), ('opdump compare --golden-b', 'compare --golden-boot'),
                          ('opdump verify di', 'verify di')):
        if (got := zsh_completed(folder, typed)) != wanted:
            fail(f'zsh makes of {typed!r}: {got}')


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
        if sorted(completed(folder / 'opdump.bash', *words)) != wanted:
            fail(f'{words} is completed with {completed(folder / "opdump.bash", *words)}')
    zsh = (folder / '_opdump').read_text()
    if any(f"'{command}:" not in zsh for command in commands):
        fail('zsh does not complete every command')
    check_zsh(folder)
    print(f'{len(shown)} pages' if shown[0] else 'left out: what the pages show, as groff is not there')


if __name__ == '__main__':
    main()
