"""Point 3: names, drains, rollouts, budgets, spreading, scaling."""

import os
import re

import yaml

from rendered import check, dig, gpus_of, matches, seconds, title

ADAPTER_RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../deploy/kubernetes/components",
                             "autoscaling-queue-time/adapter_rules.yaml")


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
        # Beside a pod with a GPU there is seldom another GPU.
        wanted = (0, 1) if gpus_of(deployment["spec"]["template"]) else (1, 0)
        if (update.get("maxSurge"), update.get("maxUnavailable")) != wanted:
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
    """What is scaled by queue time is scaled by CPU time too, by a metric that the adapter gets rules
    for; and they are not put where it does not read."""
    with open(ADAPTER_RULES, encoding="utf-8") as source:
        served = {rule["name"]["as"] for rule in yaml.safe_load(source)["rules"]}
    asked = set()
    for autoscaler in fleet.autoscalers:
        kinds = [m["type"] for m in autoscaler["spec"]["metrics"]]
        if "Resource" not in kinds:
            yield f"{title(autoscaler)}: is not scaled by CPU time"
        for metric in autoscaler["spec"]["metrics"]:
            if metric["type"] == "Pods":
                asked.add(metric["pods"]["metric"]["name"])
    if asked not in (set(), served):
        yield f"autoscalers ask for {sorted(asked)}, and the adapter gets rules for {sorted(served)}"
    for config_map in fleet.of_kind("ConfigMap"):
        if any("seriesQuery" in text for text in config_map["data"].values()):
            yield f"{title(config_map)}: the adapter reads no ConfigMap of this namespace"
