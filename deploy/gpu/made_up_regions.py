"""Regions that no detector has found, as a folder of UNITER's npz files with captions (common/dataset).

    write(folder, items=32000)

Features are of half precision and of 0.5 to 1 in size, either sign; no two items have the same.
Needs no numpy.  Equal arguments make equal files.
"""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import random
import struct
import zipfile

REGIONS, WIDTH = 36, 2048
_THINGS = ("fish", "boat", "house", "tree", "horse", "bridge", "clock", "lamp")
_COLOURS = ("red", "green", "blue", "yellow", "white", "black", "grey", "brown")


def write(folder: str, items: int) -> None:
    os.makedirs(folder, exist_ok=True)
    with multiprocessing.Pool() as pool:
        pool.starmap(_write_item, ((folder, number) for number in range(items)), chunksize=64)
    with open(os.path.join(folder, "captions.jsonl"), "w", encoding="utf-8") as file:
        for number in range(items):
            file.write(json.dumps({"path": _name(number), "captions": [_caption(number)],
                                   "tags": list(_shown(number))}) + "\n")


def _name(number: int) -> str:
    return f"{number:06d}.npz"


def _shown(number: int) -> tuple[str, str]:
    return _COLOURS[number % len(_COLOURS)], _THINGS[number // len(_COLOURS) % len(_THINGS)]


def _caption(number: int) -> str:
    colour, thing = _shown(number)
    return f"a {colour} {thing} beside number {number}"


def _write_item(folder: str, number: int) -> None:
    dice = random.Random(number)
    boxes = []
    for _ in range(REGIONS):
        x, y = dice.uniform(0, 0.6), dice.uniform(0, 0.6)
        boxes += [x, y, x + dice.uniform(0.1, 0.4), y + dice.uniform(0.1, 0.4)]
    surest_first = sorted((dice.random() for _ in range(REGIONS)), reverse=True)
    with zipfile.ZipFile(os.path.join(folder, _name(number)), "w") as archive:
        _add(archive, "features", "<f2", (REGIONS, WIDTH), _halves(dice, REGIONS * WIDTH))
        _add(archive, "norm_bb", "<f4", (REGIONS, 4), struct.pack(f"<{4 * REGIONS}f", *boxes))
        _add(archive, "conf", "<f4", (REGIONS,), struct.pack(f"<{REGIONS}f", *surest_first))


def _halves(dice: random.Random, count: int) -> bytes:
    """Random signs and mantissas beside the exponent of 0.5 to 1, of all numbers at once."""
    keep, exponent = (int.from_bytes(pattern * count, "little") for pattern in (b"\xff\x83", b"\x00\x38"))
    return (dice.getrandbits(16 * count) & keep | exponent).to_bytes(2 * count, "little")


def _add(archive: zipfile.ZipFile, name: str, dtype: str, shape: tuple[int, ...], content: bytes) -> None:
    """As numpy.save: a header that ends on a multiple of 64 bytes."""
    header = repr({"descr": dtype, "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    file = io.BytesIO()
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + content)
    entry = zipfile.ZipInfo(name + ".npy")  # of a fixed date
    archive.writestr(entry, file.getvalue())
