"""The parts encode and train: what they run, and what they make of what that says."""

import json
import os

import cases
import jobs
import parts
import random_models

MODEL = "cd" * 32
DEVICE = ("  device    busy 91.5 % of 20.0 s, 313 passes; waited 1.2 s for the host, 0.0 s for files to be written, "
          "0.5 s for pictures (read)")
REPORT = """generation 7ca4 (published)
  items     {images} images, {images} captions; in quarantine 0 images, 0 captions
  encode    88.9/s 0.5 MB/s; waited 0.1 s for pictures
{device}
"""
PROGRESS = [{"event": "progress", "phase": "read", "done": 9, "elapsed_seconds": 0.1},
            {"event": "progress", "phase": "encode", "done": 40, "elapsed_seconds": 1.0},
            {"event": "progress", "phase": "encode", "done": 48, "elapsed_seconds": 2.0}]
CONTROL = f"#!/bin/sh\necho \"$*\"\ncase $* in *--out*) touch \"$4\" ;; *) echo {MODEL} ;; esac\n"
# Leaves the manifest of the generation that it tells of.
ENCODER = """#!/bin/sh
echo "$*"
cat "$PLANTED"
! grep -q "job ended early" "$PLANTED" || exit 1
folder=$2/indexes/images/generations/7ca4
mkdir -p "$folder"
echo '{"encoding": {"precision": "bfloat16", "agreement": 0.9975}}' >"$folder/manifest.json"
"""
# Finds, in each precision, as much as $PLANTED has it, or fails with its line.
TRAINER = """#!/bin/sh
[ "$1" = train ] || exit 0
while [ $# -gt 0 ]; do
  case $1 in --config) config=$2 ;; --out) out=$2 ;; esac
  shift
done
precision=$(sed -n 's/^precision: //p' "$config")
line=$(grep "^$precision" "$PLANTED" | cut -d ' ' -f 2-)
case $line in {*) ;; *) echo "$line"; exit 1 ;; esac
mkdir -p "$out"
echo '{"event": "step", "elapsed_seconds": 12.5}' >"$out/metrics.jsonl"
echo "$line" >>"$out/metrics.jsonl"
"""


def validation(recall, **more):
    return {"event": "validation", "validation": {"queries": 200, "retrieval": {"recall_at_1": recall}, **more}}


class JobsCase(cases.Case):

    def setUp(self):
        super().setUp()
        jobs.ROOT = random_models.ROOT = self.folder
        jobs.made_up_regions.write = lambda folder, items: os.makedirs(folder)
        jobs.made_up_pictures.write = os.makedirs
        self.write("loadtest/baseline/base.json", b'{"transformer": {"layer_count": 12}, '
                   b'"embedding": {"dimension": 768}, "cross_encoder": {}}')
        for name in ("train.yaml", "train_on_cpu.yaml"):
            self.write("deploy/gpu/" + name, b"bi: {epochs: 1}\n")
        for name, text in (("sightlinectl/sightlinectl", CONTROL), ("corpus_encoder/corpus_encoder", ENCODER),
                           ("trainer/trainer", TRAINER)):
            os.chmod(self.write("bin/services/" + name, text.encode()), 0o755)

    def plant(self, text):
        os.environ["PLANTED"] = self.write("planted", text.encode())

    def run_part(self, name, cpu_only):
        out = os.path.join(self.folder, "out")
        os.makedirs(out, exist_ok=True)
        held = getattr(jobs, name)(parts.Part(name, os.path.join(self.folder, "bin"), out, cpu_only))
        with open(os.path.join(out, name + ".txt"), encoding="utf-8") as file:
            text = file.read()
        with open(os.path.join(out, name + ".json"), encoding="utf-8") as file:
            return held, text, json.load(file)


class EncodeTest(JobsCase):

    def plant_report(self, images, device=DEVICE):
        self.plant("".join(json.dumps(line) + "\n" for line in PROGRESS) + REPORT.format(images=images, device=device))

    def test_a_gpu_encodes_ready_regions_in_bfloat16_with_a_model_of_base_size(self):
        self.plant_report(20000)
        held, text, result = self.run_part("encode", False)
        self.assertTrue(held)
        self.assertRegex(text, f"--model {MODEL} --corpus regions:.*/20000.regions --device cuda --precision bfloat16")
        run = result["runs"][0]
        self.assertEqual(run["device"], {"busy_share": 0.915, "seconds": 20.0, "passes": 313,
                                         "waited": {"host": 1.2, "files": 0.0, "pictures": 0.5}})
        self.assertEqual((run["pictures_per_second"], run["agreement"]), (24.0, 0.9975))
        self.assertIn("24 pictures/s, busy 91.5 %, 1.2 s for host, 0.5 s for pictures, agreement 0.9975; "
                      "busy 90 %: met", text)
        with open(os.path.join(self.folder, "out/encode/store.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["transformer"], {"layer_count": 12})

    def test_an_encoder_alone_comes_first_and_then_a_model_that_reranks(self):
        self.plant_report(20000)
        configs = []
        add_oscar = random_models.add_oscar

        def kept(part, store, reranks):
            found = add_oscar(part, store, reranks)
            with open(store + ".json", encoding="utf-8") as file:
                configs.append("cross_encoder" in json.load(file))
            return found

        random_models.add_oscar = kept
        self.addCleanup(setattr, random_models, "add_oscar", add_oscar)
        _, _, result = self.run_part("encode", False)
        self.assertEqual(configs, [False, True])
        self.assertEqual([row["what"] for row in jobs.encode_rows(result)],
                         ["corpus_encoder, 20000 embeddings, bfloat16",
                          "corpus_encoder, 20000 embeddings and features, bfloat16"])

    def test_a_device_that_waits_misses_the_goal_and_fails_nothing(self):
        self.plant_report(20000, DEVICE.replace("91.5", "89.9"))
        held, text, _ = self.run_part("encode", False)
        self.assertTrue(held)
        self.assertIn("busy 90 %: missed", text)

    def test_a_report_without_a_device_does_not_hold_on_a_gpu(self):
        self.plant_report(20000, "")
        held, text, _ = self.run_part("encode", False)
        self.assertFalse(held)
        self.assertIn("the job's report has no line of a device", text)

    def test_a_cpu_encodes_a_few_with_a_smaller_model_and_has_no_goal(self):
        self.plant_report(48, "")
        held, text, result = self.run_part("encode", True)
        self.assertTrue(held)
        self.assertIn("48.regions --device cpu --precision float32", text)
        self.assertEqual(jobs.encode_rows(result)[0]["goals"], [])
        with open(os.path.join(self.folder, "out/encode/store.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["embedding"]["dimension"], 128)

    def test_an_item_that_is_not_encoded_does_not_hold(self):
        self.plant_report(47, "")
        self.assertFalse(self.run_part("encode", True)[0])

    def test_a_job_that_tells_nothing_is_told_as_that(self):
        self.plant("out of memory\n")
        held, text, _ = self.run_part("encode", False)
        self.assertFalse(held)
        self.assertIn("not measured, no rate; busy 90 %: missed", text)

    def test_regions_that_were_imported_serve_again(self):
        self.plant_report(48, "")
        self.run_part("encode", True)
        self.assertNotIn("import-regions", self.run_part("encode", True)[1])

    def test_an_import_that_fails_leaves_nothing_that_a_later_run_would_take(self):
        self.plant_report(48, "")
        control = "bin/services/sightlinectl/sightlinectl"
        os.chmod(self.write(control, CONTROL.replace('touch "$4"', 'touch "$4"; exit 1').encode()), 0o755)
        self.assertFalse(self.run_part("encode", True)[0])
        os.chmod(self.write(control, CONTROL.encode()), 0o755)
        held, text, _ = self.run_part("encode", True)
        self.assertTrue(held)
        self.assertIn("import-regions", text)

    def test_regions_that_the_job_cannot_read_are_made_anew_by_the_next_run(self):
        regions = os.path.join(self.folder, "out/encode/48.regions")
        for words in (f"DATA_LOSS: {regions}: truncated", f"8 of 48 pictures are bad; the first: {regions}: checksum"):
            self.plant(json.dumps({"event": "job ended early", "error": words}))
            held, text, result = self.run_part("encode", True)
            self.assertFalse(held)
            self.assertIn(f"{regions} may be damaged and is deleted", text)
            self.assertEqual(len(result["runs"]), 1)
            self.plant_report(48, "")
            self.assertTrue(self.run_part("encode", True)[0])

    def test_regions_are_kept_where_the_job_fails_for_another_reason(self):
        self.plant(json.dumps({"event": "job ended early", "error": "FAILED_PRECONDITION: no device"}))
        held, _, result = self.run_part("encode", True)
        self.assertFalse(held)
        self.assertEqual(len(result["runs"]), 2)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "out/encode/48.regions")))


class TrainTest(JobsCase):

    def plant_runs(self, float32, bfloat16):
        self.plant("".join(f"{name} {run if isinstance(run, str) else json.dumps(run)}\n"
                           for name, run in (("float32", float32), ("bfloat16", bfloat16))))

    def test_both_precisions_are_trained_and_compared(self):
        self.plant_runs(validation(60.0), validation(53.5))
        held, text, result = self.run_part("train", False)
        self.assertTrue(held)
        self.assertEqual(text.count("--device cuda"), 2)
        self.assertEqual(result["float32"], {"queries": 200, "recall_at_1": 0.6, "seconds": 12.5})
        self.assertIn("training, float32: 12500.00 ms, R@1 60.0 of 200, 53.1 to 66.5\n", text)
        self.assertIn("training, bfloat16: 12500.00 ms, R@1 53.5", text)

    def test_bfloat16_below_the_interval_does_not_hold_and_above_it_does(self):
        self.plant_runs(validation(60.0), validation(53.0))
        held, text, _ = self.run_part("train", True)
        self.assertFalse(held)
        self.assertIn("training, bfloat16: 12500.00 ms, NOT MET, R@1 53.0", text)
        self.plant_runs(validation(60.0), validation(90.0))
        self.assertTrue(self.run_part("train", True)[0])

    def test_a_cpu_whose_libtorch_lacks_it_leaves_bfloat16_out(self):
        lacking = "precision bfloat16: this machine's LibTorch does not compute in it on cpu"
        self.plant_runs(validation(60.0), lacking)
        held, text, result = self.run_part("train", True)
        self.assertTrue(held)
        self.assertIn("left out: bfloat16 on this CPU", text)
        self.assertEqual(jobs.train_rows(result)[1]["held"], "left out")
        self.assertFalse(self.run_part("train", False)[0])

    def test_a_run_that_fails_does_not_hold(self):
        self.plant_runs(validation(60.0), "no memory")
        self.assertFalse(self.run_part("train", True)[0])
        self.plant_runs("device 'cuda' is not here; LibTorch has cpu only", validation(60.0))
        held, text, result = self.run_part("train", False)
        self.assertFalse(held)
        self.assertIn("LibTorch has cpu only", text)
        self.assertEqual(jobs.train_rows(result), [])

    def test_the_last_validation_counts_in_the_order_that_the_model_declares(self):
        best = {"rerank_by_default": True, "best": {"recall_at_1": 70.0}}
        path = self.write("metrics.jsonl", "\n".join(json.dumps(each) for each in (
            validation(10.0), {"event": "step", "elapsed_seconds": 3}, validation(50.0, **best))).encode())
        self.assertEqual(jobs.validated(path), {"queries": 200, "recall_at_1": 0.7, "seconds": 3})
        path = self.write("metrics.jsonl", json.dumps(validation(50.0, **best | {"rerank_by_default": False})).encode())
        self.assertEqual(jobs.validated(path)["recall_at_1"], 0.5)
        self.assertIsNone(jobs.validated(self.write("metrics.jsonl", b'{"event": "step", "elapsed_seconds": 1}\n')))

    def test_intervals_are_wilsons(self):
        for share, low, high in ((0.5, 0.4314, 0.5686), (0.0, 0.0, 0.0188), (1.0, 0.9812, 1.0)):
            interval = jobs.interval_of(share, 200)
            self.assertAlmostEqual(interval[0], low, places=4)
            self.assertAlmostEqual(interval[1], high, places=4)


cases.main()
