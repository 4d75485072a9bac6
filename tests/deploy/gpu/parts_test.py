"""What parts make of what programs print, keep and log."""

import contextlib
import io
import json
import os

import cases
import goals
import parts
import random_models

MODEL = "ab" * 32
PROGRAM = """#!/bin/sh
echo "$0 $* SIGHTLINE_DEVICE=$SIGHTLINE_DEVICE" | sed 's|.*/||'
case $* in *fails*) exit 1 ;; esac
while [ $# -gt 0 ]; do
  [ "$1" != --json ] || echo "$PLANTED" >"$2"
  shift
done
case $0 in
  *check_training) echo "max_relative_error: 3e-05 over 9 of training's numbers" ;;
  *) echo "max_abs_error: 2e-07 over 6 numbers" ;;
esac
"""


class PartsTest(cases.Case):

    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.folder, "out")
        os.makedirs(self.out)
        for name in ("deploy/gpu/device_check", "deploy/gpu/stack_check", "tests/parity/check_golden",
                     "tests/parity/check_training",
                     "deploy/gpu/model_check"):
            os.chmod(self.write("bin/" + name, PROGRAM.encode()), 0o755)
        self.control(MODEL)
        random_models.ROOT = self.folder
        self.write("loadtest/baseline/base.json", b'{"transformer": {"layer_count": 12}, "embedding": {}}')
        self.golden("oscar", "oscar")
        self.write("goldens/tokenizer/README")
        parts.GOLDENS = os.path.join(self.folder, "goldens")
        os.environ["PLANTED"] = json.dumps({"device": "the CPU", "rows": 100000, "dimension": 512, "referee": "cpu",
                                            "ceilings": {}, "searches": [{"batch": 1, "seconds": 0.1, "wrong": ""}]})

    def control(self, says):
        os.chmod(self.write("bin/services/sightlinectl/sightlinectl", f"#!/bin/sh\necho {says}\n".encode()), 0o755)

    def golden(self, folder, family):
        self.write(f"goldens/{folder}/case.safetensors")
        self.write(f"goldens/{folder}/config.json", json.dumps({"family": family}).encode())

    def part(self, name, cpu_only):
        return parts.Part(name, os.path.join(self.folder, "bin"), self.out, cpu_only)

    def kept(self, name):
        with open(os.path.join(self.out, name), encoding="utf-8") as file:
            return json.load(file) if name.endswith(".json") else file.read()

    def test_searches_on_a_gpu_are_the_cpus_and_a_brute_forces(self):
        self.assertTrue(parts.search(self.part("search", False)))
        text = self.kept("search.txt")
        for words in ("--rows 100000 --dimension 512 --referee cpu",
                      "--rows 1000000 --dimension 768 --referee cpu --ivf_rows 1000000",
                      "--rows 10000000 --dimension 512 --referee brute_force --ivf_rows 0"):
            self.assertIn(words, text)
        self.assertNotIn("--device cpu", text)
        self.assertEqual((self.kept("search.json")["asked"], len(self.kept("search.json")["runs"])), (3, 3))

    def test_without_one_the_cpus_own_search_is_held_to_a_brute_force(self):
        self.assertTrue(parts.search(self.part("search", True)))
        self.assertIn("--device cpu --referee brute_force", self.kept("search.txt"))

    def test_models_are_every_golden_in_each_precision_and_the_stack(self):
        self.assertTrue(parts.models(self.part("models", False)))
        models = self.kept("models.json")
        self.assertEqual([(each["folder"], each["precision"], each["met"], each["max_abs_error"])
                          for each in models["goldens"]],
                         [("oscar", "float32", True, 2e-7), ("oscar", "bfloat16", True, 2e-7)])
        self.assertIsNotNone(models["stack"])
        self.assertIsNotNone(models["whole"])
        self.assertRegex(self.kept("models.txt"), rf"model_check --precision bfloat16 --json \S+/whole.json \S+/{MODEL}\n")
        self.assertIn("--device cuda:0", self.kept("models.txt"))
        self.assertIn("$ deploy/gpu/stack_check --json", self.kept("models.txt"))

    def test_without_one_the_cpu_computes_small_passes(self):
        self.assertTrue(parts.models(self.part("models", True)))
        self.assertIn("$ deploy/gpu/stack_check --device cpu --layers 1 ", self.kept("models.txt"))
        self.assertIn("model_check --device cpu --rounds 1 --json", self.kept("models.txt"))
        self.assertEqual(self.kept("model/store.json")["transformer"]["layer_count"], 2)

    def test_without_a_model_the_part_does_not_hold(self):
        self.control("nothing")
        self.assertFalse(parts.models(self.part("models", False)))
        self.assertIsNone(self.kept("models.json")["whole"])

    def test_what_has_no_blocks_is_held_to_float32_alone(self):
        self.golden("saf", "sgraf")
        parts.models(self.part("models", False))
        self.assertEqual([(each["folder"], each["precision"]) for each in self.kept("models.json")["goldens"]],
                         [("oscar", "float32"), ("saf", "float32"), ("oscar", "bfloat16")])

    def test_a_golden_that_has_steps_of_learning_is_held_to_them(self):
        self.golden("saf", "sgraf")
        self.write("goldens/oscar/training.json")
        self.assertTrue(parts.models(self.part("models", False)))
        self.assertEqual(self.kept("models.json")["training"],
                         [{"folder": "oscar", "met": True, "max_relative_error": 3e-5}])
        self.assertRegex(self.kept("models.txt"), r"check_training --device cuda:0 \S+/oscar\n")
        # Another folder's network learns by what stands here.
        self.write("goldens/steps_fails/training.json")
        self.assertFalse(parts.models(self.part("models", True)))
        self.assertEqual([each["folder"] for each in self.kept("models.json")["goldens"][:2]], ["oscar", "saf"])
        self.assertFalse(self.kept("models.json")["training"][1]["met"])

    def test_a_golden_that_is_not_met_fails_the_part(self):
        os.rename(os.path.join(parts.GOLDENS, "oscar"), os.path.join(parts.GOLDENS, "fails"))
        self.assertFalse(parts.models(self.part("models", True)))
        goldens = self.kept("models.json")["goldens"]
        self.assertEqual((goldens[0]["met"], goldens[0]["max_abs_error"]), (False, None))

    def test_what_an_earlier_run_has_measured_is_nobodys(self):
        self.write("out/search-0.json", json.dumps({"searches": [], "stale": True}).encode())
        self.write("bin/deploy/gpu/device_check", b"#!/bin/sh\nexit 1\n")
        os.chmod(os.path.join(self.folder, "bin/deploy/gpu/device_check"), 0o755)
        self.assertFalse(parts.search(self.part("search", True)))
        self.assertEqual(self.kept("search.json"), {"asked": 1, "runs": []})

    def test_searches_of_none_do_not_hold(self):
        os.environ["PLANTED"] = '{"searches": [], "ceilings": {}}'
        self.assertFalse(parts.search(self.part("search", True)))
        self.assertIn("device_check has measured nothing", self.kept("search.txt"))

    def run_part(self, name, cpu_only=True):
        """As main does: the status."""
        part = self.part(name, cpu_only)
        status = parts.status_of(part)
        part.end(status)
        part.close()
        return status

    def keep_all(self, **others):
        """What every part before the table leaves that has held; `others` by name, None: not there."""
        self.run_part("search")
        self.run_part("models")
        held = {"held": True, "status": 0}
        kept = {"faiss": held, "eager": held, "sanitizer": held, "encode": held | {
            "items": 48, "on_cpu": False, "runs": [
                {"reranks": False, "precision": "bfloat16", "pictures_per_second": 100.0, "seconds": 2.0,
                 "device": {"busy_share": 0.5, "waited": {"host": 1.0}}, "agreement": 1}]}, "train": held | {
            "float32": {"queries": 200, "recall_at_1": 0.5, "seconds": 9}, "bfloat16": None, "left_out": True,
            "interval": [0.43, 0.57]}, "learn": held | {"on_cpu": False, "runs": [
                {"recipe": "oscar_pretrain", "precision": "float32", "left_out": False, "losses": {"mlm": [9.0, 4.0]},
                 "seconds": 9}]}, "fleet": held | {
            "items": 1000000, "few": 8000, "on_cpu": False, "retrieved": 0.001, "reranked": 0.004,
            "estimated_reranked_among_all": 0.005, "precisions": []}}
        for name, value in (kept | others).items():
            path = self.write(f"out/{name}.json", json.dumps(value).encode())
            if value is None:
                os.unlink(path)

    def test_what_all_parts_have_measured_is_in_the_table(self):
        self.keep_all()
        self.assertEqual(self.run_part("table"), 0)
        self.assertTrue(self.kept("table.json")["held"])
        rows = {row["what"]: row for row in self.kept("table.json")["rows"]}
        self.assertIn("golden oscar, float32", rows)
        self.assertIn("100k x 512, batch 1", rows)
        self.assertEqual(goals.told(rows["fleet, retrieved among 1 000 000, p50"]), "at most 2 ms: met")
        self.assertEqual(goals.told(rows["corpus_encoder, 48 embeddings, bfloat16"]), "busy 90 %: missed")
        self.assertEqual(rows["training, bfloat16"]["held"], "left out")
        self.assertEqual(rows["learning, oscar_pretrain, float32"]["held"], "mlm 9.000 to 4.000")

    def faults_with(self, **others):
        self.keep_all(**others)
        status = self.run_part("table")
        self.assertFalse(self.kept("table.json")["held"])
        return status, self.kept("table.json")["faults"]

    def test_a_table_names_what_is_missing_which_is_no_failure_of_it(self):
        self.assertEqual(self.faults_with(search=None),
                         (3, [f"no search.json in {self.out}; run --only search"]))
        self.assertEqual(self.faults_with(encode={"runs": []}), (3, ["encode has not ended; run --only encode"]))
        self.assertEqual(self.faults_with(fleet={"held": False, "status": 3})[0], 3)

    def test_a_table_names_what_did_not_hold_or_is_damaged(self):
        self.assertEqual(self.faults_with(fleet={"held": False, "status": 1, "exit_status": 1}, search=None),
                         (1, [f"no search.json in {self.out}; run --only search",
                              "fleet did not hold; fleet.txt says why"]))
        held = {"held": True, "status": 0}
        for value in (held, held | {"runs": []}, held | {"runs": [{"searches": [{"seconds": 0}]}]}):
            self.assertEqual(self.faults_with(search=value), (1, ["search.json is damaged; run --only search"]))
        self.keep_all()
        self.write("out/train.json", b'{"held": tr')
        self.assertEqual(self.run_part("table"), 1)
        self.assertEqual(self.kept("table.json")["faults"], ["train.json is damaged; run --only train"])

    def test_a_table_with_something_wrong_does_not_hold(self):
        os.rename(os.path.join(parts.GOLDENS, "oscar"), os.path.join(parts.GOLDENS, "fails"))
        self.assertEqual(self.faults_with()[0], 1)

    def test_a_part_without_a_gpu_is_missing_something_but_not_if_anything_else_is_wrong(self):
        for program in ("device_check", "stack_check"):
            os.chmod(self.write("bin/deploy/gpu/" + program, b"#!/bin/sh\nexit 3\n"), 0o755)
        self.assertEqual(self.run_part("search"), 3)
        self.assertEqual((self.kept("search.json")["held"], self.kept("search.json")["status"]), (False, 3))
        self.assertEqual(self.run_part("models"), 3)
        os.rename(os.path.join(parts.GOLDENS, "oscar"), os.path.join(parts.GOLDENS, "fails"))
        self.assertEqual(self.run_part("models"), 1)

    def raised(self, error):
        def raises(_):
            raise error
        self.addCleanup(parts.PARTS.update, eager=parts.PARTS["eager"])
        parts.PARTS["eager"] = raises
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(self.run_part("eager"), 1)
        self.assertFalse(self.kept("eager.json")["held"])
        return said.getvalue()

    def test_what_a_part_raises_is_one_line(self):
        self.assertEqual(self.raised(OSError(28, "No space left on device", "x.npz")),
                         "check: eager: [Errno 28] No space left on device: 'x.npz'\n")
        self.assertEqual(self.raised(KeyError("passes")), "check: eager: KeyError: 'passes'; more is in eager.txt\n")
        self.assertIn("Traceback", self.kept("eager.txt"))

    def test_servers_alone_are_told_of_the_device(self):
        part = self.part("search", False)
        self.assertIn("SIGHTLINE_DEVICE=cuda", part.run("deploy/gpu/stack_check", device=True)[1])
        self.assertNotIn("=cuda", part.run("deploy/gpu/stack_check")[1])


cases.main()
