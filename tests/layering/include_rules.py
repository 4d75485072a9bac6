#!/usr/bin/env python3
"""Checks every #include of the tree against layers.py, and where locks come from.

gcc enforces no arrows between headers, and Bazel's visibility stops at targets; this
does the rest.  Prints one line per offence, and exits 1 if there is any.

usage: include_rules.py ROOT
"""

import os
import re
import sys

from layers import LAYERS, OWNERS

# Folders of common/models that all families share.  Each other one is a family, which nobody else
# there may name but for these.
SHARED_BY_FAMILIES = ["inputs", "network", "convert", "precision"]
BORROWERS = {
    "oscar": ["common/models/vldeformer/", "common/models/init_model.cc"],
    "uniter": ["common/models/lightningdot/"],
}

# What whoever only reads or writes bundles links, and what may therefore not be included there.
TORCH_FREE = re.compile(
    r"common/models/((inputs|convert)/|family_|\w+/((small_)?manifest|(trunk_)?conversion)\.)"
)
BRINGS_TORCH = re.compile(r"(torch|ATen|c10|caffe2)/|common/models/(network/|\w+/net\.h)")

# What happens around a call, whatever brings it.
GRPC_FREE = re.compile(r"common/rpc/(call_gate|handler_threads|request_id|request_memory|rpc_options|status_details)\.")
BRINGS_GRPC = re.compile(r"grpc(pp)?/|common/rpc/(?!call_gate|handler_threads|request_|rpc_options|status_details)")

# Locks, tests' too, come from one header, whose users clang checks; and one file says how libraries
# are to lock.
LOCKS_HOME = "common/base/mutex.{h,cc}"
OF_LOCKS_HOME = re.compile(r"common/base/mutex\.(h|cc)")
LOCKS_OF_LIBRARIES = "common/base/library_locks.cc"
OF_LIBRARIES = re.compile(r"absl/synchronization/|\babsl::SetMutexDeadlockDetectionMode\b")
LOCK = re.compile(r"<(?:mutex|shared_mutex|condition_variable)>|absl/synchronization/|"
                  r"\bstd::(?:\w*mutex|\w+_lock|lock_guard|condition_variable\w*)\b|"
                  r"\babsl::(?:\w*Mutex\w*|CondVar)\b")

# Of families' tensors the numbers, the device and the precision are the gate's and the executors'.
TENSORS_HOME = "common/models/network/{tensor_gate,executor}.h"
TENSOR_MEMORY = re.compile(r"\bfrom_blob\b|\bdata_ptr\b|\bk(?:CPU|CUDA)\b|\bNew\w+Executor\b(?<!NewExecutor)|"
                           r"common/models/network/\w+_executor\.h")

# Elsewhere credentials are names.  Tests may set up servers that are none of ours.
CREDENTIALS_HOME = re.compile(r"common/rpc/\w*credentials\.cc")
CREDENTIALS = re.compile(r"\bgrpc::(?:experimental::)?(?!Channel|Server|Call)\w+Credentials\b")

# Versions 2 and 3 of Catch2 name its matchers differently; one header gives tests the names of both.
MATCHERS_HOME = "tests/support/catch.h"
MATCHERS = re.compile(r"\bCatch::Matchers\b|<catch2/")

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')


def layer_of(path):
    for rank, folders in enumerate(LAYERS):
        if any(path.startswith(folder + "/") for folder in folders):
            return rank
    return None


def service_of(path):
    return path.split("/")[1] if path.startswith("services/") else None


def family_of(path):
    match = re.match(r"common/models/(\w+)/", path)
    return match[1] if match and match[1] not in SHARED_BY_FAMILIES else None


def owns(path, owners):
    if path.startswith(("tests/", "loadtest/")):
        return True
    for owner in owners:
        if owner == "services/*_service":
            if service_of(path) and re.search(r"_service\.(h|cc)$", path):
                return True
        elif path.startswith(owner + "/"):
            return True
    return False


def offence(path, included):
    """Why `path` may not include `included`, or None."""
    target = layer_of(included)
    if target is not None:
        if target > layer_of(path):
            return "points up"
        if service_of(included) and service_of(path) not in (None, service_of(included)):
            return "points to another service"
    family = family_of(included)
    if family and path.startswith("common/models/") and family_of(path) != family:
        if not any(path.startswith(borrower) for borrower in BORROWERS.get(family, [])):
            return "points to a family"
    if TORCH_FREE.match(path) and BRINGS_TORCH.match(included):
        return "brings torch"
    if GRPC_FREE.match(path) and BRINGS_GRPC.match(included):
        return "brings gRPC"
    for _, pattern, owners in OWNERS:
        if re.match(pattern, included) and not owns(path, owners):
            return "belongs to " + ", ".join(owners)
    return None


def main(root):
    files = offences = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "bazel-")))
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if not name.endswith((".h", ".cc", ".cu")):
                continue
            files += 1
            if layer_of(path) is None:
                offences += 1
                print(f"{path}: its folder is in no layer of layers.py")
                continue
            with open(os.path.join(root, path), encoding="utf-8") as source:
                for number, line in enumerate(source, 1):
                    match = INCLUDE.match(line)
                    reason = match and offence(path, match.group(1))
                    if reason:
                        offences += 1
                        print(f"{path}:{number}: {match.group(1)} {reason}")
                    secret = (path.startswith(("common/", "services/")) and
                              not CREDENTIALS_HOME.fullmatch(path) and
                              CREDENTIALS.search(line.split("//")[0]))
                    if secret:
                        offences += 1
                        print(f"{path}:{number}: {secret.group()} belongs to common/rpc/*credentials.cc")
                    memory = family_of(path) and TENSOR_MEMORY.search(line.split("//")[0])
                    if memory:
                        offences += 1
                        print(f"{path}:{number}: {memory.group()} belongs to {TENSORS_HOME}")
                    code = line.split("//")[0]
                    if path != MATCHERS_HOME and MATCHERS.search(code):
                        offences += 1
                        print(f"{path}:{number}: {MATCHERS.search(code).group()} belongs to {MATCHERS_HOME}")
                    lock = not OF_LOCKS_HOME.fullmatch(path) and LOCK.search(code)
                    if lock and path == LOCKS_OF_LIBRARIES and OF_LIBRARIES.search(code):
                        lock = None
                    if lock:
                        offences += 1
                        print(f"{path}:{number}: {lock.group()} belongs to {LOCKS_HOME}")
    print(f"{files} files, {offences} offences")
    return 0 if files and not offences else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
