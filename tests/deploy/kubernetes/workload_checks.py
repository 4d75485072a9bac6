"""Point 2: what runs, as whom, by which image, configuration and memory, and how many of it."""

import re

from rendered import check, config_maps_of, containers_of, dig, gpus_of, job_of, labels_of, size, title


@check("2.restricted")
def restricted(fleet):
    """Pod Security `restricted`, and the namespace asks for it."""
    for namespace in fleet.of_kind("Namespace"):
        for mode in ("enforce", "warn", "audit"):
            if labels_of(namespace).get(f"pod-security.kubernetes.io/{mode}") != "restricted":
                yield f"{title(namespace)}: does not {mode} restricted"
    allowed_volumes = {"configMap", "emptyDir", "persistentVolumeClaim", "projected", "secret", "ephemeral",
                       "downwardAPI", "csi"}
    for name, pod in fleet.pods():
        context = pod["spec"].get("securityContext", {})
        if context.get("runAsNonRoot") is not True:
            yield f"{name}: runAsNonRoot is not set"
        if context.get("runAsUser") != 65532:
            yield f"{name}: is not user 65532"
        if dig(context, "seccompProfile", "type") != "RuntimeDefault":
            yield f"{name}: seccomp is not RuntimeDefault"
        for host in ("hostNetwork", "hostPID", "hostIPC"):
            if pod["spec"].get(host):
                yield f"{name}: {host}"
        for volume in pod["spec"].get("volumes", []):
            for kind in set(volume) - {"name"} - allowed_volumes:
                yield f"{name}: a volume of kind {kind}"
        for container in containers_of(pod):
            inner = container.get("securityContext", {})
            if inner.get("allowPrivilegeEscalation") is not False:
                yield f"{name}: may gain privileges"
            if dig(inner, "capabilities", "drop") != ["ALL"] or dig(inner, "capabilities", "add"):
                yield f"{name}: keeps capabilities"
            if inner.get("privileged") or inner.get("runAsUser") == 0 or inner.get("runAsNonRoot") is False:
                yield f"{name}: is privileged"
            for port in container.get("ports", []):
                if port.get("hostPort"):
                    yield f"{name}: a port of the host"


@check("2.read-only-root")
def read_only_root(fleet):
    for name, pod in fleet.pods():
        for container in containers_of(pod):
            if dig(container, "securityContext", "readOnlyRootFilesystem") is not True:
                yield f"{name}: can write to its root"


@check("2.no-token")
def no_token(fleet):
    for account in fleet.of_kind("ServiceAccount"):
        if account.get("automountServiceAccountToken") is not False:
            yield f"{title(account)}: mounts a token"
    for name, pod in fleet.pods():
        if pod["spec"].get("automountServiceAccountToken") is not False:
            yield f"{name}: mounts a token"
        if pod["spec"].get("enableServiceLinks") is not False:
            yield f"{name}: gets variables of every Service"
        account = pod["spec"].get("serviceAccountName")
        if ("ServiceAccount", account) not in fleet.by_name:
            yield f"{name}: runs as {account}, which is not there"


@check("2.memory")
def memory(fleet):
    """Requests equal limits: nobody is promised memory that another may take."""
    for name, pod in fleet.pods():
        for container in containers_of(pod):
            asked = dig(container, "resources", "requests", "memory")
            if asked is None or asked != dig(container, "resources", "limits", "memory"):
                yield f"{name}: requests {asked} of memory, with a limit of {dig(container, 'resources', 'limits', 'memory')}"
            if dig(container, "resources", "requests", "cpu") is None:
                yield f"{name}: requests no CPU time"
            if name.startswith("Deployment/") and size(asked) < size("1Gi"):
                yield f"{name}: {asked} is less than requests in progress may take"
        # Generations may fill four fifths, or there is no room for requests beside two of them.
        most = dig(fleet.configuration(pod), "memory_limit")
        if most is not None and size(most) > 0.8 * size(asked):
            yield f"{name}: generations may take {most} of {asked}"
    # A server's threads are as many as its CPU limit says; without one it takes the node's.
    for deployment in fleet.deployments:
        limit = dig(deployment, "spec", "template", "spec", "containers", 0, "resources", "limits", "cpu")
        if (limit is None) != (deployment["metadata"]["name"] == "router"):
            yield f"{title(deployment)}: has the CPU limit {limit}"


@check("2.hashed-configuration")
def hashed_configuration(fleet):
    for name, pod in fleet.pods():
        for mapped in config_maps_of(pod):
            if ("ConfigMap", mapped) not in fleet.by_name:
                yield f"{name}: its ConfigMap {mapped} is not there"
            elif not re.search(r"-[a-z0-9]{10}$", mapped):
                yield f"{name}: the name of its ConfigMap {mapped} has no hash"
        if fleet.configuration(pod) is None:
            yield f"{name}: the file of --config is not mounted"


@check("2.image-by-digest")
def image_by_digest(fleet):
    for name, pod in fleet.pods():
        for container in containers_of(pod):
            if not re.fullmatch(r"[^@\s]+@sha256:[0-9a-f]{64}", container["image"]):
                yield f"{name}: the image {container['image']} has no digest"


@check("2.scaled-without-replicas")
def scaled_without_replicas(fleet):
    for name in fleet.scaled():
        deployment = fleet.deployment(name)
        if deployment is None:
            yield f"an autoscaler scales {name}, which is not there"
        elif "replicas" in deployment["spec"]:
            yield f"{title(deployment)}: has replicas, and an autoscaler"


@check("2.two-of-all")
def two_of_all(fleet):
    """In production."""
    if not fleet.production:
        return
    least = {a["spec"]["scaleTargetRef"]["name"]: a["spec"].get("minReplicas", 1) for a in fleet.autoscalers}
    for deployment in fleet.deployments:
        name = deployment["metadata"]["name"]
        count = least.get(name, deployment["spec"].get("replicas", 1))
        if count < 2:
            yield f"{title(deployment)}: {count} replica in production"


@check("2.gpu")
def gpu(fleet):
    """Who computes on a GPU is given one, whole, may run where they are, and is told so."""
    for name, template in fleet.pods():
        container = dig(template, "spec", "containers", 0)
        told = [e.get("value") for e in container.get("env", []) if e["name"] == "SIGHTLINE_DEVICE"]
        count = gpus_of(template)
        if (count > 0) != (told == ["cuda"]):
            yield f"{name}: has {count} GPUs, and is told {told}"
        if count == 0:
            continue
        if dig(container, "resources", "requests", "nvidia.com/gpu") != str(count):
            yield f"{name}: requests other GPUs than its limit"
        if "nvidia.com/gpu" not in [t["key"] for t in dig(template, "spec", "tolerations", default=[])]:
            yield f"{name}: does not run on nodes that are kept for GPUs"


@check("2.one-shard-count")
def one_shard_count(fleet):
    """Servers, Services, router and job have the same number of shards, and of workers."""
    if fleet.of_kind("StatefulSet"):
        yield "there is a StatefulSet"
    numbers = sorted(int(labels_of(d)["sightline/shard"]) for d in fleet.shards)
    count = len(numbers)
    if numbers != list(range(count)) or count == 0:
        yield f"the shards are {numbers}"
    for deployment in fleet.shards:
        number = labels_of(deployment)["sightline/shard"]
        if deployment["metadata"]["name"] != f"index-search-{number}":
            yield f"{title(deployment)}: is shard {number}"
        told = dig(fleet.configuration(deployment["spec"]["template"]), "shards")
        if told != [int(number)]:
            yield f"{title(deployment)}: is configured for the shards {told}"
    router = fleet.deployment("router")
    indexes = dig(fleet.configuration(router["spec"]["template"]), "indexes", default={})
    for index, entry in indexes.items():
        names = [dig(s, "addresses", 0) for s in entry["shards"]]
        if names != [f"dns:///index-search-{n}:7402" for n in range(count)]:
            yield f"the router asks {names} for {index}"
    for deployment in fleet.deployments:
        if deployment is not router:
            held = dig(fleet.configuration(deployment["spec"]["template"]), "indexes")
            if held != list(indexes):
                yield f"{title(deployment)}: holds the indexes {held}, the router asks for {list(indexes)}"
    cron = fleet.by_name.get(("CronJob", "corpus-encoder"))
    job = fleet.configuration(job_of(cron)["template"])
    if dig(job, "shards") != count:
        yield f"the job makes {dig(job, 'shards')} shards of {count}"


@check("2.references")
def references(fleet):
    """What is named is there, and selectors take what they are meant to."""
    for name, pod in fleet.pods():
        volumes = {v["name"] for v in pod["spec"].get("volumes", [])}
        for container in containers_of(pod):
            for mount in container.get("volumeMounts", []):
                if mount["name"] not in volumes:
                    yield f"{name}: mounts {mount['name']}, which is no volume of it"
        for volume in pod["spec"].get("volumes", []):
            claim = dig(volume, "persistentVolumeClaim", "claimName")
            if claim and ("PersistentVolumeClaim", claim) not in fleet.by_name:
                yield f"{name}: the claim {claim} is not there"
    for deployment in fleet.deployments:
        took = fleet.selected(deployment["spec"]["selector"])
        if took != [title(deployment)]:
            yield f"{title(deployment)}: selects {took}"
    for service in fleet.of_kind("Service"):
        took = fleet.selected({"matchLabels": service["spec"]["selector"]})
        if len(took) != 1:
            yield f"{title(service)}: selects {took}"
    spaces = {d["metadata"].get("namespace") for d in fleet.documents if d["kind"] != "Namespace"}
    names = {d["metadata"]["name"] for d in fleet.of_kind("Namespace")}
    if fleet.of_kind("Namespace") and spaces != names:
        yield f"objects are in {sorted(map(str, spaces))}, and the namespace is {sorted(names)}"


@check("2.names")
def names(fleet):
    """What an API server asks of names, and models do not say."""
    for document in fleet.documents:
        name = document["metadata"]["name"]
        # A CronJob's Jobs get eleven characters more.
        most = 52 if document["kind"] == "CronJob" else 63
        if len(name) > most or not re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", name):
            yield f"{title(document)}: the API takes no such name"
        for key, value in labels_of(document).items():
            if not re.fullmatch(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", value):
                yield f"{title(document)}: the label {key} is {value!r}"
    for name, pod in fleet.pods():
        for container in containers_of(pod):
            for port in container.get("ports", []):
                if not re.fullmatch(r"(?=.*[a-z])[a-z0-9-]{1,15}", port.get("name", "")):
                    yield f"{name}: a port is called {port.get('name')}"
