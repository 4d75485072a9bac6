"""What tests of Python share: they find the modules that they test, and count their cases."""

import os
import sys
import unittest

# Arguments are the modules; TEST_TMPDIR is Bazel's.
sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[1])))
WORK = os.environ["TEST_TMPDIR"]


class Case(unittest.TestCase):
    """Each has a folder of its own."""

    def setUp(self):
        self.folder = os.path.join(WORK, self.id())
        os.makedirs(self.folder)

    def write(self, path, content=b""):
        """A file below the folder; returns its full path."""
        full = os.path.join(self.folder, path.lstrip("/"))
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(content)
        return full


def main():
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    failed = len(result.failures) + len(result.errors)
    print(f"cases: {result.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed or result.testsRun == 0 else 0)
