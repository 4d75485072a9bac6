"""What servers export is what deploy/monitoring/metrics.json lists: names, types, meanings, labels,
and of which servers.  Servers are started with nothing to serve, which shows all series that are
there from the start.

usage: metrics_test.py METRICS_JSON ROUTER QUERY_ENCODER INDEX_SEARCH RERANKER
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request

PORTS = 'server: {listen: "127.0.0.1:0", metrics_listen: "127.0.0.1:0"}\n'
ROUTER = PORTS + 'encoders: ["127.0.0.1:1"]\nindexes: {images: {shards: [{addresses: ["127.0.0.1:2"]}]}}\n'
BACKEND = PORTS + "store: %s/nothing\nindexes: [images]\n"
OWN = {"le"}  # of histograms
SERVERS = ["query_encoder", "index_search", "reranker", "router"]


def exported(program, folder):
    """name -> (type, meaning, names of labels) of the page of one server."""
    name = os.path.basename(program)
    path = os.path.join(folder, name + ".yaml")
    with open(path, "w", encoding="utf-8") as target:
        target.write(ROUTER if name == "router" else BACKEND % folder)
    with subprocess.Popen([program, "--config", path], stderr=subprocess.PIPE, text=True) as server:
        try:
            # Logged when a backend has looked at its store once.
            lines = (re.search(r'"event":"started".*"metrics_port":(\d+)', line)
                     for line in server.stderr)
            started = next(filter(None, lines), None)
            if not started:
                sys.exit(f"{name} did not start")
            port = started[1]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as page:
                text = page.read().decode()
        finally:
            server.terminate()
            server.stderr.read()
    metrics, types = {}, {}
    for line in text.splitlines():
        match = re.match(r"# (HELP|TYPE) (sightline_\w+) (.*)", line)
        if match:
            types.setdefault(match[2], {})[match[1]] = match[3]
            continue
        match = re.match(r"(sightline_\w+?)(_bucket|_sum|_count)?(?:\{(.*)\})? ", line)
        if match:
            base = match[1] if match[1] in types else match[1] + (match[2] or "")
            labels = set(re.findall(r'(\w+)="', match[3] or "")) - OWN
            kind = types[base]
            metrics.setdefault(base, (kind["TYPE"], kind["HELP"], set()))[2].update(labels)
    return metrics


def differences(listed, found):
    """What the list says otherwise than the servers, of which `found` has a page each."""
    for metric in listed:
        servers = SERVERS if metric["servers"] == "all" else metric["servers"].split(", ")
        for server in SERVERS:
            seen = found[server].get(metric["name"])
            if server not in servers:
                if seen:
                    yield f"{metric['name']}: {server} exports it too"
            elif seen is None and "since" in metric:
                continue  # there are no series of it yet
            elif seen is None:
                yield f"{metric['name']}: {server} does not export it"
            elif seen != (metric["type"], metric["help"], set(metric["labels"])):
                yield f"{metric['name']}: {server} exports {seen}"
    known = {metric["name"] for metric in listed}
    for server, page in found.items():
        for name in sorted(set(page) - known):
            yield f"{name}: {server} exports it, and it is not listed"


def main(listing, *programs):
    with open(listing, encoding="utf-8") as source:
        listed = json.load(source)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
        found = {os.path.basename(program): exported(program, folder) for program in programs}
    wrong = list(differences(listed, found))
    print("\n".join(wrong))
    # The test can fail.
    routers = next(at for at, metric in enumerate(listed) if metric["servers"] == "router")
    for at, change in ((0, {"type": "gauge"}), (0, {"help": "?"}), (1, {"labels": {}}), (routers, {"servers": "all"}),
                       (0, {"name": "sightline_calls_total"}), (routers, {"servers": "reranker"})):
        planted = [dict(metric) for metric in listed]
        planted[at].update(change)
        if not list(differences(planted, found)):
            wrong.append(f"not noticed: {change}")
            print(wrong[-1])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
