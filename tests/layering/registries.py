#!/usr/bin/env python3
"""Holds the tree to its registries of reasons and limits, and the documents to them; and names of
types to one type each.

Reasons (common/base/error_reasons.h): those of protos/README.md's table have the code that
stands there, those of common/generations/README.md's are known; each reason is in one of the
two, and something gives or reads it; no source has the name of one as a literal.

Limits (common/base/limits.h): each is used, none is defined a second time, and the documents
that cited_limits.txt lists have their numbers.

Types: no two headers define a class or struct of the same name and namespace.  The linker would
take one's functions for the other's wherever a program has both, and no compiler notices.

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

LIMITS = "common/base/limits.h"
LIMIT = re.compile(r"constexpr (?:int|int64_t|size_t) (k\w+)\s*=\s*([^;]+);")
# The documents that cite limits, by what words: its own head tells how.
CITED = "tests/layering/cited_limits.txt"

# At the outermost level of a file, where what a namespace holds is not indented.
NAMESPACE = re.compile(r"^namespace ([\w:]*) ?\{", re.M)
TYPE = re.compile(r"^(?:class|struct) (?:\w+\([^)]*\) )?(\w+)(?: final)?(?: :[^;]*)? \{", re.M)


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


def value_of(expression, limits):
    """What C++ makes of it, if it is made of numbers and limits; else None."""
    expression = re.sub(r"(?:int64_t|size_t)\{(\d+)\}", r"\1", expression.replace("'", ""))
    expression = expression.replace("/", "//")
    if not re.fullmatch(r"(?:k\w+|\d+|<<|[-+*/() ])+", expression):
        return None
    try:
        return eval(expression, {"__builtins__": {}}, limits)  # pylint: disable=eval-used
    except NameError:
        return None


def limits_of(text):
    """Name -> value."""
    limits = {}
    for name, expression in LIMIT.findall(text):
        limits[name] = value_of(expression, limits)
    return limits


def ways_to_write(number):
    """What may stand for a number in a document."""
    ways = [str(number), f"{number:,}".replace(",", " ")]
    for unit, size in (("KiB", 1 << 10), ("MiB", 1 << 20)):
        if number % size == 0:
            ways += [f"{number // size} {unit}", f"{number // size}{unit}"]
    if number % 10**6 == 0:
        ways.append(str(number // 10**6))  # megapixels
    return ways


def citations(text):
    """(document, words, limits) of each line of CITED."""
    path = None
    for line in text.splitlines():
        if line.startswith("  "):
            words, names = line.strip().rsplit(" <- ", 1)
            yield path, words, names.split(", ")
        elif line and not line.startswith("#"):
            path = line


def cites(text, phrase, numbers):
    parts = [re.escape(part) for part in phrase.split("{}")]
    pattern = parts[0]
    for number, part in zip(numbers, parts[1:]):
        pattern += "(?:" + "|".join(map(re.escape, ways_to_write(number))) + ")" + part
    return re.search(pattern, text) is not None


def wrong_limits(root, sources):
    limits = limits_of(sources[LIMITS])
    if not limits:
        yield f"{LIMITS}: there are no limits"
    for path, phrase, names in citations(read(root, CITED)):
        if not os.path.exists(os.path.join(root, path)):
            yield f"{CITED}: {path} is not there"
            continue
        text = " ".join(re.sub(r"^\s*//", "", read(root, path), flags=re.M).split())
        numbers = [value_of(name, limits) for name in names]
        if None in numbers:
            yield f"{CITED}: one of {', '.join(names)} is not in {LIMITS}"
        elif not cites(text, phrase, numbers):
            told = " and ".join(f"{name} = {n}" for name, n in zip(names, numbers))
            yield f"{path}: does not say '{phrase}' with {told}, as {LIMITS} has it"
    for path, text in sources.items():
        for name, expression in LIMIT.findall(text) if path != LIMITS else ():
            if name in limits and value_of(expression, limits) == limits[name]:
                yield f"{path}: {name} is in {LIMITS}; use that"
    used = {name for path, text in sources.items() if path != LIMITS
            for name in re.findall(r"limits::(k\w+)", text)}
    used.update(name for _, value in LIMIT.findall(sources[LIMITS])
                for name in re.findall(r"k[A-Z]\w+", value))
    for name in sorted(set(limits) - used):
        yield f"{LIMITS}: nothing uses {name}"


def repeated_types(sources):
    seen = {}
    for path, text in sources.items():
        if not path.endswith(".h"):
            continue
        namespaces = NAMESPACE.findall(text)
        for name in set(TYPE.findall(text)) if "" not in namespaces else ():
            other = seen.setdefault((*namespaces, name), path)
            if other != path:
                yield f"{path}: {name} is a type of {other} too; give one another name"


def main(root):
    sources = {path: read(root, path) for path in walk(root, ".h", ".cc", ".cu")}
    documents = {path: read(root, path) for path in walk(root, ".md")}
    missing = [path for path in (REASONS, LIMITS, CALLS, REFUSALS, CITED)
               if not os.path.exists(os.path.join(root, path))]
    offences = [f"{path}: is not there" for path in missing]
    if not missing:
        offences += [*wrong_reasons(root, sources, documents), *wrong_limits(root, sources),
                     *repeated_types(sources)]
    print("\n".join([*offences, f"{len(sources)} files, {len(offences)} offences"]))
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
