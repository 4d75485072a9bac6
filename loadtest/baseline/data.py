"""What both sides of the comparison read: a folder that compare.py makes.

  model/          a base-size OSCAR bundle, made by sightlinectl init-model
  queries.txt     a question a line
  vectors.f32     ITEMS x DIMENSION float32, rows of length one
  regions.f32     PICTURES x REGIONS x FEATURES float32; item i shows picture i % PICTURES
"""

import os

import numpy

ITEMS = 123287  # COCO 2017's pictures, which the papers search
DIMENSION = 768
PICTURES = 256
REGIONS = 36
FEATURES = 2054
CANDIDATES = 20


def vectors(folder):
    return numpy.memmap(os.path.join(folder, "vectors.f32"), numpy.float32, "r",
                        shape=(ITEMS, DIMENSION))


def regions(folder):
    return numpy.memmap(os.path.join(folder, "regions.f32"), numpy.float32, "r",
                        shape=(PICTURES, REGIONS, FEATURES))


def queries(folder):
    with open(os.path.join(folder, "queries.txt"), encoding="utf-8") as file:
        return file.read().splitlines()


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
