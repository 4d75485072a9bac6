"""Peers are run where they can be, and are left out with the reason where not."""

import json
import os

import cases
import parts
import peers
import sanitizer
import tools

PROGRAM = b"""#!/bin/sh
echo "$0 $*" | sed 's|/[^ ]*/||g'
case $* in */stack_check*) exit ${STATUS_OF_STACK:-0} ;; esac
while [ $# -gt 0 ]; do [ "$1" != --json ] || echo '{}' >"$2"; shift; done
"""


class PeersTest(cases.Case):

    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.folder, "out")
        os.makedirs(self.out)
        self.program("bin/deploy/gpu/faiss_check")
        environment = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(environment)))
        self.addCleanup(setattr, tools, "python_package", tools.python_package)

    def program(self, path):
        full = self.write(path, PROGRAM)
        os.chmod(full, 0o755)
        return full

    def part(self, name, cpu_only=False):
        return parts.Part(name, os.path.join(self.folder, "bin"), self.out, cpu_only)

    def kept(self, name):
        with open(os.path.join(self.out, name), encoding="utf-8") as file:
            return json.load(file) if name.endswith(".json") else file.read()

    def test_faiss_is_asked_on_a_gpu_alone(self):
        self.assertTrue(peers.faiss(self.part("faiss")))
        self.assertIn("faiss_check --rows 1000000 --dimension 768 --json", self.kept("faiss.txt"))
        self.assertTrue(peers.faiss(self.part("faiss", cpu_only=True)))
        self.assertIn("left out: FAISS", self.kept("faiss.txt"))
        self.assertIsNone(self.kept("faiss.json"))

    def test_pytorch_computes_what_stack_check_has_measured(self):
        tools.python_package = lambda name: "/somewhere/" + name
        os.environ["PATH"] = os.path.dirname(self.program("path/python3")) + ":" + os.environ["PATH"]
        self.assertFalse(peers.eager(self.part("eager")))
        self.assertIn("part models", self.kept("eager.txt"))
        self.write("out/stack.json", b'{"passes": []}')
        self.assertTrue(peers.eager(self.part("eager")))
        self.assertIn("eager.py --stack stack.json --device cuda --json eager.json", self.kept("eager.txt"))
        self.assertTrue(peers.eager(self.part("eager", cpu_only=True)))
        self.assertIn("--device cpu", self.kept("eager.txt"))

    def test_a_python_without_torch_leaves_it_out(self):
        tools.python_package = lambda name: ""
        self.write("out/eager.json", b'{"passes": ["of another run"]}')
        self.assertTrue(peers.eager(self.part("eager")))
        self.assertRegex(self.kept("eager.txt"), "left out: eager PyTorch: .*python3 has no torch")
        self.assertIsNone(self.kept("eager.json"))

    def test_a_sanitizer_is_found_in_a_toolkit_by_either_name_of_its_folder(self):
        os.environ["PATH"] = "/usr/bin"
        self.assertIsNone(sanitizer.find_sanitizer(["", self.folder]))
        other = self.program("compute-sanitizer/compute-sanitizer")
        self.assertEqual(sanitizer.find_sanitizer(["", self.folder]), other)
        first = self.program("bin/compute-sanitizer")
        self.assertEqual(sanitizer.find_sanitizer(["", self.folder]), first)

    def test_what_the_sanitizer_finds_fails_the_part(self):
        os.environ["CUDA_HOME"] = self.folder
        self.program("bin/compute-sanitizer")
        self.assertTrue(sanitizer.sanitizer(self.part("sanitizer")))
        text = self.kept("sanitizer.txt")
        for words in ("--tool memcheck --error-exitcode 9 device_check --rows 20000",
                      "--tool memcheck --error-exitcode 9 stack_check --layers 1 --rounds 3",
                      "--tool racecheck --kernel-name kns=sightline --error-exitcode 9 stack_check --layers 1 --rounds 3",
                      "--tool synccheck --kernel-name kns=sightline --error-exitcode 9 stack_check --layers 1 --rounds 3",
                      "--tool memcheck --error-exitcode 9 check_golden --device cuda:0 --precision bfloat16"):
            self.assertIn("compute-sanitizer " + words, text)
        os.environ["STATUS_OF_STACK"] = "9"
        self.assertFalse(sanitizer.sanitizer(self.part("sanitizer")))
        self.assertEqual([(run["tool"], run["exit_status"]) for run in self.kept("sanitizer.json")],
                         [("memcheck", 0), ("memcheck", 9), ("racecheck", 9), ("synccheck", 9), ("memcheck", 0)])

    def test_without_a_gpu_the_sanitizer_is_left_out(self):
        os.environ["CUDA_HOME"] = self.folder
        self.program("bin/compute-sanitizer")
        self.assertTrue(sanitizer.sanitizer(self.part("sanitizer", cpu_only=True)))
        self.assertIn("left out: compute-sanitizer, which needs a GPU", self.kept("sanitizer.txt"))


cases.main()
