#!/usr/bin/env python3
"""Takes the READMEs' figures again and prints old beside new.

usage: loadtest/figures/run.py [--all | --list] [--update] [NAME...]

NAME is a measurement of figures.json; without any: the quick ones, one after another.
  --all     the long ones too; hours
  --list    names, what they take and their commands, and runs nothing
  --update  writes what was measured, the commit and the CPU into figures.json; refused where
            sources differ from the commit, or the machine has other work.  Then the tests say
            which README has to follow
  --file F  instead of figures.json

exit status: 0 all were taken, 1 some could not be taken, or --update is refused, 2 wrong usage.
"""

import argparse
import datetime
import json
import math
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Of the cores: what else may be running when figures are to be kept.
QUIET = 0.25


class CannotTake(Exception):
    pass


def number_of(text):
    """ "1 835" is one number; "81 to 83" counts as the middle. """
    parts = [float(part.replace(" ", "")) for part in text.split(" to ")]
    return sum(parts) / len(parts)


def shown(value, like):
    """`value` with as many digits as `like`, the figure before, has, and three at least."""
    digits = max(3, *(len(re.sub(r"\D", "", part).lstrip("0")) for part in like.split(" to ")))
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    if whole:
        text = f"{value:.{max(0, digits - whole)}f}"
    else:
        lead = -math.floor(math.log10(abs(value))) - 1 if value else 0
        text = f"{value:.{digits + lead}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def step_into(data, step):
    """A key of an object, or of a list the element that has "key=value"."""
    if isinstance(data, dict):
        return data[step]
    key, value = step.split("=", 1)
    return next(element for element in data if str(element[key]) == value)


def take(figure, text, read_json):
    """The figure's number in what its command printed or wrote."""
    if "regex" in figure:
        found = re.search(figure["regex"], text)
        if not found:
            raise CannotTake(f"nothing in the output is like {figure['regex']}")
        value = float(found.group(1))
    else:
        value = read_json(figure.get("in", ""))
        for step in figure["at"]:
            try:
                value = step_into(value, step)
            except (KeyError, StopIteration, ValueError, TypeError):
                raise CannotTake(f"the output has no {' > '.join(figure['at'])}") from None
        if not isinstance(value, (int, float)):
            raise CannotTake(f"{' > '.join(figure['at'])} is {value}, no number")
    return value * figure.get("scale", 1)


def measure(measurement):
    """Runs the command; returns for each figure its number, or why there is none."""
    with tempfile.TemporaryDirectory(prefix="figures.") as out:
        ran = subprocess.run(["bash", "-euo", "pipefail", "-c", measurement["command"]], cwd=ROOT,
                             env=dict(os.environ, OUT=out), stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if ran.returncode != 0:
            told = (ran.stderr.strip() or ran.stdout.strip()).splitlines()[-5:]
            raise CannotTake("\n    ".join([f"its command ended with {ran.returncode}:", *told]))

        def read_json(name):
            try:
                if not name:
                    return json.loads(ran.stdout)
                with open(os.path.join(out, name), encoding="utf-8") as file:
                    return json.load(file)
            except (OSError, ValueError) as error:
                raise CannotTake(f"{name or 'its output'} is no JSON: {error}") from None

        return {name: take(figure, ran.stdout + ran.stderr, read_json)
                for name, figure in measurement["figures"].items()}


def print_table(name, measurement, values):
    print(f"{name}: {measurement['commit']}, {measurement['cpu']}")
    for figure, value in values.items():
        old, unit = measurement["figures"][figure]["value"], measurement["figures"][figure]["unit"]
        before = number_of(old)
        ratio = f"{value / before:8.2f}" if before else ""
        print(f"  {figure:28} {old:>14} {shown(value, old):>12} {unit:20} {ratio}", flush=True)


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], check=False, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def cpu():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        told = dict(line.split(":", 1) for line in file if ":" in line)
    told = {key.strip(): value.strip() for key, value in told.items()}
    model = re.sub(r"\((R|TM)\)| Processor| CPU", "", told.get("model name", "unknown CPU"))
    wide = "AVX-512" if "avx512f" in told.get("flags", "") else "AVX2"
    frequency = float(told.get("cpu MHz", 0)) / 1000
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores of {model.strip()} ({frequency:.1f} GHz, {wide})"


def refusal():
    """Why figures that are taken now could not be kept; empty if they could."""
    if git("status", "--porcelain", "--", ".", ":!*.md", ":!loadtest/figures/figures.json"):
        return "sources differ from the commit that the figures would name; commit first"
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    if load > QUIET * cores:
        return (f"the machine has other work (load {load:.1f} on {cores} cores); wait until it "
                f"is below {QUIET * cores:.1f}")
    return ""


def update(path, name, values):
    """Reads the file anew: a run of hours must not undo what was written meanwhile."""
    with open(path, encoding="utf-8") as file:
        measurements = json.load(file)
    measurement = measurements[name]
    measurement["commit"] = git("rev-parse", "--short=7", "HEAD")
    measurement["cpu"] = cpu()
    measurement["date"] = datetime.date.today().isoformat()
    for figure, value in values.items():
        told = measurement["figures"][figure]
        told["value"] = shown(value, told["value"])
    with open(path, "w", encoding="utf-8") as file:
        json.dump(measurements, file, indent=1, ensure_ascii=False)
        file.write("\n")


def parse(arguments):
    parser = argparse.ArgumentParser(add_help=False)
    parser.error = lambda message: sys.exit(usage(message))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--file", default=os.path.join(HERE, "figures.json"))
    parser.add_argument("-h", "--help", action="store_true")
    return parser.parse_args(arguments)


def usage(problem):
    print(f"figures: {problem}\n{__doc__}", file=sys.stderr)
    return 2


def main(arguments):
    options = parse(arguments)
    if options.help:
        print(__doc__)
        return 0
    with open(options.file, encoding="utf-8") as file:
        measurements = json.load(file)
    for name in options.names:
        if name not in measurements:
            return usage(f"there is no measurement '{name}'; --list has them")
    if options.list:
        for name, measurement in measurements.items():
            print(f"{name:26} {measurement['class']:6} {measurement['minutes']:4} min  "
                  f"{measurement['command']}")
        return 0
    names = options.names or [name for name, measurement in measurements.items()
                              if options.all or measurement["class"] == "quick"]
    if options.update and (why := refusal()):
        print(f"figures: {why}", file=sys.stderr)
        return 1
    print(f"old, as its commit and CPU gave it; new: {cpu()}; new over old")
    failed = 0
    for name in names:
        try:
            values = measure(measurements[name])
        except CannotTake as why:
            print(f"{name}: could not be taken: {why}", flush=True)
            failed += 1
            continue
        print_table(name, measurements[name], values)
        if options.update:
            update(options.file, name, values)
    print(f"figures: {len(names) - failed} measurements taken, {failed} could not be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
