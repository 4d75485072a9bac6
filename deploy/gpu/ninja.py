"""build.ninja, of what a pack says and what a machine has.

    ninja.py --pack FOLDER --tools FILE --build FOLDER [--cpu-only] [--headers-only]
"""

from __future__ import annotations

import argparse
import json
import os
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
# What stands in for what of a BLAS, in programs that Bazel links with a library: FAISS alone has cuBLAS.
_STAND_INS = {"openblas": "blas", "cublas": "faiss_blas"}
# Programs of no use without a GPU, for which FAISS's files of CUDA took two busy cores 24 minutes.
_NOT_ON_CPU = {"deploy/gpu/faiss_check"}
# Flags of Bazel's toolchain that say nothing of what is computed stay; warnings are others' affair:
# another compiler has other ones.
_WARNINGS = "-w"
_OF_THE_SYSTEM = {"dl", "rt", "pthread", "m", "gomp"}

_RULES = """ninja_required_version = 1.8

rule compile
  command = {cxx} $flags {warnings} {includes} $torch $header -MMD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
  description = $out

rule precompile
  command = {cxx} $flags {warnings} {includes} $torch -x c++-header -c $in -o $out
  description = $out

rule read
  command = {cxx} $flags {warnings} {includes} $torch -fsyntax-only -MMD -MF $out.d -MT $out $in && touch $out
  depfile = $out.d
  deps = gcc
  description = $out

rule nvcc
  command = {nvcc} -ccbin {cxx} $flags -gencode=arch=compute_{arch},code=sm_{arch} {includes} $
      {cuda_includes} -MMD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
  description = $out

rule archive
  command = rm -f $out && {ar} crsT $out @$out.list
  rspfile = $out.list
  rspfile_content = $in_newline
  description = $out

rule link
  command = {cxx} -o $out $objects $in -Wl,--gc-sections -Wl,--allow-shlib-undefined $libraries
  description = $out
"""


def write_ninja(build: dict, tools: dict, pack: str, headers_only: bool = False, cpu_only: bool = False) -> str:
    """The text of build.ninja; `build` is the pack's build.json.  With `headers_only` files that include
    LibTorch are read, and nothing is made; with `cpu_only` what needs a GPU and takes long is made if it is
    named.  What rules have generated lies below ninja's folder (`sync`)."""
    folders = {"clone": ROOT, "generated": "generated", "faiss": os.path.join(pack, "faiss")}
    # Others' headers are looked at by nobody afterwards: another digest of them compiles all anew.
    includes = [f"-I{ROOT}", "-Igenerated", "-Igenerated/protos", f"-isystem {pack}/faiss",
                f"-isystem {pack}/include", f"-DSIGHTLINE_PACKAGES={build['digest']}"]
    torch = " ".join(f"-isystem {folder}" for folder in tools["torch"]["includes"])
    cuda = tools["cuda"]
    lines = [_RULES.format(cxx=tools["g++"], ar=tools["ar"], nvcc=cuda["nvcc"], arch=tools["architecture"],
                           warnings=_WARNINGS, includes=" ".join(includes),
                           cuda_includes=" ".join(f"-isystem {folder}" for folder in cuda["includes"]))]
    objects = build["objects"]
    if headers_only:
        for name, each in sorted((objects | build["read"]).items()):
            if each["torch"]:
                lines += _edge(f"read/{name}", "read", _path(each, folders), flags=each["flags"], torch=torch)
        return "\n".join(lines) + "\n"
    for header in sorted(build["headers"]):
        flags = _flags_with(header, objects)
        lines += _edge(f"headers/{header}.h.gch", "precompile", f"headers/{header}.h", flags=flags,
                       torch=torch if "torch" in header else "")
    # What takes longest first, so that no core waits for it at the end.
    for name, each in sorted(objects.items(),
                             key=lambda item: (not item[1]["cuda"], not item[1]["torch"], item[0])):
        if each["cuda"]:
            lines += _edge(f"objects/{name}", "nvcc", _path(each, folders), flags=each["flags"])
            continue
        header = each["header"]
        lines += _edge(f"objects/{name}", "compile", _path(each, folders), flags=each["flags"],
                       torch=torch if each["torch"] else "",
                       header=f"-include headers/{header}.h" if header else "",
                       after=f"headers/{header}.h.gch" if header else "")
    for name in sorted(_STAND_INS.values()):
        lines += _edge(f"objects/{name}.o", "compile", os.path.join(ROOT, f"deploy/gpu/{name}.cc"),
                       flags=["-std=c++17", "-O2", "-fPIC"])
    for program, each in sorted(build["programs"].items()):
        lazy = [f"objects/{name}" for name in each["lazy"]]
        lines += _edge(f"archives/{program}.a", "archive", " ".join(lazy))
        direct = [f"objects/{name}" for name in each["objects"]]
        direct += [f"objects/{_STAND_INS[name]}.o" for name in each["libraries"] if name in _STAND_INS]
        lines += _edge(f"bin/{program}", "link", f"archives/{program}.a", objects=direct,
                       libraries=link_flags(each["libraries"], build["sonames"], tools, pack),
                       after=" ".join(direct))
    left_out = _NOT_ON_CPU if cpu_only else set()
    lines.append("default " + " ".join(f"bin/{program}" for program in sorted(build["programs"].keys() - left_out)))
    return "\n".join(lines) + "\n"


def link_flags(names: list[str], sonames: dict[str, str], tools: dict, pack: str) -> list[str]:
    """Of a program that Bazel links with `names`.  As RPATH, not RUNPATH, the pack's folder serves what
    its libraries need, too; and what LibTorch has brought of CUDA comes before what the toolkit has."""
    rpaths, flags, system = [os.path.join(pack, "lib"), *tools["cuda"]["brought"]], [], []
    for name in names:
        if name in ("cublas", "cublasLt"):
            found = tools["cuda"]["cublas" if name == "cublas" else "cublas_lt"]
            flags.append(found)
            rpaths.append(os.path.dirname(found))
        elif name == "cudart_static":  # or, where it is missing, the shared one
            flags.append(tools["cuda"]["runtime"])
            rpaths.append(os.path.dirname(tools["cuda"]["runtime"]))
        elif name in ("torch_cpu", "c10"):
            flags += [f"-L{folder}" for folder in tools["torch"]["libraries"]] + [f"-l{name}"]
            rpaths += tools["torch"]["libraries"]
            # Nobody names it, and LibTorch has CUDA once it is loaded.
            has_cuda = any(os.path.exists(os.path.join(folder, "libtorch_cuda.so"))
                           for folder in tools["torch"]["libraries"])
            if has_cuda and "-ltorch_cuda" not in system:
                system += ["-Wl,--no-as-needed", "-ltorch_cuda", "-Wl,--as-needed"]
        elif name in _OF_THE_SYSTEM:
            system.append(f"-l{name}")
        elif name in sonames:
            flags.append(f"-l:{sonames[name]}")
    rpath = [f"-Wl,-rpath,{folder}" for folder in dict.fromkeys(rpaths)]
    return ["-Wl,--disable-new-dtags", *rpath, f"-Wl,-rpath-link,{pack}/lib", f"-L{pack}/lib",
            "-Wl,--as-needed", *dict.fromkeys(flags), *system]


def _path(each: dict, folders: dict[str, str]) -> str:
    root, path = each["source"]
    return os.path.join(folders[root], path)


def _flags_with(header: str, objects: dict) -> list[str]:
    """gcc takes a precompiled header where it was compiled with the same ones."""
    return next(each["flags"] for _, each in sorted(objects.items()) if each["header"] == header)


def _edge(out: str, rule: str, inputs: str, after: str = "", **values: str | list[str]) -> list[str]:
    lines = [f"build {out}: {rule} {inputs}" + (f" | {after}" if after else "")]
    for name, value in values.items():
        text = value if isinstance(value, str) else " ".join(value)
        if text:
            lines.append(f"  {name} = {text}")
    return lines


def sync(source: str, target: str) -> None:
    """Makes `target` what `source` is, and touches no file that it has already."""
    wanted = set()
    for folder, _, names in os.walk(source):
        for name in names:
            path = os.path.join(folder, name)
            copy = os.path.join(target, os.path.relpath(path, source))
            wanted.add(copy)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            with open(path, encoding="utf-8") as file:
                _write(copy, file.read())
    for folder, _, names in os.walk(target):
        for name in names:
            if os.path.join(folder, name) not in wanted:
                os.unlink(os.path.join(folder, name))


def missing_sources(build: dict) -> list[str]:
    """Of the clone."""
    return sorted(path for root, path in (each["source"] for each in (build["objects"] | build["read"]).values())
                  if root == "clone" and not os.path.exists(os.path.join(ROOT, path)))


def main() -> int:
    parser = argparse.ArgumentParser(description="Part of check.sh.")
    for name in ("pack", "tools", "build"):
        parser.add_argument("--" + name, required=True)
    for name in ("cpu-only", "headers-only"):
        parser.add_argument("--" + name, action="store_true")
    arguments = parser.parse_args()
    pack = os.path.realpath(arguments.pack)
    with open(os.path.join(pack, "build.json"), encoding="utf-8") as file:
        build = json.load(file)
    with open(arguments.tools, encoding="utf-8") as file:
        tools = json.load(file)
    missing = missing_sources(build)
    if missing:
        print(f"check: the pack is of {build['revision']}, which has {len(missing)} files that this clone lacks, "
              f"as {missing[0]}; make it anew with deploy/gpu/pack.sh", file=sys.stderr)
        return 1
    sync(os.path.join(pack, "generated"), os.path.join(arguments.build, "generated"))
    os.makedirs(os.path.join(arguments.build, "headers"), exist_ok=True)
    for name, included in build["headers"].items():
        _write(os.path.join(arguments.build, "headers", name + ".h"),
               "".join(f"#include {each}\n" for each in included))
    _write(os.path.join(arguments.build, "build.ninja"),
           write_ninja(build, tools, pack, arguments.headers_only, arguments.cpu_only))
    if arguments.cpu_only and not arguments.headers_only:
        for program in sorted(_NOT_ON_CPU & build["programs"].keys()):
            print(f"left out: {program}, which needs a GPU and takes minutes to compile; "
                  f"ninja -C {arguments.build} bin/{program} makes it")
    return 0


def _write(path: str, text: str) -> None:
    """Not if it has that text: ninja looks at when files were changed."""
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    except OSError:
        pass
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    sys.exit(main())
