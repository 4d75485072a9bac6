"""What Bazel would run to make programs, as a build that knows no Bazel and no machine.

`bazel aquery --output=jsonproto` lists compilers' and linkers' command lines; `describe` makes of
them, for build.json of a pack:

    {"programs": {NAME: {"objects": [OBJECT], "lazy": [OBJECT], "libraries": [LIBRARY]}},
     "objects": {OBJECT: {"source": [ROOT, PATH], "flags": [FLAG], "header": NAME or "",
                          "cuda": BOOL, "torch": BOOL}},
     "read": the same, of objects of other programs that may include LibTorch}

A program is named as its file below Bazel's bin is.  Its `lazy` objects are linked if something in
them is wanted, as of an archive.  ROOT is "clone", "generated" (what rules made) or "faiss".  Flags
are those that change what is compiled: where headers are, and what is warned of, each machine
decides for itself.  `header` is the precompiled one (deploy/bazel/precompiled.bzl); `torch` says
that LibTorch's headers may be included.
"""

from __future__ import annotations

import re

_FAISS = "external/faiss/"
# Flags with a value behind them that says where something lies.
_PLACES = {"-c", "-o", "-MF", "-iquote", "-isystem", "-I", "-include"}
_DROPPED = re.compile(r"-(MD|W.*|w|D__\w+__=.*|DSIGHTLINE_PACKAGES=.*|frandom-seed=.*|g0|std=c\+\+0x|"
                      r"[UD]_FORTIFY_SOURCE.*|fno-canonical-system-headers|pass-exit-codes)$")

# Of nvcc's.  A "-D" alone has its value behind it: what the build defines for its own caches.
_OF_CUDA = re.compile(r"-(std=|O|Xcompiler=|diag-suppress=|D.|w$)")


class PackError(Exception):
    """What the pack lacks, and what to do."""


def describe(query: dict, programs: list[str], others: tuple[str, ...] = ()) -> dict:
    """`query` is the JSON of aquery, over the dependencies of `programs` and of `others`, which are not
    built but read.  PackError if it names something that a pack cannot hold."""
    outputs = _Outputs(query)
    links, compiled = {}, {}
    for action in query["actions"]:
        kind, output = action["mnemonic"], outputs.of(action)
        if kind == "CppLink":
            links[outputs.within_bin(output)] = action["arguments"]
        elif kind == "CppCompile":
            compiled[output] = _compiled(action["arguments"], outputs)
        elif kind == "CudaCompile":
            compiled[output] = _cuda(action["arguments"], outputs)
    result = {"programs": {}, "objects": {}, "read": {}}
    for program in (*programs, *others):
        if program not in links:
            raise PackError(f"Bazel links no {program}; its target is not among those asked for")
        linked = _linked(links[program])
        for path in linked["objects"] + linked["lazy"]:
            if path not in compiled:
                raise PackError(f"{program} takes {path}, which no compiler makes")
            name = _name(outputs.within_bin(path))
            if program in programs:
                result["objects"][name] = compiled[path]
            elif compiled[path]["torch"] and name not in result["objects"]:
                result["read"][name] = compiled[path]
        if program in others:
            continue
        for kind in ("objects", "lazy"):
            linked[kind] = [_name(outputs.within_bin(path)) for path in linked[kind]]
        result["programs"][program] = linked
    return result


def generated_files(query: dict) -> list[str]:
    """What rules make of text, below Bazel's bin: protos' code, texts that programs carry."""
    outputs = _Outputs(query)
    return sorted(outputs.within_bin(path) for action in query["actions"] if action["mnemonic"] == "Genrule"
                  for path in outputs.all_of(action))


class _Outputs:
    """Which files actions make; aquery spells each path as a chain of names."""

    def __init__(self, query: dict):
        self._fragments = {each["id"]: each for each in query["pathFragments"]}
        self._paths = {each["id"]: self._path(each["pathFragmentId"]) for each in query["artifacts"]}
        matches = (re.match(r"bazel-out/[^/]+/bin/", path) for path in self._paths.values())
        bins = {match.group(0) for match in matches if match}
        # Tools of the build, if it had any, would have another one.
        if len(bins) != 1:
            raise PackError(f"one configuration was expected of Bazel, not {sorted(bins)}")
        self.bin = bins.pop()

    def _path(self, fragment: int | None) -> str:
        names = []
        while fragment:
            names.append(self._fragments[fragment]["label"])
            fragment = self._fragments[fragment].get("parentId")
        return "/".join(reversed(names))

    def of(self, action: dict) -> str:
        return self._paths[action.get("primaryOutputId", action["outputIds"][0])]

    def all_of(self, action: dict) -> list[str]:
        return [self._paths[output] for output in action["outputIds"]]

    def within_bin(self, path: str) -> str:
        return path[len(self.bin):] if path.startswith(self.bin) else path


def _source(path: str, outputs: _Outputs) -> list[str]:
    if path.startswith(outputs.bin):
        return ["generated", outputs.within_bin(path)]
    if path.startswith(_FAISS):
        return ["faiss", path[len(_FAISS):]]
    if path.startswith("external/"):
        raise PackError(f"{path} is of an outside repository that packs do not know")
    return ["clone", path]


def _compiled(arguments: list[str], outputs: _Outputs) -> dict:
    flags, source, header = [], "", ""
    rest = iter(arguments[1:])
    for flag in rest:
        if flag in _PLACES:
            value = next(rest)
            if flag == "-c":
                source = value
            elif flag == "-include":
                header = re.sub(r"^.*/|\.h$", "", value)
        elif not _DROPPED.match(flag):
            flags.append(flag)
    return {"source": _source(source, outputs), "flags": flags, "header": header, "cuda": False,
            "torch": any("/torch_" in argument for argument in arguments)}


def _cuda(arguments: list[str], outputs: _Outputs) -> dict:
    """The architecture is the machine's; what a host's compiler is told, it is told here too."""
    flags, source = [], ""
    rest = iter(arguments[1:])
    for flag in rest:
        if flag in _PLACES:
            value = next(rest)
            source = value if flag == "-c" else source
        elif _OF_CUDA.match(flag):
            flags.append(flag)
    return {"source": _source(source, outputs), "flags": flags, "header": "", "cuda": True, "torch": False}


def _linked(arguments: list[str]) -> dict:
    result = {"objects": [], "lazy": [], "libraries": []}
    lazy = False
    for argument in arguments:
        if argument in ("-Wl,--start-lib", "-Wl,--end-lib"):
            lazy = argument == "-Wl,--start-lib"
        elif argument.endswith(".o"):
            result["lazy" if lazy else "objects"].append(argument)
        elif argument.startswith("-l") and argument[2:] not in result["libraries"]:
            result["libraries"].append(argument[2:])
    return result


def _name(path: str) -> str:
    """common/base/_objs/files/files.pic.o -> common/base/files/files.o"""
    return path.replace("/_objs/", "/").replace(".pic.o", ".o")
