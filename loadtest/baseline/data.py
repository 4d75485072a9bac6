"""What the sides of a comparison read: a folder that compare.py makes.

  model/          a base-size OSCAR bundle, made by sightlinectl init-model
  model_outliers/ the same with outlier channels planted (outliers.py), for peers.py
  queries.txt     a question a line
  vectors.f32     ITEMS x DIMENSION float32, rows of length one
  regions.f32     PICTURES x REGIONS x FEATURES float32; item i shows picture i % PICTURES

The folders `peers` and `peers_outliers` in it, which peers.py makes, are two more such:
queries.txt has texts of TOKENS tokens, all else is linked.
"""

import os

import numpy

ITEMS = 123287  # COCO 2017's pictures, which the papers search
DIMENSION = 768
PICTURES = 256
REGIONS = 36
FEATURES = 2054
CANDIDATES = 20
TOKENS = 12


def vectors(folder):
    return numpy.memmap(os.path.join(folder, "vectors.f32"), numpy.float32, "r",
                        shape=(ITEMS, DIMENSION))


def regions(folder):
    return numpy.memmap(os.path.join(folder, "regions.f32"), numpy.float32, "r",
                        shape=(PICTURES, REGIONS, FEATURES))


def queries(folder):
    with open(os.path.join(folder, "queries.txt"), encoding="utf-8") as file:
        return file.read().splitlines()


def peers_folder(folder, model, tokenizer):
    """Makes and returns it."""
    peers = os.path.join(folder, model.replace("model", "peers"))
    os.makedirs(peers, exist_ok=True)
    for name, target in (("model", model), ("vectors.f32", "vectors.f32"),
                         ("regions.f32", "regions.f32")):
        link = os.path.join(peers, name)
        if not os.path.lexists(link):
            os.symlink(os.path.join("..", target), link)
    with open(os.path.join(peers, "queries.txt"), "w", encoding="utf-8") as file:
        file.writelines(text + "\n" for text in of_one_length(queries(folder), tokenizer))
    return peers


def of_one_length(texts, tokenizer):
    """Texts of TOKENS tokens each, made of these ones' words in their order."""
    made, words, pieces = [], [], 0
    for word in " ".join(texts).split():
        count = len(tokenizer(word)) - 2
        if pieces + count > TOKENS - 2:
            continue  # a shorter one will fit
        words.append(word)
        pieces += count
        if pieces == TOKENS - 2:
            made.append(" ".join(words))
            words, pieces = [], 0
    return made


def write_arrays(folder):
    """Both arrays, unless they are there; the same ones each time."""
    random = numpy.random.default_rng(1)
    write(os.path.join(folder, "vectors.f32"), random, (ITEMS, DIMENSION), unit=True)
    write(os.path.join(folder, "regions.f32"), random, (PICTURES, REGIONS, FEATURES), unit=False)


def write(path, random, shape, unit):
    values = random.standard_normal(shape, numpy.float32)
    if os.path.exists(path) and os.path.getsize(path) == values.nbytes:
        return
    if unit:
        values /= numpy.linalg.norm(values, axis=-1, keepdims=True)
    else:
        # Boxes as OSCAR takes them, within the picture; features as detectors give them.
        values = numpy.abs(values)
        values[..., -6:] = 0.5
    values.tofile(path + ".new")
    os.replace(path + ".new", path)
