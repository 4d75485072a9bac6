"""The list of what an image is made of has what SPDX 2.3 asks for."""

import hashlib
import json
import re

import cases
import sbom
from debian import Package
from vendor import File, VendorPackage

LIBRARY = Package("libstdc++6", "12.2.0-14+deb12u1", "amd64", "gcc-12", "12.2.0-14+deb12u1")
HEADERS = Package("headers-dev", "1:3.0", "all", "headers", "1:3.0")
CUDNN = VendorPackage("nvidia-cudnn", "9.1", "it/RECORD", "pkg:pypi/nvidia-cudnn@9.1", (("License.txt", "/x"),), (
    File("/usr/lib/sightline/libcudnn.so.9", "b" * 40, "c" * 64),
    File("/usr/lib/sightline/libcudnn_ops.so.9", "a" * 40, "d" * 64)))
FAISS = sbom.Source("faiss", "1.7.3", "MIT", "/doc/faiss/LICENSE")


def document(**changes):
    given = {"title": "sightline", "revision": "abc", "created": 0, "distribution": "debian-12",
             "doc_folder": "/doc", "packages": [LIBRARY], "compiled_in": [HEADERS], "sources": [FAISS],
             "vendors": [CUDNN]}
    return sbom.document(**{**given, **changes})


class SbomTest(cases.Case):

    def test_required_fields(self):
        body = json.loads(document())
        self.assertEqual(body["spdxVersion"], "SPDX-2.3")
        self.assertEqual(body["creationInfo"]["created"], "1970-01-01T00:00:00Z")
        self.assertRegex(body["documentNamespace"], "^urn:uuid:[0-9a-f-]{36}$")
        ids = [package["SPDXID"] for package in body["packages"]]
        self.assertEqual(len(set(ids)), 5)
        for package in body["packages"]:
            self.assertTrue(re.fullmatch("SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"]))
            self.assertLessEqual({"name", "versionInfo", "downloadLocation", "licenseDeclared"}, set(package))
            self.assertRegex(package["licenseComments"], "^/doc/.* in the image$")
        for relation in body["relationships"]:
            self.assertIn(relation["spdxElementId"], ids + ["SPDXRef-DOCUMENT"])
            self.assertIn(relation["relatedSpdxElement"], ids + [file["SPDXID"] for file in body["files"]])

    def test_each_package_is_there_with_its_version_and_licence(self):
        packages = {p["name"]: p for p in json.loads(document())["packages"]}
        self.assertEqual(set(packages), {"sightline", "faiss", "libstdc++6", "headers-dev", "nvidia-cudnn"})
        library = packages["libstdc++6"]
        self.assertEqual(library["versionInfo"], LIBRARY.version)
        self.assertEqual(library["licenseComments"], "/doc/libstdc++6/copyright in the image")
        self.assertEqual(library["externalRefs"][0]["referenceLocator"],
                         "pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=amd64&distro=debian-12")

    def test_what_is_nvidias_is_not_said_to_be_debians(self):
        cublas = Package("libcublas-12-4", "12.4.5.8-1", "amd64", "libcublas", "12.4.5.8-1", "cudatools <cudatools@nvidia.com>")
        packages = {p["name"]: p for p in json.loads(document(packages=[LIBRARY, cublas]))["packages"]}
        self.assertEqual(packages["libcublas-12-4"]["supplier"], "Organization: NVIDIA")
        self.assertIn("pkg:deb/nvidia/", packages["libcublas-12-4"]["externalRefs"][0]["referenceLocator"])
        self.assertEqual(packages["libstdc++6"]["supplier"], "Organization: Debian")

    def test_libraries_beside_debian_are_listed_file_by_file(self):
        body = json.loads(document())
        package = next(p for p in body["packages"] if p["name"] == "nvidia-cudnn")
        self.assertEqual(package["licenseComments"], "/doc/nvidia-cudnn-9.1/License.txt in the image")
        self.assertEqual(package["packageVerificationCode"]["packageVerificationCodeValue"],
                         hashlib.sha1(b"a" * 40 + b"b" * 40).hexdigest())
        self.assertEqual({file["fileName"]: file["checksums"][1] for file in body["files"]}, {
            "./usr/lib/sightline/libcudnn.so.9": {"algorithm": "SHA256", "checksumValue": "c" * 64},
            "./usr/lib/sightline/libcudnn_ops.so.9": {"algorithm": "SHA256", "checksumValue": "d" * 64}})
        contained = [r["relatedSpdxElement"] for r in body["relationships"]
                     if r["relationshipType"] == "CONTAINS" and r["spdxElementId"] == package["SPDXID"]]
        self.assertEqual(contained, [file["SPDXID"] for file in body["files"]])

    def test_what_is_compiled_in_is_told_from_what_is_loaded(self):
        kinds = {r["relatedSpdxElement"]: r["relationshipType"]
                 for r in json.loads(document())["relationships"]}
        self.assertEqual(kinds["SPDXRef-faiss"], "STATIC_LINK")
        self.assertEqual(kinds["SPDXRef-headers-dev"], "STATIC_LINK")
        self.assertEqual(kinds["SPDXRef-libstdc--6"], "DYNAMIC_LINK")

    def test_one_document_has_one_name(self):
        self.assertEqual(document(), document())
        names = {json.loads(other)["documentNamespace"]
                 for other in (document(), document(revision="abd"), document(packages=[]))}
        self.assertEqual(len(names), 3)


if __name__ == "__main__":
    cases.main()
