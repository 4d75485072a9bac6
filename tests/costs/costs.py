#!/usr/bin/python3
"""What of a build and of its tests takes how long, by folder, from Bazel's profiles.

usage: tests/costs/costs.py [--since REV] PROFILE...
  PROFILE      of a clean build, and of all tests: Bazel keeps that of the last command in
               `bazel info output_base`/command.profile.gz, and writes it to --profile=FILE
  --since REV  of each file the share of its lines that came after that commit: what has been
               added since

Minutes are of one core, which a compiler and most tests take for themselves; two cores take half of
them.  Files and tests that came out of a cache took nothing, so build with --disk_cache= and test
with --nocache_test_results.
"""

import collections
import gzip
import json
import os
import re
import subprocess
import sys

NAMED = re.compile(r"(Compiling|Linking|Testing) (?://)?(\S+)")
SOURCES = [".cc", ".py", ".sh"]  # of a test


def actions(profile):
    """What was built or tested, and for how many seconds."""
    with gzip.open(profile, "rt", encoding="utf-8", errors="replace") as file:
        events = json.load(file)["traceEvents"]
    for event in events:
        named = NAMED.match(event.get("name", ""))
        if named and event.get("cat") == "action processing":
            kind = "testing" if named[1] == "Testing" else "building"
            yield kind, named[2].rstrip(";").replace(":", "/"), event["dur"] / 1e6


def added_lines(root, revision):
    """Of each file that has changed since: the lines that were added."""
    out = subprocess.run(["git", "-C", root, "diff", "--no-renames", "--numstat", revision], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    rows = [line.split("\t") for line in out.splitlines()]
    return {path: int(added) for added, _, path in rows if added != "-"}


def share_of(root, path, added):
    """Of a source or a test, by the file that it has; 0 of one that is not there, as what another
    repository or a generator brings."""
    for name in [path] + [path + end for end in SOURCES]:
        if os.path.isfile(os.path.join(root, name)):
            with open(os.path.join(root, name), "rb") as file:
                lines = sum(1 for _ in file)
            return min(1.0, added.get(name, 0) / max(lines, 1))
    return 0.0


def costs(root, profiles, added=None):
    """Seconds by folder of two names, below tests/ of three, each of building and of testing; of what
    was added alone, if that is given."""
    sums = collections.defaultdict(lambda: {"building": 0.0, "testing": 0.0})
    for profile in profiles:
        for kind, path, seconds in actions(profile):
            share = 1.0 if added is None else share_of(root, path, added)
            names = os.path.dirname(path).split("/")
            sums["/".join(names[:3 if names[0] == "tests" else 2])][kind] += share * seconds
    return sums


def main(arguments):
    revision = None
    if arguments[:1] == ["--since"]:
        revision, arguments = (arguments + [""])[1], arguments[2:]
    if not arguments or arguments[0].startswith("-") or revision == "":
        print(__doc__.strip(), file=sys.stderr)
        return 2
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    try:
        sums = costs(root, arguments, added_lines(root, revision) if revision else None)
    except (OSError, ValueError, KeyError, subprocess.CalledProcessError) as failure:
        print(f"costs: {failure}; give what Bazel has written, whole", file=sys.stderr)
        return 1
    print(f"{'minutes of one core':40} {'building':>9} {'testing':>9}")
    rows = sorted(sums.items(), key=lambda row: -sum(row[1].values()))
    rows.append(("all", {kind: sum(own[kind] for own in sums.values())
                         for kind in ("building", "testing")}))
    for folder, own in rows:
        if sum(own.values()) >= 0.6:
            print(f"{folder:40} {own['building'] / 60:9.2f} {own['testing'] / 60:9.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
