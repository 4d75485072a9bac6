"""Files are those of packages, unchanged, or are named."""

import hashlib
import os

import cases
from debian import Dpkg, Package, PackageError


class DebianTest(cases.Case):
    """A root with two packages."""

    def setUp(self):
        super().setUp()
        self.library = self.install("libone1", "2.0+x-1", "amd64", "lib/x86_64-linux-gnu/libone.so.1", b"one",
                                    source="one (2.0+x-1~src)")
        os.symlink("usr/lib", os.path.join(self.folder, "lib"))
        self.list = self.install("list", "7", "all", "usr/share/list.txt", b"list")

    def install(self, name, version, architecture, path, content, source=""):
        info = name if architecture == "all" else f"{name}:{architecture}"
        same = "" if architecture == "all" else "Multi-Arch: same\n"
        checksum = hashlib.md5(content).hexdigest()
        self.write(f"var/lib/dpkg/info/{info}.md5sums", f"{checksum}  {path}\n".encode())
        status = os.path.join(self.folder, "var/lib/dpkg/status")
        with open(status, "a", encoding="utf-8") as file:
            file.write(f"Package: {name}\nStatus: install ok installed\nArchitecture: {architecture}\n"
                       f"{same}Version: {version}\n" + (f"Source: {source}\n" if source else "") +
                       "Maintainer: A <a@b>\nDescription: it\n\n")
        merged = path if path.startswith("usr/") else "usr/" + path
        return self.write(merged, content)

    def problems(self, *files):
        with self.assertRaises(PackageError) as caught:
            Dpkg(self.folder).packages_of(list(files))
        return str(caught.exception).splitlines()

    def test_packages_of_files(self):
        self.assertEqual(Dpkg(self.folder).packages_of([self.library, self.list]), [
            Package("libone1", "2.0+x-1", "amd64", "one", "2.0+x-1~src", "A <a@b>"),
            Package("list", "7", "all", "list", "7", "A <a@b>")])

    def test_what_some_package_brought_is_known(self):
        stray = self.write("opt/libtorch.so")
        self.assertEqual(Dpkg(self.folder).known([self.library, stray]), {self.library})

    def test_a_file_of_no_package_is_named(self):
        stray = self.write("opt/libtorch.so")
        self.assertEqual(self.problems(stray, self.list), [f"{stray} belongs to no package of Debian"])

    def test_a_changed_file_is_named(self):
        self.write("usr/lib/x86_64-linux-gnu/libone.so.1", b"other")
        self.assertEqual(self.problems(self.library),
                         [f"{self.library} is not as libone1:amd64 brought it"])

    def test_a_package_that_is_not_installed(self):
        with self.assertRaisesRegex(PackageError, "nosuch"):
            Dpkg(self.folder).packages(["nosuch"])

    def test_licences_are_found_or_missed_aloud(self):
        package, = Dpkg(self.folder).packages(["list"])
        with self.assertRaisesRegex(PackageError, "list cannot be passed on"):
            Dpkg(self.folder).copyright_of(package)
        path = self.write("usr/share/doc/list/copyright", b"MIT")
        self.assertEqual(Dpkg(self.folder).copyright_of(package), path)


if __name__ == "__main__":
    cases.main()
