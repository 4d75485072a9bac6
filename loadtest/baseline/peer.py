"""What is the same for each peer, whatever engine computes."""

import os
import traceback

import bundle
import data
import numpy
import side

# Of regions that are projected at a time.
BLOCK = 32


def has_vnni():
    """Whether 8-bit products are added up without saturation."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = next(line for line in file if line.startswith("flags")).split()
    return "avx512_vnni" in flags or "avx_vnni" in flags


def serve(folder, engine_of):
    """Serves tasks_of these; says why, as a side does, where the engine cannot be had here."""
    try:
        tasks = tasks_of(folder, engine_of)
    except Exception as error:  # of whatever kind: the other sides go on
        traceback.print_exc()
        print(f"cannot: {type(error).__name__}: {' '.join(str(error).split())[:400]}", flush=True)
        return
    side.serve(tasks)


def tasks_of(folder, engine_of):
    """The tasks over `folder` (data.py), which are those of ours: one text's embedding, and the
    scores of CANDIDATES pictures whose regions are stored projected.

    `engine_of` gets the bundle and returns an engine:
      embed(ids)           1 x tokens int64 -> 1 x width
      match(ids, regions)  1 x tokens int64, pictures x regions x width float32 -> a
                           probability for each picture
    """
    stored = bundle.Bundle(os.path.join(folder, "model"))
    queries = data.queries(folder)
    regions = data.regions(folder)
    pictures = numpy.concatenate([stored.project(regions[i: i + BLOCK])
                                  for i in range(0, data.PICTURES, BLOCK)])
    engine = engine_of(stored)

    def ids(number):
        return numpy.array([stored.tokenizer(queries[number % len(queries)])], numpy.int64)

    def rerank(number):
        items = (numpy.arange(data.CANDIDATES) + number) % data.PICTURES
        return engine.match(ids(number), pictures[items]).tolist()

    tasks = {"text_encoding": lambda number: engine.embed(ids(number))[0].tolist(),
             "reranking": rerank}
    # What an engine does once, such as to compile, is not timed.
    for task in tasks.values():
        task(0)
    return tasks
