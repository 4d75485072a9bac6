"""What libraries tell of themselves that no package of Debian brought, LibTorch's and CUDA's:
which package they are of, in which version, under which licence.

Each is asked in this order:
1. A wheel's records (NAME.dist-info in one of the folders that libraries are taken from, also
   where its libraries lie elsewhere): RECORD has the SHA-256 of each file, METADATA the version.
2. CUDA's version.json at the top of the folder.
3. LibTorch's build-version at the top, for what is LibTorch's own.
4. The library's own file name, libnccl.so.2.28.9, or what it calls itself.
"""

from __future__ import annotations

import base64
import csv
import email.parser
import glob
import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

from closure import ELSEWHERE, stem_of, within
from elf import read_elf

_TORCH = re.compile(r"lib(torch|c10|caffe2|shm)(_|$)")
_TEXT = re.compile(r"(licen[sc]e|copying|copyright|notice|eula)", re.IGNORECASE)
# What may become a part of a path, and of a purl.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


class VendorError(Exception):
    """A line for each library that cannot be passed on, with what is missing."""


@dataclass(frozen=True, order=True)
class File:
    path: str  # in the image
    sha1: str  # SPDX asks for it
    sha256: str


@dataclass(frozen=True, order=True)
class VendorPackage:
    name: str
    version: str
    told_by: str  # where name and version come from
    purl: str  # "" if there is none
    licenses: tuple[tuple[str, str], ...]  # name in the image's folder of them -> file of this machine
    files: tuple[File, ...] = ()

    def folder(self, doc: str) -> str:
        """Where below `doc` the image has its licences."""
        return f"{doc}/{self.name}-{self.version}"


class Vendors:
    """Knows what lies in `trees`, folders of this machine."""

    def __init__(self, trees: list[str]):
        self._trees = [os.path.realpath(tree) for tree in trees]
        # By file name and SHA-256; by where a file should be, the wheel that brought it there.
        self._recorded: dict[tuple[str, str], VendorPackage] = {}
        self._brought: dict[str, VendorPackage] = {}
        for tree in self._trees:
            for info in sorted(glob.glob(os.path.join(glob.escape(tree), "*.dist-info"))):
                self._read_wheel(info)

    def packages_of(self, libraries: dict[str, str]) -> list[VendorPackage]:
        """Of these (path in the image -> file of this machine, links followed), in order of
        names.  VendorError if one does not tell what it is, or has no licence text."""
        found: dict[VendorPackage, list[File]] = {}
        problems = []
        for path, source in sorted(libraries.items()):
            file = _hashed(path, source)
            try:
                found.setdefault(self._package_of(source, file), []).append(file)
            except VendorError as error:
                problems.append(str(error))
        named: dict[tuple[str, str], VendorPackage] = {}
        for package in found:
            if named.setdefault((package.name, package.version), package) != package:
                problems.append(f"{package.name} {package.version} lies in two folders with other licence "
                                "texts; take one of them away")
        if problems:
            raise VendorError("\n".join(problems))
        return sorted(VendorPackage(p.name, p.version, p.told_by, p.purl, p.licenses, tuple(files))
                      for p, files in found.items())

    def _package_of(self, source: str, file: File) -> VendorPackage:
        tree = max((tree for tree in self._trees if within(source, tree)), key=len, default="")
        if not tree:
            raise VendorError(f"{source} {ELSEWHERE}")
        wheel = self._recorded.get((os.path.basename(source), file.sha256))
        if not wheel and source in self._brought:
            brought = self._brought[source]
            raise VendorError(f"{source} is not as {brought.name} {brought.version} brought it")
        package = wheel or _told_by_tree(source, tree) or _told_by_name(source)
        if not _NAME.fullmatch(package.name) or not _NAME.fullmatch(package.version):
            raise VendorError(f"{source} has no version that can be listed, but '{package.name} "
                              f"{package.version}' by {package.told_by}")
        licenses = package.licenses if wheel else _texts_beside(source, tree, package.name)
        if not licenses:
            raise VendorError(_no_license(source, tree, package))
        return VendorPackage(package.name, package.version, package.told_by, package.purl, licenses)

    def _read_wheel(self, info: str) -> None:
        """What a wheel records of its libraries."""
        with open(os.path.join(info, "METADATA"), encoding="utf-8", errors="replace") as file:
            head = email.parser.HeaderParser().parse(file)
        name, version = str(head["Name"]), str(head["Version"])
        licenses = [path for path in glob.glob(os.path.join(glob.escape(info), "**"), recursive=True)
                    if os.path.isfile(path) and (
                        _TEXT.match(os.path.basename(path)) or within(path, os.path.join(info, "licenses")))]
        package = VendorPackage(
            name, version, f"{os.path.basename(info)}/RECORD",
            f"pkg:pypi/{re.sub('[-_.]+', '-', name).lower()}@{version}",
            tuple(sorted((os.path.relpath(path, info), path) for path in licenses)))
        try:
            with open(os.path.join(info, "RECORD"), encoding="utf-8", errors="replace", newline="") as file:
                self._read_record(package, os.path.dirname(info), file)
        except (ValueError, csv.Error) as error:
            raise VendorError(f"{info}/RECORD is not as wheels have it: {error}") from None

    def _read_record(self, package: VendorPackage, site: str, record: Iterable[str]) -> None:
        for row in csv.reader(record, strict=True):
            if len(row) > 1 and row[1].startswith("sha256=") and ".so" in os.path.basename(row[0]):
                digest = base64.urlsafe_b64decode(row[1][len("sha256="):] + "==").hex()
                self._recorded[os.path.basename(row[0]), digest] = package
                self._brought[os.path.realpath(os.path.join(site, row[0]))] = package


def _told_by_tree(source: str, tree: str) -> VendorPackage | None:
    stem = stem_of(os.path.basename(source))
    try:
        with open(os.path.join(tree, "version.json"), encoding="utf-8") as file:
            components = json.load(file)
        # "cuda_nvrtc" is of libnvrtc and libnvrtc-builtins, "libcublas" of libcublas and
        # libcublasLt, and "cuda" of all that has no more of a name.
        known = {"lib" + key.removeprefix("cuda_").removeprefix("lib").lower(): key for key in components.keys()}
        best = max((lib for lib in known if stem.lower().startswith(lib)), key=len, default="")
        if best:
            version = str(components[known[best]]["version"])
            return VendorPackage(known[best], version, "version.json", "", ())
    except FileNotFoundError:
        pass
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise VendorError(f"{tree}/version.json is not as CUDA writes it: {error!r}") from None
    if _TORCH.match(stem):
        try:
            with open(os.path.join(tree, "build-version"), encoding="utf-8", errors="replace") as file:
                return VendorPackage("libtorch", file.read().strip(), "build-version", "", ())
        except FileNotFoundError:
            pass
    return None


def _told_by_name(source: str) -> VendorPackage:
    name = os.path.basename(source)
    for told, by in ((name, "its file name"), (read_elf(source).soname, "its soname")):
        _, _, version = told.partition(".so.")
        if version:
            return VendorPackage(stem_of(name), version, by, "", ())
    raise VendorError(f"{source} tells no version: neither do its name and soname, nor a build-version, "
                      "version.json or dist-info at the top of its folder")


def _texts_beside(source: str, tree: str, name: str) -> tuple[tuple[str, str], ...]:
    """Of the nearest folder that has any, from the library's own up to the tree's."""
    bundled = name != "libtorch" and os.path.exists(os.path.join(tree, "build-version"))
    folder = os.path.dirname(source)
    while within(folder, tree):
        texts = [text for text in sorted(os.listdir(folder))
                 if _TEXT.match(text) and os.path.isfile(os.path.join(folder, text))
                 and (not bundled or _is_of_bundled(text, name))]
        if texts:
            return tuple((text, os.path.join(folder, text)) for text in texts)
        folder = os.path.dirname(folder)
    return ()


def _is_of_bundled(text: str, name: str) -> bool:
    """A LibTorch brings libraries of CUDA, which are not under its own licence."""
    return text.lower().startswith("eula") or name.removeprefix("lib").lower() in text.lower()


def _no_license(source: str, tree: str, package: VendorPackage) -> str:
    told = f"{source} ({package.name} {package.version}) has no licence text"
    if package.told_by.endswith("RECORD"):
        return f"{told} in {package.told_by.removesuffix('/RECORD')}"
    return (f"{told} beside it or above, up to {tree}: put the one that it came with there, as LICENSE "
            f"or EULA.txt, or as LICENSE.{package.name} where another's lies already; or, if a wheel brought "
            "it, name the folder that holds its dist-info by --libraries")


def _hashed(path: str, source: str) -> File:
    sha1, sha256 = hashlib.sha1(usedforsecurity=False), hashlib.sha256()
    with open(source, "rb") as file:
        while block := file.read(1 << 20):
            sha1.update(block)
            sha256.update(block)
    return File(path, sha1.hexdigest(), sha256.hexdigest())
