"""What the dynamic loader reads of an ELF file: which libraries it needs, and where to look."""

from __future__ import annotations

import itertools
import mmap
import os
import struct
from dataclasses import dataclass

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NULL, DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_SONAME, DT_RPATH, DT_RUNPATH = 0, 1, 5, 10, 14, 15, 29
X86_64 = 62


class ElfError(Exception):
    """The file is not what the loader of x86-64 would take."""


class OtherMachineError(ElfError):
    """A whole ELF file, but of another machine: the loader looks on, and so do we."""


@dataclass(frozen=True)
class Elf:
    interpreter: str  # the loader that a program names; "" in a library
    soname: str  # what a library calls itself; "" if it does not
    needed: tuple[str, ...]
    rpath: tuple[str, ...]  # of DT_RPATH: holds for what the needed ones need, too
    runpath: tuple[str, ...]  # of DT_RUNPATH: holds for `needed` alone


def read_elf(path: str) -> Elf:
    """Raises ElfError, which does not name the file, and OSError, which does."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:  # nothing can be mapped
            return parse_elf(b"")
        # Some have half a gigabyte, and a few pages of it are read.
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return parse_elf(data)


def parse_elf(data: bytes | mmap.mmap) -> Elf:
    """ElfError whatever is wrong with `data`."""
    return _Reader(data).elf()


class _Reader:
    def __init__(self, data: bytes | mmap.mmap):
        self.data = data
        if data[:4] != b"\x7fELF":
            raise ElfError("is no ELF file")
        # 64 bits, little-endian; the machine.
        if data[4:6] != b"\x02\x01" or self.unpack("<H", 18)[0] != X86_64:
            raise OtherMachineError("is not of x86-64")
        table, = self.unpack("<Q", 32)
        size, count = self.unpack("<HH", 54)
        # Of each segment: kind, offset, address, bytes in the file.
        self.segments = []
        for i in range(count):
            kind, _, offset, address, _, length = self.unpack("<IIQQQQ", table + i * size)
            self.segments.append((kind, offset, address, length))

    def unpack(self, form: str, offset: int) -> tuple:
        return struct.unpack(form, self.slice(offset, struct.calcsize(form)))

    def slice(self, offset: int, length: int) -> bytes:
        if offset + length > len(self.data):
            raise ElfError("is cut short")
        return self.data[offset:offset + length]

    def elf(self) -> Elf:
        interpreter, entries = "", []
        for kind, offset, _, length in self.segments:
            if kind == PT_INTERP:
                interpreter = self.slice(offset, length).rstrip(b"\0").decode("utf-8", "surrogateescape")
            elif kind == PT_DYNAMIC:
                pairs = struct.iter_unpack("<QQ", self.slice(offset, length // 16 * 16))
                entries = list(itertools.takewhile(lambda pair: pair[0] != DT_NULL, pairs))
        values = dict(entries)
        if DT_STRTAB not in values:
            return Elf(interpreter, "", (), (), ())
        strings = self.slice(self.offset_of(values[DT_STRTAB]), values.get(DT_STRSZ, 0))

        def texts(tag: int) -> list[str]:
            found = []
            for key, value in entries:
                if key == tag:
                    end = strings.find(b"\0", value)
                    if end < 0:
                        raise ElfError("names a string outside of its strings")
                    found.append(strings[value:end].decode("utf-8", "surrogateescape"))
            return found

        def folders(tag: int) -> tuple[str, ...]:
            return tuple(part for text in texts(tag) for part in text.split(":") if part)

        soname = "".join(texts(DT_SONAME)[:1])
        return Elf(interpreter, soname, tuple(texts(DT_NEEDED)), folders(DT_RPATH), folders(DT_RUNPATH))

    def offset_of(self, address: int) -> int:
        for kind, offset, start, length in self.segments:
            if kind == PT_LOAD and start <= address < start + length:
                return offset + address - start
        raise ElfError("points outside of its segments")
