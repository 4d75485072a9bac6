"""Pictures with captions that a small model learns in a minute: a shape of a colour on a ground of another.

    write(folder, training=340, validation=200) -> how many pictures lie there

Every caption is of one picture, so those that validation asks for are combinations that training has not
shown, of words that it has.  Equal arguments make equal files.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import random
import struct
import zlib

SIDE = 96
_CELL = 12
_COLOURS = {"red": (214, 40, 40), "green": (40, 160, 60), "blue": (40, 70, 210), "yellow": (235, 215, 40),
            "purple": (130, 40, 160), "orange": (245, 140, 20), "pink": (245, 140, 190), "brown": (120, 75, 35),
            "black": (20, 20, 20), "white": (250, 250, 250)}
# The spans of x that a shape has in a row; both run from -1 to 1 in what it fills.
_SHAPES = {
    "disc": lambda y: [(-((1 - y * y) ** 0.5), (1 - y * y) ** 0.5)],
    "triangle": lambda y: [(-(1 + y) / 2, (1 + y) / 2)],
    "bar": lambda y: [(-1, 1)] if abs(y) < 0.3 else [],
    "pillar": lambda y: [(-0.3, 0.3)],
    "cross": lambda y: [(-1, 1)] if abs(y) < 0.3 else [(-0.3, 0.3)],
    "frame": lambda y: [(-0.9, 0.9)] if abs(y) > 0.6 else [(-0.9, -0.6), (0.6, 0.9)],
}
# common/dataset/splits.h: by the first byte of the SHA-256 of an item's id.
_SPLITS = {"validation": range(26, 38), "train": range(38, 256)}


def write(folder: str, training: int = 340, validation: int = 200) -> int:
    os.makedirs(folder, exist_ok=True)
    things = [(colour, shape, ground) for colour, shape, ground in itertools.product(_COLOURS, _SHAPES, _COLOURS)
              if colour != ground]
    dice = random.Random(1)
    chosen = dice.sample(things, training + validation)
    lines = []
    for number, thing in enumerate(chosen):
        name = _name_in("validation" if number < validation else "train", number)
        with open(os.path.join(folder, name), "wb") as file:
            file.write(_png(_drawn(*thing, dice)))
        lines.append(json.dumps({"path": name, "captions": ["a {} {} on {}".format(*thing)]}))
    with open(os.path.join(folder, "captions.jsonl"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return len(lines)


def _name_in(split: str, number: int) -> str:
    """A file's name, which is its id, that falls into the split."""
    names = (f"{number}-{attempt}.png" for attempt in itertools.count())
    return next(name for name in names if hashlib.sha256(name.encode()).digest()[0] in _SPLITS[split])


def _drawn(colour: str, shape: str, ground: str, dice: random.Random) -> list[bytearray]:
    """Rows of RGB.  The ground is mottled, or pictures of one ground would be near duplicates
    (common/dataset/near_duplicates.h), which go into one split."""
    rows: list[bytearray] = []
    for _ in range(SIDE // _CELL):
        row = bytearray()
        for _ in range(SIDE // _CELL):
            row += _shaded(_COLOURS[ground], dice.randint(-30, 30)) * _CELL
        rows += [bytearray(row) for _ in range(_CELL)]
    half = dice.uniform(0.36, 0.46) * SIDE
    middle_x, middle_y = (dice.uniform(half, SIDE - half) for _ in range(2))
    ink = _shaded(_COLOURS[colour], dice.randint(-12, 12))
    for y in range(int(middle_y - half) + 1, int(middle_y + half)):
        for left, right in _SHAPES[shape]((y - middle_y) / half):
            first, last = (round(middle_x + edge * half) for edge in (left, right))
            rows[y][3 * first:3 * last] = ink * (last - first)
    return rows


def _shaded(colour: tuple[int, int, int], by: int) -> bytes:
    return bytes(max(0, min(255, channel + by)) for channel in colour)


def _png(rows: list[bytearray]) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return (struct.pack(">I", len(content)) + kind + content +
                struct.pack(">I", zlib.crc32(kind + content)))

    header = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
            chunk(b"IDAT", zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 1)) + chunk(b"IEND", b""))
