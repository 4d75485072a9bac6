"""The smallest ELF files that a loader would read for what they need."""

import struct

HEADER, SEGMENT = 64, 56


def elf(needed=(), runpath="", rpath="", interpreter="", machine=62, soname=""):
    """A program if it has an interpreter, else a library."""
    strings, entries = b"\0", []

    def text(tag, value):
        nonlocal strings
        entries.append((tag, len(strings)))
        strings += value.encode() + b"\0"

    for name in needed:
        text(1, name)
    if soname:
        text(14, soname)
    if rpath:
        text(15, rpath)
    if runpath:
        text(29, runpath)
    after = HEADER + 3 * SEGMENT
    strings_at = after + 16 * (len(entries) + 3)
    entries += [(5, strings_at), (10, len(strings)), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    path = interpreter.encode() + b"\0" if interpreter else b""
    end = strings_at + len(strings) + len(path)

    def segment(kind, offset, length):
        return struct.pack("<IIQQQQQQ", kind, 4, offset, offset, offset, length, length, 1)

    header = struct.pack("<4sBBBxQHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 3, machine, 1, 0, HEADER, 0,
                         0, HEADER, SEGMENT, 3, 0, 0, 0)
    segments = segment(1, 0, end) + segment(2, after, len(dynamic))
    segments += segment(3, strings_at + len(strings), len(path)) if path else segment(4, 0, 0)
    return header + segments + dynamic + strings + path
