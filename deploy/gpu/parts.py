"""What check.sh does with the programs once they are built, part by part.

    parts.py PART --bin FOLDER --out FOLDER [--cpu-only]

Each writes OUT/PART.txt, which it prints as well, and OUT/PART.json, which says whether it held.  Exit status: 0 all
held, 1 not, 3 something is missing here: a GPU, a program, or for the table what an earlier part measures.
"""

from __future__ import annotations

import argparse
import json
import os
import sys

import fleet
import jobs
import peers
import random_models
import recipes
import sanitizer
import table
from part import MISSING, MissingError, Part, PartError

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
GOLDENS = os.path.join(ROOT, "tests/testdata/goldens")
# Families that have nothing to compute in another precision than float32.
_WITHOUT_BLOCKS = {"sgraf"}


def search(part: Part) -> bool:
    """The lists of searches are the CPU's, or a brute force's."""
    if part.cpu_only:
        checks = [("--rows", "100000", "--dimension", "512", "--device", "cpu", "--referee", "brute_force",
                   "--ivf_rows", "50000")]
    else:
        checks = [("--rows", "100000", "--dimension", "512", "--referee", "cpu"),
                  ("--rows", "1000000", "--dimension", "768", "--referee", "cpu", "--ivf_rows", "1000000"),
                  ("--rows", "10000000", "--dimension", "512", "--referee", "brute_force", "--ivf_rows", "0")]
    good, results = True, []
    for number, check in enumerate(checks):
        held, result = part.measured(f"search-{number}.json", "deploy/gpu/device_check", *check)
        good = good and held
        if result is not None:
            results.append(result)
        part.write("search.json", {"asked": len(checks), "runs": results})
    return good


def _precisions(part: Part) -> list[str]:
    if not part.cpu_only:
        return ["float32", "bfloat16"]
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return ["float32"] + (["bfloat16"] if "avx512_bf16" in file.read() else [])


def models(part: Part) -> bool:
    """Every golden is met, in float32 and in bfloat16, and its three steps of learning in float32; and passes of base
    size, of blocks and of a whole model."""
    results = {"goldens": [], "training": [], "stack": None, "whole": None}
    folders = sorted(name for name in os.listdir(GOLDENS)
                     if os.path.exists(os.path.join(GOLDENS, name, "case.safetensors")))
    for precision in _precisions(part):
        for folder in folders:
            if precision == "float32" or _family_of(folder) not in _WITHOUT_BLOCKS:
                results["goldens"].append(_golden(part, folder, precision))
    results["training"] = [_training(part, folder) for folder in sorted(os.listdir(GOLDENS)) if os.path.exists(
        os.path.join(GOLDENS, folder, "training.json"))]
    # A CPU would take minutes for all of it.
    small = ("--device", "cpu", "--layers", "1", "--rounds", "5", "--most_rows", "1000") if part.cpu_only else ()
    held, results["stack"] = part.measured("stack.json", "deploy/gpu/stack_check", *small)
    whole_held, results["whole"] = _whole_model(part)
    part.write("models.json", results)
    met = all(each["met"] for each in results["goldens"] + results["training"])
    return met and held and whole_held and bool(folders)


def _golden(part: Part, folder: str, precision: str) -> dict:
    status, output = part.run("tests/parity/check_golden", "--device", _device_of(part), "--precision", precision,
                              os.path.join(GOLDENS, folder))
    return {"folder": folder, "precision": precision, "met": status == 0,
            "max_abs_error": _number_in(output, "max_abs_error")}


def _training(part: Part, folder: str) -> dict:
    status, output = part.run("tests/parity/check_training", "--device", _device_of(part),
                              os.path.join(GOLDENS, folder))
    return {"folder": folder, "met": status == 0, "max_relative_error": _number_in(output, "max_relative_error")}


def _device_of(part: Part) -> str:
    return "cpu" if part.cpu_only else "cuda:0"


def _whole_model(part: Part) -> tuple[bool, object]:
    store = os.path.join(part.out, "model/store")
    os.makedirs(store, exist_ok=True)
    model = random_models.add_oscar(part, store)
    if model is None:
        return False, None
    how = ("--device", "cpu", "--rounds", "1") if part.cpu_only else ("--precision", "bfloat16")
    return part.measured("whole.json", "deploy/gpu/model_check", *how,
                         last=os.path.join(store, "models", model))


def _family_of(folder: str) -> str:
    with open(os.path.join(GOLDENS, folder, "config.json"), encoding="utf-8") as file:
        return json.load(file)["family"]


def _number_in(output: str, name: str) -> float | None:
    """Of `NAME: X over N numbers`."""
    for line in reversed(output.splitlines()):
        if line.startswith(name + ": "):
            return float(line.split()[1])
    return None


def tell_table(part: Part) -> bool:
    """What the parts before it have measured, in this run or an earlier one; holds where each of them did."""
    kept, faults = table.read_parts(part, list(PARTS)[:list(PARTS).index("table")])
    rows = []
    for name, rows_of in (("search", lambda of: table.rows_of(of["runs"], {}, kept.get("faiss"))),
                          ("models", lambda of: table.rows_of([], of, None, kept.get("eager"))),
                          ("fleet", fleet.rows_of), ("encode", jobs.encode_rows), ("train", jobs.train_rows),
                          ("learn", recipes.learn_rows)):
        rows += table.rows_of_part(name, kept, rows_of, faults)
    part.say(table.text_of(rows))
    part.write("table.json", {"rows": rows, "faults": [fault.text for fault in faults]})
    for fault in faults:
        part.say(fault.text)
    wrong = [row["what"] for row in rows if row["held"].startswith(("WRONG", "NOT MET"))]
    if faults and not wrong and all(fault.missing for fault in faults):
        raise MissingError("the table lacks what is named above")
    return not faults and not wrong


# In check.sh's order: the table judges those before it.
PARTS = {"search": search, "faiss": peers.faiss, "models": models, "eager": peers.eager, "fleet": fleet.fleet,
         "sanitizer": sanitizer.sanitizer, "encode": jobs.encode, "train": jobs.train, "learn": recipes.learn,
         "table": tell_table}


def status_of(part: Part) -> int:
    """check.sh's, of a part that is run; what it raises is one line."""
    try:
        if PARTS[part.name](part):
            return 0
        return MISSING if part.failures == {MISSING} else 1
    except MissingError as error:
        part.tell_error(str(error))
        return MISSING if part.failures <= {MISSING} else 1
    except PartError as error:
        part.tell_error(str(error))
    except OSError as error:
        part.tell_error(f"{part.name}: {error}")
    except Exception as error:  # pylint: disable=broad-exception-caught
        part.tell_error(f"{part.name}: {type(error).__name__}: {error}", with_traceback=True)
    return 1


def main() -> int:
    parser = argparse.ArgumentParser(description="Part of check.sh.")
    parser.add_argument("part", choices=sorted(PARTS))
    parser.add_argument("--bin", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--cpu-only", action="store_true")
    arguments = parser.parse_args()
    try:
        os.makedirs(arguments.out, exist_ok=True)
        part = Part(arguments.part, arguments.bin, arguments.out, arguments.cpu_only)
    except OSError as error:
        print(f"check: {arguments.part}: {error}", file=sys.stderr)
        return 1
    status = status_of(part)
    try:
        part.end(status)
    except OSError as error:
        # On a disk that is full it has been said.
        if status == 0:
            part.tell_error(f"{part.name}: {error}")
        status = status or 1
    part.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
