"""The shared libraries that programs need, and what those need, to the last.

Looks where the loader of Debian looks in a file system that has no cache of libraries and no
configuration, which an image is: a file's own RPATH and RUNPATH, then the default folders.
So a library in /usr/local/lib or /opt of the building machine is never taken by chance.

Libraries that Debian has not, as CUDA's, lie in folders that are named ("trees").  There the
configuration of this machine's loader counts too, and all that is found comes into one folder
of the image, PRIVATE, which its LD_LIBRARY_PATH names: so it does not matter where a library
lay, nor who looked for it.
"""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass

from elf import Elf, ElfError, OtherMachineError, read_elf

DEFAULT_FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib", "/usr/lib")
PRIVATE = "/usr/lib/sightline"
ELSEWHERE = "lies in none of the folders that libraries are taken from: LIBTORCH_HOME, CUDA_HOME and --libraries"
# Of the node's driver, whose version is its kernel's: a container is given them there.
DRIVER = re.compile(r"lib(cuda|cudadebugger|nvidia-[\w-]+)\.so(\.[\d.]+)?")
# Which names libraries load while a program runs, so that no file lists them as needed; VERSION
# is the first number of the library's own.
_LOADED_BY_NAME = {
    "libcudnn": r"libcudnn_\w+\.so\.VERSION",
    "libnvrtc": r"libnvrtc-builtins\.so\.VERSION(\.\d+)*",
    "libtorch_cuda": r"libcaffe2_nvrtc\.so|libtorch_cuda_linalg\.so",
}


class ClosureError(Exception):
    """Something is missing or broken; the message has a line for each, with who needs it."""


@dataclass(frozen=True)
class _Loaded:
    path: str  # in the root; of a program, where it lies on this machine
    elf: Elf
    rpath: tuple[str, ...]  # its own and those of who needs it
    who: str  # for messages


def stem_of(library: str) -> str:
    """Of libcudart-d0da41ae.so.12, a copy that somebody has renamed: libcudart."""
    return re.sub(r"-[0-9a-f]{8}$", "", library.partition(".so")[0])


def within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


class Finder:
    """Finds below `root` (a folder that stands for /); `trees` are folders in it."""

    def __init__(self, root: str = "/", trees: tuple[str, ...] = ()):
        self._root = os.path.realpath(root)
        self._read: dict[str, Elf] = {}
        self._trees = tuple(self._folder(tree) for tree in trees)
        self._last = (*DEFAULT_FOLDERS, *(os.path.join(tree, sub) for tree in self._trees
                                          for sub in ("", "lib", "lib64")))
        if trees:
            self._last += tuple(self._configured("/etc/ld.so.conf"))
        self._check_trees()

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
        queue = [_Loaded(program, elf, elf.rpath, name)]
        while queue:
            needing = queue.pop(0)
            try:
                wanted = [*needing.elf.needed, *self._loaded_by_name(needing)]
            except ElfError as error:
                problems.append(str(error))
                continue
            for library in wanted:
                if library in loaded or (self._trees and DRIVER.fullmatch(library)):
                    continue
                loaded.add(library)
                try:
                    path = self._find(library, needing)
                except ElfError as error:
                    problems.append(f"{error}; needed by {needing.who}")
                    continue
                place, file = self._place(path), os.path.realpath(self._real(path))
                if result.setdefault(place, file) != file:
                    problems.append(f"{library} is {result[place]} and {file}; an image has one "
                                    "of a name")
                found = self._read[path]
                queue.append(_Loaded(path, found, found.rpath + needing.rpath, f"{path} (of {name})"))

    def _find(self, wanted: str, needing: _Loaded) -> str:
        """ElfError if there is none that the loader would take."""
        if "/" in wanted:
            raise ElfError(f"{wanted} is a path, not the name of a library")
        elf, origin = needing.elf, os.path.dirname(needing.path)
        beside = (origin,) if self._in_tree(needing.path) else ()  # as all will be in PRIVATE
        for folder in (*(elf.runpath or needing.rpath), *self._last, *beside):
            folder = folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
            path = self._normal(os.path.join(folder, wanted))
            if not os.path.isfile(self._real(path)):
                continue
            try:
                if path not in self._read:
                    self._read[path] = read_elf(self._real(path))
            except OtherMachineError:
                continue
            except ElfError as error:
                raise ElfError(f"{path} {error}") from None
            if DRIVER.fullmatch(self._read[path].soname):
                raise ElfError(f"{path} is {self._read[path].soname} by its own name, of the node's "
                               "driver, which no image may hold")
            if self._trees and not self._in_tree(path) and not self._is_default(path):
                raise ElfError(f"{path} {ELSEWHERE}")
            return path
        raise ElfError(f"{wanted} is missing")

    def _loaded_by_name(self, needing: _Loaded) -> list[str]:
        """ElfError if a library will find nothing of what it loads by name."""
        folder, name = os.path.split(needing.path)
        pattern = _LOADED_BY_NAME.get(stem_of(name))
        if not pattern or not self._in_tree(needing.path):
            return []
        version = re.search(r"\.so\.(\d+)", needing.elf.soname or name)
        pattern = pattern.replace("VERSION", version.group(1) if version else "")
        beside = [other for other in sorted(os.listdir(self._real(folder))) if re.fullmatch(pattern, other)]
        if not beside:
            raise ElfError(f"{needing.who} loads {pattern} by name, and {folder} has none")
        # Of libx.so.1.2 and libx.so.1, a link to it, the one that it calls itself.
        own = {name: read_elf(os.path.join(self._real(folder), name)).soname or name for name in beside}
        return [name for name in beside if own[name] == name]

    def _place(self, path: str) -> str:
        """Where the image has a library of this machine."""
        return os.path.join(PRIVATE, os.path.basename(path)) if self._in_tree(path) else path

    def _in_tree(self, path: str) -> bool:
        return any(within(path, tree) for tree in self._trees)

    def _is_default(self, path: str) -> bool:
        return any(within(path, self._folder(folder)) for folder in DEFAULT_FOLDERS)

    def _check_trees(self) -> None:
        for tree in self._trees:
            if not os.path.isdir(self._real(tree)):
                raise ClosureError(f"{tree} is no folder to take libraries from")
            if self._is_default(tree) or any(within(self._folder(folder), tree) for folder in DEFAULT_FOLDERS):
                raise ClosureError(f"{tree} holds Debian's libraries or lies among them; name a folder "
                                   "that has LibTorch or CUDA alone")

    def _configured(self, file: str) -> list[str]:
        """The folders that a configuration of the loader names, and those that it includes."""
        folders = []
        try:
            with open(self._real(file), encoding="utf-8", errors="surrogateescape") as lines:
                words = [line.partition("#")[0].split() for line in lines]
        except FileNotFoundError:
            return []
        for line in words:
            if line[:1] == ["include"]:
                for pattern in line[1:]:
                    below = os.path.join(os.path.dirname(file), pattern)
                    for found in sorted(glob.glob(glob.escape(self._root) + below)):
                        folders += self._configured("/" + os.path.relpath(found, self._root))
            elif line and line[0].startswith("/"):
                folders.append(line[0])
        return folders

    def _real(self, path: str) -> str:
        return os.path.join(self._root, path.lstrip("/"))

    def _folder(self, path: str) -> str:
        return os.path.dirname(self._normal(os.path.join(path, "library")))

    def _normal(self, path: str) -> str:
        """With its folder's links followed: Debian's /lib is /usr/lib."""
        folder, name = os.path.split(os.path.normpath(path))
        real = os.path.realpath(self._real(folder))
        return os.path.normpath(os.path.join("/", os.path.relpath(real, self._root), name))


def refuse_hidden(libraries: dict[str, str]) -> None:
    """PRIVATE comes first wherever a library is looked for.  ClosureError if it has another of a
    name that some program of the image was given elsewhere."""
    private = {os.path.basename(path): file for path, file in libraries.items() if within(path, PRIVATE)}
    problems = [f"{path} would be hidden by {private[os.path.basename(path)]}, of the same name; take that "
                "away if Debian's will do"
                for path in libraries if os.path.basename(path) in private and not within(path, PRIVATE)]
    if problems:
        raise ClosureError("\n".join(problems))
