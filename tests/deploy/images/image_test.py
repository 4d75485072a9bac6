"""The variant with CUDA, whole: of planted programs and libraries, beside those of this machine's
Debian, which is the one that images are built of."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tarfile
from unittest import mock

import cases
import image
from planted import elf

LOADER = "/lib64/ld-linux-x86-64.so.2"
PROGRAMS = ("corpus_encoder", "evaluator", "index_search", "query_encoder", "reranker", "router",
            "sightlinectl", "sightlinectl_small", "trainer")


class ImageTest(cases.Case):

    def setUp(self):
        super().setUp()
        self.plant("first")

    def plant(self, where):
        """A LibTorch, a CUDA and programs that need them, below a folder."""
        torch = f"{where}/libtorch"
        for name in PROGRAMS:
            needed = ["libc.so.6"] if name in ("router", "sightlinectl_small") else ["libtorch_cuda.so", "libc.so.6"]
            self.write(f"{where}/programs/{name}", elf(needed, runpath="/the/libtorch/lib", interpreter=LOADER))
        self.write(f"{torch}/lib/libtorch_cuda.so", elf(["libcudart.so.12", "libcuda.so.1", "libstdc++.so.6"]))
        self.write(f"{torch}/lib/libcaffe2_nvrtc.so", elf(["libcuda.so.1"]))
        self.write(f"{torch}/build-version", b"2.6.0+cu124")
        self.write(f"{torch}/LICENSE", b"BSD")
        self.write(f"{where}/cuda/lib64/libcudart.so.12", elf())
        self.write(f"{where}/cuda/EULA.txt", b"terms")
        self.write(f"{where}/LICENSE", b"Apache")

    def run_image(self, *variants, where="first", out="out", libraries=("libtorch", "cuda"),
                  needs=("libtorch_cuda",)):
        """Status, what is printed, and what is complained of."""
        folder = os.path.join(self.folder, where)
        archives = os.path.join(self.folder, out)
        os.makedirs(archives, exist_ok=True)
        line = ["image.py", "--programs", f"{folder}/programs", "--faiss", f"1.7.3:{folder}/LICENSE",
                "--license", f"{folder}/LICENSE", "--revision", "abc", "--created", "0", "--archives", archives]
        for library in libraries:
            line += ["--libraries", f"{folder}/{library}"]
        for library in needs:
            line += ["--needs", library]
        printed, complained = io.StringIO(), io.StringIO()
        with mock.patch.object(sys, "argv", line + list(variants)), contextlib.redirect_stdout(printed), \
                contextlib.redirect_stderr(complained):
            status = image.main()
        return status, printed.getvalue(), complained.getvalue()

    def digest(self, **more):
        status, printed, complained = self.run_image("sightline-cuda", **more)
        self.assertEqual((status, complained), (0, ""))
        return printed.split()[1]

    def complaint(self, **more):
        status, _, complained = self.run_image("sightline-cuda", **more)
        self.assertEqual(status, 1)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "out/sightline-cuda.tar")))
        return complained

    def unpacked(self, variant):
        """Configuration, and the members of all layers with their content."""
        with tarfile.open(os.path.join(self.folder, f"out/{variant}.tar")) as tar:
            files = {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}

        def blob(descriptor):
            return files["blobs/" + descriptor["digest"].replace(":", "/")]

        manifest = json.loads(blob(json.loads(files["index.json"])["manifests"][0]))
        members = {}
        for layer in manifest["layers"]:
            plain = subprocess.run(["zstd", "-dcq"], input=blob(layer), check=True, capture_output=True).stdout
            with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
                members.update({m.name: (m, tar.extractfile(m).read() if m.isfile() else b"") for m in tar.getmembers()})
        return json.loads(blob(manifest["config"]))["config"], members, manifest["layers"]

    def test_what_it_holds_and_says(self):
        self.digest()
        config, members, _ = self.unpacked("sightline-cuda")
        self.assertEqual(config["User"], "65532:65532")
        environment = dict(value.split("=", 1) for value in config["Env"])
        self.assertEqual(environment["LD_LIBRARY_PATH"].split(":")[0], "/usr/lib/sightline")
        self.assertEqual(environment["NVIDIA_VISIBLE_DEVICES"], "all")
        self.assertEqual(environment["NVIDIA_DRIVER_CAPABILITIES"], "compute,utility")
        self.assertEqual({name for name in members if name.startswith("usr/lib/sightline/")}, {
            f"usr/lib/sightline/{name}" for name in ("libtorch_cuda.so", "libcaffe2_nvrtc.so", "libcudart.so.12")})
        self.assertLessEqual({
            "etc/debian_version", "usr/bin/trainer", "usr/bin/router", "usr/share/doc/libtorch-2.6.0+cu124/LICENSE",
            "usr/share/doc/libcudart-12/EULA.txt", "usr/share/doc/libc6/copyright",
            "usr/lib/x86_64-linux-gnu/libstdc++.so.6"}, set(members))
        self.assertFalse([name for name in members if "libcuda.so" in name or "nvidia" in name])
        self.assertFalse({"usr/bin/sh", "bin/sh"} & set(members))
        self.assertEqual({m.uid for name, (m, _) in members.items()} - {0}, {65532})
        listed = json.loads(members["usr/share/sbom/sightline-cuda.spdx.json"][1])
        self.assertLessEqual({"libtorch", "libcudart", "libc6"}, {package["name"] for package in listed["packages"]})
        self.assertEqual({file["fileName"] for file in listed["files"]},
                         {"./" + name for name in members if name.startswith("usr/lib/sightline/")})

    def test_the_router_is_the_same_and_shares_its_layer(self):
        self.assertEqual(self.run_image("sightline-router", "sightline-cuda")[0], 0)
        config, members, router = self.unpacked("sightline-router")
        self.assertEqual(config["Env"], ["PATH=/usr/bin"])
        self.assertNotIn("etc/debian_version", members)
        self.assertEqual(self.unpacked("sightline-cuda")[2][0], router[0])

    def test_it_does_not_matter_where_libraries_lie(self):
        self.plant("second/deeper")
        self.assertEqual(self.digest(), self.digest(where="second/deeper"))

    def test_a_library_that_changes_makes_another_image(self):
        before = self.digest()
        self.write("first/cuda/lib64/libcudart.so.12", elf(soname="libcudart.so.12"))
        self.assertNotEqual(before, self.digest())

    def test_programs_without_cuda_are_refused(self):
        for name in PROGRAMS:
            self.write(f"first/programs/{name}", elf(["libc.so.6"], interpreter=LOADER))
        self.assertIn("no program of sightline-cuda loads libtorch_cuda.so", self.complaint())

    def test_each_library_that_is_needed_is_looked_for(self):
        wanted = ("libtorch_cuda", "libcublasLt")
        self.assertIn("no program of sightline-cuda loads libcublasLt.so", self.complaint(needs=wanted))

    def test_libraries_of_folders_that_are_not_named_are_not_taken(self):
        self.assertIn("libcudart.so.12 is missing", self.complaint(libraries=["libtorch"]))
        stray = self.write("first/stray/libcudart.so.12", elf())
        os.remove(os.path.join(self.folder, "first/cuda/lib64/libcudart.so.12"))
        os.symlink(stray, os.path.join(self.folder, "first/cuda/lib64/libcudart.so.12"))
        self.assertIn(f"{stray} lies in none of the folders", self.complaint())

    def test_a_missing_licence_ends_the_build_with_the_name(self):
        os.remove(os.path.join(self.folder, "first/cuda/EULA.txt"))
        self.assertIn("cuda/lib64/libcudart.so.12 (libcudart 12) has no licence text", self.complaint())

    def test_a_copy_of_debians_library_that_hides_it_from_the_router_is_refused(self):
        self.write("first/libtorch/lib/libc.so.6", elf())
        torch = os.path.join(self.folder, "first/libtorch/lib")
        for name in set(PROGRAMS) - {"router", "sightlinectl_small"}:
            self.write(f"first/programs/{name}", elf(["libtorch_cuda.so", "libc.so.6"], runpath=torch, interpreter=LOADER))
        self.assertIn("libc.so.6 would be hidden by", self.complaint())


if __name__ == "__main__":
    cases.main()
