"""Reads tests/data/config/*.txt, as tests/support/packed_configs.hpp explains them."""
import os

CONFIGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'data', 'config')


def packed_configs(dialect, folder):
    """The cases of a dialect in `folder` ('accept', 'refuse', ...), by name, as bytes."""
    cases, is_hex, name = {}, {}, None
    with open(os.path.join(CONFIGS, dialect + '.txt'), 'rb') as file:
        for line in file:
            if line.startswith(b'== '):
                name, *words = line[3:].split(b'|')[0].decode().split()
                cases[name], is_hex[name] = b'', words == ['hex']
            elif name:
                cases[name] += line
    for name, text in cases.items():
        if is_hex[name]:
            cases[name] = bytes.fromhex(text.decode())
        elif text.endswith(b'\n\\\n'):
            cases[name] = text[:-3]
        elif text.startswith(b'    "'):
            cases[name] = b'{\n  "dump": {\n' + text + b'  }\n}\n'
        elif text.startswith(b'  "'):
            cases[name] = b'{\n' + text + b'}\n'
    return {name[len(folder) + 1:]: text for name, text in cases.items() if name.startswith(folder + '/')}
