"""Eager PyTorch over the loads that stack_check has measured: what ours is timed beside.

    eager.py --stack FILE --device cuda|cpu --json FILE

FILE of --stack is what `stack_check --json` has written: layers, shape, loads in each precision, and how many passes
the median is of.  Ours and these do the same: rows of float32 in the host's memory, through the blocks, to what is
read of them there.  It is the best of what is written without compiling anything: query, key and value are one
product, attention is PyTorch's fused one where it has one, of the last layer only what is read goes on after
attention, and sequences of a load are equally long, so that nothing is padded and no mask is needed.

Exit status: 0, also where this torch has no such device, which FILE of --json then says; 1: something failed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional

# Passes before the first that counts: libraries choose their kernels in them.
_WARM_UP = 5


def attention(query, key, value):
    """Heads' rows, [..., rows, numbers]; PyTorch has a fused one from 2.0 on."""
    if hasattr(functional, "scaled_dot_product_attention"):
        return functional.scaled_dot_product_attention(query, key, value)
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    return scores.softmax(-1) @ value


class Block(nn.Module):
    """One of BERT's layers: attention and two products, each followed by a sum and its norm."""

    def __init__(self, hidden: int, heads: int, intermediate: int):
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(hidden, 3 * hidden)
        self.attention_output = nn.Linear(hidden, hidden)
        self.attention_norm = nn.LayerNorm(hidden, 1e-12)
        self.intermediate = nn.Linear(hidden, intermediate)
        self.output = nn.Linear(intermediate, hidden)
        self.output_norm = nn.LayerNorm(hidden, 1e-12)

    def forward(self, rows, first_only=False):
        """With `first_only` each sequence's first row alone, for which the others are keys and values."""
        count, length, hidden = rows.shape
        parts = self.query_key_value(rows).view(count, length, 3, self.heads, hidden // self.heads)
        seen = attention(*parts.permute(2, 0, 3, 1, 4).unbind(0))
        seen = seen.transpose(1, 2).reshape(count, length, hidden)
        if first_only:
            seen, rows = seen[:, :1], rows[:, :1]
        rows = self.attention_norm(rows + self.attention_output(seen))
        return self.output_norm(rows + self.output(functional.gelu(self.intermediate(rows))))


# What is read of the last layer's rows, as stack_check names it; of "first" there are no others.
_READ = {"all": lambda rows: rows, "first": lambda rows: rows[:, 0], "mean": lambda rows: rows.mean(1)}


class Pass:
    """What a load takes, from rows in the host's memory to what is read, there again."""

    def __init__(self, blocks, load: dict, device: str):
        hidden = blocks[0].output.out_features
        rows = torch.randn(load["sequences"], load["length"], hidden)
        self._rows = rows.pin_memory() if device == "cuda" else rows
        self._blocks, self._device, self._readout = blocks, device, load["readout"]

    def __call__(self):
        # In two steps: one alone would have the host round them.
        rows = self._rows.to(self._device, non_blocking=True).to(self._blocks[0].output.weight.dtype)
        for block in self._blocks[:-1]:
            rows = block(rows)
        rows = self._blocks[-1](rows, first_only=self._readout == "first")
        return _READ[self._readout](rows).float().cpu()

    def median_seconds(self, rounds: int) -> float:
        for _ in range(_WARM_UP):
            self()
        seconds = []
        for _ in range(rounds):
            self._wait()
            start = time.perf_counter()
            self()
            self._wait()
            seconds.append(time.perf_counter() - start)
        return statistics.median(seconds)

    def _wait(self) -> None:
        if self._device == "cuda":
            torch.cuda.synchronize()


def measured(stack: dict, device: str) -> list[dict]:
    """{"load", "precision", "seconds", "beside"} of each pass of `stack`, which took the seconds `beside`."""
    torch.manual_seed(1)
    shape, found, made = stack["shape"], [], {}
    for load in stack["passes"]:
        precision = load["precision"]
        if precision not in made:
            blocks = nn.Sequential(*(Block(shape["hidden_size"], shape["heads"], shape["intermediate_size"])
                                     for _ in range(stack["layers"])))
            made[precision] = blocks.eval().to(device, getattr(torch, precision))
        one = Pass(made[precision], load, device)
        if not torch.isfinite(one()).all():
            raise RuntimeError(f"{load['load']} in {precision} gives numbers that are not finite")
        found.append({"load": load["load"], "precision": precision, "beside": load["seconds"],
                      "seconds": one.median_seconds(stack["rounds"])})
        print(f"{precision:8}  {load['load']:24}  {found[-1]['seconds'] * 1e3:9.3f} ms", flush=True)
    return found


def lacks(device: str) -> str:
    """"" if this torch can compute there."""
    if device == "cuda" and not torch.cuda.is_available():
        return f"torch {torch.__version__} of {sys.executable} has no CUDA that it can use"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description="Part of check.sh.")
    parser.add_argument("--stack", required=True)
    parser.add_argument("--device", choices=["cuda", "cpu"], required=True)
    parser.add_argument("--json", required=True)
    arguments = parser.parse_args()
    with open(arguments.stack, encoding="utf-8") as file:
        stack = json.load(file)
    result = {"program": "eager", "left_out": lacks(arguments.device), "passes": []}
    if result["left_out"]:
        print(f"left out: eager PyTorch: {result['left_out']}")
    else:
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        print(f"eager PyTorch {torch.__version__} on {arguments.device}, {stack['layers']} layers", flush=True)
        with torch.inference_mode():
            result |= {"torch": torch.__version__, "passes": measured(stack, arguments.device)}
    with open(arguments.json, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1, sort_keys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
