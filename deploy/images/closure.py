"""The shared libraries that programs need, and what those need, to the last.

Looks where the loader of Debian looks in a file system that has no cache of libraries and no
configuration, which an image is: a file's own RPATH and RUNPATH, then the default folders.
So a library in /usr/local/lib or /opt of the building machine is never taken by chance.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from elf import Elf, ElfError, OtherMachineError, read_elf

DEFAULT_FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib", "/usr/lib")


class ClosureError(Exception):
    """Something is missing or broken; the message has a line for each, with who needs it."""


@dataclass(frozen=True)
class _Loaded:
    path: str  # in the root; of a program, where it lies on this machine
    elf: Elf
    rpath: tuple[str, ...]  # its own and those of who needs it


class Finder:
    """Finds below `root` (a folder that stands for /)."""

    def __init__(self, root: str = "/"):
        self._root = os.path.realpath(root)
        self._read: dict[str, Elf] = {}

    def closure(self, programs: list[str]) -> dict[str, str]:
        """Of these files of the machine, which are not part of it themselves: the path where
        the loader will find a library -> the file that has its content."""
        result: dict[str, str] = {}
        problems: list[str] = []
        for program in programs:
            self._add(program, result, problems)
        if problems:
            raise ClosureError("\n".join(dict.fromkeys(problems)))
        return result

    def _add(self, program: str, result: dict[str, str], problems: list[str]) -> None:
        name = os.path.basename(program)
        try:
            elf = read_elf(program)
        except ElfError as error:
            problems.append(f"{name} {error}")
            return
        if any("$ORIGIN" in folder or "${ORIGIN}" in folder for folder in elf.rpath + elf.runpath):
            problems.append(f"{name} looks for libraries beside itself, where an image has none: "
                            "build it with --dynamic_mode=off")
            return
        # The first of a name serves all who need it.
        loaded = set()
        if elf.interpreter:
            path = self._normal(elf.interpreter)
            if not os.path.isfile(self._real(path)):
                problems.append(f"{elf.interpreter} is missing; {name} is started by it")
                return
            result[path] = os.path.realpath(self._real(path))
            loaded.add(os.path.basename(path))
        queue = [_Loaded(program, elf, elf.rpath)]
        while queue:
            needing = queue.pop(0)
            for wanted in needing.elf.needed:
                if wanted in loaded:
                    continue
                loaded.add(wanted)
                who = name if needing.path == program else f"{needing.path} (of {name})"
                try:
                    path = self._find(wanted, needing)
                except ElfError as error:
                    problems.append(f"{error}; needed by {who}")
                    continue
                if not path:
                    problems.append(f"{wanted} is missing; needed by {who}")
                    continue
                result[path] = os.path.realpath(self._real(path))
                found = self._read[path]
                queue.append(_Loaded(path, found, found.rpath + needing.rpath))

    def _find(self, wanted: str, needing: _Loaded) -> str:
        if "/" in wanted:
            raise ElfError(f"{wanted} is a path, not the name of a library")
        elf = needing.elf
        own = elf.runpath or needing.rpath
        for folder in (*own, *DEFAULT_FOLDERS):
            origin = os.path.dirname(needing.path)
            folder = folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
            path = self._normal(os.path.join(folder, wanted))
            if not os.path.isfile(self._real(path)):
                continue
            try:
                if path not in self._read:
                    self._read[path] = read_elf(self._real(path))
                return path
            except OtherMachineError:
                continue
            except ElfError as error:
                raise ElfError(f"{path} {error}") from None
        return ""

    def _real(self, path: str) -> str:
        return os.path.join(self._root, path.lstrip("/"))

    def _normal(self, path: str) -> str:
        """With its folder's links followed: Debian's /lib is /usr/lib."""
        folder, name = os.path.split(os.path.normpath(path))
        real = os.path.realpath(self._real(folder))
        return os.path.join("/", os.path.relpath(real, self._root), name)
