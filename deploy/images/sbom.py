"""What an image is made of, as SPDX 2.3 in JSON: one package of ours, one for each of Debian's
of which the image has files, and one for each source that the build compiles."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass
from urllib.parse import quote

from debian import Package


@dataclass(frozen=True)
class Source:
    """Compiled into the programs."""
    name: str
    version: str
    license: str  # as SPDX names it
    license_path: str  # in the image


def document(title: str, revision: str, created: int, distribution: str, doc_folder: str,
             packages: list[Package], compiled_in: list[Package], sources: list[Source]) -> bytes:
    """`created` in seconds since the epoch; `distribution` as purls write it, "debian-12";
    `doc_folder` has PACKAGE/copyright; of `compiled_in` the programs hold headers."""
    described = [_ours(title, revision, doc_folder)]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", described[0]["SPDXID"])]
    for source in sources:
        described.append(_source(source))
        relations.append((described[0]["SPDXID"], "STATIC_LINK", described[-1]["SPDXID"]))
    for package in sorted({*packages, *compiled_in}):
        described.append(_debian(package, distribution, doc_folder))
        relation = "STATIC_LINK" if package in compiled_in else "DYNAMIC_LINK"
        relations.append((described[0]["SPDXID"], relation, described[-1]["SPDXID"]))
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
    described["sourceInfo"] = f"built by Debian from {package.source} {package.source_version}"
    described["externalRefs"] = [{
        "referenceCategory": "PACKAGE-MANAGER",
        "referenceType": "purl",
        "referenceLocator": f"pkg:deb/debian/{quote(package.name, safe='')}"
                            f"@{quote(package.version, safe='')}"
                            f"?arch={package.architecture}&distro={distribution}",
    }]
    described["supplier"] = "Organization: Debian"
    return described


def _package(name: str, version: str, declared: str, license_path: str) -> dict:
    # SPDX allows letters, digits, points and dashes in an id; '+' occurs in Debian's names.
    identifier = "SPDXRef-" + "".join(c if c.isalnum() or c in ".-" else "-" for c in name)
    return {
        "SPDXID": identifier,
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": declared,
        "licenseComments": f"{license_path} in the image",
        "copyrightText": "NOASSERTION",
    }
