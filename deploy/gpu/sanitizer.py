"""A part of check.sh: compute-sanitizer's tools over small runs of what has kernels of ours."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import tools

if TYPE_CHECKING:
    from part import Part

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
_STACK = ("deploy/gpu/stack_check", "--layers", "1", "--rounds", "3", "--most_rows", "1000")
# A tool, and what it looks at.  With more than 8192 rows batches of searches are products of cuBLASLt.
_RUNS = (("memcheck", "deploy/gpu/device_check", "--rows", "20000", "--dimension", "768", "--ivf_rows", "5000"),
         ("memcheck", *_STACK),
         ("racecheck", *_STACK),
         ("synccheck", *_STACK),
         ("memcheck", "tests/parity/check_golden", "--device", "cuda:0", "--precision", "bfloat16",
          os.path.join(ROOT, "tests/testdata/goldens/oscar")))
# How threads of a block share memory and wait is looked at in our kernels alone, by their namespace: cuBLASLt's
# are others' affair, and take these tools long.
_OURS = ("--kernel-name", "kns=sightline")
# What it ends with if it finds something, so that this is no program's own status.
_FOUND = "9"


def find_sanitizer(homes: list[str]) -> str | None:
    """Of a toolkit, whose folder for it has had two names; else in the path."""
    paths = (os.path.join(home, folder, "compute-sanitizer") for home in homes if home
             for folder in ("bin", "compute-sanitizer"))
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None) or shutil.which(
        "compute-sanitizer")


def sanitizer(part: Part) -> bool:
    """Its tools find nothing, where there are it and a GPU."""
    program = find_sanitizer(tools.cuda_places()[0])
    if part.cpu_only or program is None:
        part.say("left out: compute-sanitizer, " + (
            "which needs a GPU" if part.cpu_only
            else "which is in no bin of $CUDA_HOME, of /usr/local/cuda and of the path"))
        part.write("sanitizer.json", [])
        return True
    runs = []
    for tool, name, *arguments in _RUNS:
        whose = () if tool == "memcheck" else _OURS
        status, _ = part.run(program, "--tool", tool, *whose, "--error-exitcode", _FOUND,
                             os.path.join(part.bin, name), *arguments)
        runs.append({"tool": tool, "program": name, "exit_status": status})
    part.write("sanitizer.json", runs)
    return all(run["exit_status"] == 0 for run in runs)
