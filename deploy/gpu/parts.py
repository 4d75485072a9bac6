"""What check.sh does with the programs once they are built, part by part.

    parts.py search|models|table|fleet --bin FOLDER --out FOLDER [--cpu-only]

Each writes OUT/PART.txt, which it prints as well, and OUT/PART.json.  Exit status: 0 all held, 1 not.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import re
import subprocess
import sys

import table

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
GOLDENS = os.path.join(ROOT, "tests/testdata/goldens")
# Families that have nothing to compute in another precision than float32.
_WITHOUT_BLOCKS = {"sgraf"}
# By whether there is the CPU alone: the scenario, and how many items are made.
_FLEETS = {False: ("fleet.yaml", 1000000), True: ("fleet_on_cpu.yaml", 100000)}


class Part:
    """A part's text, and where its programs lie."""

    def __init__(self, name: str, bin_folder: str, out: str, cpu_only: bool):
        self.bin, self.out, self.cpu_only = bin_folder, out, cpu_only
        # pylint: disable-next=consider-using-with
        self._text = open(os.path.join(out, name + ".txt"), "w", encoding="utf-8")

    def say(self, text: str) -> None:
        for file in (sys.stdout, self._text):
            print(text, file=file, flush=True)

    def run(self, *command: str, device: bool = False) -> tuple[int, str]:
        """A program's exit status and output, which is said; FOLDER/PROGRAM comes first."""
        self.say("$ " + " ".join(command))
        environment = dict(os.environ, OMP_NUM_THREADS="1", SIGHTLINE_DEVICE="cuda" if device else "cpu")
        run = subprocess.Popen([os.path.join(self.bin, command[0]), *command[1:]], env=environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        lines = []
        with run:
            for line in run.stdout:
                lines.append(line)
                self.say(line.rstrip("\n"))
        return run.returncode, "".join(lines)

    def write(self, name: str, value: object) -> None:
        with open(os.path.join(self.out, name), "w", encoding="utf-8") as file:
            json.dump(value, file, indent=1, sort_keys=True)

    def measured(self, name: str, *command: str) -> tuple[bool, object]:
        """Whether a program held that writes what it measures to `name` of OUT, and that; not what an earlier run
        has left there."""
        path = os.path.join(self.out, name)
        if os.path.exists(path):
            os.unlink(path)
        status, _ = self.run(*command, "--json", path)
        return status == 0, self.read(name)

    def read(self, name: str) -> object:
        """Of an earlier part; None if it has not ended."""
        try:
            with open(os.path.join(self.out, name), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return None


def search(part: Part) -> bool:
    """The lists of searches are the CPU's, or a brute force's."""
    if part.cpu_only:
        checks = [("--rows", "100000", "--dimension", "512", "--device", "cpu", "--referee", "brute_force")]
    else:
        checks = [("--rows", "100000", "--dimension", "512", "--referee", "cpu"),
                  ("--rows", "1000000", "--dimension", "768", "--referee", "cpu"),
                  ("--rows", "10000000", "--dimension", "512", "--referee", "brute_force")]
    good, results = True, []
    for number, check in enumerate(checks):
        held, result = part.measured(f"search-{number}.json", "deploy/gpu/device_check", *check)
        good = good and held
        if result is not None:
            results.append(result)
    part.write("search.json", results)
    return good


def _precisions(part: Part) -> list[str]:
    if not part.cpu_only:
        return ["float32", "bfloat16"]
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return ["float32"] + (["bfloat16"] if "avx512_bf16" in file.read() else [])


def models(part: Part) -> bool:
    """Every golden is met, in float32 and in bfloat16; and passes of base size."""
    good, results = True, {"goldens": [], "stack": None}
    folders = sorted(name for name in os.listdir(GOLDENS)
                     if os.path.exists(os.path.join(GOLDENS, name, "case.safetensors")))
    for precision in _precisions(part):
        for folder in folders:
            if precision != "float32" and _family_of(folder) in _WITHOUT_BLOCKS:
                continue
            device = "cpu" if part.cpu_only else "cuda:0"
            status, output = part.run("tests/parity/check_golden", "--device", device, "--precision", precision,
                                      os.path.join(GOLDENS, folder))
            good = good and status == 0
            results["goldens"].append({"folder": folder, "precision": precision, "met": status == 0,
                                       "max_abs_error": _error_in(output)})
    if not part.cpu_only:
        held, results["stack"] = part.measured("stack.json", "deploy/gpu/stack_check")
        good = good and held
    part.write("models.json", results)
    return good and bool(folders)


def _family_of(folder: str) -> str:
    with open(os.path.join(GOLDENS, folder, "config.json"), encoding="utf-8") as file:
        return json.load(file)["family"]


def _error_in(output: str) -> float | None:
    """Of `max_abs_error: X over N numbers`."""
    for line in reversed(output.splitlines()):
        if line.startswith("max_abs_error: "):
            return float(line.split()[1])
    return None


def tell_table(part: Part) -> bool:
    """What the parts before it have measured."""
    searches, checked = part.read("search.json"), part.read("models.json")
    rows = table.rows_of(searches or [], checked or {})
    part.say(table.text_of(rows))
    part.write("table.json", rows)
    held = all(not row["held"].startswith(("WRONG", "NOT MET")) for row in rows)
    return searches is not None and checked is not None and held


def fleet(part: Part) -> bool:
    """A store of made-up items, and a fleet that serves it under load."""
    scenario, items = _FLEETS[part.cpu_only]
    store = os.path.join(part.out, f"store-{items}")
    os.makedirs(store, exist_ok=True)
    bundles = {}
    for role in ("encoder", "reranker"):
        status, output = part.run("services/sightlinectl/sightlinectl_small", "add-model",
                                  os.path.join(ROOT, "deploy/demo/model", role), "--store", store)
        if status != 0:
            return False
        bundles[role] = output.split()[-1]
    # One that is there is left alone.
    status, _ = part.run("loadtest/synthesize/synthesize", "--store", store, "--index", "images",
                         "--items", str(items), "--shards", "2", "--encoder-model", bundles["encoder"],
                         "--reranker-model", bundles["reranker"], "--regions", "4", "--vector-dtype", "float16")
    if status != 0:
        return False
    out = os.path.join(part.out, "fleet")
    status, _ = part.run("loadtest/loadtest", "run", os.path.join(ROOT, "deploy/gpu", scenario),
                         "--binaries", os.path.join(part.bin, "services"), "--store", store, "--out", out,
                         device=not part.cpu_only)
    on_device = shards_on_device(os.path.join(out, "fleet"))
    part.write("fleet.json", {"report": part.read("fleet/report.json"), "exit_status": status,
                              "shards_on_device": on_device})
    if not part.cpu_only and on_device == 0:
        part.say("no index_search has told in its log that a shard lies on the device")
        return False
    return status == 0


def shards_on_device(folder: str) -> int:
    """By what the logs of index_search say, `device_bytes` of each shard that was loaded."""
    count = 0
    for log in glob.glob(os.path.join(glob.escape(folder), "index_search-*.log")):
        with open(log, encoding="utf-8", errors="replace") as file:
            count += len(re.findall(r"\bdevice_bytes\W{1,4}[1-9]", file.read()))
    return count


def main() -> int:
    parts = {"search": search, "models": models, "table": tell_table, "fleet": fleet}
    parser = argparse.ArgumentParser(description="Part of check.sh.")
    parser.add_argument("part", choices=sorted(parts))
    parser.add_argument("--bin", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--cpu-only", action="store_true")
    arguments = parser.parse_args()
    part = Part(arguments.part, arguments.bin, arguments.out, arguments.cpu_only)
    return 0 if parts[arguments.part](part) else 1


if __name__ == "__main__":
    sys.exit(main())
