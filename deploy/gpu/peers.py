"""Parts of check.sh: what others take for the same work, on the same device."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import tools

if TYPE_CHECKING:
    from part import Part

_EAGER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "eager.py")


def faiss(part: Part) -> bool:
    """Our exact search and FAISS's flat one in float16, by turns.  Of a million rows alone: ten millions of 512 are
    more numbers than an index of FAISS 1.7.3 has places for (2^31)."""
    if part.cpu_only:
        part.say("left out: FAISS's flat search on a GPU, which needs one")
        part.write("faiss.json", None)
        return True
    held, _ = part.measured("faiss.json", "deploy/gpu/faiss_check", "--rows", "1000000", "--dimension", "768")
    return held


def eager(part: Part) -> bool:
    """Eager PyTorch over the passes of stack_check, in the same precisions."""
    python = shutil.which("python3")
    if not tools.python_package("torch"):
        part.say(f"left out: eager PyTorch: {python} has no torch")
        part.write("eager.json", None)
        return True
    why_not = tools.import_error("torch")
    if why_not:
        part.say(f"left out: eager PyTorch: {python} cannot import torch: {why_not}")
        part.write("eager.json", None)
        return True
    if part.read("stack.json") is None:
        part.say("there is no stack.json, which says what is to be computed: stack_check writes it in part models")
        return False
    held, _ = part.measured("eager.json", python, "-B", _EAGER, "--stack", os.path.join(part.out, "stack.json"),
                            "--device", "cpu" if part.cpu_only else "cuda")
    return held
