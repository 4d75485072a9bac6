"""Libraries of others are listed as what they say that they are, or are refused by name."""

import base64
import hashlib
import json
import os

import cases
from planted import elf
from vendor import VendorError, Vendors

PRIVATE = "/usr/lib/sightline/"


def wheel_row(path, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(content)}\n"


class VendorTest(cases.Case):
    """A LibTorch with its licence, and what a test plants beside it."""

    def setUp(self):
        super().setUp()
        self.torch = os.path.join(self.folder, "libtorch")
        self.cuda = os.path.join(self.folder, "cuda")
        self.library = self.write("libtorch/lib/libtorch_cuda.so", elf())
        self.write("libtorch/build-version", b"2.6.0+cu124\n")
        self.text = self.write("libtorch/LICENSE", b"BSD")

    def packages(self, *sources, trees=None):
        libraries = {PRIVATE + os.path.basename(source): source for source in sources}
        return Vendors(trees or [self.torch, self.cuda]).packages_of(libraries)

    def told(self, source, **more):
        package, = self.packages(source, **more)
        return package.name, package.version, package.told_by

    def problem(self, *sources, **more):
        with self.assertRaises(VendorError) as caught:
            self.packages(*sources, **more)
        return str(caught.exception)

    def test_libtorch_is_one_package_file_by_file(self):
        other = self.write("libtorch/lib/libc10_cuda.so", elf(soname="libc10_cuda.so"))
        package, = self.packages(self.library, other)
        self.assertEqual((package.name, package.version, package.told_by), ("libtorch", "2.6.0+cu124", "build-version"))
        self.assertEqual(package.licenses, (("LICENSE", self.text),))
        self.assertEqual({file.path: file.sha256 for file in package.files},
                         {PRIVATE + "libtorch_cuda.so": hashlib.sha256(elf()).hexdigest(),
                          PRIVATE + "libc10_cuda.so": hashlib.sha256(elf(soname="libc10_cuda.so")).hexdigest()})

    def test_cuda_tells_versions_by_component(self):
        self.write("cuda/EULA.txt", b"terms")
        self.write("cuda/version.json", json.dumps({
            "cuda": {"version": "12.4.1"}, "cuda_cudart": {"version": "12.4.127"},
            "cuda_nvrtc": {"version": "12.4.99"}, "libcublas": {"version": "12.4.5.8"},
            "libnvjitlink": {"version": "12.4.98"}}).encode())
        for name, package in (("libcudart.so.12", ("cuda_cudart", "12.4.127")),
                              ("libcublasLt.so.12", ("libcublas", "12.4.5.8")),
                              ("libnvrtc-builtins.so.12.4", ("cuda_nvrtc", "12.4.99")),
                              ("libnvJitLink.so.12", ("libnvjitlink", "12.4.98"))):
            library = self.write(f"cuda/lib64/{name}", elf())
            self.assertEqual(self.told(library), (*package, "version.json"))

    def test_a_version_json_that_is_not_cudas(self):
        library = self.write("cuda/lib64/libcudart.so.12", elf())
        for content in (b"{", b"[]", b'{"cuda_cudart": 3}', b'{"cuda_cudart": {}}', b"\xff"):
            self.write("cuda/version.json", content)
            self.assertIn("version.json is not as CUDA writes it", self.problem(library))

    def test_the_name_of_the_file_or_the_soname_tell_a_version(self):
        self.write("cuda/LICENSE.txt", b"terms")
        for name, soname, told in (
                ("libnccl.so.2.28.9", "libnccl.so.2", ("libnccl", "2.28.9", "its file name")),
                ("libcudart-d0da41ae.so.12", "", ("libcudart", "12", "its file name")),
                ("libcufile.so", "libcufile.so.0", ("libcufile", "0", "its soname"))):
            self.assertEqual(self.told(self.write(f"cuda/{name}", elf(soname=soname))), told)
        plain = self.write("cuda/libplain.so", elf())
        self.assertIn(f"{plain} tells no version", self.problem(plain))

    def wheel(self, content, licenses=("licenses/License.txt",), name="nvidia_nccl-cu12"):
        info = "site/nvidia_nccl_cu12-2.21.5.dist-info"
        self.write(f"{info}/METADATA", f"Metadata-Version: 2.4\nName: {name}\nVersion: 2.21.5\n\nVersion: 9".encode())
        self.write(f"{info}/RECORD", ('"nvidia/nccl/odd,name.so",sha256=,\nnvidia/__init__.py,,\n' +
                                      wheel_row("nvidia/nccl/lib/libnccl.so.2", content)).encode())
        for text in licenses:
            self.write(f"{info}/{text}", b"terms")
        return os.path.join(self.folder, "site")

    def test_a_wheel_is_known_by_its_records(self):
        site = self.wheel(elf())
        for path in ("site/nvidia/nccl/lib/libnccl.so.2", "cuda/lib/libnccl.so.2"):  # also where it was moved to
            package, = self.packages(self.write(path, elf()), trees=[self.cuda, site])
            self.assertEqual((package.name, package.version, package.purl),
                             ("nvidia_nccl-cu12", "2.21.5", "pkg:pypi/nvidia-nccl-cu12@2.21.5"))
            self.assertEqual([name for name, _ in package.licenses], ["licenses/License.txt"])

    def test_a_file_that_has_changed_since_its_wheel_came_is_refused(self):
        site = self.wheel(b"other")
        library = self.write("site/nvidia/nccl/lib/libnccl.so.2", elf())
        self.assertEqual(self.problem(library, trees=[site]),
                         f"{library} is not as nvidia_nccl-cu12 2.21.5 brought it")

    def test_a_wheel_without_a_licence_text_is_refused(self):
        site = self.wheel(elf(), licenses=["top_level.txt"])
        library = self.write("site/nvidia/nccl/lib/libnccl.so.2", elf())
        self.assertIn("has no licence text in nvidia_nccl_cu12-2.21.5.dist-info", self.problem(library, trees=[site]))

    def test_records_that_are_none(self):
        site = self.wheel(elf())
        for record in (b"lib.so,sha256=a,1\n", b'"lib.so"x,sha256=YQ,1\n'):
            self.write("site/nvidia_nccl_cu12-2.21.5.dist-info/RECORD", record)
            self.assertIn("RECORD is not as wheels have it", self.problem(self.library, trees=[site]))

    def test_names_and_versions_that_would_lead_elsewhere_are_refused(self):
        site = self.wheel(elf(), name="../../etc")
        library = self.write("site/nvidia/nccl/lib/libnccl.so.2", elf())
        self.assertIn("no version that can be listed, but '../../etc 2.21.5'", self.problem(library, trees=[site]))
        for version in (b"", b"1\n2", b"../..", b"\xff"):
            self.write("libtorch/build-version", version)
            self.assertIn("no version that can be listed", self.problem(self.library))

    def test_all_that_have_no_licence_text_are_named_with_what_to_do(self):
        one, two = self.write("cuda/lib64/libcufft.so.11", elf()), self.write("cuda/lib64/libcurand.so.10", elf())
        problems = self.problem(self.library, one, two).splitlines()
        self.assertEqual([problem.split(" (")[0] for problem in problems], [one, two])
        self.assertIn(f"up to {self.cuda}: put the one that it came with there", problems[0])

    def test_a_licence_above_the_folder_or_one_that_is_a_folder_does_not_count(self):
        library = self.write("cuda/lib64/libcufft.so.11", elf())
        self.write("LICENSE", b"of somebody")
        os.mkdir(os.path.join(self.cuda, "LICENSE"))
        self.assertIn("has no licence text", self.problem(library))

    def test_libtorchs_licence_is_not_that_of_what_it_bundles(self):
        bundled = self.write("libtorch/lib/libcudart-d0da41ae.so.12", elf())
        self.assertIn("LICENSE.libcudart", self.problem(self.library, bundled))
        eula = self.write("libtorch/EULA.txt", b"terms")
        package = next(p for p in self.packages(self.library, bundled) if p.name == "libcudart")
        self.assertEqual(package.licenses, (("EULA.txt", eula),))

    def test_a_link_out_of_the_folders_is_refused(self):
        elsewhere = self.write("elsewhere/libcufft.so.11", elf())
        self.assertIn(f"{elsewhere} lies in none of the folders", self.problem(elsewhere))

    def test_one_package_under_two_licences_is_refused(self):
        paths = [self.write(f"cuda/{folder}/libcufft{name}.so.11", elf()) for folder, name in (("a", ""), ("b", "w"))]
        self.write("cuda/version.json", b'{"libcufft": {"version": "11.2"}}')
        for folder in "ab":
            self.write(f"cuda/{folder}/LICENSE", b"terms")
        self.assertIn("libcufft 11.2 lies in two folders", self.problem(*paths))


if __name__ == "__main__":
    cases.main()
