"""Debian's Chromium, driven by puppeteer-core. That and axe-core come from npm, as package.json says, into the
build folder. Where Chromium, node or npm are not there, the test is skipped and says so."""
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(1, str(HERE.parent / 'runtimes'))
from npm_packages import alone, skip  # noqa: E402


def modules(build):
    """The folder of the packages, which are fetched once."""
    folder = pathlib.Path(build) / 'report_npm'
    with alone(folder):
        if (folder / 'fetched').exists():
            return folder
        shutil.copy(HERE / 'package.json', folder)
        try:
            done = subprocess.run(['npm', 'install', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'],
                                  cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
        except subprocess.TimeoutExpired:
            skip('npm did not fetch puppeteer-core and axe-core within 5 minutes')
        if done.returncode != 0:
            skip('npm cannot fetch puppeteer-core and axe-core: ' + done.stdout.strip()[-300:])
        (folder / 'fetched').touch()
    return folder


class Browser:
    def __init__(self, build):
        self.chromium = shutil.which('chromium') or shutil.which('chromium-browser')
        if not self.chromium:
            skip('no chromium')
        for program in ('node', 'npm'):
            if shutil.which(program) is None:
                skip('no ' + program)
        self.modules = modules(build)

    def look(self, jobs, jobs_file):
        """What look.js saw of each job."""
        with open(jobs_file, 'w', encoding='utf-8') as file:
            json.dump({'chromium': self.chromium, 'jobs': jobs}, file)
        done = subprocess.run(['node', str(HERE / 'look.js'), str(self.modules), str(jobs_file)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout)
