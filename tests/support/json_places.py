"""Where the values and keys of a JSON text stand: places(text) gives {path: (offset of the key or None, offset of the
value)} with paths as opdump writes them, `dump.dump_list[0].layer`. Of a key that stands twice, the last one counts.
Works on bytes, and knows nothing of opdump. The text must be right."""
import json
import re

SPACE = re.compile(rb'[ \t\r\n]*')
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.S)
OTHER = re.compile(rb'[^\s,\]}]+')


def places(text):
    found = {}
    begin = 3 if text.startswith(b'\xef\xbb\xbf') else 0

    def skip(at):
        return SPACE.match(text, at).end()

    def value(at, path, key):
        at = skip(at)
        for old in [old for old in found if old == path or old.startswith((path + '.', path + '['))]:
            if path:
                del found[old]
        found[path] = (key, at)
        if text[at:at + 1] == b'{':
            return members(at, path)
        if text[at:at + 1] == b'[':
            return elements(at, path)
        return (STRING.match(text, at) or OTHER.match(text, at)).end()

    def members(at, path):
        at = skip(at + 1)
        while text[at:at + 1] != b'}':
            string = STRING.match(text, at)
            name = json.loads(string[0])
            colon = skip(string.end())
            at = skip(value(colon + 1, path + '.' + name if path else name, at))
            if text[at:at + 1] == b',':
                at = skip(at + 1)
        return at + 1

    def elements(at, path):
        at, index = skip(at + 1), 0
        while text[at:at + 1] != b']':
            at = skip(value(at, '%s[%d]' % (path, index), None))
            index += 1
            if text[at:at + 1] == b',':
                at = skip(at + 1)
        return at + 1

    value(begin, '', None)
    return found
