#!/usr/bin/env python3
"""The bill of materials of a build names its files as they are, and what they were made of and with.

usage: sbom_test.py SBOM VERSION SOURCE_ROOT FILE...
With OPDUMP_SPDX_SCHEMA, the schema of SPDX 2.3 in JSON, and jsonschema for Python it is held against that too.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def fail(text):
    sys.exit(f'FAILED: {text}')


def main():
    sbom, version, root, *files = sys.argv[1:]
    bill = json.loads(pathlib.Path(sbom).read_text())
    elements = [bill, *bill['packages'], *bill['files']]
    names = [element['SPDXID'] for element in elements]
    if len(set(names)) != len(names):
        fail(f'names that stand for two things: {names}')
    related = {(one['spdxElementId'], one['relationshipType'], one['relatedSpdxElement']) for one in bill['relationships']}
    for one, _, other in related:
        if not {one, other} <= set(names):
            fail(f'{one} or {other} is named, but is not there')
    own = next(package for package in bill['packages'] if package['name'] == 'opdump')
    if own['versionInfo'] != version or ('SPDXRef-DOCUMENT', 'DESCRIBES', own['SPDXID']) not in related:
        fail(f'opdump {version} is not what is described: {own}')
    told = {file['fileName']: file for file in bill['files']}
    if set(told) != {'./' + pathlib.Path(file).name for file in files}:
        fail(f'the build made {files}, and the bill names {sorted(told)}')
    # All programs and libraries that are installed; the build folder is three above.
    targets = json.loads((pathlib.Path(sbom).resolve().parents[2] / 'meson-info/intro-targets.json').read_text())
    installed = {pathlib.Path(target['filename'][0]).name for target in targets
                 if target['installed'] and target['type'] in ('executable', 'static library', 'shared library')}
    if len(installed) < 5 or not installed <= {pathlib.Path(name).name for name in told}:
        fail(f'{sorted(installed)} are installed, and the bill names {sorted(told)}')
    for path in map(pathlib.Path, files):
        file = told['./' + path.name]
        sums = {one['algorithm']: one['checksumValue'] for one in file['checksums']}
        if sums['SHA256'] != hashlib.sha256(path.read_bytes()).hexdigest():
            fail(f'the SHA-256 of {path} is another')
        if (own['SPDXID'], 'CONTAINS', file['SPDXID']) not in related:
            fail(f'{path} is not part of opdump')
    kinds = {kind for _, kind, _ in related}
    if not {'BUILD_TOOL_OF', 'DEPENDENCY_OF'} <= kinds or 'simdjson' not in {one['name'] for one in bill['packages']}:
        fail('the compiler and simdjson should be named')
    if any(not package['versionInfo'] for package in bill['packages']):
        fail('a version is missing')

    with tempfile.TemporaryDirectory() as folder:
        made = []
        for name in 'one', 'other':
            path = pathlib.Path(folder) / name
            subprocess.run([sys.executable, pathlib.Path(root) / 'src/package/sbom.py', path, version, *files],
                           check=True, env={**os.environ, 'SOURCE_DATE_EPOCH': '1700000000'})
            made.append(path.read_bytes())
    if made[0] != made[1] or b'2023-11-14T22:13:20Z' not in made[0]:
        fail('the same build should give the same bytes')

    schema = os.environ.get('OPDUMP_SPDX_SCHEMA')
    if schema:
        import jsonschema
        jsonschema.validate(bill, json.loads(pathlib.Path(schema).read_text()))
        print('as the schema of SPDX wants it')
    else:
        print('left out: the schema of SPDX, as OPDUMP_SPDX_SCHEMA names none')
    print(f'{len(files)} files, {len(bill["packages"])} packages')


if __name__ == '__main__':
    main()
