"""Runs the commands that a README gives, as a user does, but for where the user's libraries and tools are."""
import os
import re
import shutil

import waiting


def commands_of(readme, word):
    """The block of commands in which `word` stands: between marks, or indented."""
    with open(readme, encoding='utf-8') as file:
        text = file.read()
    blocks = re.findall(r'^```\w*\n(.*?)^```', text, re.S | re.M) + re.findall(r'(?:^    .*\n)+', text, re.M)
    (block,) = [block for block in blocks if word in block]
    return '\n'.join(line.strip() for line in block.splitlines())


def run_commands(commands, directory, compiler=None, tools=(), **environment):
    """Runs them all in `directory`, where "g++", "c++" and the names of `tools` are what was built or chosen; any
    that fails ends them."""
    folder = os.path.join(directory, 'bin')
    os.mkdir(folder)
    for tool in tools:
        os.symlink(tool, os.path.join(folder, os.path.basename(tool)))
    for name in ('g++', 'c++') if compiler else ():
        os.symlink(shutil.which(compiler), os.path.join(folder, name))
    return waiting.run(['sh', '-ec', commands], cwd=directory, capture_output=True, text=True, check=False,
                       env={**os.environ, 'PATH': folder + ':' + os.environ['PATH'], **environment})


def cann_package(directory, include, libraries):
    """What ASCEND_HOME_PATH has to be: `include`, and each of the libraries by its name without "lib"."""
    os.makedirs(os.path.join(directory, 'lib64'))
    os.symlink(include, os.path.join(directory, 'include'))
    for name, library in libraries.items():
        os.symlink(library, os.path.join(directory, 'lib64', 'lib%s.so' % name))
    return directory
