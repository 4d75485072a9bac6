"""What a machine has is found where it lies, and what it lacks is named with what to do."""

import os
import subprocess

import cases
import tools
from tools import MissingError

SYMBOL = b"_ZN3c105ErrorC1ENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
VERSION = b"#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 11\n#define TORCH_VERSION_PATCH 0\n"


class ToolsTest(cases.Case):

    def libtorch(self, name, symbol=SYMBOL):
        self.write(f"{name}/include/torch/csrc/api/include/torch/torch.h")
        self.write(f"{name}/include/torch/csrc/api/include/torch/version.h", VERSION)
        self.write(f"{name}/lib/libc10.so", b"..." + symbol + b"\0...")
        return os.path.join(self.folder, name)

    def test_the_named_libtorch_comes_before_pythons_and_this_before_debians(self):
        named, python = self.libtorch("named"), self.libtorch("python")
        self.assertEqual(tools.find_libtorch(named, python)["where"], named)
        self.assertEqual(tools.find_libtorch("", python)["where"], python)
        self.assertEqual(tools.find_libtorch("", python)["version"], "2.11.0")
        debian = os.path.join(self.folder, "include/torch/csrc/api/include")
        self.write("include/torch/csrc/api/include/torch/torch.h")
        self.write("include/torch/csrc/api/include/torch/version.h", VERSION.replace(b"2\n", b"1\n", 1))
        found = tools.find_libtorch("", "", debian)
        self.assertEqual((found["version"], found["includes"], found["libraries"]), ("1.11.0", [debian], []))

    def test_none_at_all_says_what_to_set(self):
        with self.assertRaisesRegex(MissingError, "set LIBTORCH_HOME"):
            tools.find_libtorch("", "", "/nowhere")

    def test_without_headers_or_with_the_old_abi_it_is_refused(self):
        old = self.libtorch("old", symbol=b"_ZN3c105ErrorC1ESs")
        with self.assertRaisesRegex(MissingError, r"C\+\+11 ABI"):
            tools.find_libtorch(old, "")
        os.unlink(os.path.join(old, "include/torch/csrc/api/include/torch/torch.h"))
        with self.assertRaisesRegex(MissingError, "torch.h"):
            tools.find_libtorch("", old)

    def test_headers_alone_need_no_library(self):
        bare = self.libtorch("bare")
        os.unlink(os.path.join(bare, "lib/libc10.so"))
        with self.assertRaisesRegex(MissingError, "libc10.so"):
            tools.find_libtorch(bare, "")
        self.assertEqual(tools.find_libtorch(bare, "", headers_only=True)["where"], bare)

    def nvcc(self, name):
        path = self.write(f"{name}/bin/nvcc")
        os.chmod(path, 0o755)
        return os.path.join(self.folder, name)

    def test_cublas_may_be_pythons(self):
        home = self.nvcc("cuda")
        self.write("cuda/lib64/libcudart_static.a")
        with self.assertRaisesRegex(MissingError, "libcublasLt.so"):
            tools.find_cuda(["", "/nowhere", home], [])
        package = os.path.join(self.folder, "nvidia/cu13")
        library = self.write("nvidia/cu13/lib/libcublasLt.so.13")
        with self.assertRaisesRegex(MissingError, "cublasLt.h"):
            tools.find_cuda([home], [package])
        self.write("nvidia/cu13/include/cublasLt.h")
        found = tools.find_cuda([home], [package])
        self.assertEqual(found, {"nvcc": home + "/bin/nvcc", "runtime": home + "/lib64/libcudart_static.a",
                                 "cublas_lt": library, "includes": [package + "/include"]})

    def test_without_nvcc_it_says_what_to_set(self):
        with self.assertRaisesRegex(MissingError, "set CUDA_HOME"):
            tools.find_cuda(["/nowhere", ""], [])

    def library(self, name, *flags, text="void call() {}"):
        path = os.path.join(self.folder, "lib", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run(["g++", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-x", "c++", "-", "-x", "none", "-o", path,
                        *flags],
                       input=text, text=True, check=True)
        return path

    def test_a_library_that_cannot_be_loaded_is_named(self):
        folder = os.path.dirname(self.library("libwhole.so.1"))
        self.assertEqual(tools.unloadable(folder, "g++"), "")
        gone = self.library("libgone.so.1")
        self.library("libneedy.so.1", "-Wl,--no-as-needed", gone, text="")
        os.unlink(gone)
        self.assertIn("libgone.so.1", tools.unloadable(folder, "g++"))
        self.write("lib/libbroken.so.1", b"no library")
        self.assertIn("libbroken.so.1", tools.unloadable(folder, "g++"))


cases.main()
