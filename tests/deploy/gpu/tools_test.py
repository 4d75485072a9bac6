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
        self.write(f"{name}/lib/libtorch_cpu.so", b"...")
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

    def test_a_libtorch_with_an_empty_file_or_without_a_library_is_named(self):
        cut = self.libtorch("cut")
        self.write("cut/lib/libc10.so", b"")
        with self.assertRaisesRegex(MissingError, "libc10.so"):
            tools.find_libtorch(cut, "")
        bare = self.libtorch("half")
        os.unlink(os.path.join(bare, "lib/libtorch_cpu.so"))
        with self.assertRaisesRegex(MissingError, "libtorch_cpu.so"):
            tools.find_libtorch(bare, "")

    def test_a_home_is_made_whole_and_one_that_ninja_cannot_have_is_named(self):
        os.environ["LIBTORCH_HOME"] = os.path.relpath(self.libtorch("named"))
        self.assertEqual(tools.home_in("LIBTORCH_HOME"), os.path.join(self.folder, "named"))
        os.environ["LIBTORCH_HOME"] = "/opt/lib torch"
        with self.assertRaisesRegex(MissingError, "LIBTORCH_HOME is '/opt/lib torch'"):
            tools.home_in("LIBTORCH_HOME")
        del os.environ["LIBTORCH_HOME"]
        self.assertEqual(tools.home_in("LIBTORCH_HOME"), "")

    def test_the_gpus_that_programs_see_are_told_in_their_order(self):
        told = ("0, GPU-aaaa1, NVIDIA A100, 40 GB, 8.0\n1, GPU-bbbb2, NVIDIA H200, 9.0\n2, GPU-cccc3, Tesla V100, 7.0\n"
                "3, GPU-dddd4, Unknown, [N/A]\nNo devices were found\n")
        names = [(gpu["name"], gpu["architecture"], gpu["is_old"]) for gpu in tools.gpus(told, None)]
        self.assertEqual(names, [("NVIDIA A100, 40 GB", "80", False), ("NVIDIA H200", "90", False),
                                 ("Tesla V100", "70", True)])
        self.assertEqual([gpu["name"] for gpu in tools.gpus(told, "1,0")], ["NVIDIA H200", "NVIDIA A100, 40 GB"])
        self.assertEqual([gpu["name"] for gpu in tools.gpus(told, "GPU-cccc,9,0")], ["Tesla V100"])
        self.assertEqual(tools.gpus(told, ""), [])
        self.assertEqual(tools.gpus("", None), [])

    def test_a_package_that_cannot_be_imported_says_why(self):
        self.assertEqual(tools.import_error("json"), "")
        self.assertIn("no_such_package", tools.import_error("no_such_package"))

    def test_headers_alone_need_no_library(self):
        bare = self.libtorch("bare")
        os.unlink(os.path.join(bare, "lib/libc10.so"))
        with self.assertRaisesRegex(MissingError, "libc10.so"):
            tools.find_libtorch(bare, "")
        self.assertEqual(tools.find_libtorch(bare, "", headers_only=True)["where"], bare)

    def nvcc(self, name):
        path = self.write(f"{name}/bin/nvcc")
        os.chmod(path, 0o755)
        self.write(f"{name}/include/cuda_runtime_api.h", b"#define CUDART_VERSION  13020\n")
        return os.path.join(self.folder, name)

    def test_cublas_may_be_pythons(self):
        home = self.nvcc("cuda")
        self.write("cuda/lib64/libcudart_static.a")
        with self.assertRaisesRegex(MissingError, "libcublas.so"):
            tools.find_cuda(["", "/nowhere", home], [], [])
        package = os.path.join(self.folder, "nvidia/cu13")
        whole = self.write("nvidia/cu13/lib/libcublas.so.13")
        with self.assertRaisesRegex(MissingError, "libcublasLt.so"):
            tools.find_cuda([home], [package], [])
        library = self.write("nvidia/cu13/lib/libcublasLt.so.13")
        with self.assertRaisesRegex(MissingError, "cublasLt.h"):
            tools.find_cuda([home], [package], [])
        self.write("nvidia/cu13/include/cublasLt.h")
        found = tools.find_cuda([home], [package], [])
        self.assertEqual(found, {"nvcc": home + "/bin/nvcc", "brought": [], "runtime": home + "/lib64/libcudart_static.a",
                                 "cublas": whole, "cublas_lt": library, "includes": [package + "/include"]})

    def toolkit(self):
        home = self.nvcc("cuda")
        for path in ("lib64/libcudart_static.a", "lib64/libcublas.so", "lib64/libcublasLt.so", "include/cublasLt.h"):
            self.write("cuda/" + path)
        return home

    def test_what_a_libtorch_brings_comes_before_the_toolkits(self):
        home, torch = self.toolkit(), self.libtorch("site/torch")
        found = tools.find_libtorch("", torch)
        folder = os.path.join(self.folder, "site/nvidia/cu13/lib")
        for name in ("libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13"):
            self.write("site/nvidia/cu13/lib/" + name)
        # It is nobody's whose LibTorch has no CUDA.
        self.assertEqual(tools.cuda_of(found, []), [])
        self.write("site/torch/lib/libtorch_cuda.so")
        brought = tools.cuda_of(found, [])
        self.assertEqual(brought, [torch + "/lib", folder])
        cuda = tools.find_cuda([home], [], brought)
        self.assertEqual((cuda["runtime"], cuda["cublas"], cuda["cublas_lt"], cuda["brought"]),
                         (home + "/lib64/libcudart_static.a", folder + "/libcublas.so.13",
                          folder + "/libcublasLt.so.13", [folder]))
        # Of runtimes that others see as well, LibTorch's.
        os.unlink(home + "/lib64/libcudart_static.a")
        self.write("cuda/lib64/libcudart.so")
        self.assertEqual(tools.find_cuda([home], [], brought)["runtime"], folder + "/libcudart.so.13")
        # An archive of LibTorch has them in its own folder.
        self.write("site/torch/lib/libcublasLt.so.13")
        cuda = tools.find_cuda([home], [], brought)
        self.assertEqual((cuda["cublas_lt"], cuda["brought"]), (torch + "/lib/libcublasLt.so.13", [folder, torch + "/lib"]))

    def test_pythons_packages_need_not_lie_beside_its_torch(self):
        torch = self.libtorch("site/torch")
        self.write("site/torch/lib/libtorch_cuda.so")
        self.assertEqual(tools.cuda_of(tools.find_libtorch("", torch), ["/user/nvidia/cu13"]),
                         [torch + "/lib", "/user/nvidia/cu13/lib"])

    def test_a_libtorch_of_another_cuda_has_other_sonames_and_ours_are_the_toolkits(self):
        home = self.toolkit()
        folder = os.path.dirname(self.write("site/nvidia/cublas/lib/libcublasLt.so.12"))
        cuda = tools.find_cuda([home], [], [folder])
        self.assertEqual((cuda["cublas_lt"], cuda["brought"]), (home + "/lib64/libcublasLt.so", []))

    def test_a_toolkit_without_its_version_is_named(self):
        home = self.nvcc("cuda")
        os.unlink(os.path.join(home, "include/cuda_runtime_api.h"))
        with self.assertRaisesRegex(MissingError, "cuda_runtime_api.h"):
            tools.find_cuda([home], [], [])

    def test_a_toolkit_that_is_too_old_is_named(self):
        home = self.nvcc("cuda")
        self.write("cuda/include/cuda_runtime_api.h", b"#define CUDART_VERSION  10020\n")
        with self.assertRaisesRegex(MissingError, "is 10; it has to be 12 or later"):
            tools.find_cuda([home], [], [])

    def test_a_named_home_without_nvcc_is_not_passed_over(self):
        with self.assertRaisesRegex(MissingError, "CUDA_HOME is /nowhere, which has no bin/nvcc"):
            tools.find_cuda(["/nowhere", self.toolkit()], [], [])

    def test_without_nvcc_it_says_what_to_set(self):
        with self.assertRaisesRegex(MissingError, "set CUDA_HOME"):
            tools.find_cuda(["/nowhere", ""], [], [])

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
