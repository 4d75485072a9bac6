"""Rows of claims.py: in their order, none twice, and each leaves its result.

usage: claims_test.py CLAIMS ROWS

The programs are fakes that write what the real ones would and note how they were called.
"""

import contextlib
import io
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time

import cases
import claims
import report
import runner

FAKE = r"""#!/usr/bin/python3 -B
import json, os, sys
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
folder = os.path.dirname(os.path.abspath(sys.argv[0]))
with open(folder + "/calls", "a") as calls:
    calls.write(json.dumps([name] + words) + "\n")
def value(flag):
    return words[words.index(flag) + 1] if flag in words else None
def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as target:
        target.write(text)
def numbers(at_one):
    return {"value": at_one, "low": at_one - .1, "high": at_one + .1}
if os.path.exists(folder + "/fail_" + words[0]):
    sys.exit(int(open(folder + "/fail_" + words[0]).read()))
for flag in ("--corpus", "--development", "--candidates", "--matrix", "--pairs", "--protocol",
             "--families"):
    for i, word in enumerate(words):
        path = words[i + 1].split(":")[-1].split("=")[-1] if word == flag else "/"
        if path not in ("whole", "5") and not os.path.exists(path):
            sys.exit("there is no " + path)
if words[0] == "scenes":
    split = value("--features") or "train"
    said, silent = {"word": "OPEN"}, {"word": None}
    graphs = [{"id": split + "/0", "base": split + "/0", "change": "none", "slices": ["binding"],
               "word": None, "captions": [{"en": "a dog", "claim": silent}]},
              {"id": split + "/1", "base": split + "/0", "change": "colours_swapped",
               "word": None, "slices": ["binding"], "captions": [{"en": "a cat", "claim": silent}]},
              {"id": split + "/2", "base": None, "change": "none", "slices": ["plain"],
               "word": {"text": "OPEN"},
               "captions": [{"en": "a cow", "claim": silent}, {"en": "open", "claim": said}]}]
    put(value("--out") + "/" + split + ".jsonl", "".join(json.dumps(g) + "\n" for g in graphs))
    boxed = ".boxed" if "--append-boxes" in words else ""
    put(value("--out") + "/" + split + boxed + ".regions", "")
elif words[0] == "make-vocabulary":
    put(value("--out"), open(value("--text")).read())
elif words[0] == "init-model":
    put(value("--store") + "/models/begun/manifest.json", "begun")
    print("begun")
elif words[0] == "learn":
    put(value("--store") + "/models/learnt/manifest.json", open(value("--recipe")).read())
    events = [{"event": "step", "steps": 7},
              {"event": "development", "score": 41.5, "best": True},
              {"event": "development", "score": 39, "best": False}]
    put(value("--out") + "/metrics.jsonl", "".join(json.dumps(e) + "\n" for e in events))
    print("learnt")
elif words[0] == "scores":
    put(value("--out"), "")
    lines = [{"image": "test_1k/%d" % i} for i in range(3)]
    lines += [{"caption": "c", "image": "test_1k/0", "language": "en"}]
    put(os.path.dirname(value("--out")) + "/pairs.jsonl",
        "".join(json.dumps(l) + "\n" for l in lines))
elif words[0] == "tables":
    policies, methods = value("--policies").split(","), []
    for policy in policies:
        method = {"policy": policy, "depth": 20 if ":" in policy else 0,
                  "time": {"seconds_per_query": .004, "computed": ":" in policy}}
        if ":" in policy:
            method.update({"combination": "add_lambda", "lambda": .5})
        for direction in ("text_to_image", "image_to_text"):
            method[direction] = {"query_count": 3}
            for measure in ("r_at_1", "r_at_5", "r_at_10", "r_at_20", "mrr"):
                method[direction][measure] = numbers(.5)
        if policy != policies[0]:
            difference = {"value": .125, "low": .01, "high": .2} if ":" in policy else numbers(0)
            method["text_to_image"]["r_at_1"]["minus_first"] = difference
        methods.append(method)
    put(value("--json"), json.dumps({"tables": [{"methods": methods}]}))
"""

ROWS = {
    "networks": {"bi": {"model": "m", "recipe": "r", "pictures": 20},
                 "cross": {"start": "bi", "recipe": "near", "retriever": "bi", "steps": 5}},
    "measures": {
        "both": {"pool": "test_1k", "policies": "be,be:ce", "lambdas": "0.5",
                 "references": ["be", "be:ce"],
                 "matrices": {"be": {"network": "bi", "by": "embeddings"},
                              "ce": {"network": "cross", "by": "pairs", "behind": "be",
                                     "depth": 20}}},
        "apart": {"pool": "test_1k", "policies": "ce", "siblings": True,
                  "matrices": {"ce": {"network": "cross", "by": "pairs"}}}}}


class ClaimsTest(cases.Case):
    def setUp(self):
        super().setUp()
        self.programs = {}
        for name in ("trainer", "evaluator", "sightlinectl"):
            self.programs[name] = self.write("bin/" + name, FAKE.encode())
            os.chmod(self.programs[name], stat.S_IRWXU)
        self.write("clone/rows.json", json.dumps(ROWS).encode())
        self.write("clone/recipes/r.yaml", b"steps: 7\n")
        self.write("clone/recipes/near.yaml", b"retriever: $retriever\n")
        claims.HERE = os.path.join(self.folder, "clone")
        claims.DETECTOR = [self.write("clone/net", b"one"), self.write("clone/scale", b"8")]

    def rows(self):
        return claims.Rows(os.path.join(claims.HERE, "rows.json"), claims.HERE)

    def run_rows(self, *words):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            folder = [] if "--list" in words else [os.path.join(self.folder, "work")]
            status = claims.main([*folder, *words], self.rows(), self.programs)
        return status, out.getvalue(), err.getvalue()

    def calls(self, command):
        path = os.path.join(self.folder, "bin/calls")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as source:
            calls = [json.loads(line) for line in source]
        return [call for call in calls if call[1] == command]

    def read(self, path):
        with open(os.path.join(self.folder, path), encoding="utf-8") as source:
            return source.read()

    def test_every_row_is_done_once(self):
        self.assertEqual(self.run_rows()[0], 0)
        self.assertEqual(len(self.calls("learn")), 2)
        self.assertEqual([self.rows().result(name) is not None for name in self.rows().names()],
                         [True] * 4)
        self.assertEqual(self.run_rows()[0], 0)
        self.assertEqual(len(self.calls("learn")), 2)
        self.assertEqual(self.run_rows("cross")[0], 0)
        self.assertEqual(len(self.calls("learn")), 3)

    def test_a_network_begins_with_what_it_names_and_keeps_its_weights(self):
        self.run_rows("bi")
        bi = self.calls("learn")[0]
        self.assertEqual(bi[bi.index("--start") + 1], "begun")
        self.assertIn("train_20/train.regions", bi[bi.index("--corpus") + 1])
        self.assertNotIn("--steps", bi)
        self.run_rows("cross")
        cross = self.calls("learn")[1]
        weights = os.path.join(self.folder, "work/networks/bi")
        self.assertEqual(cross[cross.index("--start") + 1], weights)
        self.assertEqual(cross[cross.index("--steps") + 1], "5")
        self.assertEqual(self.read("work/networks/cross/manifest.json"), f"retriever: {weights}\n")
        self.assertEqual(self.rows().result("cross")["development"]["score"], 41.5)

    def test_vocabularies_are_of_the_captions_that_are_learnt_from(self):
        self.run_rows("bi")
        self.assertEqual(self.read("work/wordpiece.vocabulary"), "a dog\na cat\na cow\nopen\n")

    def test_parts_are_families_slices_and_siblings(self):
        self.run_rows()
        self.assertEqual(list(self.rows().result("both")["parts"]),
                         ["all", "families", "slice_plain", "slice_binding"])
        self.assertEqual(list(self.rows().result("apart")["parts"]), ["colours_swapped"])
        # Who tells one of two has no time of a search.
        both, apart = report.tables(self.rows()).split("**apart**")
        self.assertIn("ms a query", both)
        self.assertNotIn("ms a query", apart)
        self.assertEqual(self.read("work/measures/apart/siblings.tsv"), "test_1k/0\ttest_1k/1\n")
        self.assertEqual(self.read("work/measures/both/families.tsv"), "test_1k/0\ntest_1k/1\n")
        scores = self.calls("scores")
        self.assertIn("--candidates", scores[1])
        self.assertTrue(scores[2][scores[2].index("--protocol") + 1].endswith("siblings.tsv"))
        self.assertEqual(self.read("work/measures/both/pool_families.tsv"), "test_1k/0\ttest_1k/0\n"
                         "test_1k/1\ttest_1k/0\ntest_1k/2\ttest_1k/2\n")
        for call in self.calls("scores"):
            self.assertTrue(call[call.index("--families") + 1].endswith("/pool_families.tsv"))

    def test_tables_have_intervals_and_differences(self):
        self.assertEqual(report.tables(self.rows()), "there are no results yet\n")
        self.run_rows()
        text = report.tables(self.rows())
        self.assertIn("| all | T→I R@1 | minus be | minus be:ce | I→T R@1 |", text)
        self.assertIn("| be:ce 20 add_lambda:0.5 | 50.0 [40.0, 60.0] | +12.5 [+1.0, +20.0] > |  |",
                      text)
        self.assertIn("| be | 50.0 [40.0, 60.0] |  | +0.0 [-10.0, +10.0] |", text)
        self.assertIn("| 50.0 | 4 |", text)
        self.assertIn("| 50.0 | 4* |", text)  # computed
        self.assertEqual(report.gain([0.1, -1.9, 2.0]), "+0.1 [-1.9, +2.0] =")
        self.assertIn("| bi | 7 | 0 min |", text)

    def written(self, networks=None, **measure):
        """Rows of one measure, "m", and what it needs."""
        measure = {"pool": "test_1k", "policies": "be", **measure,
                   "matrices": {"be": {"network": "bi", "by": "embeddings"},
                                "ce": {"network": "bi", "by": "pairs"}}}
        networks = {"bi": {"model": "m", "recipe": "r", "pictures": 20}, **(networks or {})}
        self.write("clone/rows.json", json.dumps({"networks": networks,
                                                  "measures": {"m": measure}}).encode())

    def test_a_network_may_begin_with_another_one_s_weights_in_its_own_shape(self):
        self.written({"other": {"model": "n", "weights_of": "bi", "recipe": "r"},
                      "as_it_is": {"model": "n", "weights_of": "bi"}})
        self.assertEqual(self.rows().needs("as_it_is"), ["bi"])
        self.run_rows("bi")
        self.run_rows("other")
        begun = self.calls("init-model")[-1]
        self.assertEqual(begun[begun.index("--weights-of") + 1],
                         os.path.join(self.folder, "work/networks/bi"))
        self.assertNotIn("--vocabulary", begun)
        self.assertTrue(begun[begun.index("--config") + 1].endswith("models/n.json"))
        learnt = len(self.calls("learn"))
        self.assertEqual(self.run_rows("as_it_is")[0], 0)
        self.assertEqual(len(self.calls("learn")), learnt)
        self.assertEqual(self.read("work/networks/as_it_is/manifest.json"), "begun")
        self.assertEqual(self.rows().result("as_it_is")["steps"], 0)
        self.assertIn("| as_it_is | 0 |", report.tables(self.rows()))

    def test_its_shape_may_name_those_weights_otherwise(self):
        self.written({"half": {"model": "n", "weights_of": "bi", "recipe": "r",
                               "renamed": {"layer.1.": "left_out.", "layer.2.": "layer.1."}}})
        self.run_rows("bi")
        self.run_rows("half")
        begun = self.calls("init-model")[-1]
        self.assertEqual(begun[begun.index("--weights-of") + 1],
                         os.path.join(self.folder, "work/networks/bi") +
                         ",layer.1.=left_out.,layer.2.=layer.1.")
        self.written({"half": {"model": "n", "start": "bi", "renamed": {"a": "b"}}})
        with self.assertRaisesRegex(claims.Failed, "has renamed, and no weights_of"):
            self.rows()

    def test_committed_weights_stand_for_a_network_that_was_trained_elsewhere(self):
        rows = json.loads(json.dumps(ROWS))
        rows["networks"]["bi"]["committed"] = True
        self.write("clone/rows.json", json.dumps(rows).encode())
        self.run_rows("bi")
        self.run_rows("cross")
        weights = os.path.join(self.folder, "clone/weights/bi")
        self.assertEqual(os.listdir(os.path.dirname(weights)), ["bi"])
        self.assertEqual(os.listdir(weights), ["manifest.json"])
        shutil.rmtree(os.path.join(self.folder, "work"))
        self.assertEqual(self.run_rows("cross")[0], 0)
        cross = self.calls("learn")[-1]
        self.assertEqual(cross[cross.index("--start") + 1], weights)
        self.assertEqual(len(self.calls("learn")), 3)

    def test_what_was_trained_elsewhere_is_trained_again_where_it_is_needed(self):
        self.run_rows("bi")
        self.run_rows("cross")
        shutil.rmtree(os.path.join(self.folder, "work"))
        found = self.read("clone/results/bi.json"), self.read("clone/results/cross.json")
        status, _, err = self.run_rows("apart")
        self.assertEqual(status, 0)
        self.assertNotIn("is another network", err)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "work/bi.seconds")))
        self.assertEqual(list(self.rows().result("apart")["networks"]), ["cross"])
        again = [call[call.index("--out") + 1] for call in self.calls("learn")[2:]]
        self.assertEqual([os.path.basename(out) for out in again], ["bi", "cross"])
        self.assertEqual(found, (self.read("clone/results/bi.json"),
                                 self.read("clone/results/cross.json")))
        self.assertEqual(self.run_rows("both")[0], 0)
        self.assertEqual(len(self.calls("learn")), 4)
        # As on another machine, where rounding is another.
        other = json.loads(self.read("clone/results/cross.json"))
        self.write("clone/results/cross.json", json.dumps(dict(other, network="elsewhere")).encode())
        shutil.rmtree(os.path.join(self.folder, "work/networks/cross"))
        os.remove(self.rows().result_path("apart"))
        self.assertIn("cross is another network than the one of results/cross.json",
                      self.run_rows("apart")[2])
        self.assertIn("**apart**, test_1k\n\nMeasured of another network than the results of: cross\n",
                      report.tables(self.rows()))

    def test_another_seed_has_networks_and_results_of_its_own(self):
        self.assertEqual(self.run_rows()[0], 0)
        self.assertNotIn("by seed", report.tables(self.rows()))
        self.assertEqual(self.run_rows("--seed", "12", "--device", "cuda")[0], 0)
        learnt = self.calls("learn")
        self.assertEqual(len(learnt), 4)
        for call, seed, device in zip(learnt, ["1", "1", "12", "12"], ["cpu", "cpu", "cuda", "cuda"]):
            self.assertEqual(call[call.index("--seed") + 1], seed)
            self.assertEqual(call[call.index("--device") + 1], device)
            self.assertEqual("--processes" in call, device == "cpu")
        begun = self.calls("init-model")[-1]
        self.assertEqual(begun[begun.index("--seed") + 1], "12")
        self.assertEqual(learnt[3][learnt[3].index("--start") + 1],
                         os.path.join(self.folder, "work/seed_12/networks/bi"))
        self.assertEqual(json.loads(self.read("clone/results/seed_12/bi.json"))["machine"]["device"],
                         "cuda")
        # The pictures are the same ones.
        self.assertFalse(os.path.exists(os.path.join(self.folder, "work/seed_12/scenes")))
        text = report.tables(self.rows())
        self.assertIn("| R@1 by seed | T→I | I→T |", text)
        self.assertIn("| be | 50.0, 50.0 | 50.0, 50.0 |", text)
        self.assertIn("done", self.run_rows("--list", "--seed", "12")[1])
        self.assertNotIn("done", self.run_rows("--list", "--seed", "3")[1])
        for seed in ("0", "x", "1000", "-1", "01", "--device"):
            self.assertEqual(self.run_rows("--seed", seed)[0], 2)
        self.assertEqual(self.run_rows("--seed")[0], 2)
        for device in ("auto", "cudo", "cuda:", "--seed"):
            self.assertEqual(self.run_rows("--device", device)[0], 2)

    def test_seeds_are_told_by_method_and_only_where_there_are_some(self):
        def result(*methods, part="all", minus=None):
            return {"parts": {part: [
                {"policy": name, "depth": 0, **{direction: {"r_at_1": [at_one, 0, 100],
                                                            "minus": minus or {}}
                                                for direction in report.DIRECTIONS}}
                for name, at_one in methods]}}
        two = [result(("a", 50), ("b", 60)), result(("b", 61), ("c", 70))]
        told = report.seeds_table({}, two, report.DIRECTIONS[:1])
        self.assertEqual(told, "| R@1 by seed | T→I |\n|---|---|\n| a | 50.0, - |\n"
                         "| b | 60.0, 61.0 |\n| c | -, 70.0 |\n")
        siblings = [result(("a", 50), part="count")] * 2
        self.assertEqual(report.seeds_table({}, siblings, report.DIRECTIONS), "")
        claim = {"says": "more", "of": "a", "is": ">", "than": "b", "part": "count"}
        self.assertEqual(report.seeds_table({"claims": [claim]}, siblings, report.DIRECTIONS), "")
        siblings[1] = result(("a", 50), part="count", minus={"b": [5, 1, 9]})
        self.assertIn("| more (count) | holds with 1 of 1 | holds with 1 of 1 |",
                      report.seeds_table({"claims": [claim]}, siblings, report.DIRECTIONS))
        os.makedirs(os.path.join(claims.HERE, "results/seed_2.old"))
        os.makedirs(os.path.join(claims.HERE, "results/seed_3"))
        self.assertEqual(self.rows().seeds(), [1, 3])

    def test_a_result_says_which_kernel_was_asked_for(self):
        os.environ.pop("OPENBLAS_CORETYPE", None)
        self.assertNotIn("openblas", runner.machine())
        os.environ["OPENBLAS_CORETYPE"] = "Haswell"
        self.assertEqual(runner.machine()["openblas"], "Haswell")
        del os.environ["OPENBLAS_CORETYPE"]

    def test_a_result_says_how_wide_the_vectors_were_which_one_name_may_not(self):
        self.assertIn(runner.machine()["vectors"], ["amx_bf16", "avx512f", "avx2"])

    def test_a_row_and_its_recipe_name_the_same_networks(self):
        self.write("clone/recipes/r.yaml", b"tasks: [{teacher: $teacher}]\n")
        status, _, err = self.run_rows("bi")
        self.assertEqual(status, 1)
        self.assertIn("row bi and recipes/r.yaml do not both name a teacher", err)
        self.assertEqual(self.calls("learn"), [])

    def test_words_that_are_drawn_in_are_parts_of_measures_that_name_them(self):
        self.written(parts=["words", "no_words", "word_said", "word_unsaid"])
        self.run_rows()
        self.assertEqual(list(self.rows().result("m")["parts"]),
                         ["words", "no_words", "word_said", "word_unsaid"])
        self.assertEqual(self.read("work/measures/m/words.tsv"), "test_1k/2\n")
        self.assertEqual(self.read("work/measures/m/no_words.tsv"), "test_1k/0\ntest_1k/1\n")
        self.assertEqual(self.read("work/measures/m/word_said.tsv"), "test_1k/2#en-2\n")
        self.assertEqual(self.read("work/measures/m/word_unsaid.tsv"), "test_1k/2#en-1\n")
        said = self.calls("tables")[2]
        self.assertTrue(said[said.index("--protocol") + 1].startswith("captions:"))

    def test_a_measure_may_be_of_folds_and_of_ensembles(self):
        self.written(folds=5, ensembles={"both": "be+ce"}, policies="both,be")
        self.run_rows()
        self.assertEqual(list(self.rows().result("m")["parts"]), ["all"])
        tables = self.calls("tables")[0]
        self.assertEqual(tables[tables.index("--ensemble") + 1], "both=be+ce")
        self.assertEqual(tables[tables.index("--protocol") + 1], "folds:5")
        embeddings, pairs = self.calls("scores")
        self.assertNotIn("--protocol", embeddings)
        self.assertEqual(pairs[pairs.index("--protocol") + 1], "folds:5")

    def test_what_papers_say_is_held_against_what_was_found(self):
        claim = {"says": "it lifts", "of": "be:ce 20 add_lambda:0.5", "is": ">", "than": "be",
                 "part": "all"}
        self.written(paper="A paper", policies="be,be:ce", claims=[claim])
        self.run_rows()
        text = report.tables(self.rows())
        self.assertIn("### A paper\n\n**m**, test_1k\n", text)
        self.assertIn("| it lifts | all | be:ce 20 add_lambda:0.5 > be | +12.5 [+1.0, +20.0] >: "
                      "holds |  |", text)
        for expected, low, high, said in ((">", 0.1, 5, "holds"), (">", -1, 5, "open"),
                                          (">", -1, 1, "fails"), (">", -9, -3, "fails"),
                                          (">", 0.1, 1, "holds"), ("=", -2, 2, "holds"),
                                          ("=", -3, 1, "open"), ("=", 2.1, 9, "fails"),
                                          ("=", -9, -2.1, "fails"), ("<", -4, -0.1, "holds"),
                                          ("<", -4, 0.1, "open"), ("<", 0.1, 4, "fails")):
            self.assertEqual(report.outcome(expected, [0, low, high]), said, (expected, low, high))
        signs = [report.sign([0, low, high]) for low, high in ((-2, 2), (.1, 3), (-3, -.1), (-3, 1))]
        self.assertEqual(signs, ["=", ">", "<", ""])

    def test_distractors_have_no_captions_so_that_words_for_a_picture_are_not_told(self):
        self.written()
        self.assertEqual(self.run_rows()[0], 0)
        self.assertIn("I→T", report.tables(self.rows()))
        self.written(distractors=True)
        text = report.tables(self.rows())
        self.assertIn("| all | T→I R@1 |", text)
        self.assertNotIn("I→T", text)

    def test_measures_that_cannot_be_read_are_refused(self):
        claim = {"says": "it lifts", "of": "be", "is": ">", "than": "be", "part": "all"}
        for measure, problem in (({"policies": "be,bi"}, "policy bi is of bi, which is no matrix"),
                                 ({"policies": "be:ec"}, "policy be:ec is of ec"),
                                 ({"references": ["ce"]}, "reference ce is no policy"),
                                 ({"claims": [dict(claim, of="ce")]}, "`of` names a method"),
                                 ({"claims": [dict(claim, than="ce")]}, "`than` a reference"),
                                 ({"claims": [dict(claim, **{"is": "!"})]}, "`is` is <, = or >"),
                                 ({"claims": [{"says": "it lifts"}]}, "a claim has says, not"),
                                 ({"parts": ["word_sayd"]}, "a part 'word_sayd', which nothing"),
                                 ({"policies": "be,be:ce", "claims": [dict(claim, of="be:ce")]},
                                  "a depth and a combination")):
            self.written(**measure)
            with self.assertRaisesRegex(claims.Failed, problem):
                self.rows()

    def test_what_ends_a_program_ends_the_row_and_leaves_no_result(self):
        self.write("bin/fail_learn", b"75")
        status, _, err = self.run_rows("bi")
        self.assertEqual(status, 75)
        self.assertIn("trainer learn ended with 75", err)
        self.assertIsNone(self.rows().result("bi"))
        self.write("bin/fail_learn", b"3")
        self.assertEqual(self.run_rows("bi")[0], 1)

    def test_what_has_changed_is_scored_again(self):
        self.run_rows()
        scores, seen = len(self.calls("scores")), len(self.calls("scenes"))
        os.remove(self.rows().result_path("both"))
        self.run_rows()
        self.assertEqual(len(self.calls("scores")), scores)
        # Another bi-encoder: its matrix, and the one behind it.
        self.write("work/networks/bi/manifest.json", b"another")
        os.remove(self.rows().result_path("both"))
        self.run_rows()
        self.assertEqual(len(self.calls("scores")), scores + 2)
        self.assertEqual(len(self.calls("scenes")), seen)
        # Another detector, and the same whose numbers are written otherwise.
        for source in ("clone/net", "clone/scale"):
            self.write(source, b"another")
            os.remove(self.rows().result_path("apart"))
            self.run_rows()
            self.assertGreater(len(self.calls("scenes")), seen)
            seen = len(self.calls("scenes"))

    def test_time_is_that_of_all_runs_of_a_row(self):
        self.write("bin/fail_learn", b"75")
        self.run_rows("bi")
        before = float(self.read("work/bi.seconds"))
        self.assertGreater(before, 0)
        self.write("work/bi.seconds", b"7200")
        os.remove(os.path.join(self.folder, "bin/fail_learn"))
        self.run_rows("bi")
        self.assertGreaterEqual(self.rows().result("bi")["seconds"], 7200)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "work/bi.seconds")))

    def test_a_folder_is_one_run_s(self):
        os.makedirs(os.path.join(self.folder, "work"))
        with runner.lock(os.path.join(self.folder, "work")):
            status, _, err = self.run_rows("bi")
        self.assertEqual(status, 75)
        self.assertIn("another run works in", err)

    def test_half_a_line_of_metrics_is_passed_over(self):
        path = os.path.join(self.folder, "metrics.jsonl")
        with open(path, "w", encoding="utf-8") as metrics:
            metrics.write('{"event": "step", "steps": 2}\n{"event": "st\n7\n{"event": "development"}\n')
        self.assertEqual([report["event"] for report in runner.reports_of(path)],
                         ["step", "development"])

    def test_a_damaged_file_is_named(self):
        def damage(name, text):
            path = os.path.join(self.folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            runner.write(path, text)
            return path
        for text in ("{", "[]", "7", '{"networks": {"a": 7}, "measures": {}}', '{"networks": {}}'):
            path = damage("rows/rows.json", text)
            with self.assertRaisesRegex(runner.Failed, "rows/rows.json"):
                claims.Rows(path, self.folder)
        damage("clone/results/bi.json", '{"a')
        status, _, err = self.run_rows("--list")
        self.assertEqual(status, 1)
        self.assertIn("clone/results/bi.json is no JSON", err)
        os.remove(os.path.join(self.folder, "clone/results/bi.json"))
        seconds = damage("work/bi.seconds", "abc")
        status, _, err = self.run_rows("bi")
        self.assertEqual(status, 1)
        self.assertIn(f"{seconds} has no number of seconds", err)
        for text in ("nan", "-1", "inf"):
            with self.assertRaisesRegex(runner.Failed, "has no number of seconds"):
                runner.number_of(damage("work/bi.seconds", text))
        with open(seconds, "wb") as source:
            source.write(b"\xff")
        with self.assertRaisesRegex(runner.Failed, "bi.seconds is no text"):
            runner.number_of(seconds)
        with self.assertRaisesRegex(runner.Failed, "lines, line 2, is no JSON"):
            runner.lines_of(damage("x/lines", "{}\n{\n"))

    def test_a_wrong_command_line_says_what_is_wrong(self):
        for words, said in ((["--seed", "1000"], "--seed: '1000'"), (["--seed"], "--seed has no value"),
                            (["--device", "tpu"], "--device: 'tpu'"), (["--foo"], "'--foo' is no flag"),
                            (["--list", "x"], "'x' stands beside")):
            status, _, err = self.run_rows(*words)
            self.assertEqual(status, 2)
            self.assertIn(said, err)
            self.assertIn("usage: deploy/scenes/claims.py", err)

    def test_a_program_ends_with_who_started_it(self):
        path = os.path.join(self.folder, "pid")
        child = os.fork()
        if child == 0:
            try:
                runner.run(["/bin/sh", "-c", f"echo $$ >{path}.tmp; mv {path}.tmp {path}; "
                            "exec sleep 3600 >/dev/null 2>&1"])
            finally:
                os._exit(0)

        def runs(process):
            # One that has ended and that nobody has reaped has no words.
            try:
                with open(f"/proc/{process}/cmdline", "rb") as words:
                    return bool(words.read())
            except OSError:
                return False

        def await_that(done):
            end = time.monotonic() + 60
            while not done() and time.monotonic() < end:
                time.sleep(0.01)
            return done()
        self.assertTrue(await_that(lambda: os.path.exists(path)))
        started = int(runner.read(path))
        self.assertTrue(runs(started))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        ended = await_that(lambda: not runs(started))
        if not ended:
            os.kill(started, signal.SIGKILL)
        self.assertTrue(ended)

    def test_a_signal_is_the_program_s_to_end_by(self):
        # It writes what it has when it is told to end, and that is waited for.
        script = self.write("slow", b"""#!/bin/sh
trap 'kill -KILL $!; echo written > "$1.done"; exit 75' TERM
sleep 1000 &
echo ready > "$1"
wait
""")
        os.chmod(script, stat.S_IRWXU)
        mark = os.path.join(self.folder, "mark")
        os.mkfifo(mark)
        code = (f"import sys; sys.path.insert(0, {os.path.dirname(runner.__file__)!r}); import runner\n"
                f"try:\n    runner.run([{script!r}, {mark!r}])\n"
                "except runner.Failed as failure:\n    sys.exit(failure.status)")
        with subprocess.Popen([sys.executable, "-B", "-c", code]) as own:
            with open(mark, encoding="utf-8") as ready:
                self.assertEqual(ready.read(), "ready\n")
            own.send_signal(signal.SIGINT)
            self.assertEqual(own.wait(), 75)
        self.assertTrue(os.path.exists(mark + ".done"))

    def test_rows_that_cannot_be_done_are_refused(self):
        self.assertEqual(self.run_rows("bo")[0], 2)
        self.assertEqual(claims.main(["bi"], self.rows(), self.programs), 2)
        status, _, err = self.run_rows("cross")
        self.assertEqual(status, 1)
        self.assertIn("row cross needs bi, which has no result", err)
        self.assertEqual(self.calls("learn"), [])
        self.write("clone/rows.json", json.dumps({"networks": {"a": {"start": "b"}},
                                                  "measures": {}}).encode())
        with self.assertRaisesRegex(claims.Failed, "needs b, which does not stand above it"):
            self.rows()
        self.write("clone/rows.json", json.dumps({"networks": {"a": {"setps": 3}},
                                                  "measures": {}}).encode())
        with self.assertRaisesRegex(claims.Failed, "row a has 'setps', which means nothing"):
            self.rows()

    def test_the_list_tells_what_is_missing(self):
        self.run_rows("bi")
        out = self.run_rows("--list")[1]
        self.assertIn("bi                           done", out)
        self.assertIn("cross                        missing  needs bi", out)

    def test_rows_of_the_repository_stand_in_order(self):
        rows = claims.Rows(sys.argv[2])
        self.assertGreater(len(rows.names()), 3)
        # What they name is there, and nothing else.
        for folder, key, end in (("models", "model", ".json"), ("recipes", "recipe", ".yaml")):
            files = os.listdir(os.path.join(os.path.dirname(sys.argv[2]), folder))
            named = {row[key] + end for row in rows.networks.values() if key in row}
            self.assertEqual(named, {name for name in files if name.endswith(end)})

    def test_results_of_the_repository_are_of_one_network_each(self):
        rows = claims.Rows(sys.argv[2])
        results = {name: rows.result(name) for name in rows.measures if rows.result(name)}
        self.assertGreater(len(results), 10)
        for name, result in results.items():
            self.assertEqual(report.of_others(rows, result), [], name)


if __name__ == "__main__":
    cases.main()
