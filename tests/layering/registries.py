#!/usr/bin/env python3
"""Holds the tree to its registry of reasons, and the documents to it.

Reasons (common/base/error_reasons.h): those of protos/README.md's table have the code that
stands there, those of common/generations/README.md's are known; each reason is in one of the
two, and something gives or reads it; no source has the name of one as a literal.

Prints one line per offence, and exits 1 if there is any.

usage: registries.py ROOT
"""

import os
import re
import sys

REASONS = "common/base/error_reasons.h"
REASON = re.compile(r'Reason (k\w+)\{\s*"([A-Z_]+)",\s*absl::StatusCode::k(\w+)\}')
# Of a reason "| `NAME` | CODE | ..." and of refused generations "| `NAME`, `NAME` | ...".
CALLS, REFUSALS = "protos/README.md", "common/generations/README.md"
NAME = re.compile(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`")
# "INVALID_ARGUMENT, `INVALID_FIELD`", anywhere.
PAIR = re.compile(r"\b([A-Z]+(?:_[A-Z]+)*),(?: reason)? `([A-Z]+(?:_[A-Z]+)+)`")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as source:
        return source.read()


def walk(root, *endings):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "bazel-")))
        for name in sorted(names):
            if name.endswith(endings):
                yield os.path.relpath(os.path.join(folder, name), root)


def upper_snake(camel):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", camel).upper()


def rows(text):
    """The cells of each row of a document's tables."""
    for line in text.splitlines():
        if line.startswith("| "):
            yield [cell.strip() for cell in line.strip().strip("|").split("|")]


def wrong_reasons(root, sources, documents):
    entries = REASON.findall(read(root, REASONS))
    if not entries:
        yield f"{REASONS}: there are no reasons"
    codes = {}
    for constant, name, code in entries:
        if name in codes:
            yield f"{REASONS}: {name} is there twice"
        if upper_snake(constant[1:]) != name:
            yield f"{REASONS}: {constant} is not the constant of {name}"
        codes[name] = upper_snake(code)

    told = set()
    for cells in rows(documents[CALLS]):
        if len(cells) > 2 and NAME.fullmatch(cells[0]) and re.fullmatch("[A-Z_]+", cells[1]):
            name = cells[0].strip("`")
            told.add(name)
            if codes.get(name) != cells[1]:
                yield f"{CALLS}: {name} has {cells[1]}, in {REASONS} {codes.get(name)}"
    for cells in rows(documents[REFUSALS]):
        for name in NAME.findall(cells[0]):
            told.add(name)
            if name not in codes:
                yield f"{REFUSALS}: {name} is not in {REASONS}"
    for name in sorted(set(codes) - told):
        yield f"{REASONS}: {name} is neither in {CALLS} nor in {REFUSALS}"
    for path, text in documents.items():
        for code, name in PAIR.findall(text):
            if code in codes.values() and codes.get(name) != code:
                yield f"{path}: {name} has {code}, in {REASONS} {codes.get(name)}"

    used = set()
    for path, text in sources.items():
        if path == REASONS:
            continue
        if not path.startswith("tests/"):
            used.update(re.findall(r"reasons::(k\w+)", text))
        for number, line in enumerate(text.splitlines(), 1):
            for name in re.findall(r'"([A-Z_]+)"', line.split("//")[0]):
                if name in codes:
                    yield f'{path}:{number}: "{name}" is in {REASONS}; use its constant'
    for constant, name, _ in entries:
        if constant not in used:
            yield f"{REASONS}: nothing uses {name}"


def main(root):
    sources = {path: read(root, path) for path in walk(root, ".h", ".cc")}
    documents = {path: read(root, path) for path in walk(root, ".md")}
    missing = [path for path in (REASONS, CALLS, REFUSALS)
               if path not in sources and path not in documents]
    offences = [f"{path}: is not there" for path in missing]
    if not missing:
        offences += wrong_reasons(root, sources, documents)
    print("\n".join([*offences, f"{len(sources)} files, {len(offences)} offences"]))
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
