"""What a machine has to build with: a compiler, nvcc, ninja, and a LibTorch.

    tools.py --pack FOLDER --out FILE [--cpu-only] [--headers-only]

FILE is JSON of what was found.  Exit status 3, with a line for each, if something is missing.
"""

from __future__ import annotations

import argparse
import glob
import json
import mmap
import os
import re
import shutil
import subprocess
import sys
import tempfile

# A constructor of c10::Error that takes a string of the C++11 ABI, as in deploy/bazel.
_STRING_SYMBOL = re.compile(rb"_ZN3c105ErrorC1E[A-Za-z0-9_]*NSt7__cxx1112basic_string")
_DEBIAN = "/usr/include/torch/csrc/api/include"
# What ninja and a shell leave as it is.
_PATH = re.compile(r"[A-Za-z0-9_./+@,=-]*")
_LEAST_CUDA = 12
# Compute capability, as the driver tells it; bfloat16's tiles came with 8.0.
_CAPABILITY = re.compile(r"(\d+)\.(\d+)")
_LEAST_CAPABILITY = (8, 0)


class MissingError(Exception):
    """What is missing, and what to do."""


def output_of(*command: str) -> str:
    """Empty where there is no such program, or it fails."""
    try:
        # Python would find packages of the folder that it is started in.
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd="/")
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.strip() if run.returncode == 0 else ""


def python_package(name: str) -> str:
    """The folder of a package of python3, which is not imported: that takes seconds."""
    return output_of("python3", "-c", "import importlib.util as u; "
                     f"print(u.find_spec({name!r}).submodule_search_locations[0])")


def import_error(name: str) -> str:
    """What python3 says of a package that it cannot import, in a line; "" if it can."""
    run = subprocess.run(("python3", "-c", f"import {name}"), capture_output=True, text=True, check=False, cwd="/")
    return "" if run.returncode == 0 else (run.stderr.strip().splitlines() or ["it ended"])[-1]


def home_in(variable: str) -> str:
    """A folder that the environment names, or ""."""
    value = os.environ.get(variable, "")
    path = os.path.realpath(value) if value else ""
    if not _PATH.fullmatch(path):
        raise MissingError(f"{variable} is '{value}': its path has to consist of letters, digits and _ . / + @ , = -")
    return path


def find_libtorch(home: str, package: str, debian: str = _DEBIAN, headers_only: bool = False) -> dict:
    """`home` is LIBTORCH_HOME's, `package` the folder of Python's torch; either may be ""."""
    for place, what in ((home, "LIBTORCH_HOME"), (package, "python3's torch")):
        if not place:
            continue
        api = os.path.join(place, "include/torch/csrc/api/include")
        needs = [os.path.join(api, "torch/torch.h")]
        if not headers_only:
            needs += [os.path.join(place, "lib", name) for name in ("libc10.so", "libtorch_cpu.so")]
        for needed in needs:
            if not os.path.isfile(needed) or (needed.endswith(".so") and os.path.getsize(needed) == 0):
                raise MissingError(f"{what}, {place}, is no LibTorch with its headers: there is no {needed}, or it is empty; "
                                   "name another in LIBTORCH_HOME")
        if not headers_only and not _has_strings(os.path.join(place, "lib/libc10.so")):
            raise MissingError(f"{what}, {place}, is not built with the C++11 ABI; take one of 2.7 or later")
        return {"where": place, "version": libtorch_version(os.path.join(place, "include")),
                "includes": [os.path.join(place, "include"), api], "libraries": [os.path.join(place, "lib")]}
    if os.path.exists(os.path.join(debian, "torch/torch.h")):
        return {"where": "the distribution's", "version": libtorch_version(debian.split("/torch/")[0]),
                "includes": [debian], "libraries": []}
    raise MissingError("there is no LibTorch: set LIBTORCH_HOME, or have a python3 with torch in the path")


def libtorch_version(include: str) -> str:
    for name in ("torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h"):
        try:
            with open(os.path.join(include, name), encoding="utf-8") as file:
                parts = dict(re.findall(r"#define TORCH_VERSION_(MAJOR|MINOR|PATCH) (\d+)", file.read()))
        except OSError:
            continue
        if len(parts) == 3:
            return "{MAJOR}.{MINOR}.{PATCH}".format(**parts)
    return "unknown"


def _has_strings(library: str) -> bool:
    with open(library, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return _STRING_SYMBOL.search(data) is not None


def cuda_of(torch: dict, packages: list[str]) -> list[str]:
    """The folders of the CUDA libraries that a LibTorch brings, of those that python's `packages` may hold: its own,
    and those beside a wheel.  Whoever loads it has them, so that ours may not be of another version."""
    own = [folder for folder in torch["libraries"] if os.path.exists(os.path.join(folder, "libtorch_cuda.so"))]
    if not own:
        return []
    beside = sorted(glob.glob(os.path.join(os.path.dirname(os.path.realpath(torch["where"])), "nvidia", "*")))
    return own + [os.path.join(root, "lib") for root in dict.fromkeys([*beside, *packages])]


def find_cuda(homes: list[str], packages: list[str], brought: list[str]) -> dict:
    """`packages`: folders of Python's that may have what `homes` lack, which is cuBLASLt.  What a LibTorch has
    `brought`, of nvcc's CUDA, comes before both: two cuBLASLt of one soname would serve each other's callers.  A static
    runtime, which is of nvcc's own version, serves nobody else: its names are hidden."""
    home = next((home for home in homes if home and os.access(os.path.join(home, "bin/nvcc"), os.X_OK)), None)
    if homes[0] and home != homes[0]:
        raise MissingError(f"CUDA_HOME is {homes[0]}, which has no bin/nvcc; set CUDA_HOME to a CUDA that has one, or "
                           "not at all")
    if home is None:
        raise MissingError("there is no nvcc of CUDA 12 or 13 in $CUDA_HOME/bin, /usr/local/cuda/bin or the path; "
                           "set CUDA_HOME")
    roots = [home, os.path.join(home, "targets/x86_64-linux"), *packages]
    major = _major_of(home, roots)
    found = {"nvcc": os.path.join(home, "bin/nvcc"), "brought": []}
    for key, library, static in (("runtime", "libcudart", ["libcudart_static.a"]), ("cublas", "libcublas", []),
                                 ("cublas_lt", "libcublasLt", [])):
        shared = [f"{library}.so", f"{library}.so.*"]
        theirs = [path for folder in brought for path in glob.glob(os.path.join(folder, f"{library}.so.{major}"))]
        found["brought"] += [os.path.dirname(path) for path in theirs[:1]]
        paths = _below(roots, static) + theirs + _below(roots, shared)
        if not paths:
            raise MissingError(_lacks(home, (static + shared)[0]))
        found[key] = paths[0]
    found["brought"] = list(dict.fromkeys(found["brought"]))
    folders = [os.path.join(root, "include") for root in roots]
    found["includes"] = [folder for folder in folders if os.path.exists(os.path.join(folder, "cublasLt.h"))][:1]
    if not found["includes"]:
        raise MissingError(_lacks(home, "include/cublasLt.h"))
    return found


def _below(roots: list[str], patterns: list[str]) -> list[str]:
    return [path for pattern in patterns for root in roots for folder in ("lib64", "lib")
            for path in sorted(glob.glob(os.path.join(root, folder, pattern)))]


def _major_of(home: str, roots: list[str]) -> str:
    """What sonames of nvcc's CUDA end with."""
    for root in roots:
        try:
            with open(os.path.join(root, "include/cuda_runtime_api.h"), encoding="utf-8") as file:
                version = re.search(r"#define\s+CUDART_VERSION\s+(\d+)", file.read())
        except OSError:
            continue
        if version:
            major = int(version.group(1)) // 1000
            if major < _LEAST_CUDA:
                raise MissingError(f"CUDA in {home} is {major}; it has to be {_LEAST_CUDA} or later")
            return str(major)
    raise MissingError(_lacks(home, "include/cuda_runtime_api.h with CUDART_VERSION"))


def _lacks(home: str, what: str) -> str:
    return f"CUDA in {home} has no {what}, nor has python3's package nvidia; name a CUDA that has it in CUDA_HOME"


def cuda_places() -> tuple[list[str], list[str]]:
    nvcc = shutil.which("nvcc")
    homes = [home_in("CUDA_HOME"), "/usr/local/cuda"]
    if nvcc:
        homes.append(os.path.dirname(os.path.dirname(os.path.realpath(nvcc))))
    nvidia = python_package("nvidia")
    return homes, sorted(glob.glob(os.path.join(nvidia, "*"))) if nvidia else []


def gpus(told: str, visible: str | None) -> list[dict]:
    """Name and architecture of each that programs see, in their order.  `told`: what nvidia-smi says of all,
    INDEX, UUID, NAME, CAPABILITY a line, in the bus's order; `visible`: CUDA_VISIBLE_DEVICES."""
    found = {}
    for line in told.splitlines():
        index, _, rest = line.partition(",")
        uuid, _, rest = rest.partition(",")
        name, _, capability = rest.rpartition(",")
        match = _CAPABILITY.fullmatch(capability.strip())
        if match:
            found[index.strip()] = {"uuid": uuid.strip(), "name": name.strip(), "architecture": "".join(match.groups()),
                                    "is_old": tuple(map(int, match.groups())) < _LEAST_CAPABILITY}
    if visible is None:
        return list(found.values())
    seen = []
    for each in filter(None, (part.strip() for part in visible.split(","))):
        named = [gpu for index, gpu in found.items() if each == index or (len(each) > 4 and gpu["uuid"].startswith(each))]
        if not named:
            break  # as CUDA does: what follows an unknown one is not seen either
        seen += named[:1]
    return seen


def _gpus_of_driver() -> list[dict]:
    return gpus(output_of("nvidia-smi", "--query-gpu=index,uuid,name,compute_cap", "--format=csv,noheader"),
                os.environ.get("CUDA_VISIBLE_DEVICES"))


def unloadable(folder: str, compiler: str) -> str:
    """What linker or loader say of a program that is linked with all libraries in `folder`: this machine may be
    too old for them.  "" if it runs."""
    with tempfile.TemporaryDirectory() as work:
        program = os.path.join(work, "program")
        link = [compiler, "-x", "c++", "-", "-o", program, f"-L{folder}", "-Wl,--disable-new-dtags",
                f"-Wl,-rpath,{folder}", f"-Wl,-rpath-link,{folder}", "-Wl,--no-as-needed",
                *(f"-l:{name}" for name in sorted(os.listdir(folder)))]
        for command in (link, [program]):
            run = subprocess.run(command, input="int main() {}", capture_output=True, text=True, check=False)
            if run.returncode != 0:
                return run.stderr.strip() or f"{command[0]} ended with {run.returncode}"
    return ""


def find_all(cpu_only: bool, headers_only: bool) -> tuple[dict, list[str]]:
    found, missing = {}, []
    for name, hint in (("g++", "a GCC of 11 or later"), ("ar", "binutils"), ("ninja", "Debian's ninja-build")):
        found[name] = shutil.which(name) or ""
        if not found[name]:
            missing.append(f"{name} is missing; install {hint}")
    package = python_package("torch")

    def cuda() -> dict:
        homes, packages = cuda_places()
        # Python's packages are those of Python's torch; another LibTorch may have some beside it.
        torch = found.get("torch")
        return find_cuda(homes, packages, cuda_of(torch, packages if torch["where"] == package else []) if torch else [])

    for name, find in (("torch", lambda: find_libtorch(home_in("LIBTORCH_HOME"), package, headers_only=headers_only)),
                       ("cuda", cuda)):
        try:
            found[name] = find()
        except MissingError as error:
            missing.append(str(error))
    found["gpus"] = _gpus_of_driver()
    if not cpu_only and not headers_only:
        if not found["gpus"]:
            missing.append("nvidia-smi tells of no GPU that CUDA_VISIBLE_DEVICES leaves to be seen; where there is none, "
                           "--cpu-only checks all else")
        elif found["gpus"][0]["is_old"]:
            missing.append(f"{found['gpus'][0]['name']} is of sm_{found['gpus'][0]['architecture']}; ours need sm_80 or "
                           "later: name another in CUDA_VISIBLE_DEVICES")
    # Without a GPU, as --config=cuda compiles.
    found["architecture"] = found["gpus"][0]["architecture"] if found["gpus"] else "90"
    return found, missing


def main() -> int:
    parser = argparse.ArgumentParser(description="Part of check.sh.")
    parser.add_argument("--pack", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--cpu-only", action="store_true")
    parser.add_argument("--headers-only", action="store_true")
    arguments = parser.parse_args()
    found, missing = find_all(arguments.cpu_only, arguments.headers_only)
    too_old = ""
    if found["g++"] and not arguments.headers_only:
        too_old = unloadable(os.path.join(arguments.pack, "lib"), found["g++"])
    if too_old:
        missing.append("the pack's libraries are of Debian 12 and need its libc (2.36) and the libstdc++ of "
                       f"GCC 12, or later ones: {too_old}")
    for line in missing:
        print(f"check: {line}", file=sys.stderr)
    if missing:
        return 3
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1, sort_keys=True)
    torch, cuda = found["torch"], found["cuda"]
    print(f"LibTorch {torch['version']}, {torch['where']}; {cuda['nvcc']} for sm_{found['architecture']}; "
          f"{cuda['cublas_lt']}; "
          + (", ".join(gpu["name"] for gpu in found["gpus"]) or "no GPU"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
