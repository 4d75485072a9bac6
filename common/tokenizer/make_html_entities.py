#!/usr/bin/env python3
"""Prints html_entities.inc: the names of HTML 5's character references, as Python knows them.

usage: make_html_entities.py > html_entities.inc
"""

from html.entities import html5

ESCAPES = {"\t": "\\t", "\n": "\\n", '"': '\\"', "\\": "\\\\"}


def literal(text):
    def spelled(c):
        if c in ESCAPES:
            return ESCAPES[c]
        if ord(c) < 0x80:
            return c
        return "\\u%04x" % ord(c) if ord(c) < 0x10000 else "\\U%08x" % ord(c)

    return '"%s"' % "".join(map(spelled, text))


print("// Written by make_html_entities.py: name and text, sorted by the bytes of the name.")
for name in sorted(html5):
    # A control character cannot be spelled by a code point; none but these two is named.
    assert all(ord(c) >= 0xA0 or 0x20 <= ord(c) < 0x7F or c in "\t\n" for c in html5[name])
    print("{%s, %s}," % (literal(name), literal(html5[name])))
