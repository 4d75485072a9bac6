#!/usr/bin/python3
"""Puts images together from programs, the libraries of Debian that they need, and what tells
where all of it comes from.  build.sh calls this; see README.md for what an image holds.

usage: image.py --programs FOLDER --faiss VERSION:LICENSE --license FILE --revision R
                --created SECONDS (--archives FOLDER --repository NAME | --tree FOLDER)
                VARIANT...
"""

from __future__ import annotations

import argparse
import glob
import os
import sys
import tempfile
import time

import sbom
from closure import ClosureError, Finder
from debian import Dpkg, Package, PackageError
from oci import Blob, Entry, write_archive, write_layer, write_tree

# What programs are called in an image, and as what they are built.  A variant holds the programs
# and libraries of those above it, unless it has another program of the name, and shares their
# layers of libraries.
VARIANTS = {
    "sightline-router": {"router": "router", "sightlinectl": "sightlinectl_small"},
    "sightline": {name: name for name in (
        "corpus_encoder", "evaluator", "index_search", "query_encoder", "reranker",
        "sightlinectl", "trainer")},
}
# Programs that are Debian's: tar unpacks what is sent to the volume of a fleet.
DEBIAN_PROGRAMS = {"sightline": ["/usr/bin/tar"]}
TITLES = {
    "sightline-router": "Sightline's router and sightlinectl",
    "sightline": "Sightline's servers, jobs and sightlinectl",
}
# Packages of headers that programs hold and no library of theirs comes with.
HEADERS = ["nlohmann-json3-dev"]
# Nobody's on any machine, as other images have it.
USER = 65532
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
        self._compiled_in = self._dpkg.packages(HEADERS)

    def layers(self, variant: str) -> list[tuple[str, list[Entry]]]:
        """Name and entries of each layer, the lowest first.  One of equal name is equal in all
        variants."""
        layers, files, taken, packages, programs = [], {}, set(), [], {}
        for name, added in VARIANTS.items():
            programs.update(added)
            theirs = DEBIAN_PROGRAMS.get(name, [])
            libraries = self._finder.closure([*map(self._program, added.values()), *theirs])
            new = {path: file for path, file in libraries.items() if path not in files}
            new.update((path, path) for path in theirs)
            files.update(new)
            entries = [Entry(path, 0o755, source=file) for path, file in new.items()]
            sources = list(new.values())
            if not layers:
                entries += self._base()
                sources += [*sorted(glob.glob(CERTIFICATES)), "/usr/lib/os-release"]
            used = set(self._dpkg.packages_of(sources))
            entries += self._copyrights(used - taken)
            taken |= used
            layers.append((f"libraries of {name}", entries))
            if name == variant:
                break
        packages = sorted(taken)
        layers.append((f"programs of {variant}", self._programs(variant, programs, packages)))
        return layers

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

    def _programs(self, variant: str, programs: dict[str, str], packages: list[Package]) -> list[Entry]:
        arguments = self._arguments
        sources, licenses = [], []
        if "index_search" in programs:  # alone the router has nothing of FAISS, nor does its build
            version, _, file = arguments.faiss.partition(":")
            licenses = [Entry(f"{DOC}/faiss/LICENSE", source=file)]
            sources = [sbom.Source("faiss", version, "MIT", licenses[0].path)]
        document = sbom.document(variant, arguments.revision, arguments.created, _distribution(),
                                 DOC, packages, self._compiled_in, sources)
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


def configuration(variant: str, labels: dict[str, str], layer_names: list[str]) -> dict:
    """Of the image, without its layers.  There is no entry point: the first argument names a
    program."""
    created = labels["org.opencontainers.image.created"]
    return {
        "architecture": "amd64",
        "os": "linux",
        "created": created,
        "config": {
            "User": f"{USER}:{USER}",
            "Env": ["PATH=/usr/bin"],
            "WorkingDir": "/",
            "Cmd": ["router" if variant == "sightline-router" else "sightlinectl", "--help"],
            "Labels": labels,
        },
        "history": [{"created": created, "created_by": name} for name in layer_names],
    }


def labels_of(variant: str, revision: str, created: int) -> dict[str, str]:
    key = "org.opencontainers.image."
    return {
        key + "title": variant,
        key + "description": TITLES[variant] + ", for x86-64-v3",
        key + "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created)),
        key + "revision": revision,
        # Of what is ours and compiled in; Debian's licences are in /usr/share/doc.
        key + "licenses": "Apache-2.0 AND MIT AND LicenseRef-Debian-packages",
    }


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
    except (ClosureError, PackageError, OSError) as error:
        for line in str(error).splitlines():
            print(f"images: {line}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
