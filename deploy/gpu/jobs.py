"""The parts of check.sh that run jobs: corpus_encoder over ready regions, and the trainer in two precisions."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from typing import TYPE_CHECKING

import goals
import made_up_pictures
import made_up_regions
import random_models

if TYPE_CHECKING:
    from part import Part

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
# By whether there is the CPU alone.
_ITEMS = {False: 20000, True: 48}
_DEVICE_LINE = re.compile(r"device +busy ([0-9.]+) % of ([0-9.]+) s, (\d+) passes; waited ([0-9.]+) s for the host, "
                          r"([0-9.]+) s for files to be written, ([0-9.]+) s for pictures")
# Of a normal distribution, for 95 of 100.
_DEVIATIONS = 1.96


def encode(part: Part) -> bool:
    """All of a corpus of ready regions is encoded, and on a GPU the job tells how busy that was: by an encoder
    alone, and by a model that reranks, whose features are prepared picture by picture."""
    part.write("encode.json", None)
    folder = os.path.join(part.out, "encode")
    os.makedirs(folder, exist_ok=True)
    items = _ITEMS[part.cpu_only]
    regions = regions_of(part, folder, items)
    if regions is None:
        return False
    good, runs = True, []
    for reranks in (False, True):
        held, run = _encoded(part, folder, regions, items, reranks)
        good = good and held and run["encoded"] == items
        runs.append(run)
        part.write("encode.json", {"items": items, "on_cpu": part.cpu_only, "runs": runs})
        if not os.path.exists(regions):
            break
    part.say(goals.text_of(encode_rows(part.read("encode.json"))))
    return good


def _encoded(part: Part, folder: str, regions: str, items: int, reranks: bool) -> tuple[bool, dict]:
    store = os.path.join(folder, "store")
    # What an earlier run has encoded would not be encoded again.
    shutil.rmtree(store, ignore_errors=True)
    os.makedirs(store)
    kind, precision = ("cpu", "float32") if part.cpu_only else ("cuda", "bfloat16")
    run = {"reranks": reranks, "precision": precision}
    model = random_models.add_oscar(part, store, reranks)
    if model is None:
        return False, run | encoded("", store)
    status, output = part.run("services/corpus_encoder/corpus_encoder", "--store", store, "--model", model,
                              "--corpus", "regions:" + regions, "--device", kind, "--precision", precision)
    run |= encoded(output, store)
    if status == 0 and run["encoded"] != items or _blames(output, regions):
        os.unlink(regions)
        part.say(f"{regions} may be damaged and is deleted: the next run makes it anew")
    told = part.cpu_only or run["device"] is not None
    if status == 0 and not told:
        part.say("the job's report has no line of a device")
    return status == 0 and told, run


def _blames(output: str, path: str) -> bool:
    """Whether an error of a program's log names the file."""
    return any(path in str(line.get("error", "")) for line in map(json_line, output.splitlines()))


def regions_of(part: Part, folder: str, items: int) -> str | None:
    """A region file, as users have them: made by a detector, imported.  One that is there has its name since it was
    whole."""
    path, new = os.path.join(folder, f"{items}.regions"), os.path.join(folder, "new.regions")
    if not os.path.exists(path):
        made = os.path.join(folder, "npz")
        shutil.rmtree(made, ignore_errors=True)
        made_up_regions.write(made, items)
        status, _ = part.run("services/sightlinectl/sightlinectl", "import-regions", "npz:" + made, "--out", new)
        shutil.rmtree(made)
        if status != 0:
            return None
        os.replace(new, path)
    return path


def encoded(output: str, store: str) -> dict:
    """Of what the job said, and of the manifest that it wrote; None for what is not told:
    {"encoded", "seconds", "pictures_per_second", "device": {"busy_share", "seconds", "passes", "waited"},
    "agreement"}."""
    result = {"encoded": None, "seconds": None, "pictures_per_second": None, "device": None, "agreement": None}
    report = re.search(r"^ +items +(\d+) images", output, re.MULTILINE)
    if report:
        result["encoded"] = int(report.group(1))
    progress = [line for line in map(json_line, output.splitlines())
                if line.get("event") == "progress" and line.get("phase") == "encode"]
    if progress and progress[-1]["elapsed_seconds"] > 0:
        result["seconds"] = progress[-1]["elapsed_seconds"]
        result["pictures_per_second"] = progress[-1]["done"] / result["seconds"]
    device = _DEVICE_LINE.search(output)
    if device:
        busy, seconds, passes, *waited = (float(number) for number in device.groups())
        result["device"] = {"busy_share": busy / 100, "seconds": seconds, "passes": int(passes),
                            "waited": dict(zip(("host", "files", "pictures"), waited))}
    generation = re.search(r"^generation (\S+)", output, re.MULTILINE)
    if generation:
        manifest = os.path.join(store, "indexes/images/generations", generation.group(1), "manifest.json")
        with open(manifest, encoding="utf-8") as file:
            # float32 has no entry: it agrees with itself.
            result["agreement"] = json.load(file).get("encoding", {"agreement": 1}).get("agreement", 0)
    return result


def json_line(line: str) -> dict:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def encode_rows(result: dict | None) -> list[dict]:
    """Of encode.json."""
    rows = []
    for run in (result or {}).get("runs", []):
        device, met = run["device"], None if result["on_cpu"] else False
        told = ["no rate" if run["pictures_per_second"] is None else f"{run['pictures_per_second']:.0f} pictures/s"]
        if device:
            met = device["busy_share"] >= goals.BUSY_SHARE
            told.append(f"busy {device['busy_share'] * 100:.1f} %")
            told += [f"{seconds:.1f} s for {whom}" for whom, seconds in device["waited"].items() if seconds > 0]
        if run["agreement"] is not None:
            told.append(f"agreement {run['agreement']:.4g}")
        features = " and features" if run["reranks"] else ""
        rows.append(goals.row(f"corpus_encoder, {result['items']} embeddings{features}, {run['precision']}",
                              ", ".join(told), f"busy {goals.BUSY_SHARE * 100:.0f} %", met, run["seconds"]))
    return rows


def train(part: Part) -> bool:
    """bfloat16 finds as much among the validation rows as float32 does, as far as so few can tell."""
    part.write("train.json", None)
    folder = os.path.join(part.out, "train")
    shutil.rmtree(folder, ignore_errors=True)
    pictures, data = os.path.join(folder, "pictures"), os.path.join(folder, "set")
    made_up_pictures.write(pictures)
    model = ("--model-config", os.path.join(ROOT, "deploy/gpu/train_on_cpu.json")) if part.cpu_only else ()
    status, _ = part.run("services/trainer/trainer", "prepare", "--out", data, "--corpus", "folder:" + pictures,
                         "--languages", "en", *model)
    if status != 0:
        return False
    reference, _ = _trained(part, folder, "float32", model)
    if reference is None:
        return False
    other, left_out = _trained(part, folder, "bfloat16", model)
    result = {"float32": reference, "bfloat16": other, "left_out": left_out,
              "interval": interval_of(reference["recall_at_1"], reference["queries"])}
    part.write("train.json", result)
    part.say(goals.text_of(train_rows(result)))
    return left_out or reaches(result)


def _trained(part: Part, folder: str, precision: str, model: tuple[str, ...]) -> tuple[dict | None, bool]:
    """What validation found in the end, and how long it took; and whether this LibTorch computes no such
    precision on the CPU, which is none of the run's faults."""
    name = "train_on_cpu.yaml" if part.cpu_only else "train.yaml"
    with open(os.path.join(ROOT, "deploy/gpu", name), encoding="utf-8") as file:
        config = file.read()
    path, run = os.path.join(folder, precision + ".yaml"), os.path.join(folder, precision)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{config}precision: {precision}\n")
    # With more than one thread on cores that others use, LibTorch's wait for each other.
    device = ("--device", "cpu", "--threads", "1") if part.cpu_only else ("--device", "cuda")
    status, output = part.run("services/trainer/trainer", "train", "--config", path, "--data",
                              os.path.join(folder, "set"), "--out", run, "--store", os.path.join(folder, "store"),
                              *model, *device)
    if status == 0:
        return validated(os.path.join(run, "metrics.jsonl")), False
    if part.cpu_only and "LibTorch does not compute in it" in output:
        part.say(f"left out: {precision} on this CPU")
        return None, True
    return None, False


def validated(path: str) -> dict | None:
    """Of the last validation in metrics.jsonl: {"queries", "recall_at_1", "seconds"}; the share that was found
    first in the order that the model declares, and the time of all steps."""
    with open(path, encoding="utf-8") as file:
        events = [json_line(line) for line in file]
    validations = [event["validation"] for event in events if event.get("event") == "validation"]
    if not validations:
        return None
    last = validations[-1]
    found = last["best"] if last.get("rerank_by_default") else last["retrieval"]
    seconds = max((event["elapsed_seconds"] for event in events if event.get("event") == "step"), default=0)
    return {"queries": last["queries"], "recall_at_1": found["recall_at_1"] / 100, "seconds": seconds}


def interval_of(share: float, count: int) -> list[float]:
    """Wilson's, of a share of `count` queries: where it may lie for others of their kind, 95 of 100 times."""
    square = _DEVIATIONS**2
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = _DEVIATIONS / (1 + square / count) * math.sqrt(share * (1 - share) / count + square / (4 * count**2))
    return [max(0.0, middle - half), min(1.0, middle + half)]


def reaches(result: dict) -> bool:
    return result["bfloat16"] is not None and result["bfloat16"]["recall_at_1"] >= result["interval"][0]


def train_rows(result: dict | None) -> list[dict]:
    """Of train.json."""
    if not result or "float32" not in result:
        return []
    low, high = (100 * edge for edge in result["interval"])
    reference, other = result["float32"], result["bfloat16"]
    rows = [goals.row("training, float32", f"R@1 {100 * reference['recall_at_1']:.1f} of {reference['queries']}, "
                      f"{low:.1f} to {high:.1f}", "", None, reference["seconds"])]
    # No goal of a device: the run in float32 is its reference on any.
    told = "left out" if result["left_out"] else "failed" if other is None else f"R@1 {100 * other['recall_at_1']:.1f}"
    if not result["left_out"] and not reaches(result):
        told = f"NOT MET, {told}"
    return rows + [goals.row("training, bfloat16", told, "", None, None if other is None else other["seconds"])]
