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


class MissingError(Exception):
    """What is missing, and what to do."""


def output_of(*command: str) -> str:
    """Empty where there is no such program, or it fails."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.strip() if run.returncode == 0 else ""


def python_package(name: str) -> str:
    """The folder of a package of python3, which is not imported: that takes seconds."""
    return output_of("python3", "-c", "import importlib.util as u; "
                     f"print(u.find_spec({name!r}).submodule_search_locations[0])")


def find_libtorch(home: str, package: str, debian: str = _DEBIAN, headers_only: bool = False) -> dict:
    """`home` is LIBTORCH_HOME's, `package` the folder of Python's torch; either may be ""."""
    for place, what in ((home, "LIBTORCH_HOME"), (package, "python3's torch")):
        if not place:
            continue
        api = os.path.join(place, "include/torch/csrc/api/include")
        needs = [os.path.join(api, "torch/torch.h")]
        if not headers_only:
            needs.append(os.path.join(place, "lib/libc10.so"))
        for needed in needs:
            if not os.path.exists(needed):
                raise MissingError(f"{what}, {place}, is no LibTorch with its headers: there is no {needed}; "
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


def find_cuda(homes: list[str], packages: list[str]) -> dict:
    """`packages`: folders of Python's that may have what `homes` lack, which is cuBLASLt."""
    home = next((home for home in homes if home and os.access(os.path.join(home, "bin/nvcc"), os.X_OK)), None)
    if home is None:
        raise MissingError("there is no nvcc of CUDA 12 or 13 in $CUDA_HOME/bin, /usr/local/cuda/bin or the path; "
                           "set CUDA_HOME")
    roots = [home, os.path.join(home, "targets/x86_64-linux"), *packages]
    found = {"nvcc": os.path.join(home, "bin/nvcc")}
    for key, patterns in (("runtime", ["libcudart_static.a", "libcudart.so", "libcudart.so.*"]),
                          ("cublas_lt", ["libcublasLt.so", "libcublasLt.so.*"])):
        paths = [path for pattern in patterns for root in roots for folder in ("lib64", "lib")
                 for path in sorted(glob.glob(os.path.join(root, folder, pattern)))]
        if not paths:
            raise MissingError(_lacks(home, patterns[0]))
        found[key] = paths[0]
    folders = [os.path.join(root, "include") for root in roots]
    found["includes"] = [folder for folder in folders if os.path.exists(os.path.join(folder, "cublasLt.h"))][:1]
    if not found["includes"]:
        raise MissingError(_lacks(home, "include/cublasLt.h"))
    return found


def _lacks(home: str, what: str) -> str:
    return f"CUDA in {home} has no {what}, nor has python3's package nvidia; name a CUDA that has it in CUDA_HOME"


def cuda_places() -> tuple[list[str], list[str]]:
    nvcc = shutil.which("nvcc")
    homes = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    if nvcc:
        homes.append(os.path.dirname(os.path.dirname(os.path.realpath(nvcc))))
    nvidia = python_package("nvidia")
    return homes, sorted(glob.glob(os.path.join(nvidia, "*"))) if nvidia else []


def gpus() -> list[dict]:
    """Name and architecture of each, as the driver says."""
    lines = output_of("nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader").splitlines()
    return [{"name": name.strip(), "architecture": cap.strip().replace(".", "")}
            for name, _, cap in (line.rpartition(",") for line in lines) if cap]


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
    home, package = os.environ.get("LIBTORCH_HOME", ""), python_package("torch")
    for name, find in (("torch", lambda: find_libtorch(home, package, headers_only=headers_only)),
                       ("cuda", lambda: find_cuda(*cuda_places()))):
        try:
            found[name] = find()
        except MissingError as error:
            missing.append(str(error))
    found["gpus"] = gpus()
    if not found["gpus"] and not cpu_only and not headers_only:
        missing.append("nvidia-smi tells of no GPU; where there is none, --cpu-only checks all else")
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
          + (", ".join(gpu["name"] for gpu in found["gpus"]) or "no GPU"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
