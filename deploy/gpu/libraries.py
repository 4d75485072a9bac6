"""The shared libraries of a pack: those that programs are linked with and what these need."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from actions import PackError

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "images"))
# pylint: disable=wrong-import-position
from closure import DEFAULT_FOLDERS, ClosureError, Finder
from elf import read_elf

# Of the machine that compiles: LibTorch, CUDA, and what comes with a compiler.  "openblas" is
# blas.cc, of which little is called.
ELSEWHERE = re.compile(r"torch|torch_cpu|c10|cublas|cublasLt|cudart_static|dl|rt|pthread|stdc\+\+|m|gomp|openblas")
_SYSTEM = re.compile(r"ld-linux-x86-64|lib(c|m|dl|rt|pthread|resolv|util|anl|stdc\+\+|gcc_s|gomp)\.so")
# Of ICU's data, 31 MB of languages and calendars, what normalising and case folding read.
_ICU_KEPT = re.compile(rb"\w+/(\w+\.nrm|u\w+\.icu)$")


def sonames(names: list[str]) -> dict[str, str]:
    """NAME of -lNAME -> the name that the loader looks for, of which the pack's file is."""
    return {name: read_elf(_file_of(name)).soname for name in names}


def _file_of(name: str) -> str:
    paths = [os.path.join(folder, f"lib{name}.so") for folder in DEFAULT_FOLDERS]
    path = next((os.path.realpath(path) for path in paths if os.path.exists(path)), None)
    if path is None:
        raise PackError(f"lib{name}.so is missing; run deploy/bazel/setup.sh")
    return path


def library_files(names: list[str]) -> dict[str, str]:
    """The name that the loader looks for -> the file of this machine, of all that is needed."""
    found = {soname: _file_of(name) for name, soname in sonames(names).items()}
    try:
        closure = Finder().closure(sorted(found.values()))
    except ClosureError as error:
        raise PackError(str(error)) from None
    found.update({os.path.basename(path): file for path, file in closure.items()})
    return {soname: file for soname, file in sorted(found.items()) if not _SYSTEM.match(soname)}


def copy_libraries(files: dict[str, str], folder: str) -> None:
    os.makedirs(folder)
    for soname, file in files.items():
        target = os.path.join(folder, soname)
        if soname.startswith("libicudata.so."):
            with open(file, "rb") as whole:
                _make_icu_data(small_icu_data(whole.read()), soname, target)
        else:
            shutil.copyfile(file, target)


def small_icu_data(library: bytes) -> bytes:
    """ICU's table of data files with few of them, made of that in libicudata.  PackError if it is not
    laid out as expected: a header, a count, where each name and each file lies, names, files."""
    at = library.find(b"\xda\x27\x14\x00")
    start = at - 2
    if at < 0 or library[start + 12:start + 16] != b"CmnD":
        raise PackError("libicudata has another layout than that of ICU 72; see small_icu_data")
    header_size, = struct.unpack_from("<H", library, start)
    table = start + header_size
    count, = struct.unpack_from("<I", library, table)
    entries = [struct.unpack_from("<II", library, table + 4 + 8 * i) for i in range(count)]
    kept = []
    for i, (name_at, data_at) in enumerate(entries[:-1]):  # where the last ends is not told
        name = library[table + name_at:library.index(b"\0", table + name_at)]
        if _ICU_KEPT.match(name):
            kept.append((name, library[table + data_at:table + entries[i + 1][1]]))
    if not any(name.endswith(b"/nfkc.nrm") for name, _ in kept):
        raise PackError("libicudata has no nfkc.nrm; see small_icu_data")
    names, places, files = b"", [], b""
    first = 4 + 8 * len(kept)
    for name, _ in kept:
        places.append([first + len(names)])
        names += name + b"\0"
    names += b"\0" * (-(first + len(names)) % 16)
    for place, (_, content) in zip(places, kept):
        place.append(first + len(names) + len(files))
        files += content + b"\0" * (-len(content) % 16)
    result = struct.pack("<I", len(kept)) + b"".join(struct.pack("<II", *place) for place in places)
    return library[start:table] + result + names + files


def _make_icu_data(data: bytes, soname: str, target: str) -> None:
    symbol = f"icudt{soname.rpartition('.')[2]}_dat"
    with tempfile.TemporaryDirectory() as work:
        with open(os.path.join(work, "data"), "wb") as file:
            file.write(data)
        with open(os.path.join(work, "data.s"), "w", encoding="utf-8") as file:
            file.write(f'.section .rodata\n.balign 16\n.globl {symbol}\n.type {symbol}, @object\n'
                       f'{symbol}: .incbin "data"\n.size {symbol}, . - {symbol}\n'
                       '.section .note.GNU-stack,"",@progbits\n')
        subprocess.run(["gcc", "-shared", "-nostdlib", "-Wl,--build-id=none", f"-Wl,-soname,{soname}",
                        "-o", os.path.abspath(target), "data.s"], cwd=work, check=True)
