#!/usr/bin/env python3
"""Ours against what else one would run on this CPU, in one run: how far each side's scores are
from float32's, and their times, taking turns.

usage: peers.py FOLDER [--ours COMMAND] [--peers-by COMMAND] [--only NAME,...] [--threads N]
                [--rounds N] [--questions N] [--outliers] [--json FILE]

FOLDER is what run.sh has prepared.  COMMANDs are words for the shell: the program `ours`, and
what starts a program where the peers' packages are (in_root.sh).  A side that cannot start,
since its precision is not to be had here, is left out aloud.  --outliers: the model in which
outlier channels are planted.  peers.sh starts this.

exit status: 0 measured, 1 a side that computes in float32 answers otherwise than the referee,
which is PyTorch's float32, or nothing could be compared
"""

import argparse
import json
import os
import random
import re
import shlex
import statistics
import sys

import agreement
import bundle
import data
import side

HERE = os.path.dirname(os.path.abspath(__file__))
REFEREE = "torch-float32"
OURS = ["ours-float32", "ours-bfloat16", "ours-int8"]
PEERS = {REFEREE: ["torch_peer.py", "float32"],
         "torch-float32-compiled": ["torch_peer.py", "float32", "compiled"],
         "torch-bfloat16": ["torch_peer.py", "bfloat16"],
         "torch-bfloat16-compiled": ["torch_peer.py", "bfloat16", "compiled"],
         "torch-int8": ["torch_peer.py", "int8"],
         "torch-int8-compiled": ["torch_peer.py", "int8", "compiled"],
         "onnxruntime-float32": ["onnx_peer.py", "float32"],
         "onnxruntime-int8": ["onnx_peer.py", "int8"]}
# The OpenBLAS whose threads are PyTorch's own, if the other one is installed as well.
PEERS_LIBRARIES = "LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu/openblas-openmp"
TASKS = ["reranking", "text_encoding"]
TURN_SECONDS = 1.0
# In shares of the spread.  Float32 added up in another order, and features that are stored in
# float16, are far below; a wrong network is far above.
FLOAT32_DIFFERS = 0.05
# A peer agrees as well as we do if its scores are at most this many times as far off.
AS_WELL = 2.0
MATRIX_FLAGS = ["avx2", "avx512f", "avx_vnni", "avx512_vnni", "avx512_bf16", "amx_int8",
                "amx_bf16"]
# Of the threads: what else may run when figures are to be kept.
QUIET = 0.25


def say(text):
    print(f"peers: {text}", file=sys.stderr, flush=True)


def start_all(options, folder):
    """Those that started, by name; what the others said, by name."""
    threads = str(options.threads)
    environment = dict(os.environ, OMP_NUM_THREADS=threads, OPENBLAS_NUM_THREADS=threads)
    commands = {}
    if options.ours:
        for name in OURS:
            commands[name] = [*shlex.split(options.ours), folder, threads, name[len("ours-"):]]
    for name, (program, *words) in PEERS.items():
        commands[name] = [*shlex.split(options.peers_by), "/usr/bin/env", PEERS_LIBRARIES,
                          "/usr/bin/python3", os.path.join(HERE, program), folder, threads, *words]
    wanted = options.only.split(",") + [REFEREE] if options.only else list(commands)
    sides, left_out = {}, {}
    for name in commands:
        if name not in wanted:
            continue
        say(f"starting {name}")
        try:
            sides[name] = side.Side(name, commands[name], environment)
        except side.CannotStart as error:
            left_out[name] = str(error)
            say(f"LEFT OUT {name}: {error}")
    return sides, left_out


def compare_answers(sides, questions):
    """Each side's agreement with the referee, by name."""
    scores, embeddings = {}, {}
    for name, each in sides.items():
        say(f"{questions} questions to {name}")
        scores[name] = [[agreement.raw_score(score) for score in each.run("reranking", i, 1)[1]]
                        for i in range(questions)]
        embeddings[name] = [each.run("text_encoding", i, 1)[1] for i in range(questions)]
    found = {}
    for name in sides:
        found[name] = agreement.of_scores(scores[name], scores[REFEREE])
        found[name]["least_cosine"] = min(agreement.cosine(*both) for both in
                                          zip(embeddings[name], embeddings[REFEREE]))
    return found


def wrong_float32(found):
    for name, told in found.items():
        if "float32" in name and not (told["mean_share_of_spread"] <= FLOAT32_DIFFERS and
                                      told["least_cosine"] >= 1 - FLOAT32_DIFFERS ** 2):
            yield name


def measure(sides, task, rounds):
    """Seconds a query of each turn, by name; turns in a new order each round."""
    counts = {name: max(1, round(TURN_SECONDS / each.run(task, 0, 2)[0]))
              for name, each in sides.items()}
    times = {name: [] for name in sides}
    order, dice = list(sides), random.Random(1)
    for turn in range(rounds):
        dice.shuffle(order)
        for name in order:
            # The first finds caches as another side has left them, and threads that still wait.
            sides[name].run(task, turn, 1)
            times[name].append(sides[name].run(task, turn, counts[name])[0])
        say(f"{task}: round {turn + 1} of {rounds}")
    return times


def quartiles(values):
    return statistics.quantiles(values, n=4, method="inclusive")


def ratio(times, slow, fast):
    low, middle, high = quartiles([a / b for a, b in zip(times[slow], times[fast])])
    return {"ratio": middle, "quartiles": [low, high]}


def fastest(times, names):
    return min(names, key=lambda name: statistics.median(times[name]), default=None)


def verdicts(times, found):
    """Of each of ours, against the fastest peer of all and the fastest that agrees as well."""
    told = []
    peers = [name for name in times if name not in OURS]
    for ours in (name for name in times if name in OURS):
        bound = max(AS_WELL * found[ours]["mean_share_of_spread"], FLOAT32_DIFFERS)
        agreeing = [name for name in peers if found[name]["mean_share_of_spread"] <= bound]
        for which, names in (("there is", peers), ("agrees as well", agreeing)):
            best = fastest(times, names)
            told.append({"ours": ours, "best_peer": best, "among": which,
                         **ratio(times, best, ours)})
    return told


def over_float32(times):
    """Of each of ours in a lower precision, against ours in float32."""
    whole = OURS[0]
    return [{"ours": ours, **ratio(times, whole, ours)} for ours in OURS[1:]
            if ours in times and whole in times]


def machine():
    """Cores, CPU and what it has for products of matrices; and what else it is doing."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        text = file.read()
    name, flags = (re.search(rf"^{key}\s*: (.*)", text, re.M).group(1)
                   for key in ("model name", "flags"))
    has = [flag for flag in MATRIX_FLAGS if flag in flags.split()]
    return {"cpu": f"{len(os.sched_getaffinity(0))} cores of {name} ({', '.join(has)})",
            "load_before": os.getloadavg()[0]}


def print_table(times, found):
    heads = "".join(f"{task:>16}" for task in TASKS)
    print(f"\n{'':24}{heads}{'mean / max off':>20}{'of spread':>11}{'top 10':>8}{'Kendall':>9}"
          f"{'cosine':>9}")
    for name in sorted(found, key=lambda name: statistics.median(times[TASKS[0]][name])):
        told = found[name]
        cells = "".join(f"{1000 * statistics.median(times[task][name]):13.1f} ms" for task in TASKS)
        print(f"{name:24}{cells}{told['mean_difference']:11.1e} /{told['max_difference']:7.1e}"
              f"{told['mean_share_of_spread']:11.4f}{told['top_10_overlap']:8.3f}"
              f"{told['kendall']:9.4f}{told['least_cosine']:9.5f}")


def print_ratio(task, line, over):
    low, high = line["quartiles"]
    print(f"{task:14} {line['ours']:14} {line['ratio']:6.2f} [{low:.2f}, {high:.2f}]  {over}")


def print_verdicts(results):
    print("\nratios of neighbouring turns, median and quartiles; above 1 ours is faster")
    for task, told in results.items():
        for line in told["verdicts"]:
            if line["best_peer"] is None:
                print(f"{task:14} {line['ours']:14} no peer {line['among']}")
                continue
            print_ratio(task, line, f"{line['best_peer']}, the fastest peer that {line['among']}")
        for line in told["over_float32"]:
            print_ratio(task, line, f"{OURS[0]}, which is ours as well")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--ours", default="")
    parser.add_argument("--peers-by", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--questions", type=int, default=12)
    parser.add_argument("--outliers", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.rounds < 2 or options.questions < 1:
        parser.error("a spread needs two rounds, an agreement one question")
    about = machine()
    data.write_arrays(options.folder)
    model = "model_outliers" if options.outliers else "model"
    tokenizer = bundle.Bundle(os.path.join(options.folder, model)).tokenizer
    folder = data.peers_folder(options.folder, model, tokenizer)
    sides, left_out = start_all(options, folder)
    if REFEREE not in sides:
        sys.exit("peers: nothing to compare with")
    found = compare_answers(sides, options.questions)
    wrong = list(wrong_float32(found))
    results = {}
    for task in TASKS:
        times = measure(sides, task, options.rounds)
        results[task] = {"seconds": times, "verdicts": verdicts(times, found),
                         "over_float32": over_float32(times)}
    for each in sides.values():
        each.end()
    print(f"{about['cpu']}, {options.threads} threads; {data.CANDIDATES} pairs of {data.TOKENS} "
          f"tokens and {data.REGIONS} regions; a text of {data.TOKENS} tokens")
    if about["load_before"] > QUIET * options.threads:
        print(f"the machine had other work (load {about['load_before']:.1f}): preliminary")
    print_table({task: told["seconds"] for task, told in results.items()}, found)
    print_verdicts(results)
    for name, reason in left_out.items():
        print(f"left out: {name}: {reason}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({**about, "threads": options.threads, "agreement": found,
                       "tasks": results, "left_out": left_out}, file, indent=1)
    if wrong:
        sys.exit(f"peers: WRONG in float32: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
