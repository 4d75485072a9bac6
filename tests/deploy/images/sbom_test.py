"""The list of what an image is made of has what SPDX 2.3 asks for."""

import json
import re

import cases
import sbom
from debian import Package

LIBRARY = Package("libstdc++6", "12.2.0-14+deb12u1", "amd64", "gcc-12", "12.2.0-14+deb12u1")
HEADERS = Package("headers-dev", "1:3.0", "all", "headers", "1:3.0")
FAISS = sbom.Source("faiss", "1.7.3", "MIT", "/doc/faiss/LICENSE")


def document(**changes):
    given = {"title": "sightline", "revision": "abc", "created": 0, "distribution": "debian-12",
             "doc_folder": "/doc", "packages": [LIBRARY], "compiled_in": [HEADERS], "sources": [FAISS]}
    return sbom.document(**{**given, **changes})


class SbomTest(cases.Case):

    def test_required_fields(self):
        body = json.loads(document())
        self.assertEqual(body["spdxVersion"], "SPDX-2.3")
        self.assertEqual(body["creationInfo"]["created"], "1970-01-01T00:00:00Z")
        self.assertRegex(body["documentNamespace"], "^urn:uuid:[0-9a-f-]{36}$")
        ids = [package["SPDXID"] for package in body["packages"]]
        self.assertEqual(len(set(ids)), 4)
        for package in body["packages"]:
            self.assertTrue(re.fullmatch("SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"]))
            self.assertLessEqual({"name", "versionInfo", "downloadLocation", "licenseDeclared"}, set(package))
            self.assertRegex(package["licenseComments"], "^/doc/.* in the image$")
        for relation in body["relationships"]:
            self.assertIn(relation["spdxElementId"], ids + ["SPDXRef-DOCUMENT"])
            self.assertIn(relation["relatedSpdxElement"], ids)

    def test_each_package_is_there_with_its_version_and_licence(self):
        packages = {p["name"]: p for p in json.loads(document())["packages"]}
        self.assertEqual(set(packages), {"sightline", "faiss", "libstdc++6", "headers-dev"})
        library = packages["libstdc++6"]
        self.assertEqual(library["versionInfo"], LIBRARY.version)
        self.assertEqual(library["licenseComments"], "/doc/libstdc++6/copyright in the image")
        self.assertEqual(library["externalRefs"][0]["referenceLocator"],
                         "pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=amd64&distro=debian-12")

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
