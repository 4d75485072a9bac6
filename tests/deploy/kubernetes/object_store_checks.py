"""Point 5 too: what a fleet has to be whose store is in an object store.  They say nothing of a
fleet that has none.
"""

import re

from rendered import KEYS, check, containers_of, dig, flag, job_of, matches, mounted, size, title

URL = "SIGHTLINE_OBJECT_STORE"
PLACE = "/var/lib/sightline"
# Of the jobs, those that read or write a store; the others work on the volume alone.
ASKING_JOBS = ("corpus_encoder", "sightlinectl", "evaluator")
# What STS wants to be written for, and what it takes at most.
AUDIENCE, LONGEST_SECONDS = "sts.amazonaws.com", 86400


def with_object_store(fleet):
    """(name, template) of what asks it."""
    return [(name, pod) for name, pod in fleet.pods() if fleet.object_store(pod)]


@check("5.object-store")
def object_store(fleet):
    """Whoever reads or writes the store is told the same one, and nobody else is told of it."""
    asking = with_object_store(fleet)
    if not asking:
        return
    urls = {fleet.object_store(pod) for _, pod in asking}
    if len(urls) != 1 or not re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^/\s]+)*", min(urls)):
        yield f"the object store is {sorted(urls)}"
    for name, pod in fleet.pods():
        program = pod["spec"]["containers"][0]["args"][0]
        wants = program != "router" if name.startswith("Deployment/") else program in ASKING_JOBS
        for container in containers_of(pod):
            variables = fleet.environment(container)
            told = {v for v in variables if v == URL or v.startswith("AWS_")}
            if wants and URL not in told:
                yield f"{name}: {container['name']} is not told of the object store"
            elif not wants and told:
                yield f"{name}: has {sorted(told)} of an object store that it does not ask"


@check("5.pruned-places")
def pruned_places(fleet):
    """A prune clears the object store and the jobs' volume; $SIGHTLINE_OBJECT_STORE does not count
    beside a folder that is named."""
    for name, pod in with_object_store(fleet):
        container = pod["spec"]["containers"][0]
        if container["args"][:2] != ["sightlinectl", "prune"]:
            continue
        for place, wanted in (("--store", f"{PLACE}/store"), ("--object-store", f"$({URL})")):
            if flag(container, place) != wanted:
                yield f"{name}: {place} is {flag(container, place)}"


@check("5.object-store-keys")
def keys(fleet):
    """Each has keys, of a Secret or for a role, or all have them of the cluster; and none is in a
    ConfigMap or a manifest."""
    for document in fleet.of_kind("ConfigMap"):
        for variable in sorted(set(KEYS) & set(document.get("data", {}))):
            yield f"{title(document)}: holds {variable}"
    asking = [(f"{name}: {container['name']}", fleet.environment(container))
              for name, pod in with_object_store(fleet) for container in containers_of(pod)]
    by_cluster = not any(KEYS[0] in variables or "AWS_ROLE_ARN" in variables for _, variables in asking)
    for name, variables in asking:
        by_secret = [variables.get(key) for key in KEYS] == [("object-store-keys",)] * 2
        role = variables.get("AWS_ROLE_ARN")
        if isinstance(role, str) and not re.fullmatch(r"arn:[\w-]+:iam::\d*:role/.+", role):
            yield f"{name} has the role {role}"
        if by_secret == bool(role) and not by_cluster:
            yield f"{name} has {'two kinds of keys' if role else 'no keys'}"
        for key in KEYS:
            if isinstance(variables.get(key), str):
                yield f"{name}: {key} is written in the manifest"


@check("5.web-identity")
def web_identity(fleet):
    """The token is for STS alone, is renewed, and lies where the program looks for it."""
    for name, pod in fleet.pods():
        for container in containers_of(pod):
            variables = fleet.environment(container)
            if "AWS_ROLE_ARN" not in variables:
                continue
            folder, _, file = str(variables.get("AWS_WEB_IDENTITY_TOKEN_FILE")).rpartition("/")
            mount, volume = mounted(pod, container, folder)
            token = dig(volume, "projected", "sources", 0, "serviceAccountToken", default={})
            if token.get("path") != file:
                yield f"{name}: {container['name']} finds no token in {folder}"
            elif not mount.get("readOnly"):
                yield f"{name}: {container['name']} may write to the folder of its token"
        for volume in pod["spec"].get("volumes", []):
            for source in dig(volume, "projected", "sources", default=[]):
                token = source.get("serviceAccountToken")
                if token is not None and token.get("audience") != AUDIENCE:
                    yield f"{name}: its token is for {token.get('audience', 'the API of the cluster')}"
                if token is not None and not 600 <= token.get("expirationSeconds", 0) <= LONGEST_SECONDS:
                    yield f"{name}: its token expires after {token.get('expirationSeconds')} s"


@check("5.cache")
def cache(fleet):
    """Each server has a cache of its own, on a file system of a size of its own, with room for two
    generations.  That a shard's fit is told by the memory, which has that room too."""
    for deployment in fleet.deployments:
        pod = deployment["spec"]["template"]
        if not fleet.object_store(pod):
            continue
        container = pod["spec"]["containers"][0]
        mount, volume = mounted(pod, container, PLACE)
        claim = dig(volume, "ephemeral", "volumeClaimTemplate", "spec")
        if claim is None:
            yield f"{title(deployment)}: its cache is no volume of its own"
            continue
        if mount.get("readOnly"):
            yield f"{title(deployment)}: cannot write to its cache"
        room = size(dig(claim, "resources", "requests", "storage"))
        most = dig(fleet.configuration(pod), "object_store", "max_cache_bytes")
        if most is not None and size(most) > room * 0.9:
            yield f"{title(deployment)}: may fill {most} of a volume of {room} bytes"
        least = size(dig(container, "resources", "limits", "memory"))
        if min(room, size(most) if most is not None else room) < least:
            yield f"{title(deployment)}: a cache of {room} bytes has no room for the two generations that {least} bytes of memory hold"


@check("5.evaluator-inputs")
def evaluator_inputs(fleet):
    """What the fleet serves is brought to where the evaluator reads it, and first."""
    cron = fleet.by_name.get(("CronJob", "evaluator"))
    pod = job_of(cron)["template"] if cron else None
    if pod is None or not fleet.object_store(pod):
        return
    folder = flag(pod["spec"]["containers"][0], "--store")
    fetched = [c["args"][2] for c in pod["spec"].get("initContainers", [])
               if c["args"][:2] == ["sightlinectl", "fetch"] and flag(c, "--store") == folder and
               mounted(pod, c, PLACE)[1] == mounted(pod, pod["spec"]["containers"][0], PLACE)[1]]
    router = fleet.configuration(fleet.deployment("router")["spec"]["template"])
    if sorted(fetched) != sorted(dig(router, "indexes", default={})):
        yield f"{title(cron)}: {sorted(fetched)} is brought to {folder}"


@check("5.object-store-label")
def label(fleet):
    """The network's policies and the components of keys go by it."""
    for kind, documents in (("Deployment", fleet.deployments), ("CronJob", fleet.crons)):
        for document in documents:
            pod = document["spec"]["template"] if kind == "Deployment" else job_of(document)["template"]
            asks = bool(fleet.object_store(pod))
            if matches({"matchLabels": {"sightline/object-store": "true"}}, pod["metadata"]["labels"]) != asks:
                yield f"{title(document)}: its pods are {'not ' if asks else ''}labelled sightline/object-store"
