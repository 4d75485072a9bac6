#!/usr/bin/python3
"""What deploy/kubernetes/README.md tells an operator to type, read from there, so that tests do as
it says.

usage: readme.py README commands              the ten, a line each
       readme.py README secret                the one that comes with an object store
       readme.py README overlay FOLDER ENDPOINT
                                              gives that overlay an object store, by keys
"""

import os
import re
import sys

import yaml


def block(text, heading, number=0):
    """That code block below the heading."""
    return text.split(heading + "\n")[1].split("```")[2 * number + 1].strip("\n")


def commands(text):
    return block(text, "## From an empty cluster to an answer").splitlines()


def names_patches(text):
    """The entries of an overlay's `patches` by which names are had of another address, 10.96.0.10."""
    return yaml.safe_load(block(text, "### Names by another address"))


def object_store(text, store, endpoint=None):
    """The file that gives an overlay a store by that component: AWS's, or one of the endpoint.  The
    README's text, without what it says is for others."""
    made = block(text, "### With an object store").replace("BUCKET/FOLDER", "bucket/sightline")
    made = made.replace("/object-store-keys", "/" + store).replace("https://minio.storage:9000", endpoint or "")
    unwanted = [] if store == "object-store-web-identity" else ["_ROLE_ARN="]
    unwanted += [] if endpoint else ["AWS_ENDPOINT_URL_S3="]
    made = "\n".join(line for line in made.splitlines() if not any(u in line for u in unwanted))
    if not endpoint:
        made = re.sub(r"(  #.*\n)+  - target: {kind: NetworkPolicy.*\n(    .*\n)+", "", made)
    return made


def write_object_store(overlay, made):
    folder = os.path.join(overlay, "object-store")
    os.mkdir(folder)
    with open(os.path.join(folder, "kustomization.yaml"), "w", encoding="utf-8") as target:
        target.write(made)


def give_object_store(text, overlay, endpoint):
    """As somebody does who types what the README says."""
    write_object_store(overlay, object_store(text, "object-store-keys", endpoint))
    path = os.path.join(overlay, "kustomization.yaml")
    with open(path, encoding="utf-8") as source:
        made = source.read()
    made = made.replace("  - ../../components/shared-volume\n", "")
    made = re.sub(r"(?m)^(components:\n(?:  - .*\n)+)", r"\1  - object-store\n", made)
    with open(path, "w", encoding="utf-8") as target:
        target.write(made)


def give_gpus(text, overlay, kinds):
    """Likewise, of the components for these servers."""
    lines = block(text, "### On GPUs").splitlines()
    path = os.path.join(overlay, "kustomization.yaml")
    with open(path, encoding="utf-8") as source:
        made = source.read()
    wanted = "".join(line + "\n" for line in lines if line.endswith(tuple("gpu-" + kind for kind in kinds)))
    made = re.sub(r"(?m)^(components:\n(?:  - .*\n)+)", lambda match: match[1] + wanted, made)
    with open(path, "w", encoding="utf-8") as target:
        target.write(made)


def main(path, what, *arguments):
    with open(path, encoding="utf-8") as source:
        text = source.read()
    if what == "commands":
        print("\n".join(commands(text)))
    elif what == "secret":
        print(block(text, "### With an object store", 1))
    elif what == "overlay":
        give_object_store(text, *arguments)
    else:
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
