"""What dpkg knows of files: which package, in which version, they came from."""

from __future__ import annotations

import glob
import hashlib
import os
import subprocess
from dataclasses import dataclass

# Debian's packages name some files by the folders that were merged into /usr since.
_MERGED = ("lib/", "lib64/", "bin/", "sbin/")


class PackageError(Exception):
    """A line for each file that is not as a package brought it."""


@dataclass(frozen=True, order=True)
class Package:
    name: str
    version: str
    architecture: str
    source: str
    source_version: str
    maintainer: str = ""


class Dpkg:
    """The packages that are installed below `root`."""

    def __init__(self, root: str = "/"):
        self._root = os.path.realpath(root)
        self._admin = os.path.join(self._root, "var/lib/dpkg")

    def packages_of(self, files: list[str]) -> list[Package]:
        """Whose files these are (paths on this machine, links followed), in order of names.

        A file that no package brought, or that has changed since, is an error: what is said
        of the package would not be true of it.
        """
        wanted = {self._key(file): file for file in files}
        owners = self._owners(set(wanted))
        problems = []
        for key, file in wanted.items():
            if key not in owners:
                problems.append(f"{file} belongs to no package of Debian")
            elif _md5(file) != owners[key][1]:
                problems.append(f"{file} is not as {owners[key][0]} brought it")
        if problems:
            raise PackageError("\n".join(problems))
        return self.packages(sorted({package for package, _ in owners.values()}))

    def known(self, files: list[str]) -> set[str]:
        """Those of these files that some package brought."""
        keys = {file: self._key(file) for file in files}
        owners = self._owners(set(keys.values()))
        return {file for file, key in keys.items() if key in owners}

    def _owners(self, keys: set[str]) -> dict[str, tuple[str, str]]:
        """Package and checksum."""
        owners = {}
        for sums in glob.glob(os.path.join(glob.escape(self._admin), "info", "*.md5sums")):
            package = os.path.basename(sums)[:-len(".md5sums")]
            with open(sums, encoding="utf-8", errors="surrogateescape") as lines:
                for line in lines:
                    checksum, _, name = line.rstrip("\n").partition("  ")
                    key = _merged(name)
                    if key in keys:
                        owners[key] = (package, checksum)
        return owners

    def packages(self, names: list[str]) -> list[Package]:
        """PackageError if one is not installed."""
        form = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\t" \
               "${Maintainer}\n"
        asked = subprocess.run(
            ["dpkg-query", f"--admindir={self._admin}", "-W", "-f", form, *names],
            check=False, capture_output=True, text=True)
        if asked.returncode:
            raise PackageError(asked.stderr.strip())
        return sorted(Package(*line.split("\t")) for line in asked.stdout.splitlines())

    def copyright_of(self, package: Package) -> str:
        """The file that tells the licences of a package."""
        path = os.path.join(self._root, "usr/share/doc", package.name, "copyright")
        if not os.path.isfile(path):
            raise PackageError(f"{path} is missing, so {package.name} cannot be passed on; is this "
                               "a system that was installed without documentation?")
        return path

    def _key(self, file: str) -> str:
        return _merged(os.path.relpath(os.path.realpath(file), self._root))


def _merged(name: str) -> str:
    return "usr/" + name if name.startswith(_MERGED) else name


def _md5(file: str) -> str:
    with open(file, "rb") as content:
        return hashlib.file_digest(content, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
