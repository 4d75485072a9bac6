"""build.ninja says what a pack says, with what the machine has."""

import os

import cases
import ninja
from actions import describe
from planted import small_build, tools


def build():
    return describe(small_build().json, ["tool/tool"]) | {
        "headers": {"precompiled": ["<vector>"], "precompiled_torch": ["<ATen/ATen.h>"]},
        "sonames": {"yaml-cpp": "libyaml-cpp.so.0.7"}, "digest": "d1", "revision": "r1"}


def edge(text, output):
    """Of "build OUTPUT: ...": the line, and those that belong to it."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(f"build {output}:"))
    end = next((i for i in range(at + 1, len(lines)) if not lines[i].startswith("  ")), len(lines))
    return lines[at], dict(line.strip().split(" = ", 1) for line in lines[at + 1:end])


class NinjaTest(cases.Case):

    def setUp(self):
        super().setUp()
        self.text = ninja.write_ninja(build(), tools(), "/pack")

    def test_sources_are_found_where_they_lie(self):
        self.assertEqual(edge(self.text, "objects/tool/main/main.o")[0].split(" | ")[0],
                         f"build objects/tool/main/main.o: compile {ninja.ROOT}/tool/main.cc")
        self.assertIn(": compile generated/protos/a.pb.cc", edge(self.text, "objects/protos/a/a.pb.o")[0])
        self.assertIn(": compile /pack/faiss/faiss/sums.cpp", edge(self.text, "objects/external/faiss/faiss/sums.o")[0])

    def test_a_precompiled_header_is_made_with_the_flags_of_its_users(self):
        line, values = edge(self.text, "objects/net/net/net.o")
        self.assertTrue(line.endswith(" | headers/precompiled_torch.h.gch"))
        self.assertEqual(values["header"], "-include headers/precompiled_torch.h")
        self.assertEqual(edge(self.text, "headers/precompiled_torch.h.gch")[1]["flags"], values["flags"])
        self.assertEqual(edge(self.text, "headers/precompiled_torch.h.gch")[1]["torch"], "-isystem /t/include")

    def test_only_who_includes_libtorch_sees_it(self):
        self.assertIn("torch", edge(self.text, "objects/net/net/net.o")[1])
        self.assertNotIn("torch", edge(self.text, "objects/tool/main/main.o")[1])

    def test_what_takes_longest_comes_first(self):
        objects = [line.split()[1] for line in self.text.splitlines() if line.startswith("build objects/")]
        self.assertEqual(objects[:2], ["objects/scan/scan_cuda.o:", "objects/net/net/net.o:"])

    def test_cuda_is_for_the_machines_architecture(self):
        self.assertIn("-gencode=arch=compute_90,code=sm_90", self.text)
        self.assertIn("code=sm_80", ninja.write_ninja(build(), tools(architecture="80"), "/pack"))

    def test_a_program_is_linked_with_what_the_pack_and_the_machine_have(self):
        line, values = edge(self.text, "bin/tool/tool")
        self.assertIn(": link archives/tool/tool.a |", line)
        self.assertEqual(values["objects"], "objects/tool/main/main.o objects/blas.o")
        libraries = values["libraries"].split()
        for wanted in ("/c/lib64/libcublasLt.so", "-l:libyaml-cpp.so.0.7", "-ltorch_cpu", "-L/t/lib", "-lpthread",
                       "-Wl,--disable-new-dtags", "-Wl,-rpath,/pack/lib", "-Wl,-rpath,/t/lib", "-Wl,-rpath,/c/lib64"):
            self.assertIn(wanted, libraries)
        self.assertNotIn("-lopenblas", libraries)

    def test_what_a_libtorch_brings_of_cuda_is_found_before_the_toolkits_by_every_program(self):
        found = tools()
        found["cuda"] |= {"cublas_lt": "/n/lib/libcublasLt.so.13", "brought": ["/n/lib"]}
        described = build()
        described["programs"]["plain/plain"] = described["programs"]["tool/tool"] | {"libraries": ["c10"]}
        text = ninja.write_ninja(described, found, "/pack")
        libraries = edge(text, "bin/tool/tool")[1]["libraries"].split()
        self.assertIn("/n/lib/libcublasLt.so.13", libraries)
        for program in ("tool/tool", "plain/plain"):
            paths = [each for each in edge(text, f"bin/{program}")[1]["libraries"].split() if "-rpath," in each]
            self.assertEqual(paths, ["-Wl,-rpath,/pack/lib", "-Wl,-rpath,/n/lib", "-Wl,-rpath,/t/lib"])

    def test_a_program_of_faiss_has_a_stand_in_for_what_its_cpu_part_calls(self):
        described = build()
        described["programs"]["tool/tool"]["libraries"].insert(0, "cublas")
        values = edge(ninja.write_ninja(described, tools(), "/pack"), "bin/tool/tool")[1]
        self.assertEqual(values["objects"].split(), ["objects/tool/main/main.o", "objects/faiss_blas.o", "objects/blas.o"])
        self.assertIn("/c/lib64/libcublas.so", values["libraries"].split())

    def test_what_a_cpu_has_no_use_of_is_made_if_it_is_named(self):
        described = build()
        described["programs"]["deploy/gpu/faiss_check"] = described["programs"]["tool/tool"]
        for cpu_only, made in ((False, "default bin/deploy/gpu/faiss_check bin/tool/tool"), (True, "default bin/tool/tool")):
            text = ninja.write_ninja(described, tools(), "/pack", cpu_only=cpu_only)
            self.assertEqual(text.splitlines()[-1], made)
            self.assertIn("build bin/deploy/gpu/faiss_check: link", text)

    def test_a_libtorch_with_cuda_is_linked_so_that_it_is_loaded(self):
        self.assertNotIn("-ltorch_cuda", self.text)
        self.write("torch/libtorch_cuda.so")
        found = tools()
        found["torch"]["libraries"] = [os.path.join(self.folder, "torch")]
        libraries = edge(ninja.write_ninja(build(), found, "/pack"), "bin/tool/tool")[1]["libraries"]
        self.assertIn("-Wl,--no-as-needed -ltorch_cuda -Wl,--as-needed", libraries)
        self.assertEqual(libraries.count("-ltorch_cuda"), 1)

    def test_an_archive_has_what_is_linked_if_it_is_wanted(self):
        self.assertEqual(edge(self.text, "archives/tool/tool.a")[0].split(": archive ")[1].split(),
                         ["objects/protos/a/a.pb.o", "objects/external/faiss/faiss/sums.o", "objects/net/net/net.o",
                          "objects/scan/scan_cuda.o"])

    def test_headers_only_reads_the_files_that_include_libtorch(self):
        described = build()
        described["read"] = {"train/train.o": described["objects"]["net/net/net.o"]}
        text = ninja.write_ninja(described, tools(), "/pack", headers_only=True)
        self.assertEqual([line.split()[1] for line in text.splitlines() if line.startswith("build ")],
                         ["read/net/net/net.o:", "read/train/train.o:"])

    def test_other_headers_of_others_compile_all_anew(self):
        self.assertIn("-DSIGHTLINE_PACKAGES=d1", self.text)

    def test_a_clone_that_lacks_a_source_is_told(self):
        self.assertEqual(ninja.missing_sources(build()), ["net/net.cc", "scan/scan.cu", "tool/main.cc"])

    def test_what_is_there_already_is_not_touched(self):
        self.write("from/a/x.h", b"x")
        self.write("from/y.h", b"y")
        to = os.path.join(self.folder, "to")
        ninja.sync(os.path.join(self.folder, "from"), to)
        os.utime(os.path.join(to, "a/x.h"), (1, 1))
        os.utime(os.path.join(to, "y.h"), (1, 1))
        self.write("from/y.h", b"another")
        self.write("to/gone.h", b"")
        ninja.sync(os.path.join(self.folder, "from"), to)
        self.assertEqual(os.path.getmtime(os.path.join(to, "a/x.h")), 1)
        self.assertGreater(os.path.getmtime(os.path.join(to, "y.h")), 1)
        self.assertFalse(os.path.exists(os.path.join(to, "gone.h")))


cases.main()
