#!/usr/bin/python3
"""Draws the pictures that check.sh searches: squares of one colour on another, each with a
caption, as a corpus `folder:FOLDER`.

usage: pictures.py FOLDER
"""

import json
import os
import struct
import sys
import zlib

SIDE = 64
COLOURS = {"red": (220, 30, 30), "green": (30, 160, 60), "blue": (40, 70, 220),
           "yellow": (240, 220, 50), "white": (255, 255, 255), "black": (0, 0, 0)}


def png(inside: tuple, outside: tuple) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    border, middle = SIDE // 4, SIDE // 2
    plain = bytes(outside) * SIDE
    crossed = bytes(outside) * border + bytes(inside) * middle + bytes(outside) * border
    rows = [plain] * border + [crossed] * middle + [plain] * border
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
            chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))) + chunk(b"IEND", b""))


def main() -> None:
    folder = sys.argv[1]
    with open(os.path.join(folder, "captions.jsonl"), "w", encoding="utf-8") as captions:
        for inside, ink in COLOURS.items():
            for outside, paper in COLOURS.items():
                if inside == outside:
                    continue
                name = f"{inside}_on_{outside}.png"
                with open(os.path.join(folder, name), "wb") as picture:
                    picture.write(png(ink, paper))
                line = {"path": name, "captions": [f"a {inside} square on {outside}"]}
                captions.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
