"""What programs need is found where a loader would find it, and what is wrong is named."""

import os
import random

import cases
from closure import ClosureError, Finder
from elf import ElfError, parse_elf
from planted import elf

LIB = "/usr/lib/x86_64-linux-gnu"
LOADER = "/lib64/ld-linux-x86-64.so.2"


class ClosureTest(cases.Case):
    """A root with the folders of Debian, in which /lib is a link."""

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
        return Finder(self.root).closure(list(programs))

    def problems(self, *programs):
        with self.assertRaises(ClosureError) as caught:
            self.closure(*programs)
        return str(caught.exception).splitlines()

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


if __name__ == "__main__":
    cases.main()
