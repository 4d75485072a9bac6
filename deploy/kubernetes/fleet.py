#!/usr/bin/env python3
"""Writes the folder `fleet` of an overlay: all that depends on how many shards and how many
workers there are, and by which digests images are had.  A component for kustomize:

  shards.yaml          a Deployment and a headless Service for each shard
  disruption.yaml      a disruption budget for each shard, for overlays that have budgets
  router.yaml, shard-N.yaml, corpus_encoder.yaml
                       configurations: the overlay's config/<server>.yaml, or without one the
                       base's, and behind it what depends on the numbers

A ConfigMap has the configurations of all shards, and `kubectl apply` notes what it applies in an
annotation, of 256 KiB at most: so many shards there may be, 700 by the base's configuration, and
fewer by a longer one.

What is not given stays as the folder has it; at first there are two shards, one worker, and the
images have no digest.  Run it again after a change of one of those configurations.

It refuses an overlay whose kustomization.yaml has a key twice: kubectl takes the last one and is
silent, and a second `patches:` drops the replicas that the first one sets.

usage: fleet.py OVERLAY [--shards N] [--workers N] [--image NAME=REFERENCE@sha256:DIGEST]... [--check]
       fleet.py OVERLAY --built FILE [--repository NAME]
  --image        NAME is sightline or sightline-router
  --built        takes the digests of both from what deploy/images/build.sh has printed;
                 sightline-cuda is another sightline
  --repository   where those images are: NAME/sightline (NAME/sightline-cuda) and
                 NAME/sightline-router, with these digests (skopeo copy --preserve-digests keeps
                 them, podman push does not); default localhost
  --check        writes nothing; says what is out of date, and exits 1 if anything is
"""

import argparse
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
INDEXES = ("images", "captions")
IMAGES = ("sightline", "sightline-router")
MAX_SHARDS, MAX_WORKERS = 700, 1000
# How often each worker of the nightly job may fail and be tried again.
TRIES = 20
# Of all annotations of an object; the rest of the object is in it as well.
MAX_NOTED_BYTES, REST_BYTES = 256 * 1024, 2048
HEAD = "# Written by deploy/kubernetes/fleet.py; run that to change it.\n"

KUSTOMIZATION = """\
# {shards} shards, {workers} workers.
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources:
  - shards.yaml
components:
  - {servers}
configMapGenerator:
  - name: router
    files: [router.yaml]
  - name: index-search
    files:
{shard_files}
  - name: corpus-encoder
    files: [corpus_encoder.yaml]
labels:
  - pairs: {{app.kubernetes.io/part-of: sightline}}
    includeTemplates: true
patches:
  - target: {{kind: CronJob, name: corpus-encoder}}
    patch: |
      - {{op: add, path: /spec/jobTemplate/spec/completions, value: {workers}}}
      # All at once: each waits for what the others have found.
      - {{op: add, path: /spec/jobTemplate/spec/parallelism, value: {workers}}}
      # Kubernetes counts the tries of all together, and what one waits for ends all of them.
      - {{op: add, path: /spec/jobTemplate/spec/backoffLimit, value: {tries}}}
"""

SHARD = """\
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: index-search-{shard}
  labels:
    app.kubernetes.io/name: index-search
    app.kubernetes.io/component: server
    sightline/shard: "{shard}"
spec:
  selector:
    matchLabels: {{app.kubernetes.io/name: index-search, sightline/shard: "{shard}"}}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: index-search
        app.kubernetes.io/component: server
        sightline/shard: "{shard}"
    spec:
      containers:
        - name: server
          args: [index_search, --config, /etc/sightline/shard-{shard}.yaml]
---
apiVersion: v1
kind: Service
metadata:
  name: index-search-{shard}
  labels: {{app.kubernetes.io/name: index-search, sightline/shard: "{shard}"}}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: {{app.kubernetes.io/name: index-search, sightline/shard: "{shard}"}}
  ports: [{{name: grpc, port: 7402}}]
"""

BUDGET = """\
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: index-search-{shard}
spec:
  selector:
    matchLabels: {{app.kubernetes.io/name: index-search, sightline/shard: "{shard}"}}
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
"""


def read(path):
    with open(path, encoding="utf-8") as source:
        return source.read()


def configuration(overlay, server):
    """The overlay's own, or the base's."""
    own = os.path.join(overlay, "config", server + ".yaml")
    return read(own if os.path.exists(own) else os.path.join(HERE, "base/config", server + ".yaml"))


def files_of(overlay, shards, workers, images):
    """Name -> content of the folder's files."""
    made = {}
    lines = ["indexes:"]
    for index in INDEXES:
        lines += [f"  {index}:", "    shards:"]
        lines += [f'      - {{addresses: ["dns:///index-search-{n}:7402"]}}' for n in range(shards)]
    made["router.yaml"] = configuration(overlay, "router") + "\n".join(lines) + "\n"
    made["corpus_encoder.yaml"] = (
        configuration(overlay, "corpus_encoder") + f"shards: {shards}\nworkers: {workers}\n")
    for n in range(shards):
        made[f"shard-{n}.yaml"] = configuration(overlay, "index_search") + f"shards: [{n}]\n"
    made["shards.yaml"] = "".join(SHARD.format(shard=n) for n in range(shards))
    made["disruption.yaml"] = "".join(BUDGET.format(shard=n) for n in range(shards))
    kustomization = KUSTOMIZATION.format(
        shards=shards, workers=workers, tries=TRIES * workers, servers=os.path.relpath(os.path.join(HERE, "servers"),
                                                                os.path.join(overlay, "fleet")),
        shard_files="\n".join(f"      - shard-{n}.yaml" for n in range(shards)))
    if images:
        kustomization += "images:\n"
        for name, (reference, digest) in sorted(images.items()):
            kustomization += f"  - {{name: {name}, newName: {reference}, digest: {digest}}}\n"
    made["kustomization.yaml"] = kustomization
    return {name: HEAD + content for name, content in made.items()}


def repeated_key(overlay):
    """What is wrong with the overlay's kustomization.yaml, in words, or None."""
    path = os.path.join(overlay, "kustomization.yaml")
    try:
        keys = re.findall(r"""^(["']?)([A-Za-z]\w*)\1\s*:""", read(path), flags=re.M)
    except FileNotFoundError:
        return None
    for _, key in keys:
        if sum(key == other for _, other in keys) > 1:
            return (f"{path} has the key '{key}' more than once, of which kubectl takes the last one alone: "
                    "put all that it lists under one")
    return None


def too_large(files):
    """Which ConfigMap `kubectl apply` would not take, in words, or None."""
    maps = {"index-search": {name: text for name, text in files.items() if name.startswith("shard-")},
            "router": {"router.yaml": files["router.yaml"]}}
    for name, data in maps.items():
        noted = len(json.dumps(data)) + REST_BYTES
        if noted > MAX_NOTED_BYTES:
            return (f"the ConfigMap {name} takes {noted} bytes, and kubectl apply notes {MAX_NOTED_BYTES} at most: "
                    f"take fewer shards, or shorten the overlay's config/{name.replace('-', '_')}.yaml")
    return None


def state_of(folder):
    """(shards, workers, images) as the folder has them."""
    try:
        text = read(os.path.join(folder, "kustomization.yaml"))
    except FileNotFoundError:
        return 2, 1, {}
    shards, workers = map(int, re.search(r"# (\d+) shards, (\d+) workers\.", text).groups())
    images = {name: (reference, digest) for name, reference, digest in
              re.findall(r"\{name: (\S+), newName: (\S+), digest: (\S+)\}", text)}
    return shards, workers, images


def image(text):
    match = re.fullmatch(r"([a-z-]+)=([^@\s]+)@(sha256:[0-9a-f]{64})", text)
    if not match or match[1] not in IMAGES:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not NAME=REFERENCE@sha256:DIGEST with one of the names {', '.join(IMAGES)}")
    if re.search(r":[^/]*$", match[2]):
        raise argparse.ArgumentTypeError(f"'{match[2]}' has a tag; the digest alone says which image it is")
    return match[1], (match[2], match[3])


def built(path, repository):
    """NAME -> (reference, digest), of lines "FOLDER/VARIANT.tar DIGEST BYTES"."""
    try:
        lines = re.findall(r"^(?:.*/)?([a-z-]+)\.tar (sha256:[0-9a-f]{64}) \d+$", read(path), flags=re.M)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{path}: {error.strerror}") from error
    # With CUDA or without: the manifests call it sightline.
    names = {variant: variant.removesuffix("-cuda") for variant, _ in lines}
    if sorted(names.values()) != sorted(IMAGES):
        raise argparse.ArgumentTypeError(f"{path} does not tell the digests of {' and '.join(IMAGES)}")
    return {names[variant]: (f"{repository}/{variant}", digest) for variant, digest in lines}


def count(most):
    def parse(text):
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 to {most}")
        return int(text)
    return parse


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("overlay")
    parser.add_argument("--shards", type=count(MAX_SHARDS))
    parser.add_argument("--workers", type=count(MAX_WORKERS))
    parser.add_argument("--image", type=image, action="append", default=[])
    parser.add_argument("--built")
    parser.add_argument("--repository", default="localhost")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if not os.path.isdir(arguments.overlay):
        parser.error(f"{arguments.overlay} is no folder")
    folder = os.path.join(os.path.abspath(arguments.overlay), "fleet")
    shards, workers, images = state_of(folder)
    try:
        images.update(built(arguments.built, arguments.repository) if arguments.built else {})
    except argparse.ArgumentTypeError as error:
        parser.error(str(error))
    images.update(arguments.image)
    wanted = files_of(os.path.dirname(folder), arguments.shards or shards, arguments.workers or workers, images)
    refused = repeated_key(arguments.overlay) or too_large(wanted)
    if refused:
        parser.error(refused)
    present = set(os.listdir(folder)) if os.path.isdir(folder) else set()
    stale = sorted(present - set(wanted) |
                   {name for name in wanted
                    if name not in present or read(os.path.join(folder, name)) != wanted[name]})
    if arguments.check:
        for name in stale:
            print(f"{os.path.join(folder, name)} is out of date: run deploy/kubernetes/fleet.py {arguments.overlay}")
        return 1 if stale else 0
    os.makedirs(folder, exist_ok=True)
    for name in stale:
        path = os.path.join(folder, name)
        if name not in wanted:
            os.remove(path)
            continue
        with open(path, "w", encoding="utf-8") as target:
            target.write(wanted[name])
    print(f"{folder}: {arguments.shards or shards} shards, {arguments.workers or workers} workers; "
          f"{len(stale)} files changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
