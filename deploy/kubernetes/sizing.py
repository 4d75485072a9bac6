#!/usr/bin/env python3
"""Says what a fleet takes: items, dimension, features and queries a second become shards,
replicas, cores and bytes.  Its speeds are those that loadtest/figures/figures.json has measured,
of the models of base size or of the demo's, in the precision that is named; the CPUs are named
there, and yours is another, which may not have that precision or its speed.  So it plans a trial,
and the load test (loadtest/run.sh --target) has the last word.

usage: sizing.py --items N --qps N [OPTION...]
  --items N            pictures; their captions are a second index of as many items
  --qps N              searches a second at the peak
  --dimension N        numbers in an embedding (768)
  --features N         numbers of item features of a picture, regions times width (27648: 36 of 768)
  --feature-bytes N    of each: 4, 2 or 1 (2)
  --record-bytes N     caption, uri and tags of an item (300)
  --models NAME        base or demo: whose speeds (base)
  --precision NAME     float32, bfloat16 or int8: what servers compute in (float32, which every CPU
                       and model can; sightlinectl calibrate tells what yours can)
  --model-bytes N      of encoder and reranker together, as files; once, if they are one (900000000)
  --depth N            candidates reranked in a search (20)
  --reranked SHARE     part of the searches that are reranked (1)
  --search-time S      seconds that a shard may take for one search (0.1)
  --pod-memory GIB     the most that one shard's pod may have (64)
  --cores N            of one pod (2)
  --busy SHARE         of the cores' time that is planned for (0.6)
  --generations N      that the store keeps of each index (3)
  --bandwidth MB       megabytes a second that a pod has from an object store (100)
  --json               prints an object instead of a table
"""

import argparse
import json
import math
import os
import sys

from fleet import MAX_SHARDS

FIGURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../loadtest/figures/figures.json")
# Of the figures: two cores each.
CORES = 2
FLAT_ROWS, FLAT_DIMENSION = 123287, 768
GIB = 1 << 30
# What a server has beside what it holds: the program with LibTorch, requests in progress and
# gRPC's buffers by their default limits.
BASELINE = 1.2 * GIB
# What a server fills of its cache's volume, of which a file system takes some itself.
CACHE_SHARE = 0.9 * 0.95
# How long a rollout may take that fetches nothing: to have a pod placed, its volume made, images
# pulled and models warmed up.
START_SECONDS = 600
# What manifests and rules say, where a plan may need more: replicas of what is scaled
# (components/autoscaling-*), and seconds that an alert waits (deploy/monitoring/rules.yaml).
MAX_REPLICAS = 20
SCALED = ("router", "query-encoder", "reranker")
ALERTS = {"SightlineReplicaMissing": 1800, "SightlineGenerationBehind": 1800, "SightlineGenerationNotPinned": 3600}


def figures(precision):
    with open(FIGURES, encoding="utf-8") as source:
        text = json.load(source)

    def number(group, name):
        """The upper end, where a figure is a range."""
        value = text[group]["figures"][name]["value"]
        return float(value.split(" to ")[-1].replace(" ", ""))
    milli, micro = 1e-3, 1e-6

    def speeds(model):  # core-seconds of one, in a batch
        return {"text": number(model, f"{precision}_32_texts") * milli * CORES / 32,
                "picture": number(model, f"{precision}_16_pictures") * milli * CORES / 16,
                "pair": number(model, f"{precision}_20_pairs") * milli * CORES / 20}
    matrix = FLAT_ROWS * FLAT_DIMENSION * 4
    return {
        "base": speeds("model"), "demo": speeds("model_demo"),
        # Of a lone search, which memory bounds, and of one among sixteen, which arithmetic does.
        "seconds_a_byte": number("flat_index", "one_query") * milli / matrix,
        "core_seconds_a_byte": number("flat_index", "sixteen_queries") * milli * CORES / 16 / matrix,
        "request": number("board", "request_at_1000_replicas") * micro,
        "call": number("board", "poll_over_grpc") * micro,
        "cpus": sorted({text[group]["cpu"] for group in ("flat_index", "model", "model_demo", "board")}),
    }


def plan(o):
    measured = figures(o.precision)
    # A row is padded to 64 bytes; pictures and captions are an index each.
    row = math.ceil(o.dimension * 4 / 64) * 64
    vectors = o.items * row
    held = 2 * (vectors + o.items * o.record_bytes)
    # Two generations during a swap, and the fifth of a pod's memory that memory_limit leaves.
    room = o.pod_memory * GIB - BASELINE
    if room <= 0:
        raise SystemExit(f"sizing: --pod-memory must be more than {BASELINE / GIB:.1f} GiB")

    def shard_memory(shards):
        return max(2 * held / shards / 0.8, 2 * held / shards + BASELINE)
    by_memory = math.ceil(2 * held / min(o.pod_memory * GIB * 0.8, room))
    # One index is searched at a time.
    by_time = math.ceil(vectors * measured["seconds_a_byte"] / o.search_time)
    shards = max(1, by_memory, by_time)
    pod_seconds = o.cores * o.busy  # of computing that a pod does in a second
    search = vectors / shards * measured["core_seconds_a_byte"]
    speed = measured[o.models]
    calls = 1 + 1 + 2 * shards + math.ceil(o.depth / 10) * o.reranked
    router = measured["request"] + calls * measured["call"]

    def replicas(core_seconds):
        return max(2, math.ceil(o.qps * core_seconds / pod_seconds))
    # A model is held at three times its files' size, those of two generations; a reranker keeps
    # 64 bytes an item beside.
    models = max(2 * 3 * o.model_bytes / 0.8, 2 * 3 * o.model_bytes + BASELINE)
    rerank_memory = models + 2 * 2 * 64 * o.items / 0.8
    features = o.items * o.features * o.feature_bytes
    # What a pod fetches of a generation, if there is an object store.
    fetched = {"router": 0, "query-encoder": o.model_bytes, "index-search": held / shards,
               "reranker": features + o.model_bytes}
    sets = {
        "router": {"sets": 1, "replicas": replicas(router), "memory": 1 * GIB, "core_seconds": router},
        "query-encoder": {"sets": 1, "replicas": replicas(speed["text"]), "memory": models,
                          "core_seconds": speed["text"]},
        "index-search": {"sets": shards, "replicas": replicas(search), "memory": shard_memory(shards),
                         "core_seconds": search},
        "reranker": {"sets": 1, "replicas": replicas(speed["pair"] * o.depth * o.reranked),
                     "memory": rerank_memory, "core_seconds": speed["pair"] * o.depth * o.reranked},
    }
    for name, entry in sets.items():
        entry["memory"] = math.ceil(entry["memory"] / GIB * 2) / 2  # in halves of a GiB
        entry["pods"] = entry["sets"] * entry["replicas"]
        entry["fetch_seconds"] = fetched[name] / (o.bandwidth * 1e6)
        # In GiB: two generations, and not less than the memory that holds two.
        entry["cache"] = max(math.ceil(2 * fetched[name] / CACHE_SHARE / GIB), math.ceil(entry["memory"])) \
            if fetched[name] else 0
    generation = held + features
    # A load reads what was fetched once more, from a disk that is no slower.
    rollout = math.ceil((2 * max(entry["fetch_seconds"] for entry in sets.values()) + START_SECONDS) / 600) * 600
    return {
        "shards": shards,
        "sets": sets,
        "pods": sum(e["pods"] for e in sets.values()),
        "cores": sum(e["pods"] for e in sets.values()) * o.cores,
        "memory_gib": sum(e["pods"] * e["memory"] for e in sets.values()),
        # What is kept, what is being set aside or written, and the rows of the job that writes it.
        "store_bytes": generation * (o.generations + 1) + 2 * generation + o.model_bytes,
        # What is kept, what waits to be deleted, and what is being brought.
        "object_store_bytes": generation * (o.generations + 2) + 2 * o.model_bytes,
        "cache_gib": sum(e["pods"] * e["cache"] for e in sets.values()),
        "progress_deadline_seconds": max(3600, rollout),
        # Requests follow the servers, and may take as much longer as they may without a fetch.
        "alert_seconds": {name: max(waits, rollout + waits - min(ALERTS.values())) for name, waits in ALERTS.items()},
        # An autoscaler that is at its maximum at the planned peak has nothing left, and an alert says so.
        "max_replicas": {name: max(MAX_REPLICAS, math.ceil(1.2 * sets[name]["replicas"])) for name in SCALED},
        "features_read_a_second": o.qps * o.reranked * o.depth * o.features * o.feature_bytes,
        "search_seconds": vectors / shards * measured["seconds_a_byte"],
        "encode_core_hours": o.items * (speed["picture"] + speed["text"]) / 3600,
        "cpus": measured["cpus"],
    }


def size(count):
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} PB"


def duration(seconds):
    for unit in ("s", "min"):
        if seconds < 100:
            return f"{seconds:.2g} {unit}"
        seconds /= 60
    return f"{seconds:.0f} h"


def table(o, made):
    print(f"{o.items:,} items of {o.dimension} numbers, {o.qps:g} searches a second, {o.depth} candidates reranked\n")
    print(f"{'':<14}{'sets':>7}{'replicas':>10}{'pods':>8}{'GiB a pod':>11}{'core-ms a search':>18}"
          f"{'GiB of cache':>14}{'fetched in':>12}")
    for name, entry in made["sets"].items():
        print(f"{name:<14}{entry['sets']:>7}{entry['replicas']:>10}{entry['pods']:>8}{entry['memory']:>11g}"
              f"{entry['core_seconds'] * 1000:>18.3g}{entry['cache'] or '-':>14}"
              f"{duration(entry['fetch_seconds']) if entry['cache'] else '-':>12}")
    print(f"\nin all         {made['pods']:,} pods, {made['cores']:,} cores, {made['memory_gib']:,.0f} GiB of memory")
    print(f"store          {size(made['store_bytes'])}")
    print(f"object store   {size(made['object_store_bytes'])}, and {made['cache_gib']:,} GiB of caches in all, "
          "if there is one")
    print(f"rollouts       progressDeadlineSeconds: {made['progress_deadline_seconds']} then, at {o.bandwidth:g} MB "
          "a second for each pod")
    for name, waits in made["alert_seconds"].items():
        if waits > ALERTS[name]:
            print(f"alerts         for: {waits // 60}m then, of {name}")
    for name, most in made["max_replicas"].items():
        if most > MAX_REPLICAS:
            print(f"autoscaling    maxReplicas: {most} of {name}, a fifth more than its replicas; the components have "
                  f"{MAX_REPLICAS}")
    print(f"features       {size(made['features_read_a_second'])} a second read by the rerankers")
    print(f"a lone search  {made['search_seconds'] * 1000:.3g} ms in each shard")
    print(f"encoding       {made['encode_core_hours']:,.3g} core hours for all items, decoding aside")
    print(f"speeds of      {'; '.join(made['cpus'])}, models in {o.precision}")
    print(f"then           fleet.py OVERLAY --shards {made['shards']}")
    if made["shards"] > MAX_SHARDS:
        print(f"but            fleet.py takes {MAX_SHARDS} shards at most: more --pod-memory or --search-time")
    for name, entry in made["sets"].items():
        if entry["memory"] > o.pod_memory:
            print(f"but            a pod of {name} needs more than --pod-memory {o.pod_memory:g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    share = {"type": float}
    for name, kind in (("items", {"type": int, "required": True}), ("qps", {"type": float, "required": True}),
                       ("dimension", {"type": int, "default": 768}), ("features", {"type": int, "default": 27648}),
                       ("feature-bytes", {"type": int, "default": 2, "choices": (1, 2, 4)}),
                       ("record-bytes", {"type": int, "default": 300}),
                       ("models", {"default": "base", "choices": ("base", "demo")}),
                       ("precision", {"default": "float32", "choices": ("float32", "bfloat16", "int8")}),
                       ("model-bytes", {"type": int, "default": 900_000_000}),
                       ("depth", {"type": int, "default": 20}), ("reranked", {**share, "default": 1.0}),
                       ("search-time", {**share, "default": 0.1}), ("pod-memory", {**share, "default": 64.0}),
                       ("cores", {"type": int, "default": 2}), ("busy", {**share, "default": 0.6}),
                       ("generations", {"type": int, "default": 3}), ("bandwidth", {**share, "default": 100.0})):
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS, **kind)
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name in ("items", "qps", "dimension", "search_time", "cores", "busy", "generations", "bandwidth"):
        if not getattr(options, name) > 0:
            parser.error(f"--{name.replace('_', '-')} must be above 0")
    if options.busy > 1 or options.reranked > 1:
        parser.error("a share is at most 1")
    made = plan(options)
    if options.json:
        print(json.dumps(made, indent=1))
    else:
        table(options, made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
