#!/usr/bin/env python3
"""Writes the bill of materials of a build, as SPDX 2.3 in JSON.

usage: sbom.py OUTPUT VERSION [--tool NAME=VERSION]... [--library NAME=VERSION]... FILE...
FILEs are what the build made, tools what made it, libraries what it links to. The same files give the same bytes if
SOURCE_DATE_EPOCH is set.
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import sys

NONE = 'NOASSERTION'


def identifier(kind, name):
    return f'SPDXRef-{kind}-' + re.sub('[^A-Za-z0-9.-]', '-', name)


def package(name, version, kind):
    return {
        'SPDXID': identifier(kind, name),
        'name': name,
        'versionInfo': version,
        'downloadLocation': NONE,
        'filesAnalyzed': False,
        'licenseConcluded': NONE,
        'licenseDeclared': NONE,
        'copyrightText': NONE,
        'externalRefs': [{
            'referenceCategory': 'PACKAGE-MANAGER',
            'referenceType': 'purl',
            'referenceLocator': f'pkg:generic/{name}@{version}',
        }],
    }


def file(path):
    content = path.read_bytes()
    return {
        'SPDXID': identifier('File', path.name),
        'fileName': './' + path.name,
        'fileTypes': ['BINARY'],
        'checksums': [{'algorithm': 'SHA1', 'checksumValue': hashlib.sha1(content).hexdigest()},
                      {'algorithm': 'SHA256', 'checksumValue': hashlib.sha256(content).hexdigest()}],
        'licenseConcluded': NONE,
        'copyrightText': NONE,
    }


def relationship(one, kind, other):
    return {'spdxElementId': one, 'relationshipType': kind, 'relatedSpdxElement': other}


def document(version, tools, libraries, paths, now):
    own = package('opdump', version, 'Package')
    parts = [(package(name, number, 'Tool'), 'BUILD_TOOL_OF') for name, number in tools]
    parts += [(package(name, number, 'Library'), 'DEPENDENCY_OF') for name, number in libraries]
    files = [file(path) for path in sorted(paths, key=lambda path: path.name)]
    sums = ''.join(one['checksums'][1]['checksumValue'] for one in files)
    relationships = [relationship('SPDXRef-DOCUMENT', 'DESCRIBES', own['SPDXID'])]
    relationships += [relationship(own['SPDXID'], 'CONTAINS', one['SPDXID']) for one in files]
    relationships += [relationship(part['SPDXID'], kind, own['SPDXID']) for part, kind in parts]
    return {
        'spdxVersion': 'SPDX-2.3',
        'dataLicense': 'CC0-1.0',
        'SPDXID': 'SPDXRef-DOCUMENT',
        'name': f'opdump-{version}',
        'documentNamespace': f'https://spdx.org/spdxdocs/opdump-{version}-{hashlib.sha256(sums.encode()).hexdigest()}',
        'creationInfo': {'created': now.strftime('%Y-%m-%dT%H:%M:%SZ'), 'creators': [f'Tool: opdump-sbom-{version}']},
        'packages': [own, *(part for part, _ in parts)],
        'files': files,
        'relationships': relationships,
    }


def main():
    output, version, *rest = sys.argv[1:]
    lists, paths = {'--tool': [], '--library': []}, []
    while rest:
        word = rest.pop(0)
        if word in lists:
            name, _, number = rest.pop(0).partition('=')
            lists[word].append((name, number))
        else:
            paths.append(pathlib.Path(word))
    seconds = os.environ.get('SOURCE_DATE_EPOCH')
    zone = datetime.timezone.utc
    now = datetime.datetime.fromtimestamp(int(seconds), zone) if seconds else datetime.datetime.now(zone)
    text = json.dumps(document(version, lists['--tool'], lists['--library'], paths, now), indent=1)
    pathlib.Path(output).write_text(text + '\n')


if __name__ == '__main__':
    main()
