#!/usr/bin/env python3
"""Checks what the READMEs say of the tree itself.

Every link goes to a file that is there; every file that is cited as `folder/name.ext` or
`name.md` is there; every folder of sources has a README, but for what Kustomize puts together;
every folder of common/ is in the table of README.md; figures that a README cites are in
loadtest/figures/figures.json with that commit and CPU, and those that are in it stand in the
READMEs that they name.  Prints one line per offence, and exits 1 if there is any.

usage: documents.py ROOT
"""

import json
import os
import re
import sys

# Folders whose sources need a README.  tests/ mirrors them, so its own is enough.
EXPLAINED = ("common", "deploy", "loadtest", "services")
SOURCES = (".h", ".cc", ".cu", ".sh", ".py", ".yaml")

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
CITED = re.compile(r"`((?:[\w.-]+/)*[\w.-]+\.md|(?:common|deploy|loadtest|services|protos|tests)/"
                   r"(?:[\w.-]+/)*[\w-]+\.(?:h|cc|sh|py|proto|yaml|json|jsonl))`")

FIGURES = "loadtest/figures/figures.json"
# "figures `one`, `two`: 1a2b3c4, 2 cores of Some CPU (2.6 GHz, AVX-512)"
CITED_FIGURES = re.compile(r"[Ff]igures ((?:`\w+`(?:, | and )?)+): ([0-9a-f]{7,40}), ")


def documents(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders
                            if f in (".github",) or not f.startswith((".", "bazel-")))
        for name in sorted(names):
            if name.endswith(".md"):
                yield os.path.relpath(os.path.join(folder, name), root)


def exists(root, *parts):
    return os.path.exists(os.path.normpath(os.path.join(root, *parts)))


def dead_references(root, path):
    here = os.path.dirname(path)
    with open(os.path.join(root, path), encoding="utf-8") as source:
        for number, line in enumerate(source, 1):
            for target in LINK.findall(line):
                if not target.startswith(("http:", "https:")) and not exists(root, here, target):
                    yield f"{path}:{number}: links to {target}, which is not there"
            for target in CITED.findall(line):
                if not exists(root, here, target) and not exists(root, target):
                    yield f"{path}:{number}: cites {target}, which is not there"


def unexplained_folders(root):
    for top in EXPLAINED:
        for folder, _, names in os.walk(os.path.join(root, top)):
            # What a kustomization.yaml lists, here or in the folder above, says itself what it is.
            if any(os.path.exists(os.path.join(at, "kustomization.yaml"))
                   for at in (folder, os.path.dirname(folder))):
                continue
            if "README.md" not in names and any(name.endswith(SOURCES) for name in names):
                yield f"{os.path.relpath(folder, root)}: has sources and no README.md"


def gaps_of_table(root):
    """Folders of common/ that the table of the root's README leaves out."""
    with open(os.path.join(root, "README.md"), encoding="utf-8") as source:
        text = source.read()
    for name in sorted(os.listdir(os.path.join(root, "common"))):
        if os.path.isdir(os.path.join(root, "common", name)) and f"`common/{name}`" not in text:
            yield f"README.md: common/{name} is not in its table of folders"


def stands_in(value, text):
    return re.search(r"(?<![\d.])" + re.escape(value) + r"(?!\d|\.\d)", text) is not None


def wrong_figures(root, paths):
    """What READMEs and the file of figures say differently."""
    if not exists(root, FIGURES):
        return
    with open(os.path.join(root, FIGURES), encoding="utf-8") as source:
        measurements = json.load(source)
    texts, cited = {}, set()
    for path in paths:
        with open(os.path.join(root, path), encoding="utf-8") as source:
            texts[path] = source.read()
        for found in CITED_FIGURES.finditer(texts[path]):
            for name in re.findall(r"\w+", found[1].replace(" and ", " ")):
                cited.add((path, name))
                known = measurements.get(name)
                if known is None:
                    yield f"{path}: cites figures {name}, which are not in {FIGURES}"
                elif found[2] != known["commit"] or not texts[path].startswith(known["cpu"],
                                                                               found.end()):
                    yield (f"{path}: cites figures {name} otherwise than {FIGURES}: "
                           f"{known['commit']}, {known['cpu']}")
    for name, known in measurements.items():
        for path in known["readmes"]:
            if (path, name) not in cited:
                yield f"{FIGURES}: {name} names {path}, which does not cite it"
            for figure, told in known["figures"].items():
                if not stands_in(told["value"], texts.get(path, "")):
                    yield (f"{FIGURES}: {figure} of {name} is {told['value']} {told['unit']}, "
                           f"which is not in {path}")


def main(root):
    found = list(documents(root))
    offences = [offence for path in found for offence in dead_references(root, path)]
    if found:
        offences += [*unexplained_folders(root), *gaps_of_table(root), *wrong_figures(root, found)]
    print("\n".join([*offences, f"{len(found)} documents, {len(offences)} offences"]))
    return 0 if found and not offences else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
