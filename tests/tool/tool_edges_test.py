#!/usr/bin/env python3
"""Tests of `opdump edges` from outside: tool_edges_test.py OPDUMP [unittest arguments].

Standard library only.
"""
import json
import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tool_case  # noqa: E402
from tool_case import Case, UINT8, record, tensor  # noqa: E402

UINT16 = 7


class Edges(Case):
    def put(self, op, number, inputs, outputs, step=0):
        """Tensors are (address, bytes)."""
        def made(tensors):
            return [dict(tensor(UINT8, [len(data)], data), address=address) for address, data in tensors]
        self.write('dump/20260131130559/0/net/1/%d/Op.%s.%d.0.%016d' % (step, op, number, 100 * step + number + 1),
                   record(made(inputs), made(outputs)))

    def edges(self, *options, expect=0):
        out, error = self.run_tool('edges', 'dump', '--json', *options, expect=expect)
        return [(edge['input']['op'], edge['input']['index'], edge['output']['op'], edge['output']['index'],
                 edge['by'], edge['bytes']) for edge in json.loads(out)['edges']], error

    def test_chain_view_and_reuse(self):
        self.put('a', 0, [(0x9000, b'in')], [(0x1000, b'abcd')])
        self.put('b', 1, [(0x1000, b'abcd'), (0x8000, b'weight')], [(0x2000, b'efgh')])
        self.put('c', 2, [(0x2001, b'fg'), (0x1000, b'abcd')], [(0x1000, b'xy')])
        # The end of what `a` wrote is still there; `c` wrote over its start.
        self.put('d', 3, [(0x1000, b'xy'), (0x1002, b'cd'), (0x1000, b'xycd')], [])
        self.put('a', 0, [(0x1000, b'xy')], [], step=1)
        found, error = self.edges()
        self.assertEqual(found, [('b', 0, 'a', 0, 'same address', 'same bytes'),
                                 ('c', 0, 'b', 0, 'view', 'same bytes'),
                                 ('c', 1, 'a', 0, 'same address', 'same bytes'),
                                 ('d', 0, 'c', 0, 'same address', 'same bytes'),
                                 ('d', 1, 'a', 0, 'view', 'same bytes')])
        self.assertEqual(error, '')
        out, _ = self.run_tool('edges', 'dump')
        self.assertIn('net/0  b input 0  is  a output 0  same address, same bytes\n', out)
        self.assertTrue(out.endswith('\n9 inputs, 5 of them an output of the dump\n'), out)

    def test_what_is_overwritten_in_between_is_a_finding(self):
        self.put('a', 0, [], [(0x1000, b'abcd')])
        self.put('b', 1, [(0x1000, b'abXd')], [])
        found, error = self.edges(expect=1)
        self.assertEqual(found, [('b', 0, 'a', 0, 'same address', 'other bytes')])
        self.assertEqual(error, 'opdump edges: net/0: a output 0 was overwritten before b input 0 was read: byte 2 '
                                'differs\n')

    def test_a_permuted_view_is_none(self):
        pairs = b'\1\0\2\0\3\0\4\0'
        self.put('a', 0, [], [(0x1000, pairs), (0x2000, b'abcdef')])
        self.put('b', 1, [(0x1000, b'\3\0\1\0\4\0\2\0'), (0x2000, b'ace')], [])
        found, error = self.edges()
        self.assertEqual([edge[4:] for edge in found], [('same address', 'same elements in another order'),
                                                        ('view', 'same elements in another order')])
        self.assertEqual(error, '')
        self.assertTrue(self.run_tool('edges', 'dump')[0].endswith(
            '\n2 inputs, 2 of them an output of the dump, 2 in another order (permuted views, or moved in between)\n'))
        self.write('dump/20260131130559/0/net/1/0/Op.c.2.0.%016d' % 9, record(
            # As bytes a permutation too, as elements of two bytes none.
            [dict(tensor(UINT16, [4], b'\0\1\2\0\3\0\4\0'), address=0x1000)], []))
        found, error = self.edges(expect=1)
        self.assertEqual(found[-1][4:], ('same address', 'other bytes'))
        self.assertIn('a output 0 was overwritten before c input 0 was read: byte 0 differs\n', error)

    def test_names_of_a_card_tell_where_addresses_do_not(self):
        self.put('a', 0, [], [(0, b'abcd')])
        self.put('b_1', 1, [(0, b'abcd'), (0, b'w')], [])
        self.write('card.json', json.dumps({'opdump_model': 1, 'name': 'net', 'ops': [
            {'name': 'a', 'type': 'Op', 'outputs': [{'tensor': 't'}]},
            {'name': 'b.1', 'type': 'Op', 'inputs': [{'tensor': 't'}, {'tensor': 'w', 'constant': True}]}]}))
        self.assertEqual(self.edges()[0], [])
        self.assertEqual(self.edges('--model', 'card.json')[0], [('b_1', 0, 'a', 0, 'same name', 'same bytes')])

    def test_usage(self):
        self.run_tool('edges', expect=2)
        self.run_tool('edges', 'a', 'b', expect=2)
        self.run_tool('edges', 'none', expect=1)


if __name__ == '__main__':
    tool_case.main()
