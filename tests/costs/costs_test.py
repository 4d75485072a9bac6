"""Profiles are added up by folder, whole or by what was added.

usage: costs_test.py COSTS
"""

import gzip
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import cases
import costs


def event(name, seconds, cat="action processing"):
    return {"name": name, "cat": cat, "dur": seconds * 1e6}


class CostsTest(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"])

    def write(self, path, lines):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("line\n" * lines)

    def profile(self, *events):
        path = os.path.join(self.root, "profile.gz")
        with gzip.open(path, "wt", encoding="utf-8") as file:
            json.dump({"traceEvents": list(events)}, file)
        return path

    def test_actions_are_added_up_by_folder(self):
        profile = self.profile(event("Compiling common/a/x.cc", 3), event("Compiling common/a/y.cc", 4),
                               event("Compiling services/b/c/z.cc", 5),
                               event("Testing //tests/common/a:x_test", 6),
                               event("Testing //tests/common/b:y_test", 7),
                               # The same action's parts, and what is neither.
                               event("Compiling common/a/x.cc", 3, "local action execution"),
                               event("Linking tests/common/b/y_test", 2),
                               event("Creating runfiles tree", 9), {"name": "thread_name"})
        sums = costs.costs(self.root, [profile, profile])
        self.assertEqual({folder: (own["building"], own["testing"]) for folder, own in sums.items()},
                         {"common/a": (14, 0), "services/b": (10, 0), "tests/common/a": (0, 12),
                          "tests/common/b": (4, 14)})

    def test_of_a_file_counts_the_share_that_was_added(self):
        self.write("common/a/x.cc", 10)
        self.write("tests/common/a/x_test.cc", 4)
        self.write("tests/common/a/all_test.py", 2)
        self.write("common/a/old.cc", 10)
        profile = self.profile(event("Compiling common/a/x.cc", 20), event("Compiling common/a/old.cc", 8),
                               event("Compiling external/other/o.cc", 9),
                               event("Testing //tests/common/a:x_test", 8),
                               event("Testing //tests/common/a:all_test", 3))
        sums = costs.costs(self.root, [profile], {"common/a/x.cc": 5, "tests/common/a/x_test.cc": 1,
                                                  "tests/common/a/all_test.py": 2})
        self.assertEqual(sums["common/a"]["building"], 10)
        self.assertEqual(sums["tests/common/a"]["testing"], 5)
        self.assertEqual(sums["external/other"]["building"], 0)

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_added_lines_are_those_since_a_commit(self):
        def git(*words):
            subprocess.run(["git", "-C", self.root, "-c", "user.name=n", "-c", "user.email=e", *words],
                           check=True, stdout=subprocess.DEVNULL)
        git("init", "-q")
        self.write("common/a/x.cc", 3)
        git("add", ".")
        git("commit", "-q", "-m", "one")
        self.write("common/a/x.cc", 5)
        self.write("common/a/new.cc", 4)
        git("add", ".")
        git("commit", "-q", "-m", "two")
        self.assertEqual(costs.added_lines(self.root, "HEAD~1"),
                         {"common/a/x.cc": 2, "common/a/new.cc": 4})

    def test_what_is_no_profile_is_said(self):
        self.assertEqual(costs.main([os.path.join(self.root, "none.gz")]), 1)
        self.assertEqual(costs.main([]), 2)
        self.assertEqual(costs.main(["--since"]), 2)


if __name__ == "__main__":
    cases.main()
