#!/usr/bin/env python3
"""Holds the tree, and the weights of models in it, to what a clone may weigh.

usage: sizes.py ROOT
  Counts what git has of the folder; where it is no clone, or git cannot read it, everything in
  it but links.

exit status: 0 both are within their bounds, 1 one is not.
"""

import os
import subprocess
import sys

MOST_BYTES = 46_000_000
MOST_WEIGHT_BYTES = 34_000_000
LISTED = 5  # of the largest files, where there is too much


def walked(root):
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return found


def files_of(root):
    if not os.path.exists(os.path.join(root, ".git")):
        return walked(root)
    try:
        # A clone of another user's, as on machines that build for others, is read all the same.
        listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z"],
                                capture_output=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError) as failed:
        reason = getattr(failed, "stderr", None) or str(failed).encode()
        print(f"everything in {root} is counted: {reason.decode(errors='replace').strip()}", file=sys.stderr)
        return walked(root)
    return [name for name in os.fsdecode(listed.stdout).split("\0") if name]


def is_weights(path):
    return path.endswith(".safetensors") and not path.startswith("tests/")


def problem(what, sizes, most):
    total = sum(sizes.values())
    if total <= most:
        return []
    largest = sorted(sizes, key=sizes.get, reverse=True)[:LISTED]
    return [f"{what} has {total} bytes, {total - most} more than may be; the largest files:"] + [
        f"  {sizes[path]:>10}  {path}" for path in largest]


def main(root):
    sizes = {}
    for path in files_of(root):
        whole = os.path.join(root, path)
        if os.path.isfile(whole) and not os.path.islink(whole):
            sizes[path] = os.path.getsize(whole)
    weights = {path: size for path, size in sizes.items() if is_weights(path)}
    problems = problem("the tree", sizes, MOST_BYTES)
    problems += problem("what models have learnt", weights, MOST_WEIGHT_BYTES)
    print("\n".join(problems) or
          f"{len(sizes)} files, {sum(sizes.values())} bytes, {sum(weights.values())} of them weights")
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[1]))
