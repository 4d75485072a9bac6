#!/usr/bin/env python3
"""Prints html_entities.inc: the names of HTML 5's character references, as Python knows them.

The build runs it.  A Python that knows others fails: tokens would depend on who built.
"""

import hashlib
from html.entities import html5

ESCAPES = {"\t": "\\t", "\n": "\\n", '"': '\\"', "\\": "\\\\"}
DIGEST = "d2cf1f38a168f4f185f5b534b3d73abd6ad982fcd7daf84ea5ac71db3d22d3b5"


def literal(text):
    def spelled(c):
        if c in ESCAPES:
            return ESCAPES[c]
        if ord(c) < 0x80:
            return c
        return "\\u%04x" % ord(c) if ord(c) < 0x10000 else "\\U%08x" % ord(c)

    return '"%s"' % "".join(map(spelled, text))


# A control character cannot be spelled by a code point; none but these two is named.
assert all(
    ord(c) >= 0xA0 or 0x20 <= ord(c) < 0x7F or c in "\t\n" for text in html5.values() for c in text
)
# Sorted by the bytes of the name.
table = "".join("{%s, %s},\n" % (literal(name), literal(html5[name])) for name in sorted(html5))
digest = hashlib.sha256(table.encode()).hexdigest()
assert digest == DIGEST, "this Python's html.entities has %d names, digest %s" % (len(html5), digest)
print(table, end="")
