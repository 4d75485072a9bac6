#!/usr/bin/env python3
"""Draws layers.py into the READMEs that show it, between `<!-- NAME, drawn -->` and `<!-- end -->`.

usage: maps.py ROOT [--write]
  --write  draws them anew; without it, says which README shows something else

exit status: 0 all are as drawn, 1 some are not.
"""

import os
import re
import sys

from layers import LAYERS, OWNERS

READMES = {"README.md": ["layers"], "common/README.md": ["layers", "libraries"]}
FOLDERS = {"services": "services/<x>"}


def joined(folders):
    """"common/a" and "common/b" become "common/{a, b}"."""
    parents = {folder.rpartition("/")[0] for folder in folders}
    if len(folders) == 1 or parents != {"common"}:
        return ", ".join(FOLDERS.get(folder, folder) for folder in folders)
    return "common/{%s}" % ", ".join(folder.rpartition("/")[2] for folder in folders)


def layers():
    yield "```"
    for depth, folders in enumerate(reversed(LAYERS)):
        yield "  " * depth + ("-> " if depth else "") + joined(folders)
    yield "```"


def libraries():
    yield "| what | named in |"
    yield "|---|---|"
    for name, _, owners in OWNERS:
        yield f"| {name} | {', '.join(f'`{owner}`' for owner in owners)} |"


MAPS = {"layers": layers, "libraries": libraries}


def redrawn(text, name):
    """`text` with its map of that name as it has to be; None if it has no place for one."""
    begin, end = f"<!-- {name}, drawn -->\n", "<!-- end -->"
    place = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)
    drawing = begin + "".join(line + "\n" for line in MAPS[name]()) + end
    return place.sub(lambda _: drawing, text, count=1) if place.search(text) else None


def main(root, write):
    offences = 0
    for path, names in READMES.items():
        with open(os.path.join(root, path), encoding="utf-8") as source:
            before = source.read()
        text = before
        for name in names:
            drawn = redrawn(text, name)
            if drawn is None:
                offences += 1
                print(f"{path}: has no <!-- {name}, drawn -->")
            text = drawn or text
        if text == before:
            continue
        if write:
            with open(os.path.join(root, path), "w", encoding="utf-8") as target:
                target.write(text)
        else:
            offences += 1
            print(f"{path}: is not what layers.py draws; run tests/layering/maps.py . --write")
    print(f"{sum(map(len, READMES.values()))} maps, {offences} offences")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--write" in sys.argv[2:]))
