"""Reads a page of `opdump report` as the browser would: its texts, and the columns that it holds. Standard library
only."""
import array
import base64
import html.parser
import json


class ReportPage(html.parser.HTMLParser):
    VOID = {'meta', 'br', 'img', 'link', 'input', 'hr'}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.raw = text
        self.stack = []
        self.tags = []  # all of them, with their attributes
        self.texts = {}  # of h1, dt, dd and so on, in order
        self.rows = []  # of the table of the worst operators
        self.scripts = []
        self.section = ''
        self.feed(text)
        self.close()
        assert not self.stack, self.stack
        self.data = json.loads(self.scripts[0])

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == 'section':
            self.section = dict(attrs).get('id', '')
        if tag == 'tr':
            self.rows.append((self.section, []))
        if tag in ('td', 'th') and self.rows:
            self.rows[-1][1].append('')
        if tag in ('script', 'style'):
            self.scripts += [''] if tag == 'script' else []
        if tag in ('h1', 'h2', 'h3', 'dt', 'dd', 'li', 'p', 'title'):
            self.texts.setdefault(tag, []).append('')
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack and self.stack[-1] == tag, (tag, self.stack)
        self.stack.pop()

    def handle_data(self, data):
        if 'script' in self.stack:
            self.scripts[-1] += data
        for tag in self.stack:
            if tag in self.texts:
                self.texts[tag][-1] += data
        if 'table' in self.stack and ('td' in self.stack or 'th' in self.stack):
            self.rows[-1][1][-1] += data

    def worst(self):
        return [cells for section, cells in self.rows if section == 'worst'][1:]

    def column(self, group, name):
        """Numbers of a column; nothing where the page leaves it out."""
        text = self.data[group].get(name)
        if text is None:
            return None
        kind, coded = text.split(':', 1)
        count, kind = kind.split('*') if '*' in kind else (1, kind)
        numbers = array.array({'u8': 'B', 'u32': 'I', 'f32': 'f', 'f64': 'd'}[kind])
        numbers.frombytes(base64.b64decode(coded, validate=True))
        return list(numbers) * int(count)

    def names(self):
        """Of the operators of all runs."""
        ops = self.column('ops', 'name')
        return [self.data['strings'][ops[op]] for op in self.column('runs', 'op')]
