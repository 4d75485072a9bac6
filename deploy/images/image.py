#!/usr/bin/python3
"""Puts images together from programs, the libraries that they need, and what tells where all of
it comes from.  build.sh calls this; see README.md for what an image holds.

usage: image.py --programs FOLDER --faiss VERSION:LICENSE --license FILE --revision R
                --created SECONDS (--archives FOLDER --repository NAME | --tree FOLDER)
                [--libraries FOLDER]... [--needs LIBRARY]... VARIANT...
  --libraries FOLDER  for variants with CUDA: where libraries may be taken from that no package of
                      Debian brought, and where their wheels' records are
  --needs LIBRARY     that a program of such a variant has to load: libtorch_cuda, libcublasLt
"""

from __future__ import annotations

import argparse
import glob
import os
import sys
import tempfile

import sbom
from closure import PRIVATE, ClosureError, Finder, refuse_hidden, within
from debian import Dpkg, Package, PackageError
from oci import Blob, Entry, write_archive, write_layer, write_tree
from variants import USER, VARIANTS, chain, configuration, labels_of
from vendor import VendorError, VendorPackage, Vendors

# Packages of which programs hold headers, or archives (gRPC's), and no library of theirs comes with.
COMPILED_IN = ["nlohmann-json3-dev", "libgrpc++-dev", "libgrpc-dev"]
DOC = "/usr/share/doc"
CERTIFICATES = "/usr/share/ca-certificates/mozilla/*.crt"
PASSWD = f"""\
root:x:0:0:root:/:/nonexistent
sightline:x:{USER}:{USER}:Sightline:/nonexistent:/nonexistent
"""
GROUP = f"""\
root:x:0:
sightline:x:{USER}:
"""


class Contents:
    """What goes into the images, by layers."""

    def __init__(self, arguments: argparse.Namespace):
        self._arguments = arguments
        self._dpkg = Dpkg()
        self._finder = Finder()
        self._compiled_in = self._dpkg.packages(COMPILED_IN)

    def layers(self, variant: str) -> list[tuple[str, list[Entry]]]:
        """Name and entries of each layer, the lowest first.  One of equal name is equal in all
        variants."""
        layers, files, taken, vendors, programs = [], {}, set(), [], {}
        for name in chain(variant):
            programs.update(VARIANTS[name].programs)
            new = {path: file for path, file in self._libraries(name).items() if path not in files}
            files.update(new)
            entries = [Entry(path, 0o755, source=file) for path, file in new.items()]
            sources = list(new.values())
            if not layers:
                entries += self._base()
                sources += [*sorted(glob.glob(CERTIFICATES)), "/usr/lib/os-release"]
            if VARIANTS[name].cuda:
                theirs = self._of_vendors(new)
                sources = [file for path, file in new.items() if path not in theirs]
                vendors = Vendors(self._arguments.libraries).packages_of(theirs)
                entries += self._for_cuda(vendors)
            used = set(self._dpkg.packages_of(sources))
            entries += self._copyrights(used - taken)
            taken |= used
            layers.append((f"libraries of {name}", entries))
        refuse_hidden(files)
        layers.append((f"programs of {variant}", self._programs(variant, programs, sorted(taken), vendors)))
        return layers

    def _libraries(self, name: str) -> dict[str, str]:
        """Those that the programs of one variant need, and programs that are Debian's."""
        variant = VARIANTS[name]
        finder = Finder(trees=tuple(self._arguments.libraries)) if variant.cuda else self._finder
        found = finder.closure([*map(self._program, variant.programs.values()), *variant.debian_programs])
        theirs = {os.path.basename(path).split(".so")[0] for path in found if within(path, PRIVATE)}
        for library in self._arguments.needs if variant.cuda else ():
            if library not in theirs:
                raise ClosureError(f"no program of {name} loads {library}.so: build them with a LIBTORCH_HOME "
                                   "that names a LibTorch with CUDA (libtorch_cuda), or a CUDA_HOME with nvcc "
                                   "(libcublasLt)")
        return {**found, **{path: path for path in variant.debian_programs}}

    def _of_vendors(self, libraries: dict[str, str]) -> dict[str, str]:
        """Those of libraries beside Debian's folders that no package of dpkg's brought either."""
        private = {path: file for path, file in libraries.items() if within(path, PRIVATE)}
        known = self._dpkg.known(list(private.values()))
        return {path: file for path, file in private.items() if file not in known}

    @staticmethod
    def _for_cuda(vendors: list[VendorPackage]) -> list[Entry]:
        return [
            # By this file NVIDIA's container toolkit knows where our loader looks.
            Entry("/etc/debian_version", source="/etc/debian_version"),
            *(Entry(f"{vendor.folder(DOC)}/{text}", source=file)
              for vendor in vendors for text, file in vendor.licenses),
        ]

    def _base(self) -> list[Entry]:
        """What does not come from a package, or from one in another form."""
        certificates = b"".join(_read(path) for path in sorted(glob.glob(CERTIFICATES)))
        licenses = [
            Entry(path, link=os.readlink(path)) if os.path.islink(path) else Entry(path, source=path)
            for path in sorted(glob.glob("/usr/share/common-licenses/*"))]
        return [
            Entry("/bin", link="usr/bin"),
            Entry("/lib", link="usr/lib"),
            Entry("/lib64", link="usr/lib64"),
            Entry("/etc/group", content=GROUP.encode()),
            Entry("/etc/nsswitch.conf", content=b"hosts: files dns\n"),
            Entry("/etc/os-release", link="../usr/lib/os-release"),
            Entry("/etc/passwd", content=PASSWD.encode()),
            # Debian's own list; the one in /etc of this machine may hold others.
            Entry("/etc/ssl/certs/ca-certificates.crt", content=certificates),
            Entry("/usr/lib/os-release", source="/usr/lib/os-release"),
            *licenses,
            # What is mounted there finds its place, on a root that is read-only too.
            *(Entry(path, 0o755) for path in ("/dev", "/etc/sightline", "/proc", "/run", "/sys")),
            Entry("/tmp", 0o1777),
            Entry("/var/lib/sightline", 0o755, owner=USER),
        ]

    def _copyrights(self, packages: set[Package]) -> list[Entry]:
        return [Entry(f"{DOC}/{package.name}/copyright", source=self._dpkg.copyright_of(package))
                for package in sorted(packages)]

    def _programs(self, variant: str, programs: dict[str, str], packages: list[Package],
                  vendors: list[VendorPackage]) -> list[Entry]:
        arguments = self._arguments
        sources, licenses = [], []
        if "index_search" in programs:  # alone the router has nothing of FAISS, nor does its build
            version, _, file = arguments.faiss.partition(":")
            licenses = [Entry(f"{DOC}/faiss/LICENSE", source=file)]
            sources = [sbom.Source("faiss", version, "MIT", licenses[0].path)]
        document = sbom.document(variant, arguments.revision, arguments.created, _distribution(),
                                 DOC, packages, self._compiled_in, sources, vendors)
        return [
            *(Entry(f"/usr/bin/{name}", 0o755, source=self._program(built))
              for name, built in programs.items()),
            *self._copyrights(set(self._compiled_in)),
            *licenses,
            Entry(f"{DOC}/sightline/LICENSE", source=arguments.license),
            Entry(f"/usr/share/sbom/{variant}.spdx.json", content=document),
        ]

    def _program(self, built: str) -> str:
        return os.path.join(self._arguments.programs, built)


def write_archives(contents: Contents, arguments: argparse.Namespace) -> None:
    """One archive a variant, and a line that tells its digest."""
    written: dict[str, Blob] = {}
    with tempfile.TemporaryDirectory(dir=arguments.archives) as work:
        for variant in arguments.variants:
            layers = contents.layers(variant)
            for name, entries in layers:
                if name not in written:
                    written[name] = write_layer(entries, os.path.join(work, str(len(written))))
            labels = labels_of(variant, arguments.revision, arguments.created)
            archive = os.path.join(arguments.archives, f"{variant}.tar")
            tag = arguments.revision[:12] + arguments.revision[40:]
            digest = write_archive(
                [written[name] for name, _ in layers],
                configuration(variant, labels, [name for name, _ in layers]), labels,
                f"{arguments.repository}/{variant}:{tag}", os.path.join(work, "archive"))
            os.replace(os.path.join(work, "archive"), archive)
            print(f"{archive} {digest} {os.path.getsize(archive)}")


def _distribution() -> str:
    lines = _read("/usr/lib/os-release").decode().splitlines()
    found = dict(line.split("=", 1) for line in lines if "=" in line)
    return f"{found['ID']}-{found['VERSION_ID']}".replace('"', "")


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def main() -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--faiss", required=True)
    parser.add_argument("--license", required=True)
    parser.add_argument("--revision", required=True)
    parser.add_argument("--created", type=int, required=True)
    parser.add_argument("--repository", default="localhost")
    parser.add_argument("--libraries", action="append", default=[])
    parser.add_argument("--needs", action="append", default=[])
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--archives")
    where.add_argument("--tree")
    parser.add_argument("variants", nargs="+", choices=VARIANTS)
    arguments = parser.parse_args()
    try:
        contents = Contents(arguments)
        if arguments.tree:
            for variant in arguments.variants:
                for _, entries in contents.layers(variant):
                    write_tree(entries, arguments.tree)
        else:
            write_archives(contents, arguments)
    except (ClosureError, PackageError, VendorError, OSError) as error:
        for line in str(error).splitlines():
            print(f"images: {line}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
