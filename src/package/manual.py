#!/usr/bin/env python3
"""Writes the manual pages of opdump and of its commands, and completions for shells, from what --help prints.

usage: manual.py OPDUMP VERSION FOLDER NAME...
NAMEs are the files to write into FOLDER; it fails if the commands ask for others.
"""
import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r'^(?: {2}| {6})(-\S.*?)(?:\s{2,}(\S.*))?$')
WORD = re.compile(r'(?<![\w-])--?[A-Za-z][\w-]*')


def help_of(opdump, *command):
    return subprocess.run([opdump, *command, '--help'], check=True, stdout=subprocess.PIPE, text=True).stdout


def commands_of(text):
    """Name and line of each command that the help of opdump lists."""
    block = text.split('\nusage:')[1].split('\n\n')[1]
    return re.findall(r'^  ([\w-]+) +(\S.*)$', block, flags=re.M)


def escaped(text):
    """As roff shows it letter by letter."""
    text = text.replace('\\', r'\e').replace('-', r'\-').replace("'", r'\(aq').replace('`', r'\(ga')
    text = text.replace('^', r'\(ha').replace('~', r'\(ti')
    return r'\&' + text if text.startswith('.') else text


def verbatim(lines):
    return ['.nf', '.RS 2', *(escaped(line[2:] if line.startswith('  ') else line) for line in lines), '.RE', '.fi']


def options(lines):
    """Paragraphs of a block of options, each under what it explains."""
    page = []
    for line in lines:
        match = OPTION.match(line)
        if match:
            page += ['.TP', '.B ' + escaped(match[1])] + ([escaped(match[2])] if match[2] else [])
        else:
            page.append(escaped(line.strip()))
    return page


def body(paragraphs):
    page, title = [], ''
    for paragraph in paragraphs:
        lines = paragraph.split('\n')
        if lines[0] == 'exit status':
            page.append('.SH EXIT STATUS')
            lines = lines[1:]
            for line in lines:
                match = re.match(r'^  (\d+)  (.*)$', line)
                page += ['.TP', f'.B {match[1]}', escaped(match[2])] if match else [escaped(line.strip())]
            continue
        wanted = 'OPTIONS' if OPTION.match(lines[0]) else 'DESCRIPTION'
        if title != wanted:
            page.append('.SH ' + wanted)
            title = wanted
        else:
            page.append('.PP')
        if wanted == 'OPTIONS':
            page += options(lines)
        elif lines[0].startswith('  '):
            page += verbatim(lines)
        else:
            for line in lines:
                page += verbatim([line]) if line.startswith('  ') else [escaped(line)]
    return page


def manual(name, version, text):
    first, *rest = text.rstrip('\n').split('\n\n')
    line = first.partition(' - ')[2]
    synopsis = rest[0].replace('usage: ', '       ', 1).split('\n')
    page = [f'.TH {escaped(name.upper())} 1 "" "opdump {version}" "User Commands"', '.SH NAME',
            f'{escaped(name)} \\- {escaped(line)}', '.SH SYNOPSIS', '.nf']
    page += [escaped(usage.strip()) for usage in synopsis] + ['.fi']
    page += body(rest[1:])
    page.append('.SH SEE ALSO')
    page.append('.BR opdump (1)' if name != 'opdump' else '.BR opdump\\-show (1) and the pages of the other commands')
    return '\n'.join(page) + '\n'


def option_words(text):
    """The options of a command, as its help lists them."""
    words = []
    for line in text.split('\n'):
        match = OPTION.match(line)
        if match:
            words += WORD.findall(match[1])
    return sorted(set(words) | {'--help'})


def bash(commands):
    cases = '\n'.join(f'    {name}) words="{" ".join(words)}" ;;' for name, words in commands.items())
    return f'''# Completes opdump's commands and options, and names of files.
_opdump() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "{' '.join(commands)} --help --version" -- "$word")
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  [ "${{word:0:1}}" != - ] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -o default -F _opdump opdump
'''


def zsh(commands, lines):
    listed = '\n'.join('    ' + "'" + f'{name}:{lines[name]}'.replace("'", "'\\''") + "'" for name in commands)
    cases = '\n'.join(f'    {name}) words=({" ".join(words)}) ;;' for name, words in commands.items())
    return f'''#compdef opdump
local -a commands options
commands=(
{listed}
)
if (( CURRENT == 2 )); then
  _describe command commands
else
  case $words[2] in
{cases.replace('words=', 'options=')}
  esac
  [[ $PREFIX == -* ]] && compadd -- $options || _files
fi
'''


def main():
    opdump, version, folder, *names = sys.argv[1:]
    text = help_of(opdump)
    lines = dict(commands_of(text))
    pages = {'opdump.1': manual('opdump', version, text)}
    helps = {name: help_of(opdump, name) for name in lines}
    for name, help_text in helps.items():
        pages[f'opdump-{name}.1'] = manual(f'opdump-{name}', version, help_text)
    words = {name: option_words(help_text) for name, help_text in helps.items()}
    pages['opdump.bash'] = bash(words)
    pages['_opdump'] = zsh(words, lines)
    if set(pages) != set(names):
        sys.exit(f'src/package/meson.build should name these files: {", ".join(sorted(set(pages) ^ set(names)))}')
    for name, page in pages.items():
        (pathlib.Path(folder) / name).write_text(page)


if __name__ == '__main__':
    main()
