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


def object_store(text, store, endpoint=None):
    """What is added to an overlay for that component: AWS's store, or one of the endpoint."""
    added = block(text, "### With an object store").replace("BUCKET/FOLDER", "bucket/sightline")
    added = re.sub("https://minio.storage:9000", endpoint or "", added)
    unwanted = [] if store == "object-store-web-identity" else ["_ROLE_ARN="]
    unwanted += [] if endpoint else ["AWS_ENDPOINT_URL_S3="]
    made = yaml.safe_load("\n".join(line for line in added.splitlines() if not any(u in line for u in unwanted)))
    if not endpoint:
        made["patches"] = [patch for patch in made["patches"] if patch["target"]["kind"] != "NetworkPolicy"]
    return made


def give_object_store(text, overlay, endpoint):
    path = os.path.join(overlay, "kustomization.yaml")
    with open(path, encoding="utf-8") as source:
        made = yaml.safe_load(source)
    made["components"] = [name.replace("shared-volume", "object-store-keys") for name in made["components"]]
    for key, value in object_store(text, "object-store-keys", endpoint).items():
        made[key] = made.get(key, []) + value
    with open(path, "w", encoding="utf-8") as target:
        yaml.safe_dump(made, target)


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
