"""The part of check.sh that puts a fleet under load: a store of made-up items, and servers on loopback.

Two indexes, for the features of a million items would take 55 GB: `images` is retrieved from, and
`with_regions`, of some thousands, is reranked.  What reranking takes among a million is estimated: what it
took among these and what a search of the million takes more, each a median.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from typing import TYPE_CHECKING

import goals
import random_models

if TYPE_CHECKING:
    from part import Part

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
_SHARDS = 2
# What has several processes compute on one GPU at once, were it started.
_MPS = "nvidia-cuda-mps-control"
# By whether there is the CPU alone: the scenario, and how many items are made to be retrieved and reranked.
_FLEETS = {False: ("fleet.yaml", 1000000, 8000), True: ("fleet_on_cpu.yaml", 100000, 1000)}


def fleet(part: Part) -> bool:
    """Nothing fails, and on a GPU every shard lies there; how long answers take is told beside the goals."""
    part.write("fleet.json", None)
    if not part.cpu_only and shutil.which(_MPS):
        part.say(f"{_MPS} is in the path, and is not started: the fleet's processes have the GPU by turns")
    scenario, items, few = _FLEETS[part.cpu_only]
    store = os.path.join(part.out, f"store-{items}")
    os.makedirs(store, exist_ok=True)
    model = _model(part, store)
    if model is None or not _items(part, store, model, items, few):
        return False
    out = os.path.join(part.out, "fleet")
    shutil.rmtree(out, ignore_errors=True)
    status, _ = part.run("loadtest/loadtest", "run", os.path.join(ROOT, "deploy/gpu", scenario),
                         "--binaries", os.path.join(part.bin, "services"), "--store", store, "--out", out,
                         device=not part.cpu_only)
    on_device = shards_on_device(os.path.join(out, "fleet"))
    report = part.read("fleet/report.json")
    result = {"report": report, "exit_status": status, "shards_on_device": on_device, "items": items, "few": few,
              "on_cpu": part.cpu_only} | medians_of(report)
    part.write("fleet.json", result)
    part.say(goals.text_of(rows_of(result)))
    if not part.cpu_only and on_device < 2 * _SHARDS:
        part.say(f"the logs of index_search tell of {on_device} shards on the device, and there are {2 * _SHARDS}")
        return False
    return status == 0


def _model(part: Part, store: str) -> str | None:
    """The id of the model in the store: one of base size, or on a CPU the demo's."""
    if part.cpu_only:
        return random_models.added(part, store, "add-model", os.path.join(ROOT, "deploy/demo/model"))
    return random_models.add_oscar(part, store)


def _items(part: Part, store: str, model: str, items: int, few: int) -> bool:
    """Generations that are there already are left alone."""
    for index, count, more in (("images", items, ()),
                               ("with_regions", few, ("--reranker-model", model, "--regions", "36"))):
        status, _ = part.run("loadtest/synthesize/synthesize", "--store", store, "--index", index,
                             "--items", str(count), "--shards", str(_SHARDS), "--encoder-model", model,
                             "--vector-dtype", "float16", *more)
        if status != 0:
            return False
    return True


def medians_of(report: dict | None) -> dict:
    """Of the load test's report, in seconds: {"retrieved", "reranked", "estimated_reranked_among_all": SECONDS or None,
    "precisions": what answers were computed in}."""
    kinds = (report or {}).get("result", {}).get("by_kind", {})

    def median(histogram: dict) -> float | None:
        nanoseconds = histogram.get("quantiles_ns", {}).get("p50")
        return None if nanoseconds is None else nanoseconds / 1e9

    found = {name: median(kinds.get(name, {}).get("latency", {})) for name in ("retrieved", "reranked")}
    searches = {name: median(kinds.get(name, {}).get("stages", {}).get("search", {})) for name in found}
    among_all = None
    if None not in (*found.values(), *searches.values()):
        among_all = found["reranked"] + max(0, searches["retrieved"] - searches["reranked"])
    precisions = sorted({name for kind in kinds.values() for name in kind.get("precisions", {})})
    return found | {"estimated_reranked_among_all": among_all, "precisions": precisions}


def rows_of(result: dict | None) -> list[dict]:
    """Of fleet.json."""
    if not result:
        return []
    items, few = (f"{result[name]:,}".replace(",", " ") for name in ("items", "few"))
    wanted = (("retrieved", goals.RETRIEVED_SECONDS, f"fleet, retrieved among {items}, p50"),
              ("reranked", None, f"fleet, 20 reranked among {few}, p50"),
              ("estimated_reranked_among_all", goals.RERANKED_SECONDS,
               f"fleet, 20 reranked after a search of {items}, p50, estimated"))
    rows = []
    for name, most, what in wanted:
        seconds = result[name]
        met = None if result["on_cpu"] or most is None else seconds is not None and seconds <= most
        goal = "" if most is None else f"at most {most * 1e3:.0f} ms"
        if name.startswith("estimated"):
            goal += ", of the estimate"
        rows.append(goals.row(what, ", ".join(result["precisions"]) or "no answers", goal, met, seconds))
    return rows


def shards_on_device(folder: str) -> int:
    """By what the logs of index_search say, `device_bytes` of each shard that was loaded."""
    count = 0
    for log in glob.glob(os.path.join(glob.escape(folder), "index_search-*.log")):
        with open(log, encoding="utf-8", errors="replace") as file:
            count += len(re.findall(r"\bdevice_bytes\W{1,4}[1-9]", file.read()))
    return count
