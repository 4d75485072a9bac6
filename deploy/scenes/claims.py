#!/usr/bin/python3
"""Trains what rows.json names on Sightline Scenes and measures it: the papers' claims, tested.

usage: deploy/scenes/claims.py FOLDER [--list] [--tables] [ROW ...]
  FOLDER    takes scenes, runs and matrices, some 3 GB
  ROW ...   these rows alone; default: all that have no result yet
  --list    tell which rows there are, what each needs and which have results, and stop
  --tables  print the tables of the results that there are, and stop

A row ends by writing results/ROW.json and, if it is a network, weights/ROW: commit both, and no
machine does it again.  One that was stopped goes on when the same command is given again.

exit status: 0 done, 1 something failed, 2 wrong usage, 75 interrupted; run it again.
"""

import json
import os
import shutil
import subprocess
import sys
import time

import report

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
AGAIN = 75
POOLS = ["validation", "test_1k", "test_5k"]
SLICES = ["plain", "binding", "relation", "count", "new_drawing", "new_combination"]
SIBLINGS = ["colours_swapped", "relation_mirrored", "roles_swapped", "count", "object_replaced"]


class Failed(Exception):
    """What went wrong, for people; `status` is what the program ends with."""

    def __init__(self, message, status=1):
        super().__init__(message)
        self.status = status


def run(arguments, **options):
    """What the program prints.  Its progress goes to the terminal."""
    done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=False, **options)
    if done.returncode != 0:
        name = os.path.basename(arguments[0])
        raise Failed(f"{name} {arguments[1]} ended with {done.returncode}",
                     AGAIN if done.returncode == AGAIN else 1)
    return done.stdout


def write(path, text):
    """The file appears whole or not at all."""
    with open(path + ".tmp", "w", encoding="utf-8") as target:
        target.write(text)
    os.replace(path + ".tmp", path)


def lines_of(path):
    with open(path, encoding="utf-8") as source:
        return [json.loads(line) for line in source]


def machine():
    """The processor's name and how many cores there are."""
    with open("/proc/cpuinfo", encoding="utf-8") as source:
        names = [line.split(":", 1)[1].strip() for line in source if line.startswith("model name")]
    return {"processor": names[0] if names else "unknown", "cores": len(os.sched_getaffinity(0))}


class Rows:
    """What there is to do, by name, in an order in which each has what it needs."""

    def __init__(self, path=os.path.join(HERE, "rows.json"), folder=HERE):
        with open(path, encoding="utf-8") as source:
            spec = json.load(source)
        self.networks, self.measures, self.folder = spec["networks"], spec["measures"], folder
        seen = set()
        for name in self.names():
            missing = [need for need in self.needs(name) if need not in seen]
            if missing or name in seen:
                raise Failed(f"{path}: row {name} " +
                             (f"needs {missing[0]}, which does not stand above it" if missing else
                              "stands there twice"))
            seen.add(name)

    def names(self):
        return list(self.networks) + list(self.measures)

    def needs(self, name):
        if name in self.networks:
            row = self.networks[name]
            return sorted({row[key] for key in ("start", "retriever", "teacher") if key in row})
        return sorted({m["network"] for m in self.measures[name]["matrices"].values()})

    def result_path(self, name):
        return os.path.join(self.folder, "results", name + ".json")

    def result(self, name):
        if not os.path.exists(self.result_path(name)):
            return None
        with open(self.result_path(name), encoding="utf-8") as source:
            return json.load(source)

    def weights(self, name):
        return os.path.join(self.folder, "weights", name)

    def put(self, name, result):
        os.makedirs(os.path.dirname(self.result_path(name)), exist_ok=True)
        write(self.result_path(name), json.dumps(result, indent=1) + "\n")


class Scenes:
    """Scenes of a size, with regions, below FOLDER."""

    def __init__(self, folder, trainer):
        self.folder, self.trainer = folder, trainer

    def learnt(self, pictures, boxed):
        """Regions of the first `pictures` to learn from: a smaller set begins as a larger one."""
        folder = os.path.join(self.folder, f"train_{pictures}")
        sizes = {"train": pictures, "validation": 0, "test-1k": 0, "test-5k": 0, "distractors": 0}
        return self._made(folder, "train", sizes, boxed)

    def pool(self, split, boxed):
        return self._made(os.path.join(self.folder, "pools"), split, {"train": 0}, boxed)

    def graphs(self, split):
        self.pool(split, boxed=False)
        return lines_of(os.path.join(self.folder, "pools", split + ".jsonl"))

    def _made(self, folder, split, sizes, boxed):
        path = os.path.join(folder, split + (".boxed.regions" if boxed else ".regions"))
        if not os.path.exists(path):
            flags = [flag for name, size in sizes.items() for flag in ("--" + name, str(size))]
            run([self.trainer, "scenes", "--out", folder, "--features", split] + flags +
                (["--append-boxes"] if boxed else []))
        return path


class Claims:
    def __init__(self, work, rows, programs):
        self.rows, self.programs = rows, programs
        self.store = os.path.join(work, "store")
        self.work = work
        self.scenes = Scenes(os.path.join(work, "scenes"), programs["trainer"])
        os.makedirs(work, exist_ok=True)

    def do(self, name):
        print(f"{name}:", file=sys.stderr, flush=True)
        began = time.time()
        result = self.train(name) if name in self.rows.networks else self.measure(name)
        result["seconds"] = round(time.time() - began)
        result["machine"] = machine()
        self.rows.put(name, result)

    def bundle(self, name):
        """The folder of a network that has been trained, here or elsewhere."""
        return self.rows.weights(name)

    def vocabulary(self, kind):
        """Of the words that are learnt from."""
        path = os.path.join(self.work, kind + ".vocabulary")
        if not os.path.exists(path):
            self.scenes.learnt(30000, boxed=False)
            texts = os.path.join(self.work, "captions.txt")
            graphs = lines_of(os.path.join(self.work, "scenes", "train_30000", "train.jsonl"))
            write(texts, "".join(c["en"] + "\n" for g in graphs for c in g["captions"]))
            run([self.programs["sightlinectl"], "make-vocabulary", "--kind", kind, "--text", texts,
                 "--out", path])
        return path

    def begun(self, row):
        """What a network starts from: another one, or drawn at random."""
        if "start" in row:
            return self.bundle(row["start"])
        return run([self.programs["sightlinectl"], "init-model", "--store", self.store,
                    "--vocabulary", self.vocabulary(row.get("vocabulary", "wordpiece")),
                    "--config", os.path.join(HERE, "models", row["model"] + ".json"),
                    "--seed", "1"]).strip()

    def recipe(self, name, row):
        """Its recipe, with the networks that it names."""
        with open(os.path.join(HERE, "recipes", row["recipe"] + ".yaml"), encoding="utf-8") as source:
            text = source.read()
        for key in ("retriever", "teacher"):
            if key in row:
                text = text.replace("$" + key, self.bundle(row[key]))
        path = os.path.join(self.work, name + ".yaml")
        write(path, text)
        return path

    def train(self, name):
        row = self.rows.networks[name]
        boxed = row.get("boxed", False)
        out = os.path.join(self.work, "runs", name)
        os.makedirs(out, exist_ok=True)
        learn = [self.programs["trainer"], "learn", "--recipe", self.recipe(name, row),
                 "--start", self.begun(row), "--corpus",
                 "regions:" + self.scenes.learnt(row.get("pictures", 30000), boxed),
                 "--development", "regions:" + self.scenes.pool("validation", boxed),
                 "--out", out, "--store", self.store]
        if "steps" in row:
            learn += ["--steps", str(row["steps"])]
        bundle = run(learn).strip()
        weights = self.rows.weights(name)
        os.makedirs(os.path.dirname(weights), exist_ok=True)
        shutil.rmtree(weights, ignore_errors=True)
        shutil.copytree(os.path.join(self.store, "models", bundle), weights)
        events = lines_of(os.path.join(out, "metrics.jsonl"))
        looks = [event for event in events if event["event"] == "development"]
        steps = [event for event in events if event["event"] == "step"]
        return {"network": bundle, "steps": steps[-1]["steps"] if steps else 0,
                "development": looks[-1] if looks else None}

    def measure(self, name):
        """Its matrices, and the tables of all its pools' parts."""
        row = self.rows.measures[name]
        pool = row["pool"]
        folder = os.path.join(self.work, "measures", name)
        os.makedirs(folder, exist_ok=True)
        parts = self.parts(pool, folder)
        matrices = {}
        for matrix, spec in row["matrices"].items():
            matrices[matrix] = self.scored(folder, matrix, spec, row, parts)
        self.name_families(pool, folder)
        tables = {}
        for part, protocol in parts.items():
            if (part in SIBLINGS) != (row.get("siblings") is True) or (
                    part not in row.get("parts", parts)):
                continue
            tables[part] = self.table(folder, row, matrices, protocol)
        return {"pool": pool, "matrices": {m: s["network"] for m, s in row["matrices"].items()},
                "parts": tables}

    def parts(self, pool, folder):
        """Protocols of `tables` by the part of the pool that they are about."""
        graphs = self.scenes.graphs(pool)
        def file(part, lines):
            path = os.path.join(folder, part + ".tsv")
            write(path, "".join("\t".join(line) + "\n" for line in lines))
            return path
        protocols = {"all": "whole"}
        families = [[g["id"]] for g in graphs if g["base"] is not None]
        if families:
            protocols["families"] = "distractors:" + file("families", families)
        for part in SLICES:
            ids = [[g["id"]] for g in graphs if part in g["slices"]]
            if ids:
                protocols["slice_" + part] = "distractors:" + file("slice_" + part, ids)
        for change in SIBLINGS:
            pairs = [[g["base"], g["id"]] for g in graphs if g["change"] == change]
            if pairs:
                protocols[change] = "pools:" + file(change, pairs)
        return protocols

    def scored(self, folder, name, spec, row, parts):
        """The matrix's file."""
        boxed = self.rows.networks[spec["network"]].get("boxed", False)
        path = os.path.join(folder, name + ".npy")
        scores = [self.programs["evaluator"], "scores", "--model", self.bundle(spec["network"]),
                  "--corpus", "regions:" + self.scenes.pool(row["pool"], boxed), "--by", spec["by"],
                  "--out", path]
        if row.get("distractors"):
            scores += ["--corpus", "regions:" + self.scenes.pool("distractors", boxed)]
        if "behind" in spec:
            scores += ["--candidates", os.path.join(folder, spec["behind"] + ".npy"),
                       "--depth", str(spec["depth"])]
        elif row.get("siblings") is True and spec["by"] == "pairs":
            lines = []
            for change in SIBLINGS:
                if change in parts:
                    with open(parts[change].split(":", 1)[1], encoding="utf-8") as source:
                        lines += source.readlines()
            write(os.path.join(folder, "siblings.tsv"), "".join(lines))
            scores += ["--protocol", "pools:" + os.path.join(folder, "siblings.tsv")]
        if not os.path.exists(path):
            run(scores)
        return path

    def name_families(self, pool, folder):
        """Pictures of one family are drawn together: `scores` does not know of families."""
        base = {g["id"]: g["base"] or g["id"] for g in self.scenes.graphs(pool)}
        path = os.path.join(folder, "pairs.jsonl")
        named = []
        for line in lines_of(path):
            if "caption" not in line:
                line["family"] = base.get(line["image"], line["image"])
            named.append(json.dumps(line) + "\n")
        write(path, "".join(named))

    def table(self, folder, row, matrices, protocol):
        path = os.path.join(folder, "tables.json")
        tables = [self.programs["evaluator"], "tables", "--pairs",
                  os.path.join(folder, "pairs.jsonl"), "--protocol", protocol, "--json", path,
                  "--ties", "expected", "--rerank-scores", row.get("rerank_scores", "softmax_match"),
                  "--policies", row["policies"], "--depths", row.get("depths", "20")]
        if "lambdas" in row:
            tables += ["--lambdas", row["lambdas"]]
        for matrix, file in matrices.items():
            tables += ["--matrix", f"{matrix}={file}"]
        run(tables)
        with open(path, encoding="utf-8") as source:
            return report.shortened(json.load(source))


def built_programs():
    """Paths by name; installs and builds what is missing."""
    subprocess.run([os.path.join(ROOT, "deploy/bazel/setup.sh"),
                    os.path.join(HERE, "packages.txt")], check=True, stdout=sys.stderr)
    names = ["trainer", "evaluator", "sightlinectl"]
    subprocess.run(["bazel", "build", "--noshow_progress"] + [f"//services/{n}" for n in names],
                   cwd=ROOT, check=True, stdout=sys.stderr)
    binaries = subprocess.run(["bazel", "info", "bazel-bin"], cwd=ROOT, check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()
    return {name: os.path.join(binaries, "services", name, name) for name in names}


def listed(rows):
    text = ""
    for name in rows.names():
        needs = ", ".join(rows.needs(name))
        done = "done" if rows.result(name) else "missing"
        text += f"{name:28} {done:8} {'needs ' + needs if needs else ''}".rstrip() + "\n"
    return text


def main(arguments, rows=None, programs=None):
    flags = {a for a in arguments if a.startswith("--")}
    words = [a for a in arguments if not a.startswith("--")]
    if not flags <= {"--list", "--tables"} or not words and not flags:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        rows = rows or Rows()
        if "--list" in flags:
            print(listed(rows), end="")
            return 0
        if "--tables" in flags:
            print(report.tables(rows), end="")
            return 0
        asked = words[1:] or [name for name in rows.names() if rows.result(name) is None]
        for name in asked:
            if name not in rows.names():
                raise Failed(f"there is no row {name}; --list tells all", 2)
        claims = Claims(os.path.abspath(words[0]), rows, programs or built_programs())
        for name in asked:
            for need in rows.needs(name):
                if rows.result(need) is None:
                    raise Failed(f"row {name} needs {need}, which has no result; do that first")
            claims.do(name)
    except Failed as failure:
        print(f"claims: {failure}", file=sys.stderr)
        return failure.status
    except KeyboardInterrupt:
        return AGAIN
    except subprocess.CalledProcessError as failure:
        print(f"claims: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
