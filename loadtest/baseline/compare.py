#!/usr/bin/env python3
"""Ours against the baseline, taking turns in one run: for each task the ratio of the times
of neighbouring turns, as median and quartiles.

usage: compare.py FOLDER OURS THREADS [--rounds N] [--json FILE]

FOLDER is what run.sh has prepared, OURS the program beside this file.  The two sides'
answers are compared first: a fast wrong answer is none.
"""

import argparse
import json
import os
import statistics
import sys

import data
import side

TASKS = ["text_encoding", "search", "reranking", "end_to_end"]
TURN_SECONDS = 1.5  # of the slower side
QUESTIONS = 50
# Of the answers' own spread: float32 summed in another order, features stored in float16.
TOLERANCE = 0.05


def start(name, command, threads):
    # OpenBLAS and OpenMP beneath torch each have threads of their own; ours sets them itself.
    # Waiting without spinning: they share the cores.
    environment = dict(os.environ, OPENBLAS_NUM_THREADS=threads, OMP_NUM_THREADS=threads,
                       OMP_WAIT_POLICY="passive")
    try:
        return side.Side(name, command, environment)
    except side.CannotStart as error:
        sys.exit(f"{name} did not start: {error}")


def differ(ours, theirs):
    spread = max(theirs) - min(theirs)
    return spread == 0 or max(abs(a - b) for a, b in zip(ours, theirs)) > TOLERANCE * spread


def check_equal(sides, task, number):
    ours, theirs = (each.run(task, number, 1)[1] for each in sides)
    wrong = len(ours) != len(theirs)
    if task == "search":
        # Scores, then the rows that have them, which are equal or wrong.
        half = len(theirs) // 2
        wrong = wrong or ours[half:] != theirs[half:]
        ours, theirs = ours[:half], theirs[:half]
    if wrong or differ(ours, theirs):
        sys.exit(f"{task} {number}: the sides answer differently:\n{ours}\n{theirs}")


def measure(sides, task, rounds):
    for number in range(QUESTIONS if task == "text_encoding" else 3):
        check_equal(sides, task, number)
    count = max(1, round(TURN_SECONDS / max(each.run(task, 2, 2)[0] for each in sides)))
    times = [[], []]
    for turn in range(rounds):
        # Whoever comes second may find a warmer or a more tired machine.
        for i in (0, 1) if turn % 2 == 0 else (1, 0):
            times[i].append(sides[i].run(task, 4 + turn * count, count)[0])
    ratios = [theirs / ours for ours, theirs in zip(*times)]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return {"task": task, "queries_a_turn": count, "turns": rounds,
            "ours_ms": 1000 * statistics.median(times[0]),
            "baseline_ms": 1000 * statistics.median(times[1]),
            "ratio": middle, "ratio_quartiles": [low, high]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("ours")
    parser.add_argument("threads", type=int)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("--rounds: a spread needs two")
    here = os.path.dirname(os.path.abspath(__file__))
    data.write_arrays(options.folder)
    threads = str(options.threads)
    sides = [start("ours", [options.ours, options.folder, threads], threads),
             start("the baseline",
                   [sys.executable, os.path.join(here, "baseline.py"), options.folder, threads],
                   threads)]
    results = []
    print(f"{'':14} {'ours':>10} {'baseline':>10}   ratio, quartiles")
    for task in TASKS:
        result = measure(sides, task, options.rounds)
        low, high = result["ratio_quartiles"]
        print(f"{task:14} {result['ours_ms']:7.1f} ms {result['baseline_ms']:7.1f} ms "
              f"{result['ratio']:7.2f}  [{low:.2f}, {high:.2f}]", flush=True)
        results.append(result)
    for each in sides:
        each.end()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"threads": options.threads, "tasks": results}, file, indent=1)


if __name__ == "__main__":
    main()
