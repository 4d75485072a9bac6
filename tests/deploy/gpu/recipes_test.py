"""The part learn: what it runs, and what it makes of what that says."""

import json
import os
import re

import cases
import jobs
import parts
import random_models
import recipes

MODEL = "cd" * 32
CONTROL = f"#!/bin/sh\necho \"$*\"\ncase $* in *--out*) touch \"$4\" ;; *) echo {MODEL} ;; esac\n"
# Reports, by recipe and precision, what $PLANTED has a line of, or fails with the line.
TRAINER = """#!/bin/sh
echo "$*"
while [ $# -gt 0 ]; do
  case $1 in --recipe) recipe=$2 ;; --out) out=$2 ;; esac
  shift
done
lines=$(grep "^$(basename "$recipe" .yaml) " "$PLANTED" | cut -d ' ' -f 2-)
case $lines in {*) ;; *) echo "$lines"; exit 1 ;; esac
mkdir -p "$out"
echo "$lines" >"$out/metrics.jsonl"
"""
RECIPE = """# Of a paper.
tasks:
  - {objective: mlm, batch: 768}
steps: 2000
rate: {peak: 5.0e-5, warmup_steps: 0}
"""


def reports(*losses):
    """One a line, of {objective: loss}, 3 seconds each."""
    return [{"event": "note", "message": "continues"}] + [
        {"event": "step", "elapsed_seconds": 3 * number,
         "tasks": [{"objective": name, "loss": loss} for name, loss in of.items()]}
        for number, of in enumerate(losses, 1)]


JOINT = reports({"hinge": 0.3, "pairwise": 0.7}, {"hinge": 0.2, "pairwise": 0.69})
PRETRAINED = reports({"mlm": 10.1}, {"mlm": 6.0, "matching": 0.7}, {"mlm": 4.0, "matching": 0.69})


class LearnTest(cases.Case):

    def setUp(self):
        super().setUp()
        jobs.ROOT = random_models.ROOT = recipes.ROOT = self.folder
        jobs.made_up_regions.write = lambda folder, items: os.makedirs(folder)
        self.write("loadtest/baseline/base.json",
                   b'{"transformer": {"layer_count": 12}, "embedding": {"dimension": 768}, "cross_encoder": {},'
                   b' "tokenizer": {"max_token_count": 70}}')
        for name in recipes.RECIPES:
            self.write(f"services/trainer/recipes/{name}.yaml", RECIPE.encode())
        for name, text in (("sightlinectl/sightlinectl", CONTROL), ("trainer/trainer", TRAINER)):
            os.chmod(self.write("bin/services/" + name, text.encode()), 0o755)
        self.planted = {f"{recipe}-{precision}": lines for precision in ("float32", "bfloat16")
                        for recipe, lines in (("retrieve_fast_joint", JOINT), ("oscar_pretrain", PRETRAINED))}

    def learn(self, cpu_only=False, **changed):
        planted = self.planted | {name.replace("__", "-"): lines for name, lines in changed.items()}
        os.environ["PLANTED"] = self.write("planted", "".join(
            f"{name} {line if isinstance(line, str) else json.dumps(line)}\n"
            for name, lines in planted.items() for line in lines).encode())
        out = os.path.join(self.folder, "out")
        os.makedirs(out, exist_ok=True)
        held = recipes.learn(parts.Part("learn", os.path.join(self.folder, "bin"), out, cpu_only))
        with open(os.path.join(out, "learn.txt"), encoding="utf-8") as file:
            text = file.read()
        with open(os.path.join(out, "learn.json"), encoding="utf-8") as file:
            return held, text, json.load(file)

    def test_each_recipe_learns_on_the_device_in_both_precisions(self):
        held, text, result = self.learn()
        self.assertTrue(held)
        self.assertEqual(len(re.findall(r"--start " + MODEL + r" --steps 100 --device cuda\n", text)), 8)
        self.assertRegex(text, r"--corpus regions:\S+/2000.regions")
        with open(os.path.join(self.folder, "out/learn/store.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["tags"], {"max_token_count": 70, "token_type": 1})
        self.assertIn("learning, retrieve_fast_joint, bfloat16: 6000.00 ms, hinge 0.300 to 0.200, "
                      "pairwise 0.700 to 0.690", text)
        self.assertEqual(result["runs"][2]["losses"], {"mlm": [10.1, 4.0], "matching": [0.7, 0.69]})
        self.assertEqual(result["runs"][2]["seconds"], 9)

    def test_a_cpu_has_small_batches_and_a_smaller_model(self):
        held, text, _ = self.learn(cpu_only=True)
        self.assertTrue(held)
        self.assertIn("--steps 10 --device cpu --threads 1", text)
        with open(os.path.join(self.folder, "out/learn/oscar_pretrain-bfloat16.yaml"), encoding="utf-8") as file:
            self.assertEqual(file.read(), RECIPE.replace("768", "8").replace("5.0e-5", "3.0e-4") +
                             "report_every: 2\nprecision: bfloat16\n")
        self.assertNotIn("batch: 8", recipes.shortened(RECIPE, False))

    def test_words_that_are_told_no_better_do_not_hold(self):
        held, text, _ = self.learn(**{"oscar_pretrain__float32": reports({"mlm": 4.0}, {"mlm": 4.0})})
        self.assertFalse(held)
        self.assertIn("learning, oscar_pretrain, float32: 6000.00 ms, NOT MET, mlm 4.000 to 4.000", text)

    def test_bfloat16_that_ends_elsewhere_does_not_hold(self):
        self.assertTrue(self.learn(**{"retrieve_fast_joint__bfloat16": reports({"hinge": 0.21})})[0])
        held, text, _ = self.learn(**{"retrieve_fast_joint__bfloat16": reports({"hinge": 0.25})})
        self.assertFalse(held)
        self.assertIn("learning, retrieve_fast_joint, bfloat16: 3000.00 ms, NOT MET, hinge 0.250 to 0.250", text)

    def test_a_loss_that_is_no_number_does_not_hold(self):
        held, text, _ = self.learn(**{"retrieve_fast_joint__float32": reports({"hinge": 0.2}, {"hinge": None})})
        self.assertFalse(held)
        self.assertIn("NOT MET, hinge 0.200 to no number", text)

    def test_a_run_that_fails_does_not_hold(self):
        held, text, result = self.learn(**{"oscar_pretrain__bfloat16": ["no memory"]})
        self.assertFalse(held)
        self.assertIn("learning, oscar_pretrain, bfloat16: not measured, NOT MET, failed", text)
        self.assertIsNone(result["runs"][3]["losses"])

    def test_a_cpu_whose_libtorch_lacks_it_leaves_bfloat16_out(self):
        lacking = ["precision bfloat16: this machine's LibTorch does not compute in it on cpu"]
        self.assertTrue(self.learn(cpu_only=True, **{name + "__bfloat16": lacking for name in recipes.RECIPES})[0])
        self.assertFalse(self.learn(**{name + "__bfloat16": lacking for name in recipes.RECIPES})[0])


cases.main()
