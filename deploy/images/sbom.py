"""What an image is made of, as SPDX 2.3 in JSON: one package of ours, one for each of Debian's
of which the image has files, one for each source that the build compiles, and, file by file, one
for each of those that makers of libraries bring beside Debian."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from dataclasses import dataclass
from urllib.parse import quote

from debian import Package
from vendor import File, VendorPackage


@dataclass(frozen=True)
class Source:
    """Compiled into the programs."""
    name: str
    version: str
    license: str  # as SPDX names it
    license_path: str  # in the image


def document(title: str, revision: str, created: int, distribution: str, doc_folder: str,
             packages: list[Package], compiled_in: list[Package], sources: list[Source],
             vendors: list[VendorPackage]) -> bytes:
    """`created` in seconds since the epoch; `distribution` as purls write it, "debian-12";
    `doc_folder` has PACKAGE/copyright; of `compiled_in` the programs hold headers or archives."""
    described = [_ours(title, revision, doc_folder)]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", described[0]["SPDXID"])]
    for source in sources:
        described.append(_source(source))
        relations.append((described[0]["SPDXID"], "STATIC_LINK", described[-1]["SPDXID"]))
    for package in sorted({*packages, *compiled_in}):
        described.append(_debian(package, distribution, doc_folder))
        relation = "STATIC_LINK" if package in compiled_in else "DYNAMIC_LINK"
        relations.append((described[0]["SPDXID"], relation, described[-1]["SPDXID"]))
    files = []
    for vendor in vendors:
        described.append(_vendor(vendor, doc_folder))
        relations.append((described[0]["SPDXID"], "DYNAMIC_LINK", described[-1]["SPDXID"]))
        for file in vendor.files:
            files.append(_file(file))
            relations.append((described[-1]["SPDXID"], "CONTAINS", files[-1]["SPDXID"]))
    body = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": title,
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created)),
            "creators": ["Tool: deploy/images/sbom.py"],
        },
        "packages": described,
        "files": files,
        "relationships": [
            {"spdxElementId": of, "relationshipType": kind, "relatedSpdxElement": to}
            for of, kind, to in relations],
    }
    # A name that no other document has, and this one always.
    name = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))
    body["documentNamespace"] = f"urn:uuid:{name}"
    return json.dumps(body, indent=1, sort_keys=True).encode() + b"\n"


def _ours(title: str, revision: str, doc_folder: str) -> dict:
    return _package(title, revision, "Apache-2.0", f"{doc_folder}/sightline/LICENSE")


def _source(source: Source) -> dict:
    return _package(source.name, source.version, source.license, source.license_path)


def _debian(package: Package, distribution: str, doc_folder: str) -> dict:
    # Debian tells licences by file and in words; to boil that down to an expression would be
    # to guess.
    described = _package(package.name, package.version, "NOASSERTION",
                         f"{doc_folder}/{package.name}/copyright")
    # NVIDIA's packages of CUDA are for Debian, not Debian's.
    maker = "NVIDIA" if package.maintainer.endswith("@nvidia.com>") else "Debian"
    described["sourceInfo"] = f"built by {maker} from {package.source} {package.source_version}"
    described["externalRefs"] = [{
        "referenceCategory": "PACKAGE-MANAGER",
        "referenceType": "purl",
        "referenceLocator": f"pkg:deb/{maker.lower()}/{quote(package.name, safe='')}"
                            f"@{quote(package.version, safe='')}"
                            f"?arch={package.architecture}&distro={distribution}",
    }]
    described["supplier"] = f"Organization: {maker}"
    return described


def _vendor(package: VendorPackage, doc_folder: str) -> dict:
    described = _package(package.name, package.version, "NOASSERTION", ", ".join(
        f"{package.folder(doc_folder)}/{name}" for name, _ in package.licenses))
    described["SPDXID"] = _identifier(f"{package.name}-{package.version}")
    described["sourceInfo"] = f"copied from where the image was built; told by {package.told_by}"
    if package.purl:
        described["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                      "referenceLocator": package.purl}]
    described["filesAnalyzed"] = True
    # As SPDX defines it: of the sums, in their order, one after the other.
    sums = "".join(sorted(file.sha1 for file in package.files))
    code = hashlib.sha1(sums.encode(), usedforsecurity=False).hexdigest()
    described["packageVerificationCode"] = {"packageVerificationCodeValue": code}
    return described


def _file(file: File) -> dict:
    return {
        "SPDXID": _identifier("File" + file.path),
        "fileName": "." + file.path,
        "fileTypes": ["BINARY"],
        "checksums": [{"algorithm": "SHA1", "checksumValue": file.sha1},
                      {"algorithm": "SHA256", "checksumValue": file.sha256}],
        "licenseConcluded": "NOASSERTION",
        "copyrightText": "NOASSERTION",
    }


def _identifier(name: str) -> str:
    # SPDX allows letters, digits, points and dashes in an id; '+' occurs in Debian's names.
    return "SPDXRef-" + "".join(c if c.isalnum() or c in ".-" else "-" for c in name)


def _package(name: str, version: str, declared: str, license_path: str) -> dict:
    return {
        "SPDXID": _identifier(name),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": declared,
        "licenseComments": f"{license_path} in the image",
        "copyrightText": "NOASSERTION",
    }
