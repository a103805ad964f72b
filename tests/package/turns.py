"""Which part of what is compiled in parts is due: another one with each commit."""
import subprocess


def told_by_git(root, *words):
    """What git prints; None without git or its history."""
    try:
        done = subprocess.run(['git', '-C', root, *words], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def turn(root):
    """How many commits there are; 0 without git or its history."""
    return int(told_by_git(root, 'rev-list', '--count', 'HEAD') or 0)


def changed(root, commits):
    """The files, relative to `root`, that the last `commits` and the work since have changed or added."""
    named = told_by_git(root, 'diff', '--name-only', f'HEAD~{commits}') or ''
    return {*named.split('\n'), *(told_by_git(root, 'ls-files', '--others', '--exclude-standard') or '').split('\n')}


def due(items, share, root):
    """One in `share` of a list, so that `share` commits have all."""
    return items[turn(root) % share::share]
