"""Which headers of others sources include, to the last.

Our own includes are followed here, by their text: an include that a macro leaves out is followed
too.  What headers of others include in their turn the compiler tells.
"""

from __future__ import annotations

import os
import re
import subprocess

from actions import PackError

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
# Found on the machine that compiles: LibTorch, CUDA, and the compiler's own with those of libc.
_ELSEWHERE = re.compile(r"(torch|ATen|c10|caffe2)/|(cuda|cublas)\w*\.h$")
_COMPILERS = re.compile(r"(libc6-dev|linux-libc-dev|libcrypt-dev|libstdc\+\+-\d+-dev|libgcc-\d+-dev|libtorch-dev)"
                        r"(:\w+)?$")


def own_files(sources: list[str], folders: list[str]) -> list[str]:
    """`sources` and those of our headers that they include; these lie in `folders`."""
    return sorted(_follow(sources, folders)[0])


def named_headers(sources: list[str], folders: list[str]) -> list[str]:
    """Of others, as these files of ours name them."""
    return sorted(_follow(sources, folders)[1])


def _follow(sources: list[str], folders: list[str]) -> tuple[set[str], set[str]]:
    queue, seen, others = list(sources), set(sources), set()
    while queue:
        path = queue.pop()
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        for kind, name in _INCLUDE.findall(text):
            places = [os.path.join(folder, name) for folder in folders]
            if kind == '"':
                places.insert(0, os.path.join(os.path.dirname(path), name))
            ours = next((os.path.normpath(place) for place in places if os.path.isfile(place)), None)
            if ours is None:
                if not _ELSEWHERE.match(name):
                    others.add(name)
            elif ours not in seen:
                seen.add(ours)
                queue.append(ours)
    return seen, others


def all_headers(names: list[str], flags: list[str], compiler: str = "g++") -> list[str]:
    """Files of /usr/include that belong to libraries, of all that `names` include."""
    there = [name for name in names if _exists(name)]
    text = "".join(f"#include <{name}>\n" for name in there)
    run = subprocess.run([compiler, *flags, "-M", "-x", "c++", "-"], input=text, capture_output=True,
                         text=True, check=False)
    if run.returncode != 0:
        raise PackError(f"{compiler} cannot read the headers of the libraries; run deploy/bazel/setup.sh:\n"
                        + run.stderr)
    paths = sorted({os.path.normpath(word) for word in run.stdout.replace("\\\n", " ").split()
                    if word.startswith("/usr/include/")})
    owners = _owners(paths)
    return [path for path in paths if not _COMPILERS.match(owners.get(path, ""))]


def _exists(name: str) -> bool:
    """Not those of the compiler itself, which no pack holds; nor what other machines alone have."""
    return any(os.path.isfile(os.path.join(folder, name))
               for folder in ("/usr/include", "/usr/include/x86_64-linux-gnu"))


def _owners(paths: list[str]) -> dict[str, str]:
    """Of the distribution's files, the package that each is of."""
    run = subprocess.run(["dpkg-query", "-S", *paths], capture_output=True, text=True, check=False)
    owners = {}
    for line in run.stdout.splitlines():
        package, _, path = line.rpartition(": ")
        owners[path] = package.split(",")[0]
    return owners
