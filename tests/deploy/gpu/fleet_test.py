"""The part fleet: what it makes and serves, and what it tells of the load test's report."""

import json
import os

import cases
import fleet
import goals
import parts
import random_models

MODEL = "ab" * 32
CONTROL = f"""#!/bin/sh
echo "$*"
echo {MODEL}
echo "written to a folder"
"""
SYNTHESIZE = "#!/bin/sh\necho \"$*\"\n"
# Leaves a report, and logs of two shards of two indexes.
LOADTEST = """#!/bin/sh
while [ "$1" != --out ]; do shift; done
mkdir -p "$2/fleet"
cp "$PLANTED_REPORT" "$2/report.json"
for shard in 0 1; do
  printf 'device_bytes=512\\ndevice_bytes=%s\\n' "$PLANTED_BYTES" >"$2/fleet/index_search-$shard-0.log"
done
exit "$PLANTED_STATUS"
"""


def kind(milliseconds, search, **precisions):
    return {"latency": {"count": 99, "quantiles_ns": {"p50": milliseconds * 1e6}},
            "stages": {"search": {"quantiles_ns": {"p50": search * 1e6}}}, "precisions": precisions}


REPORT = {"result": {"by_kind": {"retrieved": kind(1.5, 0.75, **{"encoder bfloat16": 99}),
                                 "reranked": kind(5.5, 0.5, **{"encoder bfloat16": 9, "reranker bfloat16": 9})}}}


class FleetTest(cases.Case):

    def setUp(self):
        super().setUp()
        random_models.ROOT = self.folder
        self.write("loadtest/baseline/base.json", b'{"transformer": {"layer_count": 12}}')
        for name, text in (("services/sightlinectl/sightlinectl", CONTROL),
                           ("loadtest/synthesize/synthesize", SYNTHESIZE), ("loadtest/loadtest", LOADTEST)):
            os.chmod(self.write("bin/" + name, text.encode()), 0o755)
        self.plant()

    def plant(self, report=None, status=0, device_bytes=512):
        path = self.write("planted.json", json.dumps(report or REPORT).encode())
        os.environ.update(PLANTED_REPORT=path, PLANTED_STATUS=str(status), PLANTED_BYTES=str(device_bytes))

    def run_part(self, cpu_only):
        out = os.path.join(self.folder, "out")
        os.makedirs(out, exist_ok=True)
        held = fleet.fleet(parts.Part("fleet", os.path.join(self.folder, "bin"), out, cpu_only))
        with open(os.path.join(out, "fleet.txt"), encoding="utf-8") as file:
            text = file.read()
        with open(os.path.join(out, "fleet.json"), encoding="utf-8") as file:
            return held, text, json.load(file)

    def test_a_gpu_serves_a_million_items_and_some_with_regions_of_a_model_of_base_size(self):
        held, text, result = self.run_part(False)
        self.assertTrue(held)
        self.assertIn("out/store-1000000.json", text)
        with open(os.path.join(self.folder, "out/store-1000000.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["transformer"]["layer_count"], 12)
        self.assertIn(f"--index images --items 1000000 --shards 2 --encoder-model {MODEL} --vector-dtype float16\n", text)
        self.assertIn(f"--index with_regions --items 8000 --shards 2 --encoder-model {MODEL} --vector-dtype float16 "
                      f"--reranker-model {MODEL} --regions 36", text)
        self.assertEqual((result["retrieved"], result["reranked"]), (0.0015, 0.0055))

    def test_a_cpu_has_the_demos_model_and_no_goals(self):
        self.plant(device_bytes=0)
        held, text, result = self.run_part(True)
        self.assertTrue(held)
        self.assertRegex(text, r"add-model \S*deploy/demo/model ")
        self.assertNotIn("init-model", text)
        self.assertEqual([row["goals"] for row in fleet.rows_of(result)], [[], [], []])

    def test_a_service_that_would_share_the_gpu_is_told_of_and_not_started(self):
        self.assertNotIn("mps", self.run_part(False)[1])
        started = os.path.join(self.folder, "started")
        path = self.write("path/nvidia-cuda-mps-control", f"#!/bin/sh\ntouch {started}\n".encode())
        os.chmod(path, 0o755)
        self.addCleanup(os.environ.update, PATH=os.environ["PATH"])
        os.environ["PATH"] = os.path.dirname(path) + ":" + os.environ["PATH"]
        self.assertIn("nvidia-cuda-mps-control is in the path, and is not started", self.run_part(False)[1])
        self.assertFalse(os.path.exists(started))
        self.assertNotIn("mps", self.run_part(True)[1])

    def test_a_search_of_all_items_is_charged_to_what_is_reranked_among_few(self):
        self.assertAlmostEqual(fleet.medians_of(REPORT)["estimated_reranked_among_all"], 0.00575)

    def test_goals_are_met_or_missed_and_missing_one_fails_nothing(self):
        _, text, result = self.run_part(False)
        self.assertEqual([goals.told(row) for row in fleet.rows_of(result)],
                         ["at most 2 ms: met", "", "at most 6 ms, of the estimate: met"])
        self.plant({"result": {"by_kind": {"retrieved": kind(2.25, 1.5), "reranked": kind(5.5, 0.5)}}})
        held, text, result = self.run_part(False)
        self.assertTrue(held)
        self.assertIn("fleet, retrieved among 1 000 000, p50: 2.25 ms, no answers; at most 2 ms: missed", text)
        self.assertIn("fleet, 20 reranked after a search of 1 000 000, p50, estimated: 6.50 ms, no answers; "
                      "at most 6 ms, of the estimate: missed", text)

    def test_a_load_test_that_fails_does_not_hold_and_what_it_measured_is_told(self):
        self.plant(status=1)
        held, _, result = self.run_part(False)
        self.assertFalse(held)
        self.assertEqual(result["retrieved"], 0.0015)

    def test_a_load_test_without_a_report_has_measured_nothing_whatever_an_earlier_one_has(self):
        self.run_part(False)
        os.environ.update(PLANTED_REPORT="/nowhere", PLANTED_STATUS="1")
        held, text, result = self.run_part(False)
        self.assertFalse(held)
        self.assertIsNone(result["retrieved"])
        self.assertIn("retrieved among 1 000 000, p50: not measured", text)

    def test_a_shard_that_is_not_on_the_device_fails_the_part(self):
        self.plant(device_bytes=0)
        held, text, _ = self.run_part(False)
        self.assertFalse(held)
        self.assertIn("tell of 2 shards on the device, and there are 4", text)

    def test_without_a_model_nothing_is_served_and_nothing_of_an_earlier_run_is_told(self):
        self.run_part(False)
        os.chmod(self.write("bin/services/sightlinectl/sightlinectl", b"#!/bin/sh\nexit 1\n"), 0o755)
        held, _, result = self.run_part(False)
        self.assertFalse(held)
        self.assertEqual(fleet.rows_of(result), [])

    def test_shards_on_a_device_are_counted_by_what_the_logs_say(self):
        self.write("fleet/index_search-0-0.log", b'{"msg":"shard loaded","device_bytes":512}\n')
        self.write("fleet/index_search-1-0.log", b'shard loaded device_bytes=0 x\nshard loaded device_bytes=77 x\n')
        self.write("fleet/reranker-0.log", b'device_bytes=9\n')
        self.assertEqual(fleet.shards_on_device(os.path.join(self.folder, "fleet")), 2)
        self.assertEqual(fleet.shards_on_device("/nowhere"), 0)


cases.main()
