"""Models of random weights that parts of check.sh put into their stores: as fast as trained ones of their size."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from part import Part

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
_BUNDLE = re.compile(r"\b[0-9a-f]{64}\b")
_SMALLER = {"layer_count": 2, "hidden_size": 128, "head_count": 2, "intermediate_size": 512}


def added(part: Part, store: str, *command: str) -> str | None:
    """The id that a command of sightlinectl says of the model that it has put into the store."""
    status, output = part.run("services/sightlinectl/sightlinectl", *command, "--store", store)
    found = _BUNDLE.findall(output)
    return found[-1] if status == 0 and found else None


def add_oscar(part: Part, store: str, reranks: bool = True, reads_tags: bool = False) -> str | None:
    """One of base size, for 36 regions; where there is the CPU alone, of two layers.  What it is made of is kept
    beside the store."""
    with open(os.path.join(ROOT, "loadtest/baseline/base.json"), encoding="utf-8") as file:
        config = json.load(file)
    if part.cpu_only:
        config["transformer"] |= _SMALLER
        config["embedding"]["dimension"] = _SMALLER["hidden_size"]
    if not reranks:
        del config["cross_encoder"]
    if reads_tags:
        config["tags"] = {"max_token_count": config["tokenizer"]["max_token_count"], "token_type": 1}
    with open(store + ".json", "w", encoding="utf-8") as file:
        json.dump(config, file)
    return added(part, store, "init-model", "--config", store + ".json",
                 "--vocabulary", os.path.join(ROOT, "deploy/demo/model/vocab.txt"))
