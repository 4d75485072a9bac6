"""What programs need is found where a loader would find it, and what is wrong is named."""

import os
import random

import cases
from closure import ClosureError, Finder, refuse_hidden
from elf import ElfError, parse_elf
from planted import elf

LIB = "/usr/lib/x86_64-linux-gnu"
LOADER = "/lib64/ld-linux-x86-64.so.2"


class RootCase(cases.Case):
    """A root with the folders of Debian, in which /lib is a link."""

    trees = ()

    def setUp(self):
        super().setUp()
        self.root = os.path.join(self.folder, "root")
        os.makedirs(self.root)
        os.symlink("usr/lib", os.path.join(self.root, "lib"))
        os.symlink("usr/lib64", os.path.join(self.root, "lib64"))
        self.plant("/usr/lib64/ld-linux-x86-64.so.2", elf())

    def plant(self, path, content):
        return self.write("root" + path, content)

    def program(self, *needed, **more):
        return self.write("program", elf(needed, interpreter=LOADER, **more))

    def closure(self, *programs):
        return Finder(self.root, self.trees).closure(list(programs))

    def problems(self, *programs):
        with self.assertRaises(ClosureError) as caught:
            self.closure(*programs)
        return str(caught.exception).splitlines()


class ClosureTest(RootCase):

    def test_libraries_of_libraries_and_the_loader(self):
        self.plant(f"{LIB}/liba.so.1", elf(["libb.so.2"]))
        self.plant("/usr/lib/libb.so.2", elf(["liba.so.1", "ld-linux-x86-64.so.2"]))
        found = self.closure(self.program("liba.so.1"))
        self.assertEqual(sorted(found), ["/usr/lib/libb.so.2", f"{LIB}/liba.so.1",
                                         "/usr/lib64/ld-linux-x86-64.so.2"])

    def test_a_link_stands_for_what_it_leads_to(self):
        real = self.plant(f"{LIB}/blas/libblas.so.3.1", elf())
        os.symlink("blas/libblas.so.3.1", self.root + LIB + "/libblas.so.3")
        self.assertEqual(self.closure(self.program("libblas.so.3"))[f"{LIB}/libblas.so.3"], real)

    def test_all_that_is_missing_is_named_with_who_needs_it(self):
        self.plant(f"{LIB}/liba.so.1", elf(["libgone.so.1"]))
        other = self.write("other", elf(["libaway.so.2"], interpreter=LOADER))
        self.assertEqual(self.problems(self.program("liba.so.1"), other), [
            f"libgone.so.1 is missing; needed by {LIB}/liba.so.1 (of program)",
            "libaway.so.2 is missing; needed by other"])

    def test_a_missing_loader_is_named(self):
        program = self.write("program", elf(interpreter="/lib64/ld-other.so.1"))
        self.assertEqual(self.problems(program),
                         ["/lib64/ld-other.so.1 is missing; program is started by it"])

    def test_a_broken_library_is_named_with_who_needs_it(self):
        self.plant(f"{LIB}/libcut.so.1", elf(["libx.so"])[:150])
        self.plant(f"{LIB}/libtext.so.1", b"INPUT(libc.so.6)")
        self.plant(f"{LIB}/libempty.so.1", b"")
        self.assertEqual(self.problems(self.program("libcut.so.1", "libtext.so.1", "libempty.so.1")), [
            f"{LIB}/libcut.so.1 is cut short; needed by program",
            f"{LIB}/libtext.so.1 is no ELF file; needed by program",
            f"{LIB}/libempty.so.1 is no ELF file; needed by program"])

    def test_a_library_of_another_machine_is_passed_over(self):
        self.plant(f"{LIB}/liba.so.1", elf(machine=183))
        self.plant("/usr/lib/liba.so.1", elf())
        self.assertIn("/usr/lib/liba.so.1", self.closure(self.program("liba.so.1")))

    def test_names_that_are_no_names(self):
        self.assertEqual(self.problems(self.program("", "..", "/etc/passwd")), [
            " is missing; needed by program", ".. is missing; needed by program",
            "/etc/passwd is a path, not the name of a library; needed by program"])

    def test_a_runpath_holds_for_its_own_file(self):
        self.plant(f"{LIB}/sub/liba.so.1", elf(["libb.so.1"], runpath="$ORIGIN"))
        self.plant(f"{LIB}/sub/libb.so.1", elf(["libc.so.1"]))
        self.plant(f"{LIB}/sub/libc.so.1", elf())
        self.assertEqual(self.problems(self.program("liba.so.1", runpath=f"{LIB}/sub")), [
            f"libc.so.1 is missing; needed by {LIB}/sub/libb.so.1 (of program)"])

    def test_an_rpath_holds_for_what_the_needed_ones_need(self):
        self.plant("/opt/lib/liba.so.1", elf(["libb.so.1"]))
        self.plant("/opt/lib/libb.so.1", elf())
        self.assertIn("/opt/lib/libb.so.1", self.closure(self.program("liba.so.1", rpath="/opt/lib")))

    def test_a_program_that_looks_beside_itself_is_refused(self):
        problem, = self.problems(self.program(runpath="$ORIGIN/../_solib_k8"))
        self.assertIn("--dynamic_mode=off", problem)

    def test_libraries_outside_of_the_default_folders_are_not_taken(self):
        self.plant("/usr/local/lib/liba.so.1", elf())
        self.assertEqual(self.problems(self.program("liba.so.1")),
                         ["liba.so.1 is missing; needed by program"])

    def test_damage_is_an_error_of_ours(self):
        whole = elf(["liba.so.1", "libb.so.2"], runpath="$ORIGIN", interpreter=LOADER)
        dice = random.Random(17)
        damaged = [whole[:length] for length in range(len(whole))]
        for _ in range(2000):
            copy = bytearray(whole)
            for _ in range(dice.randint(1, 4)):
                copy[dice.randrange(4, len(copy))] = dice.choice((0, 0x7f, 0xff, dice.randrange(256)))
            damaged.append(bytes(copy))
        refused = 0
        for content in damaged:
            try:
                parse_elf(content)
            except ElfError:
                refused += 1
        self.assertGreater(refused, len(whole) // 2)


class TreesTest(RootCase):
    """LibTorch and CUDA beside Debian, as people have them."""

    trees = ("/opt/libtorch", "/usr/local/cuda")

    def setUp(self):
        super().setUp()
        self.torch = self.plant("/opt/libtorch/lib/libtorch_cuda.so", elf(
            ["libcudart.so.12", "libc.so.6"], runpath="$ORIGIN", soname="libtorch_cuda.so"))
        self.plant("/opt/libtorch/lib/libcaffe2_nvrtc.so", elf(["libcuda.so.1", "libnvidia-ml.so.1"]))
        self.plant("/usr/local/cuda-12.4/lib64/libcudart.so.12", elf())
        os.symlink("cuda-12.4", self.root + "/usr/local/cuda")
        self.plant(f"{LIB}/libc.so.6", elf())

    def needs_torch(self, *more):
        return self.program("libtorch_cuda.so", *more, runpath="/opt/libtorch/lib")

    def names(self, *programs):
        return {os.path.basename(path) for path in self.closure(*programs)}

    def test_what_lies_in_a_tree_comes_into_one_folder_and_debians_stays(self):
        self.assertEqual(sorted(self.closure(self.needs_torch())), [
            "/usr/lib/sightline/libcaffe2_nvrtc.so", "/usr/lib/sightline/libcudart.so.12",
            "/usr/lib/sightline/libtorch_cuda.so", f"{LIB}/libc.so.6", "/usr/lib64/ld-linux-x86-64.so.2"])
        self.assertEqual(self.closure(self.needs_torch())["/usr/lib/sightline/libtorch_cuda.so"], self.torch)

    def test_the_loaders_configuration_counts_in_a_tree_alone(self):
        os.remove(self.root + "/usr/local/cuda-12.4/lib64/libcudart.so.12")
        self.plant("/usr/local/cuda-12.4/extra/libcudart.so.12", elf())
        self.assertEqual(self.problems(self.needs_torch()), [
            "libcudart.so.12 is missing; needed by /opt/libtorch/lib/libtorch_cuda.so (of program)"])
        self.plant("/etc/ld.so.conf", b"# folders\ninclude ld.so.conf.d/*.conf\n")
        self.plant("/etc/ld.so.conf.d/cuda.conf", b"/usr/local/cuda-12.4/extra  # of CUDA\n")
        self.assertIn("libcudart.so.12", self.names(self.needs_torch()))
        self.trees = ()
        self.assertIn("libcudart.so.12 is missing", self.problems(self.program("libcudart.so.12"))[0])

    def test_the_drivers_libraries_are_left_out_whoever_needs_them(self):
        for path in (f"{LIB}/libcuda.so.1", "/usr/local/cuda-12.4/lib64/libnvidia-ml.so.1"):
            self.plant(path, elf())
        found = self.names(self.needs_torch("libcuda.so.1", "libnvidia-ptxjitcompiler.so.1"))
        self.assertFalse({name for name in found if "libcuda.so" in name or "nvidia" in name})

    def test_the_drivers_libraries_under_another_name_are_refused(self):
        self.plant("/usr/local/cuda-12.4/lib64/libstub.so", elf(soname="libcuda.so.1"))
        problem, = self.problems(self.needs_torch("libstub.so"))
        self.assertIn("cuda-12.4/lib64/libstub.so is libcuda.so.1 by its own name", problem)

    def test_without_trees_the_driver_is_missing_like_any_other(self):
        self.trees = ()
        self.assertEqual(self.problems(self.program("libcuda.so.1")), ["libcuda.so.1 is missing; needed by program"])

    def test_what_is_loaded_by_name_is_there_too(self):
        folder = "/usr/local/cuda-12.4/lib64"
        self.plant(f"{folder}/libcudnn.so.9", elf(soname="libcudnn.so.9"))
        self.plant(f"{folder}/libcudnn_ops.so.9.1.0", elf(["libz.so.1"], soname="libcudnn_ops.so.9"))
        os.symlink("libcudnn_ops.so.9.1.0", self.root + folder + "/libcudnn_ops.so.9")
        self.plant(f"{folder}/libcudnn_old.so.8", elf())
        self.plant(f"{LIB}/libz.so.1", elf())
        self.plant(f"{folder}/libnvrtc-b51b459d.so.12", elf(soname="libnvrtc-b51b459d.so.12"))
        self.plant(f"{folder}/libnvrtc-builtins.so.12.4.127", elf(soname="libnvrtc-builtins.so.12.4"))
        os.symlink("libnvrtc-builtins.so.12.4.127", self.root + folder + "/libnvrtc-builtins.so.12.4")
        found = self.names(self.needs_torch("libcudnn.so.9", "libnvrtc-b51b459d.so.12"))
        self.assertLessEqual({"libcudnn_ops.so.9", "libz.so.1", "libnvrtc-builtins.so.12.4"}, found)
        self.assertFalse({"libcudnn_old.so.8", "libcudnn_ops.so.9.1.0", "libnvrtc-builtins.so.12.4.127"} & found)

    def test_what_is_loaded_by_name_may_lie_deep_in_a_tree(self):
        self.plant("/opt/libtorch/cu12/lib/libnvrtc.so.12", elf())
        self.plant("/opt/libtorch/cu12/lib/libnvrtc-builtins.so.12.4", elf())
        self.plant("/opt/libtorch/lib/libcaffe2_nvrtc.so", elf(["libnvrtc.so.12"], runpath="$ORIGIN/../cu12/lib"))
        self.assertIn("libnvrtc-builtins.so.12.4", self.names(self.needs_torch()))

    def test_what_is_loaded_by_name_and_not_there_is_missed(self):
        self.plant("/usr/local/cuda-12.4/lib64/libcudnn.so.9", elf(soname="libcudnn.so.9"))
        problem, = self.problems(self.needs_torch("libcudnn.so.9"))
        self.assertIn("cuda-12.4/lib64/libcudnn.so.9 (of program) loads libcudnn_", problem)

    def test_a_folder_of_neither_is_not_taken_from(self):
        self.plant("/home/somebody/libcufft.so.11", elf())
        self.plant("/home/other/libcurand.so.10", elf())
        self.plant("/etc/ld.so.conf", b"/home/somebody\n")
        self.plant("/opt/libtorch/lib/libtorch_cuda_linalg.so", elf(["libcurand.so.10"], runpath="/home/other"))
        problems = self.problems(self.needs_torch("libcufft.so.11"))
        self.assertEqual([problem.split(";")[0] for problem in problems], [
            f"{path} lies in none of the folders that libraries are taken from: LIBTORCH_HOME, CUDA_HOME "
            "and --libraries" for path in ("/home/somebody/libcufft.so.11", "/home/other/libcurand.so.10")])

    def test_two_files_of_one_name_are_refused(self):
        other = self.plant("/usr/local/cuda-12.4/lib64/libtorch_cuda.so", elf())
        self.plant("/usr/local/cuda-12.4/lib64/libcaffe2_nvrtc.so", elf())
        second = self.write("second", elf(["libtorch_cuda.so"], runpath="/usr/local/cuda/lib64", interpreter=LOADER))
        self.assertIn(f"libtorch_cuda.so is {self.torch} and {other}; an image has one of a name",
                      self.problems(self.needs_torch(), second))

    def test_a_library_that_would_hide_debians_is_refused(self):
        self.plant(f"{LIB}/libgomp.so.1", elf())
        gomp = self.plant("/opt/libtorch/lib/libgomp.so.1", elf())
        plain = self.write("plain", elf(["libgomp.so.1"], interpreter=LOADER))
        found = self.closure(self.needs_torch("libgomp.so.1"), plain)
        with self.assertRaisesRegex(ClosureError, f"{LIB}/libgomp.so.1 would be hidden by {gomp}"):
            refuse_hidden(found)
        refuse_hidden(self.closure(self.needs_torch("libgomp.so.1")))

    def test_trees_that_are_none_or_hold_debians_libraries(self):
        os.makedirs(self.root + LIB + "/blas")
        for tree, message in (("/nowhere", "no folder"), ("/", "holds Debian's"), ("/usr", "holds Debian's"),
                              (LIB + "/blas", "lies among"), ("/lib", "holds Debian's")):
            with self.assertRaisesRegex(ClosureError, message):
                Finder(self.root, (tree,))


if __name__ == "__main__":
    cases.main()
