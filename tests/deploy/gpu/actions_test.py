"""What Bazel would run becomes a build that knows no Bazel and no machine."""

import json

import cases
from actions import PackError, describe, generated_files
from planted import BIN, compiled, small_build

FLAGS = ["-O2", "-DNDEBUG", "-fPIC", "-march=x86-64-v3", "-std=c++17"]


class ActionsTest(cases.Case):

    def setUp(self):
        super().setUp()
        self.query = small_build()

    def described(self):
        return describe(self.query.json, ["tool/tool"])

    def test_a_program_has_its_objects_and_libraries_once_each(self):
        self.assertEqual(self.described()["programs"], {"tool/tool": {
            "objects": ["tool/main/main.o"],
            "lazy": ["protos/a/a.pb.o", "external/faiss/faiss/sums.o", "net/net/net.o", "scan/scan_cuda.o"],
            "libraries": ["cublasLt", "yaml-cpp", "openblas", "torch_cpu", "pthread"]}})

    def test_sources_are_of_the_clone_of_rules_and_of_faiss(self):
        objects = self.described()["objects"]
        self.assertEqual({name: each["source"] for name, each in objects.items()}, {
            "tool/main/main.o": ["clone", "tool/main.cc"],
            "protos/a/a.pb.o": ["generated", "protos/a.pb.cc"],
            "external/faiss/faiss/sums.o": ["faiss", "faiss/sums.cpp"],
            "net/net/net.o": ["clone", "net/net.cc"],
            "scan/scan_cuda.o": ["clone", "scan/scan.cu"]})

    def test_flags_that_change_what_is_compiled_are_kept_in_their_order(self):
        objects = self.described()["objects"]
        self.assertEqual(objects["tool/main/main.o"]["flags"], FLAGS)
        self.assertEqual(objects["external/faiss/faiss/sums.o"]["flags"], FLAGS + ["-DFINTEGER=int", "-O3"])
        self.assertEqual(objects["scan/scan_cuda.o"]["flags"], ["-std=c++17", "-O3", "-Xcompiler=-fPIC", "-DFINTEGER=int", "-w"])

    def test_who_has_which_header_before_it(self):
        objects = self.described()["objects"]
        self.assertEqual([objects[name]["header"] for name in ("tool/main/main.o", "net/net/net.o", "protos/a/a.pb.o")],
                         ["precompiled", "precompiled_torch", ""])
        self.assertEqual([name for name, each in objects.items() if each["torch"]], ["net/net/net.o"])
        self.assertEqual([name for name, each in objects.items() if each["cuda"]], ["scan/scan_cuda.o"])

    def test_nothing_of_the_machine_is_left(self):
        text = json.dumps(self.described())
        for word in ("bazel-out", "/usr", "SIGHTLINE_PACKAGES", "redacted", "random-seed"):
            self.assertNotIn(word, text)

    def test_of_programs_that_are_read_what_includes_libtorch_is_told(self):
        compiled(self.query, "train/train.cc", "train/_objs/train/train.pic.o", "-isystem",
                 "external/system/torch_api_include")
        self.query.add("CppLink", [BIN + "train/train"],
                       ["gcc", *(BIN + path for path in ("train/_objs/train/train.pic.o", "net/_objs/net/net.pic.o",
                                                         "tool/_objs/main/main.pic.o"))])
        described = describe(self.query.json, ["tool/tool"], ("train/train",))
        self.assertEqual(list(described["programs"]), ["tool/tool"])
        self.assertEqual(list(described["read"]), ["train/train/train.o"])
        self.assertNotIn("train/train/train.o", described["objects"])

    def test_what_rules_make_of_text(self):
        self.assertEqual(generated_files(self.query.json), ["protos/a.pb.cc", "protos/a.pb.h"])

    def test_a_program_that_nobody_links_is_named(self):
        with self.assertRaisesRegex(PackError, "links no tool/other"):
            describe(self.query.json, ["tool/other"])

    def test_an_outside_repository_that_is_not_known_is_named(self):
        compiled(self.query, "external/zlib/z.c", "tool/_objs/main/main.pic.o")
        with self.assertRaisesRegex(PackError, "external/zlib/z.c"):
            self.described()

    def test_an_object_that_nobody_compiles_is_named(self):
        self.query.add("CppLink", [BIN + "tool/lost"], ["gcc", BIN + "tool/_objs/lost/lost.pic.o"])
        with self.assertRaisesRegex(PackError, "lost.pic.o"):
            describe(self.query.json, ["tool/lost"])

    def test_two_configurations_are_refused(self):
        self.query.add("FileWrite", ["bazel-out/host/bin/x"])
        with self.assertRaisesRegex(PackError, "one configuration"):
            self.described()


cases.main()
