#!/usr/bin/python3
"""Texts that say the same, of WordNet's nouns: a word, its definition, its kind.  A model that
learns from them beside captions knows words that no picture of its corpora shows.

usage: deploy/demo/words.py FILE

Writes JSON lines that `trainer prepare --learn-texts FILE` reads.  The Debian packages
wordnet-base, wamerican and wamerican-small (which tell common words from rare ones) are
fetched with apt-get and unpacked beside, not installed.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile

PACKAGES = ["wordnet-base", "wamerican", "wamerican-small"]

# WordNet's lexicographer files (lexnames(5WN)) whose nouns can be drawn, and from which list
# of words they must be.
LARGE, SMALL = "american-english", "american-english-small"
LIST_OF_FILE = {
    5: LARGE,  # animal
    6: LARGE,  # artifact
    8: LARGE,  # body
    12: SMALL,  # feeling
    13: LARGE,  # food
    15: SMALL,  # location
    17: LARGE,  # object
    18: SMALL,  # person
    19: LARGE,  # phenomenon
    20: SMALL,  # plant
    23: SMALL,  # quantity
    25: LARGE,  # shape
    27: SMALL,  # substance
    28: SMALL,  # time
}
# Of kinds that are told, these say nothing.
EMPTY_KINDS = {
    "abstraction", "abstract_entity", "artifact", "attribute", "causal_agent", "entity",
    "instrumentality", "living_thing", "matter", "object", "organism", "physical_entity",
    "thing", "unit", "whole",
}
MOST_SENSES = 2  # a word's rarer senses would only blur it
MOST_WORDS = 4
MOST_KINDS = 4
MOST_DEFINITION_WORDS = 14


class Synset:
    """A line of data.noun: words of one sense, what they are kinds of, a definition."""

    def __init__(self, line):
        head, gloss = line.split(" | ", 1)
        fields = head.split()
        self.offset, self.file = fields[0], int(fields[1])
        count = int(fields[3], 16)
        self.words = [fields[4 + 2 * i] for i in range(count)]
        pointers = fields[4 + 2 * count + 1 :]
        self.kinds = [
            pointers[i + 1]
            for i in range(0, len(pointers) - 3, 4)
            if pointers[i] in ("@", "@i") and pointers[i + 2] == "n"
        ]
        self.definition = short_definition(gloss)


def short_definition(gloss):
    text = re.sub(r"\([^)]*\)", " ", gloss.split('; "')[0]).split(";")[0]
    words = text.split()
    return " ".join(words[:MOST_DEFINITION_WORDS])


def read_words(path):
    with open(path, encoding="utf-8") as file:
        return {line.strip().lower() for line in file}


def read_synsets(folder):
    with open(os.path.join(folder, "data.noun"), encoding="utf-8") as file:
        synsets = [Synset(line) for line in file if not line.startswith("  ")]
    return {synset.offset: synset for synset in synsets}


def read_senses(folder):
    """(word, offset) -> how many senses of the word are more usual."""
    senses = {}
    with open(os.path.join(folder, "index.noun"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("  "):
                continue
            fields = line.split()
            offsets = fields[4 + int(fields[3]) + 2 :]
            for sense, offset in enumerate(offsets):
                senses[fields[0], offset] = sense
    return senses


def is_known(word, known):
    parts = re.split("[_-]", word.lower().replace("'s", ""))
    return all(part in known for part in parts)


def kinds_of(synset, synsets):
    """"marsupial, mammal, animal" of a wombat: the nearest first."""
    kinds = []
    while synset.kinds and len(kinds) < MOST_KINDS:
        synset = synsets[synset.kinds[0]]
        if synset.words[0] not in EMPTY_KINDS:
            kinds.append(synset.words[0].replace("_", " "))
    return ", ".join(kinds)


def concepts(synsets, senses, lists):
    for synset in synsets.values():
        known = lists.get(LIST_OF_FILE.get(synset.file))
        if known is None:
            continue
        words = [
            word.replace("_", " ")
            for word in synset.words
            if senses.get((word.lower(), synset.offset), MOST_SENSES) < MOST_SENSES
            and is_known(word, known)
        ][:MOST_WORDS]
        texts = words + [text for text in (synset.definition, kinds_of(synset, synsets)) if text]
        if words and len(texts) > 1:
            yield {"texts": texts}


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run(["apt-get", "download", "-qq", *PACKAGES], cwd=folder).returncode:
            sys.exit("words.py: apt's reason is above; run `apt-get update` if it knows no packages")
        for package in glob.glob(os.path.join(folder, "*.deb")):
            subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
        share = os.path.join(folder, "usr", "share")
        wordnet = os.path.join(share, "wordnet")
        lists = {name: read_words(os.path.join(share, "dict", name)) for name in (LARGE, SMALL)}
        found = list(concepts(read_synsets(wordnet), read_senses(wordnet), lists))
    with open(sys.argv[1] + ".new", "w", encoding="utf-8") as file:
        for line in found:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    os.replace(sys.argv[1] + ".new", sys.argv[1])
    print(f"{len(found)} concepts in {sys.argv[1]}")


if __name__ == "__main__":
    main()
