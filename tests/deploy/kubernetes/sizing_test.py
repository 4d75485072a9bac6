#!/usr/bin/python3
"""sizing.py plans what its README says: more of one thing is never less of another, two
generations fit, and a billion items come out as a number.

usage: sizing_test.py ROOT
"""

import json
import os
import re
import subprocess
import sys

import yaml

passed, failed = 0, 0


def case(name, good, seen=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"FAILED {name} {seen}")


def read(root, path):
    with open(os.path.join(root, "deploy", path), encoding="utf-8") as source:
        return source.read()


def alerts_of(root):
    """Alert -> seconds that it waits, of those that wait for loads."""
    found = {}
    for group in yaml.safe_load(read(root, "monitoring/rules.yaml"))["spec"]["groups"]:
        for rule in group["rules"]:
            if re.search("ReplicaMissing|GenerationBehind|GenerationNotPinned", rule.get("alert", "")):
                number, unit = re.fullmatch(r"(\d+)([mh])", rule["for"]).groups()
                found[rule["alert"]] = int(number) * {"m": 60, "h": 3600}[unit]
    return found


def autoscaled(root):
    """What is scaled -> the most replicas that it may have, by both components: one lays metrics over
    the other."""
    autoscalers = list(yaml.safe_load_all(read(root, "kubernetes/components/autoscaling-cpu/autoscalers.yaml")))
    return {scaler["metadata"]["name"]: scaler["spec"]["maxReplicas"] for scaler in autoscalers}


def main(root, *_):
    def run(**options):
        arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        return subprocess.run([sys.executable, os.path.join(root, "deploy/kubernetes/sizing.py"), *arguments],
                              capture_output=True, text=True, check=False)

    def plan(**options):
        done = subprocess.run([sys.executable, os.path.join(root, "deploy/kubernetes/sizing.py"), "--json",
                               *[f"--{k.replace('_', '-')}={v}" for k, v in options.items()]],
                              capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    small = plan(items=10_000, qps=20, models="demo", dimension=256, model_bytes=30_000_000)
    case("the demo is one shard, two of everything",
         small["shards"] == 1 and {s["replicas"] for s in small["sets"].values()} == {2}, small)
    million = plan(items=1_000_000, qps=50)
    # 3072 bytes of vector and 300 of record, of pictures and of captions.
    held = 2 * 1_000_000 * (3072 + 300)
    shard = million["sets"]["index-search"]
    case("two generations fit into four fifths of a pod",
         shard["memory"] * (1 << 30) * 0.8 * million["shards"] >= 2 * held, million)
    case("and not twice as many", shard["memory"] * (1 << 30) * 0.8 * million["shards"] < 4 * held, million)
    case("reranking is what it costs", million["sets"]["reranker"]["core_seconds"] > 0.5)
    case("what is computed faster takes fewer cores", all(
        faster["sets"][name]["core_seconds"] < slower["sets"][name]["core_seconds"]
        for name in ("query-encoder", "reranker") for faster, slower in [
            (plan(items=1_000_000, qps=50, precision="int8"), plan(items=1_000_000, qps=50, precision="bfloat16")),
            (plan(items=1_000_000, qps=50, precision="bfloat16"), million)]))
    case("without reranking there is the least of it",
         plan(items=1_000_000, qps=50, reranked=0)["sets"]["reranker"]["replicas"] == 2)
    case("a cache holds two generations of what its server fetches, in nine tenths of its volume",
         million["sets"]["index-search"]["cache"] * (1 << 30) * 0.9 >= 2 * held / million["shards"] and
         million["sets"]["reranker"]["cache"] * (1 << 30) * 0.9 >= 2 * (1_000_000 * 27648 * 2 + 900_000_000), million)
    case("and what memory holds", all(s["cache"] >= s["memory"] for s in million["sets"].values() if s["cache"]))
    case("a router has no cache", million["sets"]["router"]["cache"] == 0)
    slow = plan(items=1_000_000, qps=50, bandwidth=10)
    fetching = slow["sets"]["reranker"]["fetch_seconds"]
    case("a tenth of the bandwidth is ten times the time",
         abs(fetching - 10 * million["sets"]["reranker"]["fetch_seconds"]) < 1, slow)
    case("a rollout may take a fetch and a load",
         slow["progress_deadline_seconds"] > 2 * fetching and million["progress_deadline_seconds"] == 3600, slow)
    case("alerts wait for a fetch and a load", all(
        slow["alert_seconds"][name] > 2 * fetching and million["alert_seconds"][name] == waits
        for name, waits in alerts_of(root).items()), slow)
    case("an autoscaler may make what is planned, and more", million["max_replicas"]["reranker"] >
         million["sets"]["reranker"]["replicas"] > 20 and small["max_replicas"] == autoscaled(root), million)
    said = run(items=1_000_000, qps=50, bandwidth=10).stdout
    case("the table says what alerts and autoscalers need", all(text in said for text in (
        f"for: {slow['alert_seconds']['SightlineGenerationBehind'] // 60}m then, of SightlineGenerationBehind",
        f"maxReplicas: {million['max_replicas']['reranker']} of reranker")), said)
    said = run(items=10_000, qps=20, models="demo", dimension=256, model_bytes=30_000_000).stdout
    case("and nothing where they need nothing", not re.search("for: |maxReplicas", said), said)
    billion = plan(items=1_000_000_000, qps=100, search_time=0.5, pod_memory=320, cores=16)
    case("a billion items", 50 < billion["shards"] <= 700 and billion["store_bytes"] > 1e14, billion)
    case("a shard of them is searched in the time that was asked for", billion["search_seconds"] <= 0.5)
    for name, more in (("items", {"items": 2_000_000}), ("qps", {"qps": 100}), ("dimension", {"dimension": 1536}),
                       ("depth", {"depth": 50}), ("generations", {"generations": 6})):
        other = plan(**{"items": 1_000_000, "qps": 50, **more})
        case(f"more {name} is never less", all(other[key] >= million[key] for key in
                                               ("shards", "pods", "cores", "memory_gib", "store_bytes",
                                                "object_store_bytes", "cache_gib")), other)
    for wrong in ({"items": 0, "qps": 1}, {"items": 1}, {"items": 1, "qps": 1, "busy": 2},
                  {"items": 1, "qps": 1, "pod_memory": 1}, {"items": 1, "qps": 1, "feature_bytes": 3},
                  {"items": 1, "qps": 1, "bandwidth": 0}, {"items": 1, "qps": 1, "precision": "float16"}):
        case(f"refused: {wrong}", run(**wrong).returncode != 0)
    with open(os.path.join(root, "deploy/kubernetes/README.md"), encoding="utf-8") as source:
        rows = re.findall(r"^\| `(--items [^`]*)` \| (.*) \|$", source.read(), flags=re.M)
    case("the README has examples", len(rows) >= 4)
    for options, told in rows:
        words = options.replace("--", "").split()
        made = plan(**{name.replace("-", "_"): value for name, value in zip(words[::2], words[1::2])})
        case(f"the README's {options}", [told.split(" | ")[n] for n in (0, 1, 2, 3, 6)] == [
            str(made["shards"]), str(made["pods"]), str(made["cores"]), f"{made['memory_gib']:.0f}",
            str(made["cache_gib"])], made)
        said = run(**{name.replace("-", "_"): value for name, value in zip(words[::2], words[1::2])}).stdout
        case(f"the README's {options} needs no more than it says", "\nbut " not in said, said)
    table = run(items=1_000_000, qps=50).stdout
    case("the table says how to go on", f"fleet.py OVERLAY --shards {million['shards']}" in table, table)
    table = run(items=1_000_000_000, qps=100, search_time=0.5, pod_memory=256, cores=16).stdout
    case("a pod that needs more than it may have is told", "but            a pod of reranker needs more" in table, table)
    table = run(items=1_000_000_000, qps=100, search_time=0.05, cores=16).stdout
    case("so are more shards than a fleet can have", "but            fleet.py takes 700 shards" in table, table)
    print(f"cases: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
