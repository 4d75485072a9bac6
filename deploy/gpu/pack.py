"""Makes the folder and the archive of pack.sh, of what Bazel tells; pack.sh calls it.

    pack.py targets --aquery FILE                     labels of what rules generate, one a line
    pack.py make --aquery FILE --headers FILE --bin FOLDER --faiss FOLDER --revision TEXT
                 --out FOLDER [--read PROGRAM]... PROGRAM...   the folder and FOLDER.tar.xz
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import os
import shutil
import sys
import tarfile
import xml.etree.ElementTree as ElementTree

import headers
import libraries
from actions import PackError, describe, generated_files

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
MOST_BYTES = 20 << 20
# Code and data of x86 alike packs best so.
_FILTERS = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]


def precompiled_headers(xml: str) -> dict[str, list[str]]:
    """Of `bazel query --output=xml`: name -> what it includes."""
    found = {}
    for rule in ElementTree.fromstring(xml).iter("rule"):
        includes = rule.find("list[@name='includes']")
        if includes is not None:
            found[rule.get("name").rpartition(":")[2]] = [each.get("value") for each in includes]
    return found


def make_pack(query: dict, precompiled: dict[str, list[str]],
              arguments: argparse.Namespace) -> dict[str, int]:
    """Returns the bytes of each part."""
    out = arguments.out
    build = describe(query, arguments.program, tuple(arguments.read))
    compiled = [*build["objects"].values(), *build["read"].values()]
    for name in {each["header"] for each in compiled} - {""}:
        build.setdefault("headers", {})[name] = precompiled[name]
    generated = os.path.join(out, "generated")
    for path in generated_files(query):
        _copy(os.path.join(arguments.bin, path), os.path.join(generated, path))
    folders = {"clone": ROOT, "generated": generated, "faiss": arguments.faiss}
    sources = [os.path.join(folders[root], path) for root, path in
               (each["source"] for each in compiled)]
    search = [ROOT, generated, os.path.join(generated, "protos"), arguments.faiss]
    _copy_faiss(sources, arguments.faiss, os.path.join(out, "faiss"), search)
    names = set(headers.named_headers(sources, search))
    for included in build.get("headers", {}).values():
        names.update(name.strip('<>"') for name in included
                     if not name.startswith(("<torch/", "<ATen/")))
    for path in headers.all_headers(sorted(names), ["-std=c++17", "-march=x86-64-v3"]):
        short = os.path.relpath(path, "/usr/include").removeprefix("x86_64-linux-gnu/")
        _copy(path, os.path.join(out, "include", short))
    linked = sorted({name for program in build["programs"].values() for name in program["libraries"]
                     if not libraries.ELSEWHERE.fullmatch(name)})
    files = libraries.library_files(linked)
    libraries.copy_libraries(files, os.path.join(out, "lib"))
    build["revision"] = arguments.revision
    build["digest"] = _digest(out, ["faiss", "include"])
    build["sonames"] = libraries.sonames(linked)
    with open(os.path.join(out, "build.json"), "w", encoding="utf-8") as file:
        json.dump(build, file, indent=1, sort_keys=True)
    return {name: _bytes_of(os.path.join(out, name)) for name in sorted(os.listdir(out))}


def _copy_faiss(sources: list[str], faiss: str, target: str, search: list[str]) -> None:
    """The sources that are compiled, and what of its headers anybody includes."""
    wanted = headers.own_files(sources, search)
    for path in wanted:
        if path.startswith(faiss + os.sep):
            _copy(path, os.path.join(target, os.path.relpath(path, faiss)))
    _copy(os.path.join(faiss, "LICENSE"), os.path.join(target, "LICENSE"))


def _copy(source: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target)


def _digest(out: str, parts: list[str]) -> str:
    """Of what files are called and hold."""
    whole = hashlib.sha256()
    for part in parts:
        for top, folders, names in os.walk(os.path.join(out, part)):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(top, name)
                with open(path, "rb") as file:
                    content = hashlib.sha256(file.read()).hexdigest()
                whole.update(f"{os.path.relpath(path, out)} {content}\n".encode())
    return whole.hexdigest()[:16]


def _bytes_of(path: str) -> int:
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name))
               for folder, _, names in os.walk(path) for name in names)


def write_archive(folder: str, archive: str) -> int:
    """Equal folders make equal archives.  Returns its bytes."""
    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime = entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mode = 0o755 if entry.isdir() else 0o644
        return entry

    with lzma.open(archive, "wb", format=lzma.FORMAT_XZ, filters=_FILTERS) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for top, folders, names in os.walk(folder):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(top, name)
                tar.add(path, os.path.join("pack", os.path.relpath(path, folder)), filter=plain)
    return os.path.getsize(archive)


def put_in_place(made: str, out: str) -> int:
    """The folder becomes `out`, and its archive lies beside that; neither is seen before it is whole.  Returns the
    archive's bytes."""
    archive = out + ".tar.xz"
    packed = write_archive(made, archive + ".new")
    if packed > MOST_BYTES:
        os.unlink(archive + ".new")
        raise PackError(f"the archive has {packed} bytes, and {MOST_BYTES} are allowed; look at the parts of {made}")
    shutil.rmtree(out, ignore_errors=True)
    os.rename(made, out)
    os.replace(archive + ".new", archive)
    return packed


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Part of pack.sh.")
    parser.add_argument("command", choices=["targets", "make"])
    parser.add_argument("--aquery", required=True)
    for name in ("headers", "bin", "faiss", "revision", "out"):
        parser.add_argument("--" + name)
    parser.add_argument("--read", action="append", default=[])
    parser.add_argument("program", nargs="*")
    return parser.parse_intermixed_args()


def main() -> int:
    arguments = read_arguments()
    with open(arguments.aquery, encoding="utf-8") as file:
        query = json.load(file)
    if arguments.command == "targets":
        labels = {each["id"]: each["label"] for each in query["targets"]}
        print("\n".join(sorted({labels[action["targetId"]] for action in query["actions"]
                                if action["mnemonic"] == "Genrule"})))
        return 0
    out = arguments.out
    arguments.out = out + ".new"
    shutil.rmtree(arguments.out, ignore_errors=True)
    os.makedirs(arguments.out)
    try:
        with open(arguments.headers, encoding="utf-8") as file:
            sizes = make_pack(query, precompiled_headers(file.read()), arguments)
        packed = put_in_place(arguments.out, out)
    except PackError as error:
        print(f"pack: {error}", file=sys.stderr)
        return 1
    for name, size in sizes.items():
        print(f"{size:12d}  {name}")
    print(f"{packed:12d}  {out}.tar.xz")
    return 0


if __name__ == "__main__":
    sys.exit(main())
