"""What parts make of what programs print, keep and log."""

import json
import os

import cases
import parts

PROGRAM = """#!/bin/sh
echo "$0 $* SIGHTLINE_DEVICE=$SIGHTLINE_DEVICE" | sed 's|.*/||'
case $* in *fails*) exit 1 ;; esac
while [ $# -gt 0 ]; do
  [ "$1" != --json ] || echo '{"searches": [], "ceilings": {}}' >"$2"
  shift
done
echo "max_abs_error: 2e-07 over 6 numbers"
"""


class PartsTest(cases.Case):

    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.folder, "out")
        os.makedirs(self.out)
        for name in ("deploy/gpu/device_check", "deploy/gpu/stack_check", "tests/parity/check_golden"):
            os.chmod(self.write("bin/" + name, PROGRAM.encode()), 0o755)
        self.golden("oscar", "oscar")
        self.write("goldens/tokenizer/README")
        parts.GOLDENS = os.path.join(self.folder, "goldens")

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
        for words in ("--rows 100000 --dimension 512 --referee cpu", "--rows 10000000 --dimension 512 --referee brute_force"):
            self.assertIn(words, text)
        self.assertNotIn("--device cpu", text)
        self.assertEqual(len(self.kept("search.json")), 3)

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
        self.assertIn("--device cuda:0", self.kept("models.txt"))

    def test_what_has_no_blocks_is_held_to_float32_alone(self):
        self.golden("saf", "sgraf")
        parts.models(self.part("models", False))
        self.assertEqual([(each["folder"], each["precision"]) for each in self.kept("models.json")["goldens"]],
                         [("oscar", "float32"), ("saf", "float32"), ("oscar", "bfloat16")])

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
        self.assertEqual(self.kept("search.json"), [])

    def test_a_table_with_something_wrong_does_not_hold(self):
        parts.search(self.part("search", True))
        os.rename(os.path.join(parts.GOLDENS, "oscar"), os.path.join(parts.GOLDENS, "fails"))
        parts.models(self.part("models", True))
        self.assertFalse(parts.tell_table(self.part("table", True)))

    def test_a_table_of_nothing_does_not_hold(self):
        self.assertFalse(parts.tell_table(self.part("table", True)))
        parts.search(self.part("search", True))
        parts.models(self.part("models", True))
        self.assertTrue(parts.tell_table(self.part("table", True)))
        self.assertIn("golden oscar, float32", self.kept("table.txt"))

    def test_servers_alone_are_told_of_the_device(self):
        part = self.part("search", False)
        self.assertIn("SIGHTLINE_DEVICE=cuda", part.run("deploy/gpu/stack_check", device=True)[1])
        self.assertNotIn("=cuda", part.run("deploy/gpu/stack_check")[1])

    def test_shards_on_a_device_are_counted_by_what_the_logs_say(self):
        self.write("fleet/index_search-0-0.log", b'{"msg":"shard loaded","device_bytes":512}\n')
        self.write("fleet/index_search-1-0.log", b'shard loaded device_bytes=0 x\nshard loaded device_bytes=77 x\n')
        self.write("fleet/reranker-0.log", b'device_bytes=9\n')
        self.assertEqual(parts.shards_on_device(os.path.join(self.folder, "fleet")), 2)
        self.assertEqual(parts.shards_on_device("/nowhere"), 0)


cases.main()
