"""The part of check.sh that learns by papers' recipes, over ready regions, in two precisions."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from typing import TYPE_CHECKING

import goals
import jobs
import random_models

if TYPE_CHECKING:
    from part import Part

ROOT = jobs.ROOT
RECIPES = ("retrieve_fast_joint", "oscar_pretrain")
_PRECISIONS = ("float32", "bfloat16")
# By whether there is the CPU alone.  Some of the items are the weights' to be chosen by.
_ITEMS = {False: 2000, True: 96}
_STEPS = {False: 100, True: 10}
_CPU_BATCH = 8
# How far apart losses of two precisions may be, of the larger one.
_APART = 0.1


def learn(part: Part) -> bool:
    """Each recipe's run ends, what it learns to predict from nothing it comes to predict better, and bfloat16 learns
    what float32 does."""
    part.write("learn.json", None)
    folder = os.path.join(part.out, "learn")
    shutil.rmtree(folder, ignore_errors=True)
    store = os.path.join(folder, "store")
    os.makedirs(store)
    regions = jobs.regions_of(part, folder, _ITEMS[part.cpu_only])
    model = regions and random_models.add_oscar(part, store, reads_tags=True)
    if not model:
        return False
    result = {"on_cpu": part.cpu_only, "runs": []}
    for recipe in RECIPES:
        for precision in _PRECISIONS:
            result["runs"].append(_learnt(part, folder, recipe, precision, ("--corpus", "regions:" + regions,
                                                                            "--store", store, "--start", model)))
            part.write("learn.json", result)
    part.say(goals.text_of(learn_rows(result)))
    return all(held(run, result["runs"]) for run in result["runs"])


def _learnt(part: Part, folder: str, recipe: str, precision: str, of: tuple[str, ...]) -> dict:
    """{"recipe", "precision", "left_out", "losses": {objective: [first, last]} or None, "seconds"}."""
    name = f"{recipe}-{precision}"
    path, out = os.path.join(folder, name + ".yaml"), os.path.join(folder, name)
    with open(os.path.join(ROOT, "services/trainer/recipes", recipe + ".yaml"), encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(shortened(text, part.cpu_only) + f"precision: {precision}\n")
    device = ("--device", "cpu", "--threads", "1") if part.cpu_only else ("--device", "cuda")
    status, output = part.run("services/trainer/trainer", "learn", "--recipe", path, "--out", out, *of,
                              "--steps", str(_STEPS[part.cpu_only]), *device)
    left_out = part.cpu_only and status != 0 and "LibTorch does not compute in it" in output
    losses, seconds = losses_of(os.path.join(out, "metrics.jsonl")) if status == 0 else (None, None)
    # Weights with their moments, over a gigabyte each of a model of base size.
    shutil.rmtree(os.path.join(out, "checkpoints"), ignore_errors=True)
    return {"recipe": recipe, "precision": precision, "left_out": left_out, "losses": losses, "seconds": seconds}


def shortened(recipe: str, on_cpu: bool) -> str:
    """A recipe for a hundred steps from random weights, which see more of it by a higher rate."""
    recipe = re.sub(r"\bpeak: [\d.e-]+", "peak: 3.0e-4", recipe)
    if on_cpu:
        recipe = re.sub(r"\bbatch: \d+", f"batch: {_CPU_BATCH}", recipe)
    return recipe + f"report_every: {_STEPS[on_cpu] // 5}\n"


def losses_of(path: str) -> tuple[dict | None, float | None]:
    """Of a run's metrics.jsonl: each objective's loss in the first report and in the last one, and the time of all
    steps."""
    losses, seconds = {}, None
    with open(path, encoding="utf-8") as file:
        for event in map(jobs.json_line, file):
            if event.get("event") != "step":
                continue
            seconds = event["elapsed_seconds"]
            for task in event["tasks"]:
                losses.setdefault(task["objective"], [task["loss"]] * 2)[1] = task["loss"]
    return losses or None, seconds


def held(run: dict, runs: list[dict]) -> bool:
    """Whether a run of several learnt: losses are numbers, hidden words are told better in the end, and it ends
    where the same recipe does in float32."""
    if run["left_out"]:
        return True
    if not run["losses"] or not all(_is_number(last) for _, last in run["losses"].values()):
        return False
    if "mlm" in run["losses"] and run["losses"]["mlm"][1] >= run["losses"]["mlm"][0]:
        return False
    reference = next(each["losses"] for each in runs
                     if each["recipe"] == run["recipe"] and each["precision"] == "float32") or {}
    return all(abs(last - reference[name][1]) <= _APART * max(last, reference[name][1])
               for name, (_, last) in run["losses"].items() if _is_number(reference.get(name, [None] * 2)[1]))


def _is_number(loss: object) -> bool:
    return isinstance(loss, (int, float)) and math.isfinite(loss)


def learn_rows(result: dict | None) -> list[dict]:
    """Of learn.json."""
    rows = []
    for run in (result or {}).get("runs", []):
        told = "left out" if run["left_out"] else "failed"
        if run["losses"]:
            told = ", ".join(f"{name} {_told(first)} to {_told(last)}" for name, (first, last) in run["losses"].items())
        if not held(run, result["runs"]):
            told = "NOT MET, " + told
        rows.append(goals.row(f"learning, {run['recipe']}, {run['precision']}", told, "", None, run["seconds"]))
    return rows


def _told(loss: object) -> str:
    return f"{loss:.3f}" if _is_number(loss) else "no number"
