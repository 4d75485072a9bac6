"""What a rendered fleet has to be, by name: `N.what-it-is`, N the point of the deployment that it
holds to (2 manifests, 3 traffic, 4 health, 5 jobs).  CHECKS has them all; each takes a Fleet and
yields what is wrong with it.
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


# --- 2: manifests ---


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


@check("2.policies")
def policies(fleet):
    """Everybody reaches whom he has to, and nobody else."""
    found = fleet.of_kind("NetworkPolicy")
    if not found:
        return
    pods = dict(fleet.pods())
    labels = {name: pod["metadata"]["labels"] for name, pod in pods.items()}
    here = {"kubernetes.io/metadata.name": "here"}

    def side(policy, direction, of, peer, peer_space, port, protocol):
        """Whether a policy covers `of` in that direction, and whether it lets the peer through."""
        spec = policy["spec"]
        if direction not in spec["policyTypes"] or not matches(spec["podSelector"], of):
            return False, False
        key, ends = ("ingress", "from") if direction == "Ingress" else ("egress", "to")
        for rule in spec.get(key) or []:
            ports = rule.get("ports")
            if ports and not any(p.get("protocol", "TCP") == protocol and
                                 p["port"] <= port <= p.get("endPort", p["port"]) for p in ports):
                continue
            peers = rule.get(ends)
            if not peers:
                return True, True
            for entry in peers:
                space = entry.get("namespaceSelector")
                if "ipBlock" in entry:
                    continue
                if space is None and peer_space is not here:
                    continue
                if (space is None or matches(space, peer_space)) and matches(entry.get("podSelector", {}), peer):
                    return True, True
        return True, False

    def passes(direction, of, peer, peer_space, port, protocol="TCP"):
        verdicts = [side(p, direction, of, peer, peer_space, port, protocol) for p in found]
        return not any(covers for covers, _ in verdicts) or any(lets for _, lets in verdicts)

    def reaches(source, target, port):
        return (passes("Egress", labels[source], labels[target], here, port) and
                passes("Ingress", labels[target], labels[source], here, port))

    router = "Deployment/router"
    backends = {f"Deployment/{d['metadata']['name']}": d["spec"]["template"]["spec"]["containers"][0]["ports"][0]
                ["containerPort"] for d in fleet.deployments if d["metadata"]["name"] != "router"}
    for target, port in backends.items():
        if not reaches(router, target, port):
            yield f"{router} does not reach {target}"
        for source in labels:
            if source != router and reaches(source, target, port):
                yield f"{source} reaches {target}"
        for space in ({"sightline/callers": "true"}, {}):
            if passes("Ingress", labels[target], {}, space, port):
                yield f"a stranger reaches {target}"
    for source in labels:
        if source != router and reaches(source, router, 7400) != (source == "CronJob/evaluator"):
            yield f"{source}: whether it reaches the router is {reaches(source, router, 7400)}"
        asks_store = fleet.object_store(pods[source]) is not None
        wants_names = source in (router, "CronJob/evaluator") or asks_store
        dns = passes("Egress", labels[source], {}, {"kubernetes.io/metadata.name": "kube-system"}, 53, "UDP")
        if dns != wants_names:
            yield f"{source}: whether it reaches the cluster's DNS is {dns}"
        for port in sorted({80, 443, fleet.object_store_port() or 443}):
            outside = passes("Egress", labels[source], {}, {}, port)
            if outside != (asks_store and port == fleet.object_store_port()):
                yield f"{source}: whether it reaches port {port} outside of the fleet is {outside}"
    if not passes("Ingress", labels[router], {}, {"sightline/callers": "true"}, 7400):
        yield "callers do not reach the router"
    if passes("Ingress", labels[router], {}, {}, 7400):
        yield "strangers reach the router"
    for deployment in fleet.deployments:
        metrics = deployment["spec"]["template"]["spec"]["containers"][0]["ports"][1]["containerPort"]
        if not passes("Ingress", labels[title(deployment)], {}, {"sightline/monitoring": "true"}, metrics):
            yield f"Prometheus does not reach {title(deployment)}"
        if passes("Ingress", labels[title(deployment)], {}, {}, metrics):
            yield f"strangers reach the metrics of {title(deployment)}"


# --- 3: traffic ---


@check("3.polled-names")
def polled_names(fleet):
    """Each name that the router polls is a headless Service that publishes what is not ready."""
    configuration = fleet.configuration(fleet.deployment("router")["spec"]["template"])
    names = list(dig(configuration, "encoders", default=[])) + list(dig(configuration, "rerankers", default=[]))
    for index in dig(configuration, "indexes", default={}).values():
        for shard in index["shards"]:
            names += shard["addresses"]
    if len(names) < 3:
        yield f"the router polls {names}"
    for name in sorted(set(names)):
        match = re.fullmatch(r"dns:///([a-z0-9-]+):(\d+)", name)
        service = fleet.by_name.get(("Service", match[1])) if match else None
        if service is None:
            yield f"{name}: is no Service"
            continue
        if service["spec"].get("clusterIP") != "None":
            yield f"{title(service)}: is not headless"
        if service["spec"].get("publishNotReadyAddresses") is not True:
            yield f"{title(service)}: hides servers that are loading"
        for target in fleet.selected({"matchLabels": service["spec"]["selector"]}):
            ports = [p["containerPort"] for p in
                     fleet.deployment(target.split("/")[1])["spec"]["template"]["spec"]["containers"][0]["ports"]]
            if int(match[2]) not in ports or service["spec"]["ports"][0]["port"] != int(match[2]):
                yield f"{name}: {target} listens at {ports}"


@check("3.callers")
def callers(fleet):
    """A Service for callers that do not balance and a headless one for those that do, both of
    routers that serve."""
    for name, headless in (("router", False), ("router-pods", True)):
        service = fleet.by_name.get(("Service", name))
        if service is None:
            yield f"there is no Service {name}"
            continue
        if (service["spec"].get("clusterIP") == "None") != headless:
            yield f"{title(service)}: headless is not {headless}"
        if service["spec"].get("publishNotReadyAddresses"):
            yield f"{title(service)}: sends callers to routers that do not serve"


@check("3.moved-pod")
def moved_pod(fleet):
    """Within five seconds of the name's answer changing: a look-up, and as long for it."""
    interval = seconds(dig(fleet.configuration(fleet.deployment("router")["spec"]["template"]),
                           "resolve_interval", default="2s"))
    if not 0 < interval <= 2.5:
        yield f"the router looks names up every {interval} s"


@check("3.drain")
def drain(fleet):
    for deployment in fleet.deployments:
        pod = deployment["spec"]["template"]
        container = pod["spec"]["containers"][0]
        sleep = dig(container, "lifecycle", "preStop", "sleep", "seconds")
        if not sleep:
            yield f"{title(deployment)}: has no preStop that sleeps, and there is no shell to do it by"
            continue
        server = dig(fleet.configuration(pod), "server", default={})
        delay, timeout = seconds(server.get("drain_delay", "0s")), seconds(server.get("drain_timeout", "10s"))
        grace = pod["spec"].get("terminationGracePeriodSeconds", 30)
        if grace < sleep + delay + timeout + 5:
            yield f"{title(deployment)}: {grace} s of grace for {sleep} + {delay} + {timeout} s of draining"


@check("3.rollout")
def rollout(fleet):
    for deployment in fleet.deployments:
        update = dig(deployment, "spec", "strategy", "rollingUpdate", default={})
        if (update.get("maxSurge"), update.get("maxUnavailable")) != (1, 0):
            yield f"{title(deployment)}: surges by {update.get('maxSurge')} with {update.get('maxUnavailable')} unavailable"
        if deployment["spec"].get("progressDeadlineSeconds", 600) < 3600:
            yield f"{title(deployment)}: a rollout counts as stuck while a pod may still be loading"


@check("3.budgets")
def budgets(fleet):
    """Each Deployment is in one budget, which never blocks a drain."""
    found = fleet.of_kind("PodDisruptionBudget")
    if not found:
        return
    covered = {}
    for budget in found:
        spec = budget["spec"]
        if spec.get("maxUnavailable") != 1 or "minAvailable" in spec:
            yield f"{title(budget)}: maxUnavailable is {spec.get('maxUnavailable')}"
        if spec.get("unhealthyPodEvictionPolicy") != "AlwaysAllow":
            yield f"{title(budget)}: keeps pods that are not ready"
        took = fleet.selected(spec["selector"])
        if len(took) != 1:
            yield f"{title(budget)}: is of {took}"
        for name in took:
            covered[name] = covered.get(name, 0) + 1
    for deployment in fleet.deployments:
        if covered.get(title(deployment), 0) != 1:
            yield f"{title(deployment)}: is in {covered.get(title(deployment), 0)} budgets"


@check("3.spread")
def spread(fleet):
    for deployment in fleet.deployments:
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        constraints = deployment["spec"]["template"]["spec"].get("topologySpreadConstraints", [])
        keys = [c["topologyKey"] for c in constraints]
        if sorted(keys) != ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]:
            yield f"{title(deployment)}: is spread over {keys}"
        for constraint in constraints:
            same = set(constraint.get("matchLabelKeys", []))
            if not matches(constraint["labelSelector"], labels) or not {
                    "app.kubernetes.io/name", "sightline/shard", "pod-template-hash"} <= same:
                yield f"{title(deployment)}: is spread among others than its own"
            if constraint["whenUnsatisfiable"] != "ScheduleAnyway":
                yield f"{title(deployment)}: waits for a node that is not there"


@check("3.shards-not-scaled")
def shards_not_scaled(fleet):
    for name in fleet.scaled() & {d["metadata"]["name"] for d in fleet.shards}:
        yield f"an autoscaler scales {name}"


@check("3.queue-time")
def queue_time(fleet):
    """What is scaled by queue time is scaled by CPU time too, by a metric that the adapter has."""
    rules = fleet.by_name.get(("ConfigMap", "prometheus-adapter-rules"))
    served = [rule["name"]["as"] for rule in yaml.safe_load(rules["data"]["config.yaml"])["rules"]] if rules else []
    asked = set()
    for autoscaler in fleet.autoscalers:
        kinds = [m["type"] for m in autoscaler["spec"]["metrics"]]
        if "Resource" not in kinds:
            yield f"{title(autoscaler)}: is not scaled by CPU time"
        for metric in autoscaler["spec"]["metrics"]:
            if metric["type"] == "Pods":
                asked.add(metric["pods"]["metric"]["name"])
    if asked != set(served):
        yield f"autoscalers ask for {sorted(asked)}, and the adapter has {served}"


# --- 4: health ---


def probes(fleet):
    for deployment in fleet.deployments:
        container = deployment["spec"]["template"]["spec"]["containers"][0]
        yield title(deployment), container, container["ports"][0]["containerPort"]


@check("4.startup")
def startup(fleet):
    """Asks for life, for at least a minute: no pod is killed for what it loads."""
    for name, container, port in probes(fleet):
        probe = container.get("startupProbe", {})
        if dig(probe, "grpc", "service") != "liveness" or dig(probe, "grpc", "port") != port:
            yield f"{name}: startup asks {probe.get('grpc')}"
        if probe.get("failureThreshold", 3) * probe.get("periodSeconds", 10) < 60:
            yield f"{name}: is killed when its program takes a minute to begin"


@check("4.liveness")
def liveness(fleet):
    """Asks the entry that loading and draining do not touch, and is patient."""
    for name, container, port in probes(fleet):
        probe = container.get("livenessProbe", {})
        if dig(probe, "grpc", "service") != "liveness" or dig(probe, "grpc", "port") != port:
            yield f"{name}: liveness asks {probe.get('grpc')}"
        if probe.get("failureThreshold", 3) * probe.get("periodSeconds", 10) < 30:
            yield f"{name}: is killed for half a minute's silence"
        if probe.get("timeoutSeconds", 1) < 3:
            yield f"{name}: a busy server cannot answer in {probe.get('timeoutSeconds', 1)} s"


@check("4.readiness")
def readiness(fleet):
    """Asks whether it serves, and notices soon."""
    for name, container, port in probes(fleet):
        probe = container.get("readinessProbe", {})
        if dig(probe, "grpc", "service") not in (None, "") or dig(probe, "grpc", "port") != port:
            yield f"{name}: readiness asks {probe.get('grpc')}"
        if probe.get("failureThreshold", 3) * probe.get("periodSeconds", 10) > 10:
            yield f"{name}: stays in for {probe.get('failureThreshold', 3) * probe.get('periodSeconds', 10)} s"


# --- 5: jobs ---

PERMANENT, AGAIN = [1, 2], [75]


@check("5.failure-policy")
def failure_policy(fleet):
    """The convention of exit statuses, in this order."""
    wanted = [
        ("Ignore", None, ["DisruptionTarget"]),
        ("FailJob", PERMANENT, []),
        ("Count", AGAIN, []),
    ]
    for cron in fleet.crons:
        job = job_of(cron)
        rules = [(r["action"], dig(r, "onExitCodes", "values"),
                  [c["type"] for c in r.get("onPodConditions", []) if c.get("status") == "True"])
                 for r in dig(job, "podFailurePolicy", "rules", default=[])]
        if rules != wanted:
            yield f"{title(cron)}: ends by the rules {rules}"
        if job["template"]["spec"].get("restartPolicy") != "Never":
            yield f"{title(cron)}: restarts in place, so that no rule is asked"
        if "backoffLimit" not in job:
            yield f"{title(cron)}: does not say how often it is tried"
        if job.get("podReplacementPolicy") != "Failed":
            yield f"{title(cron)}: a replacement starts beside the pod that holds the lock"


@check("5.indexed")
def indexed(fleet):
    """parallelism = completions = workers."""
    cron = fleet.by_name.get(("CronJob", "corpus-encoder"))
    if cron is None:
        yield "there is no corpus-encoder"
        return
    job = job_of(cron)
    workers = dig(fleet.configuration(job["template"]), "workers")
    if job.get("completionMode") != "Indexed":
        yield f"{title(cron)}: is not an Indexed Job"
    if not job.get("completions") == job.get("parallelism") == workers:
        yield (f"{title(cron)}: {job.get('completions')} completions, {job.get('parallelism')} at once, "
               f"{workers} workers")


@check("5.nightly")
def nightly(fleet):
    """It publishes, one run at a time; in production every night."""
    cron = fleet.by_name.get(("CronJob", "corpus-encoder"))
    configuration = fleet.configuration(job_of(cron)["template"]) if cron else {}
    if not cron or dig(configuration, "publish", default=True) is not True or "--no-publish" in \
            job_of(cron)["template"]["spec"]["containers"][0]["args"]:
        yield "corpus-encoder does not publish"
        return
    if not re.fullmatch(r"\d+ \d+ \* \* \*", cron["spec"]["schedule"]):
        yield f"{title(cron)}: runs at {cron['spec']['schedule']}"
    if fleet.production and cron["spec"].get("suspend"):
        yield f"{title(cron)}: is suspended in production"
    for each in fleet.crons:
        if each["spec"].get("concurrencyPolicy") != "Forbid":
            yield f"{title(each)}: may run twice at a time"
        if not each["spec"].get("timeZone"):
            yield f"{title(each)}: runs by whatever clock the control plane has"


@check("5.pruned")
def pruned(fleet):
    """Each index that is served is pruned daily."""
    indexes = dig(fleet.configuration(fleet.deployment("router")["spec"]["template"]), "indexes", default={})
    for index in indexes:
        cron = fleet.by_name.get(("CronJob", f"prune-{index}"))
        args = dig(job_of(cron), "template", "spec", "containers", 0, "args") if cron else []
        if args[:3] != ["sightlinectl", "prune", index]:
            yield f"{index} is not pruned"


@check("5.by-hand")
def by_hand(fleet):
    """What is not the nightly work runs when it is asked to, and not by the clock."""
    for name in ("training-set", "trainer", "evaluator", "receive", "sightlinectl"):
        cron = fleet.by_name.get(("CronJob", name))
        if cron is None:
            yield f"there is no {name}"
        elif cron["spec"].get("suspend") is not True:
            yield f"{title(cron)}: runs by itself"


@check("5.store")
def store(fleet):
    """Jobs write to a file system that servers only read, unless it is a cache of their own; both
    find the store at one place."""
    for name, pod in fleet.pods():
        binary = pod["spec"]["containers"][0]["args"][0]
        mounts = {m["mountPath"]: m for m in pod["spec"]["containers"][0].get("volumeMounts", [])}
        mount = mounts.get("/var/lib/sightline")
        if binary == "router":
            if mount:
                yield f"{name}: has the store, which it does not read"
            continue
        if mount is None:
            yield f"{name}: does not have the store"
            continue
        writes = name.startswith("CronJob/") or fleet.object_store(pod) is not None
        if bool(mount.get("readOnly")) == writes:
            yield f"{name}: readOnly is {bool(mount.get('readOnly'))}"
        container = pod["spec"]["containers"][0]
        told = dig(fleet.configuration(pod), "store") or flag(container, "--store")
        if told is None and flag(container, "--object-store"):
            continue  # it works on that alone
        if binary != "tar" and not name.endswith("/training-set") and told != "/var/lib/sightline/store":
            yield f"{name}: looks for the store at {told}"


@check("5.grace")
def grace(fleet):
    """An interrupted job has time to finish what is in flight, or to write a checkpoint."""
    for cron in fleet.crons:
        if job_of(cron)["template"]["spec"].get("terminationGracePeriodSeconds", 30) < 60:
            yield f"{title(cron)}: has less than a minute to end"


def offences(documents, schemas):
    """(check, what is wrong) of everything."""
    found = [("2.schema", text) for document in documents for text in schemas.validate(document)]
    fleet = Fleet(documents)
    for name, function in CHECKS.items():
        try:
            found += [(name, text) for text in function(fleet)]
        except (KeyError, TypeError, AttributeError, IndexError):
            # A document without what every document of its kind has; the models have said so.
            if not any(reported == "2.schema" for reported, _ in found):
                raise
    return found
