#!/usr/bin/python3
"""Trains what rows.json names on Sightline Scenes and measures it: the papers' claims, tested.

usage: deploy/scenes/claims.py FOLDER [--seed N] [--device NAME] [ROW ...]
       deploy/scenes/claims.py --list [--seed N] | --tables
  FOLDER         takes scenes, networks and matrices, some 12 GB
  ROW ...        these rows alone; default: all that have no result yet
  --seed N       of weights and draws, 1 to 999; default 1.  Each other one has results, weights and
                 networks of its own, from the first row on, in folders seed_N of those of the first
  --device NAME  what networks learn on: cpu (default), cuda or cuda:N
  --list         tell which rows there are, what each needs and which have results, and stop
  --tables       print the tables of the results that there are, and stop

A row ends by writing results/ROW.json, and of a network that takes long and that others begin with
weights/ROW: commit them, and no machine does it again.  What a row needs and FOLDER and weights/ lack
is trained first; the result that it has stays.  A row that was stopped goes on when the same command is
given again.

exit status: 0 done, 1 something failed, 2 wrong usage, 75 interrupted, or another run
works in FOLDER; run it again.
"""

import json
import os
import re
import subprocess
import sys
import time

import report
from runner import (AGAIN, Failed, HERE, ROOT, built_programs, lines_of, lock, machine, made, number_of,
                    parsed, put_folder, read, reports_of, run, sum_of, write)

SLICES = ["plain", "binding", "relation", "count", "new_drawing", "new_combination"]
SIBLINGS = ["colours_swapped", "relation_mirrored", "roles_swapped", "count", "object_replaced"]
# What region files follow from: the detector's weights, and how its numbers are written.
DETECTOR = [os.path.join(ROOT, "common/scenes/region_net.safetensors"),
            os.path.join(ROOT, "services/trainer/scene_features.h")]
# Only for measures that name them.
WORDS = ["words", "no_words", "word_said", "word_unsaid"]
DISTRACTORS = 20000
NETWORK_KEYS = {"model", "start", "weights_of", "renamed", "recipe", "pictures", "steps", "boxed",
                "vocabulary", "retriever", "teacher", "committed"}
MEASURE_KEYS = {"paper", "pool", "folds", "matrices", "ensembles", "policies", "references",
                "depths", "lambdas", "siblings", "distractors", "parts", "claims"}
REQUIRED = {"pool", "matrices", "policies"}  # of a measure
PARTS = ["all", "families", *("slice_" + part for part in SLICES), *SIBLINGS, *WORDS]
MATRIX_KEYS = {"network", "by", "behind", "depth"}
SEED_FOLDER = re.compile(r"seed_([1-9][0-9]{0,2})")
DEVICE = re.compile(r"cpu|cuda(:[0-9]+)?")


def of_seed(seed):
    """The folder of what is another one's with another seed, below that of the first."""
    return "" if seed == 1 else f"seed_{seed}"


def sections(path):
    """The networks and the measures of a file, each by name."""
    spec = parsed(read(path) or "", path)
    found = [spec.get(name) if isinstance(spec, dict) else None for name in ("networks", "measures")]
    for section in found:
        if not isinstance(section, dict) or not all(isinstance(row, dict) for row in section.values()):
            raise Failed(f"{path} has no networks and measures, each with rows by name")
    return found


class Rows:
    """What there is to do, by name, in an order in which each has what it needs."""

    def __init__(self, path=os.path.join(HERE, "rows.json"), folder=HERE):
        self.networks, self.measures = sections(path)
        self.folder, self.seed = folder, 1
        seen = set()
        for name in self.names():
            self._check(path, name)
            missing = [need for need in self.needs(name) if need not in seen]
            if missing:
                raise Failed(f"{path}: row {name} needs {missing[0]}, which does not stand above it")
            if name in seen:
                raise Failed(f"{path}: row {name} stands there twice")
            seen.add(name)

    def _check(self, path, name):
        row = self.networks.get(name) or self.measures[name]
        unknown = set(row) - (NETWORK_KEYS if name in self.networks else MEASURE_KEYS)
        for matrix in row.get("matrices", {}).values():
            unknown |= set(matrix) - MATRIX_KEYS
        if unknown:
            raise Failed(f"{path}: row {name} has '{sorted(unknown)[0]}', which means nothing")
        if "renamed" in row and "weights_of" not in row:
            raise Failed(f"{path}: row {name} has renamed, and no weights_of whose names they are")
        if name in self.measures:
            if not REQUIRED <= set(row):
                raise Failed(f"{path}: row {name} has no {sorted(REQUIRED - set(row))[0]}")
            named = [claim["part"] for claim in row.get("claims", []) if "part" in claim]
            for part in row.get("parts", []) + named:
                if part not in PARTS:
                    raise Failed(f"{path}: row {name} has a part '{part}', which nothing makes")
            for problem in report.claim_problems(row):
                raise Failed(f"{path}: row {name}: {problem}")

    def names(self):
        return list(self.networks) + list(self.measures)

    def needs(self, name):
        if name in self.networks:
            row = self.networks[name]
            keys = ("start", "weights_of", "retriever", "teacher")
            return sorted({row[key] for key in keys if key in row})
        return sorted({m["network"] for m in self.measures[name]["matrices"].values()})

    def result_path(self, name, seed=None):
        return os.path.join(self.folder, "results", of_seed(seed or self.seed), name + ".json")

    def weights_path(self, name):
        return os.path.join(self.folder, "weights", of_seed(self.seed), name)

    def result(self, name, seed=None):
        path = self.result_path(name, seed)
        text = read(path)
        return None if text is None else parsed(text, path)

    def seeds(self):
        """Of which there are results."""
        folder = os.path.join(self.folder, "results")
        names = os.listdir(folder) if os.path.exists(folder) else []
        others = [SEED_FOLDER.fullmatch(name) for name in names]
        return sorted({1} | {int(other[1]) for other in others if other})

    def put(self, name, result):
        os.makedirs(os.path.dirname(self.result_path(name)), exist_ok=True)
        write(self.result_path(name), json.dumps(result, indent=1) + "\n")


class Scenes:
    """Scenes of a size, with regions, below FOLDER."""

    def __init__(self, folder, trainer):
        self.folder, self.trainer = folder, trainer

    def learnt(self, pictures, boxed):
        """Regions of the first `pictures` to learn from: a smaller set begins as a larger one."""
        sizes = {"train": pictures, "validation": 0, "test-1k": 0, "test-5k": 0, "distractors": 0}
        return self._seen(f"train_{pictures}", "train", sizes, boxed)

    def pool(self, split, boxed):
        return self._seen("pools", split, {"train": 0}, boxed)

    def graphs(self, split):
        self.pool(split, boxed=False)
        return lines_of(os.path.join(self.folder, "pools", split + ".jsonl"))

    def captions(self):
        """English ones that are learnt from, a line each."""
        folder = os.path.join(self.folder, "captions")
        path = os.path.join(folder, "train.jsonl")
        if not os.path.exists(path):
            run([self.trainer, "scenes", "--out", folder])
        return "".join(c["en"] + "\n" for graph in lines_of(path) for c in graph["captions"])

    def _seen(self, name, split, sizes, boxed):
        folder = os.path.join(self.folder, name)
        arguments = [self.trainer, "scenes", "--out", folder, "--features", split]
        for size in sizes.items():
            arguments += ["--" + size[0], str(size[1])]
        if split == "distractors":
            # Captions are false of all of them, but so many are enough to be searched among.
            arguments += ["--first", str(DISTRACTORS)]
        if boxed:
            arguments += ["--append-boxes"]
        path = os.path.join(folder, split + (".boxed.regions" if boxed else ".regions"))
        key = " ".join(arguments[1:] + [sum_of(source) for source in DETECTOR])
        return made(path, key, lambda: run(arguments))


class Claims:
    """Rows that are done in FOLDER."""

    def __init__(self, work, rows, programs, device="cpu"):
        self.rows, self.programs, self.device = rows, programs, device
        self.work = os.path.join(work, of_seed(rows.seed))
        self.store = os.path.join(self.work, "store")
        self.scenes = Scenes(os.path.join(work, "scenes"), programs["trainer"])

    def do(self, name):
        print(f"{name}:", file=sys.stderr, flush=True)
        self.rows.put(name, self.result_of(name))
        os.remove(self.seconds_path(name))

    def seconds_path(self, name):
        return os.path.join(self.work, name + ".seconds")

    def result_of(self, name):
        """With what all runs of it took together."""
        network = name in self.rows.networks
        # What all rows share is nobody's time.
        task = self.prepared(name) if network else self.prepared_measure(name)
        before, began = number_of(self.seconds_path(name)), time.monotonic()
        try:
            result = self.train(name, task) if network else self.measure(name, task)
        finally:
            seconds = before + time.monotonic() - began
            write(self.seconds_path(name), str(seconds))
        on = machine() if not network or self.device == "cpu" else dict(machine(), device=self.device)
        return dict(result, seconds=round(seconds), machine=on)

    def bundle(self, name):
        """The folder of a network that has been trained, in this FOLDER or by who committed it."""
        own, committed = os.path.join(self.work, "networks", name), self.rows.weights_path(name)
        return own if os.path.exists(own) else committed

    def train_missing(self, name):
        """Trains what a row needs and what lies neither here nor where it is committed: it was trained
        elsewhere, and the result that it left there stays."""
        for need in self.rows.needs(name):
            if os.path.exists(self.bundle(need)):
                continue
            self.train_missing(need)
            print(f"{need}, trained elsewhere, again for {name}:", file=sys.stderr, flush=True)
            made_again = self.result_of(need)["network"]
            os.remove(self.seconds_path(need))
            if made_again != self.rows.result(need)["network"]:
                print(f"claims: {need} is another network than the one of results/{need}.json, as on "
                      "another machine", file=sys.stderr)

    def vocabulary(self, kind):
        """Of the words that are learnt from."""
        path = os.path.join(self.work, kind + ".vocabulary")
        if not os.path.exists(path):
            texts = os.path.join(self.work, "captions.txt")
            write(texts, self.scenes.captions())
            run([self.programs["sightlinectl"], "make-vocabulary", "--kind", kind, "--text", texts,
                 "--out", path])
        return path

    def begun(self, row):
        """What a network starts from: another one, another one's weights in a shape of its own, or
        weights that are drawn at random."""
        if "start" in row:
            return self.bundle(row["start"])
        if "weights_of" in row:
            renames = [f"{old}={new}" for old, new in row.get("renamed", {}).items()]
            source = ["--weights-of", ",".join([self.bundle(row["weights_of"])] + renames)]
        else:
            source = ["--vocabulary", self.vocabulary(row.get("vocabulary", "wordpiece"))]
        return run([self.programs["sightlinectl"], "init-model", "--store", self.store] + source +
                   ["--config", os.path.join(HERE, "models", row["model"] + ".json"),
                    "--seed", str(self.rows.seed)]).strip()

    def recipe(self, name, row):
        """Its recipe, with the networks that it names."""
        text = read(os.path.join(HERE, "recipes", row["recipe"] + ".yaml"))
        for key in ("retriever", "teacher"):
            if (key in row) != ("$" + key in text):
                raise Failed(f"row {name} and recipes/{row['recipe']}.yaml do not both name a {key}")
            if key in row:
                text = text.replace("$" + key, self.bundle(row[key]))
        path = os.path.join(self.work, name + ".yaml")
        write(path, text)
        return path

    def prepared(self, name):
        """The command that trains it; of a network that is taken as it begins, its id."""
        row = self.rows.networks[name]
        if "recipe" not in row:
            return self.begun(row)
        boxed = row.get("boxed", False)
        out = os.path.join(self.work, "runs", name)
        os.makedirs(out, exist_ok=True)
        learn = [self.programs["trainer"], "learn", "--recipe", self.recipe(name, row),
                 "--start", self.begun(row), "--corpus",
                 "regions:" + self.scenes.learnt(row.get("pictures", 30000), boxed),
                 "--development", "regions:" + self.scenes.pool("validation", boxed),
                 "--out", out, "--store", self.store]
        learn += ["--seed", str(self.rows.seed), "--device", self.device]
        if self.device == "cpu":
            # Small networks learn fastest so, while each process has some of every batch.
            learn += ["--processes", str(min(8, len(os.sched_getaffinity(0))))]
        return learn + (["--steps", str(row["steps"])] if "steps" in row else [])

    def train(self, name, learn):
        untrained = isinstance(learn, str)
        bundle = learn if untrained else run(learn).strip()
        trained = os.path.join(self.store, "models", bundle)
        put_folder(trained, os.path.join(self.work, "networks", name))
        if self.rows.networks[name].get("committed"):
            put_folder(trained, self.rows.weights_path(name))
        if untrained:
            return {"network": bundle, "steps": 0, "development": None}
        path = os.path.join(self.work, "runs", name, "metrics.jsonl")
        events = reports_of(path)
        best = [event for event in events if event["event"] == "development" and event["best"]]
        steps = [event for event in events if event["event"] == "step"]
        if not steps:
            raise Failed(f"{path} tells of no step")
        return {"network": bundle, "steps": steps[-1]["steps"],
                "development": best[-1] if best else None}

    def prepared_measure(self, name):
        """Protocols by part, once the corpora are there."""
        row = self.rows.measures[name]
        for matrix in row["matrices"].values():
            boxed = self.rows.networks[matrix["network"]].get("boxed", False)
            for split in [row["pool"]] + (["distractors"] if row.get("distractors") else []):
                self.scenes.pool(split, boxed)
        folder = os.path.join(self.work, "measures", name)
        os.makedirs(folder, exist_ok=True)
        return self.parts(row["pool"], row.get("folds"), folder)

    def measure(self, name, parts):
        """Its matrices, and the tables of all its pools' parts."""
        row = self.rows.measures[name]
        folder = os.path.join(self.work, "measures", name)
        matrices, keys = {}, {}
        for matrix, spec in row["matrices"].items():
            arguments = self.scoring(folder, matrix, spec, row, parts)
            sums = [sum_of(os.path.join(self.bundle(spec["network"]), "manifest.json"))]
            key = " ".join(arguments[1:] + sums) + keys.get(spec.get("behind"), "")
            keys[matrix] = key
            matrices[matrix] = made(os.path.join(folder, matrix + ".npy"), key,
                                    lambda arguments=arguments: run(arguments))
        siblings = row.get("siblings", False)
        wanted = row.get("parts", [part for part in parts if part not in WORDS])
        tables = {}
        for part, protocol in parts.items():
            if (part in SIBLINGS) == siblings and part in wanted:
                tables[part] = self.table(folder, row, matrices, protocol)
        folds = {"folds": row["folds"]} if "folds" in row else {}
        return {"pool": row["pool"], **folds, "parts": tables,
                "matrices": {m: s["network"] for m, s in row["matrices"].items()},
                "networks": {need: sum_of(os.path.join(self.bundle(need), "manifest.json"))
                             for need in self.rows.needs(name)}}

    def parts(self, pool, folds, folder):
        """Protocols of `tables` by the part of the pool that they are about."""
        if folds is not None:
            return {"all": f"folds:{folds}"}
        graphs = self.scenes.graphs(pool)
        protocols = {"all": "whole"}

        def add(part, kind, lines):
            if lines:
                path = os.path.join(folder, part + ".tsv")
                write(path, "".join("\t".join(line) + "\n" for line in lines))
                protocols[part] = f"{kind}:{path}"
        add("families", "distractors", [[g["id"]] for g in graphs if g["base"] is not None])
        for part in SLICES:
            add("slice_" + part, "distractors", [[g["id"]] for g in graphs if part in g["slices"]])
        for change in SIBLINGS:
            add(change, "pools", [[g["base"], g["id"]] for g in graphs if g["change"] == change])
        add("words", "distractors", [[g["id"]] for g in graphs if g["word"]])
        add("no_words", "distractors", [[g["id"]] for g in graphs if not g["word"]])
        said = {True: [], False: []}  # of pictures with a word, whether the caption says it
        for graph in graphs:
            for number, caption in enumerate(graph["captions"] if graph["word"] else [], start=1):
                said[bool(caption["claim"]["word"])].append([f"{graph['id']}#en-{number}"])
        add("word_said", "captions", said[True])
        add("word_unsaid", "captions", said[False])
        return protocols

    def scoring(self, folder, name, spec, row, parts):
        """The command that writes the matrix."""
        boxed = self.rows.networks[spec["network"]].get("boxed", False)
        arguments = [self.programs["evaluator"], "scores", "--model", self.bundle(spec["network"]),
                     "--corpus", "regions:" + self.scenes.pool(row["pool"], boxed),
                     "--by", spec["by"], "--out", os.path.join(folder, name + ".npy"),
                     "--families", self.families(row["pool"], folder)]
        if row.get("distractors"):
            arguments += ["--corpus", "regions:" + self.scenes.pool("distractors", boxed)]
        if "behind" in spec:
            arguments += ["--candidates", os.path.join(folder, spec["behind"] + ".npy"),
                          "--depth", str(spec["depth"])]
        elif row.get("siblings") and spec["by"] == "pairs":
            lines = [read(parts[change].split(":", 1)[1]) for change in SIBLINGS if change in parts]
            path = os.path.join(folder, "siblings.tsv")
            write(path, "".join(lines))
            arguments += ["--protocol", "pools:" + path]
        elif "folds" in row and spec["by"] == "pairs":
            arguments += ["--protocol", parts["all"]]
        return arguments

    def families(self, pool, folder):
        """A list of the pictures' families: those of one are drawn together."""
        path = os.path.join(folder, "pool_families.tsv")
        lines = [f"{g['id']}\t{g['base'] or g['id']}\n" for g in self.scenes.graphs(pool)]
        write(path, "".join(lines))
        return path

    def table(self, folder, row, matrices, protocol):
        """Methods, each with its differences to all that the row compares with."""
        path = os.path.join(folder, "tables.json")
        policies = row["policies"].split(",")
        by_reference = {}
        for reference in row.get("references", policies[:1]):
            first = [reference] + [policy for policy in policies if policy != reference]
            arguments = [self.programs["evaluator"], "tables", "--pairs",
                         os.path.join(folder, "pairs.jsonl"), "--protocol", protocol, "--json", path,
                         "--ties", "expected", "--policies", ",".join(first)]
            for key in ("depths", "lambdas"):
                if key in row:
                    arguments += ["--" + key, row[key]]
            for matrix, file in matrices.items():
                arguments += ["--matrix", f"{matrix}={file}"]
            for ensemble, members in row.get("ensembles", {}).items():
                arguments += ["--ensemble", f"{ensemble}={members}"]
            run(arguments)
            by_reference[reference] = json.loads(read(path))
        return report.shortened(by_reference, policies)


def listed(rows):
    text = ""
    for name in rows.names():
        needs = ", ".join(rows.needs(name))
        done = "done" if rows.result(name) else "missing"
        text += f"{name:28} {done:8} {'needs ' + needs if needs else ''}".rstrip() + "\n"
    return text


def do_rows(folder, names, rows, programs, device):
    if folder in rows.names() or "," in folder:
        raise Failed(f"FOLDER is '{folder}': give a folder, without a comma, before the rows", 2)
    for name in names:
        if name not in rows.names():
            raise Failed(f"there is no row {name}; --list tells all", 2)
    work = os.path.abspath(folder)
    os.makedirs(os.path.join(work, of_seed(rows.seed), "networks"), exist_ok=True)
    handle = lock(work)
    claims = Claims(work, rows, programs or built_programs(), device)
    for name in names or [name for name in rows.names() if rows.result(name) is None]:
        for need in rows.needs(name):
            if rows.result(need) is None:
                raise Failed(f"row {name} needs {need}, which has no result; do that first")
        claims.train_missing(name)
        claims.do(name)
    handle.close()


def understood(arguments):
    """Flags with their values, and what else there is."""
    flags, words, left = {"--seed": "1", "--device": "cpu"}, [], list(arguments)
    while left:
        word = left.pop(0)
        if word in ("--list", "--tables"):
            flags[word] = True
        elif word in ("--seed", "--device"):
            if not left or left[0].startswith("--"):
                raise Failed(f"{word} has no value", 2)
            flags[word] = left.pop(0)
        elif word.startswith("--"):
            raise Failed(f"'{word}' is no flag", 2)
        else:
            words.append(word)
    if not SEED_FOLDER.fullmatch("seed_" + flags["--seed"]):
        raise Failed(f"--seed: '{flags['--seed']}' is no whole number from 1 to 999", 2)
    if not DEVICE.fullmatch(flags["--device"]):
        raise Failed(f"--device: '{flags['--device']}' is not cpu, cuda or cuda:N", 2)
    alone = "--list" in flags or "--tables" in flags
    if alone and words:
        raise Failed(f"'{words[0]}' stands beside --list or --tables, which tell of all rows", 2)
    if not alone and not words:
        raise Failed("give a FOLDER", 2)
    return flags, words


def main(arguments, rows=None, programs=None):
    try:
        flags, words = understood(arguments)
        rows = rows or Rows()
        rows.seed = int(flags["--seed"])
        if "--list" in flags:
            print(listed(rows), end="")
        elif "--tables" in flags:
            print(report.tables(rows), end="")
        else:
            do_rows(words[0], words[1:], rows, programs, flags["--device"])
    except Failed as failure:
        print(f"claims: {failure}", file=sys.stderr)
        if failure.status == 2:
            print(__doc__[__doc__.index("usage:"):].strip(), file=sys.stderr)
        return failure.status
    except KeyboardInterrupt:
        return AGAIN
    except (OSError, ValueError, subprocess.CalledProcessError) as failure:
        print(f"claims: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
