"""Rendered documents as checks ask for them, and the list that checks put themselves in, by name:
`N.what-it-is`, N the point of the deployment that a check holds a fleet to (2 manifests, 3
traffic, 4 health, 5 jobs).  Each takes a Fleet and yields what is wrong with it.
"""

import re

import yaml

CHECKS = {}
# What a Secret for the object store holds.
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


def check(name):
    def add(function):
        CHECKS[name] = function
        return function
    return add


class Fleet:
    """Rendered documents, and what is asked of them again and again."""

    def __init__(self, documents):
        self.documents = documents
        self.by_name = {(d["kind"], d["metadata"]["name"]): d for d in documents}
        self.deployments = self.of_kind("Deployment")
        self.crons = self.of_kind("CronJob")
        self.autoscalers = self.of_kind("HorizontalPodAutoscaler")
        self.shards = [d for d in self.deployments if "sightline/shard" in labels_of(d)]
        self.production = any(d["metadata"]["name"] == "sightline" for d in self.of_kind("Namespace"))

    def of_kind(self, kind):
        return [d for d in self.documents if d["kind"] == kind]

    def pods(self):
        """(name, template) of everything that runs."""
        for deployment in self.deployments:
            yield title(deployment), deployment["spec"]["template"]
        for cron in self.crons:
            yield title(cron), job_of(cron)["template"]

    def scaled(self):
        return {a["spec"]["scaleTargetRef"]["name"] for a in self.autoscalers}

    def selected(self, selector):
        """The Deployments and CronJobs whose pods a selector of labels takes."""
        return [name for name, pod in self.pods() if matches(selector, pod["metadata"].get("labels", {}))]

    def configuration(self, pod, file=None):
        """The YAML that the pod's first container is given, or {} if it is given none."""
        container = pod["spec"]["containers"][0]
        path = flag(container, "--config")
        if path is None:
            return {}
        mounted = {v["name"]: v["configMap"]["name"] for v in pod["spec"].get("volumes", []) if "configMap" in v}
        for mount in container.get("volumeMounts", []):
            if path.startswith(mount["mountPath"] + "/") and mount["name"] in mounted:
                content = self.by_name.get(("ConfigMap", mounted[mount["name"]]), {}).get("data", {})
                file = content.get(path[len(mount["mountPath"]) + 1:])
        return yaml.safe_load(file) if file else None

    def environment(self, container):
        """Variable -> value of a container; those of a Secret are (the Secret's name,)."""
        variables = {}
        for source in container.get("envFrom", []):
            if "configMapRef" in source:
                variables.update(self.by_name.get(("ConfigMap", source["configMapRef"]["name"]), {}).get("data", {}))
            else:
                variables.update(dict.fromkeys(KEYS, (source["secretRef"]["name"],)))
        for variable in container.get("env", []):
            reference = dig(variable, "valueFrom", "configMapKeyRef")
            data = self.by_name.get(("ConfigMap", reference["name"]), {}).get("data", {}) if reference else {}
            variables[variable["name"]] = data.get(reference["key"]) if reference else variable.get("value")
        return variables

    def object_store(self, pod):
        """The URL of the object store that the pod's program asks, or None."""
        return self.environment(pod["spec"]["containers"][0]).get("SIGHTLINE_OBJECT_STORE")

    def object_store_port(self):
        """Of the endpoint that the overlay names, or AWS's; None without an object store."""
        for _, pod in self.pods():
            if self.object_store(pod):
                endpoint = self.environment(pod["spec"]["containers"][0]).get("AWS_ENDPOINT_URL_S3", "")
                match = re.fullmatch(r"https?://[^/:]+:(\d+)/?", endpoint)
                return int(match[1]) if match else 80 if endpoint.startswith("http:") else 443
        return None

    def deployment(self, name):
        return self.by_name.get(("Deployment", name))


def config_maps_of(pod):
    """The names of those that it mounts, or has its environment from."""
    for volume in pod["spec"].get("volumes", []):
        if "configMap" in volume:
            yield volume["configMap"]["name"]
    for container in containers_of(pod):
        references = [dig(source, "configMapRef") for source in container.get("envFrom", [])]
        references += [dig(variable, "valueFrom", "configMapKeyRef") for variable in container.get("env", [])]
        yield from (reference["name"] for reference in references if reference)


def title(document):
    return f"{document['kind']}/{document['metadata']['name']}"


def labels_of(document):
    return document["metadata"].get("labels", {})


def job_of(cron):
    return cron["spec"]["jobTemplate"]["spec"]


def gpus_of(template):
    """How many the first container of these pods may use."""
    return int(dig(template, "spec", "containers", 0, "resources", "limits", "nvidia.com/gpu", default="0"))


def containers_of(pod):
    return pod["spec"]["containers"] + pod["spec"].get("initContainers", [])


def flag(container, name):
    """What follows a flag, or its --flag=value."""
    args = container.get("args", [])
    for number, argument in enumerate(args):
        if argument == name and number + 1 < len(args):
            return args[number + 1]
        if argument.startswith(name + "="):
            return argument[len(name) + 1:]
    return None


def matches(selector, labels):
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    for rule in selector.get("matchExpressions") or []:
        value, operator = labels.get(rule["key"]), rule["operator"]
        if {"In": value not in rule.get("values", []), "NotIn": value in rule.get("values", []),
                "Exists": value is None, "DoesNotExist": value is not None}[operator]:
            return False
    return True


def seconds(text):
    total = 0.0
    for number, unit in re.findall(r"([\d.]+)(ms|s|m|h)", str(text)):
        total += float(number) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[unit]
    return total


def size(text):
    """Bytes of 4Gi as Kubernetes writes it, or 4GiB as configurations do."""
    match = re.fullmatch(r"(\d+)(?:([KMGT])i?B?)?", str(text))
    return int(match[1]) << 10 * " KMGT".index(match[2] or " ") if match else 0


def dig(value, *path, default=None):
    for key in path:
        if isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return default
    return value


def mounted(pod, container, path):
    """(the mount, the volume) at the path, or two Nones."""
    mount = next((m for m in container.get("volumeMounts", []) if m["mountPath"] == path), None)
    volume = next((v for v in pod["spec"].get("volumes", []) if mount and v["name"] == mount["name"]), None)
    return mount, volume
