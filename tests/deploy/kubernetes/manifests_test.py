#!/usr/bin/python3
"""Renders every overlay and every combination of components, as the README tells an operator to,
and holds them to the API's models and to checks.py; then plants mistakes in what is sound and
sees each reported by the check that is meant to.

usage: manifests_test.py ROOT TOOLS    TOOLS is what tools.sh prints
"""

import copy
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

import checks
import object_store_checks  # noqa: F401  (adds to checks.CHECKS)
import object_store_mistakes
import planting
import readme
import schemas
from planting import FIRST, JOB, POD, edit, of

DIGEST = "sha256:" + "0123456789abcdef" * 4
IMAGES = [f"--image={name}=registry.example:5000/team/{name}@{DIGEST}" for name in ("sightline", "sightline-router")]
# One of each of these; "" is none.
SCALING = ("", "autoscaling-cpu", "autoscaling-queue-time")
OTHERS = ("disruption", "network-policies", "monitoring")
STORES = ("shared-volume", "object-store-keys", "object-store-web-identity")

passed, failed = 0, 0


def case(name, offences):
    global passed, failed
    offences = list(offences)
    if offences:
        failed += 1
        print(f"FAILED {name}", *offences, sep="\n  ")
    else:
        passed += 1


class Tree:
    """A copy of deploy/ to work in."""

    def __init__(self, root, tools):
        self.folder = tempfile.mkdtemp(prefix="manifests.")
        self.kubectl = os.path.join(tools, "usr/bin/kubectl")
        for name in ("kubernetes", "monitoring"):
            shutil.copytree(os.path.join(root, "deploy", name), os.path.join(self.folder, "deploy", name))
        self.kubernetes = os.path.join(self.folder, "deploy/kubernetes")
        with open(os.path.join(self.kubernetes, "README.md"), encoding="utf-8") as source:
            self.readme = source.read()

    def addition(self, store):
        """What the README adds to an overlay for it: by keys a store of a port of its own, and AWS's
        by web identity."""
        endpoint = "https://minio.storage:9000" if store == "object-store-keys" else None
        return {} if store == "shared-volume" else readme.object_store(self.readme, store, endpoint)

    def overlay(self, name):
        return os.path.join(self.kubernetes, "overlays", name)

    def fleet(self, name, *arguments):
        return subprocess.run([sys.executable, os.path.join(self.kubernetes, "fleet.py"), self.overlay(name),
                               *arguments], capture_output=True, text=True, check=False)

    def render(self, name):
        done = subprocess.run([self.kubectl, "kustomize", self.overlay(name)], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise RuntimeError(f"{name} does not render: {done.stderr.strip()}")
        return list(yaml.load_all(done.stdout, Loader=yaml.CSafeLoader))

    def combine(self, scaling, others, shards, workers, store="shared-volume"):
        """An overlay of these components, as the README tells to write one."""
        folder = self.overlay("combination")
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        shutil.copy(os.path.join(self.overlay("production"), "namespace.yaml"), folder)
        resources = ["../../base", "namespace.yaml"]
        components = ["fleet", f"../../components/{store}"]
        components += [f"../../components/{scaling}"] if scaling else []
        components += ["../../../monitoring" if name == "monitoring" else f"../../components/{name}"
                       for name in others]
        if "disruption" in others:
            resources.append("fleet/disruption.yaml")
        with open(os.path.join(folder, "kustomization.yaml"), "w", encoding="utf-8") as target:
            yaml.safe_dump({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
                            "namespace": "sightline", "resources": resources, "components": components,
                            **self.addition(store)}, target)
        done = self.fleet("combination", f"--shards={shards}", f"--workers={workers}", *IMAGES)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return self.render("combination")


# --- mistakes ---

MISTAKES = planting.Mistakes()
plant, mistake = MISTAKES.plant, MISTAKES.made_by

plant("a field misspelt", "2.schema", ("Deployment", "router", (*FIRST, "imagePullPolice"), "Always"))
plant("a value that the API does not have", "2.schema",
      ("Deployment", "router", (*FIRST, "imagePullPolicy"), "Sometimes"))
plant("a required field left out", "2.schema", ("Deployment", "router", ("spec", "selector"), None))
plant("a number written as a string", "2.schema", ("CronJob", "corpus-encoder", (*JOB, "backoffLimit"), "20"))
plant("a kind of an older API", "2.schema", ("PodDisruptionBudget", "router", ("apiVersion",), "policy/v1beta2"))
plant("root allowed", "2.restricted", ("Deployment", "reranker", (*POD, "securityContext", "runAsNonRoot"), False))
plant("capabilities kept", "2.restricted",
      ("Deployment", "index-search-1", (*FIRST, "securityContext", "capabilities"), {}))
plant("no seccomp", "2.restricted", ("Deployment", "router", (*POD, "securityContext", "seccompProfile"), None))
plant("a folder of the host", "2.restricted",
      ("Deployment", "router", (*POD, "volumes", 0), {"name": "config", "hostPath": {"path": "/etc"}}))
plant("a namespace that enforces nothing", "2.restricted",
      ("Namespace", "sightline", ("metadata", "labels", "pod-security.kubernetes.io/enforce"), "baseline"))
plant("a root that can be written", "2.read-only-root",
      ("CronJob", "trainer", (*JOB, "template", "spec", "containers", 0, "securityContext",
                              "readOnlyRootFilesystem"), False))
plant("a token", "2.no-token", ("Deployment", "router", (*POD, "automountServiceAccountToken"), True))
plant("variables of all Services", "2.no-token", ("Deployment", "router", (*POD, "enableServiceLinks"), None))
plant("memory promised twice", "2.memory",
      ("Deployment", "index-search-0", (*FIRST, "resources", "requests", "memory"), "1Gi"))
plant("less memory than requests take", "2.memory",
      ("Deployment", "router", (*FIRST, "resources"), {"requests": {"cpu": "1", "memory": "512Mi"},
                                                       "limits": {"memory": "512Mi"}}))
plant("a CronJob of too long a name", "2.names", ("CronJob", "trainer", ("metadata", "name"), "trainer-" * 6 + "again"))
plant("a port of too long a name", "2.names", ("Deployment", "router", (*FIRST, "ports", 0, "name"), "grpc-of-the-router"))
plant("threads of the whole node", "2.memory",
      ("Deployment", "query-encoder", (*FIRST, "resources", "limits", "cpu"), None))
plant("a configuration without a hash", "2.hashed-configuration",
      ("ConfigMap", "router-", ("metadata", "name"), "router"),
      ("Deployment", "router", (*POD, "volumes", 0, "configMap", "name"), "router"))
plant("a configuration that is not mounted", "2.hashed-configuration",
      ("Deployment", "router", (*FIRST, "volumeMounts", 0, "mountPath"), "/etc/other"))
plant("an image by tag", "2.image-by-digest", ("Deployment", "router", (*FIRST, "image"), "sightline-router:1.0"))
plant("replicas beside an autoscaler", "2.scaled-without-replicas", ("Deployment", "router", ("spec", "replicas"), 3))
plant("one replica in production", "2.two-of-all", ("Deployment", "index-search-1", ("spec", "replicas"), 1))
plant("an autoscaler that goes down to one", "2.two-of-all",
      ("HorizontalPodAutoscaler", "reranker", ("spec", "minReplicas"), 1))
plant("a claim that is not there", "2.references", ("PersistentVolumeClaim", "sightline", ("metadata", "name"), "data"))
plant("a selector that takes all shards", "2.references",
      ("Deployment", "index-search-0", ("spec", "selector", "matchLabels"),
       {"app.kubernetes.io/name": "index-search"}))
plant("shards whom anybody may ask", "2.policies", ("NetworkPolicy", "index-search", ("spec", "ingress"), [{}]))
plant("a router that cannot ask the reranker", "2.policies",
      ("NetworkPolicy", "reranker", ("spec", "ingress", 0, "ports", 0, "port"), 7402))
plant("no names for the router", "2.policies",
      ("NetworkPolicy", "names", ("spec", "podSelector", "matchLabels"), {"app.kubernetes.io/name": "evaluator"}))
plant("metrics for everybody", "2.policies",
      ("NetworkPolicy", "metrics", ("spec", "ingress", 0, "from"), [{"namespaceSelector": {}}]))


@mistake("generations that may fill the pod", "2.memory")
def _(documents):
    edit(documents, "index-search", "shard-0.yaml", "state_dir", "memory_limit: 4GiB\nstate_dir")


@mistake("a router that knows one shard less", "2.one-shard-count")
def _(documents):
    edit(documents, "router", "router.yaml", '      - {addresses: ["dns:///index-search-1:7402"]}\n', "")


@mistake("a job that makes more shards", "2.one-shard-count")
def _(documents):
    edit(documents, "corpus-encoder", "corpus_encoder.yaml", "shards: 2", "shards: 3")


@mistake("two Deployments of one shard", "2.one-shard-count")
def _(documents):
    edit(documents, "index-search", "shard-1.yaml", "shards: [1]", "shards: [0]")


@mistake("a StatefulSet", "2.one-shard-count")
def _(documents):
    of(documents, "Deployment", "index-search-0")["kind"] = "StatefulSet"


plant("a Service that hides pods that load", "3.polled-names",
      ("Service", "index-search-0", ("spec", "publishNotReadyAddresses"), None))
plant("a Service with an address of its own", "3.polled-names",
      ("Service", "reranker", ("spec", "clusterIP"), None))
plant("a Service of another port", "3.polled-names",
      ("Service", "query-encoder", ("spec", "ports", 0, "port"), 7402))
plant("callers sent to routers that start", "3.callers",
      ("Service", "router", ("spec", "publishNotReadyAddresses"), True))
plant("no name for callers that balance", "3.callers", ("Service", "router-pods", ("metadata", "name"), "pods"))
plant("less grace than a drain takes", "3.drain",
      ("Deployment", "reranker", (*POD, "terminationGracePeriodSeconds"), 25))
plant("a preStop that needs a shell", "3.drain",
      ("Deployment", "router", (*FIRST, "lifecycle", "preStop"), {"exec": {"command": ["sh", "-c", "sleep 5"]}}))
plant("a rollout that takes one away first", "3.rollout",
      ("Deployment", "router", ("spec", "strategy", "rollingUpdate"), {"maxSurge": 0, "maxUnavailable": 1}))
plant("a rollout that gives up on loading", "3.rollout",
      ("Deployment", "index-search-0", ("spec", "progressDeadlineSeconds"), 600))
plant("a budget that blocks", "3.budgets",
      ("PodDisruptionBudget", "router", ("spec",), {"selector": {"matchLabels": {"app.kubernetes.io/name": "router"}},
                                                    "minAvailable": 2}))
plant("a budget over all shards", "3.budgets",
      ("PodDisruptionBudget", "index-search-0", ("spec", "selector", "matchLabels"),
       {"app.kubernetes.io/name": "index-search"}))
plant("a budget that keeps what is broken", "3.budgets",
      ("PodDisruptionBudget", "reranker", ("spec", "unhealthyPodEvictionPolicy"), None))
plant("spread over hosts alone", "3.spread",
      ("Deployment", "router", (*POD, "topologySpreadConstraints", 0), None))
plant("spread among all servers", "3.spread",
      ("Deployment", "router", (*POD, "topologySpreadConstraints", 0, "matchLabelKeys"), ["pod-template-hash"]))
plant("a replica that waits for a zone", "3.spread",
      ("Deployment", "router", (*POD, "topologySpreadConstraints", 0, "whenUnsatisfiable"), "DoNotSchedule"))
plant("a shard that is scaled", "3.shards-not-scaled",
      ("HorizontalPodAutoscaler", "reranker", ("spec", "scaleTargetRef", "name"), "index-search-0"))
plant("a metric that the adapter does not have", "3.queue-time",
      ("HorizontalPodAutoscaler", "reranker", ("spec", "metrics", 1, "pods", "metric", "name"), "queue_seconds"))
plant("queue time without CPU time", "3.queue-time",
      ("HorizontalPodAutoscaler", "reranker", ("spec", "metrics", 0), None))


@mistake("a pod that moves and is looked for too late", "3.moved-pod")
def _(documents):
    edit(documents, "router", "router.yaml", "resolve_interval: 2s", "resolve_interval: 10s")


@mistake("a drain longer than the grace", "3.drain")
def _(documents):
    edit(documents, "query-encoder", "query_encoder.yaml", "drain_timeout: 20s", "drain_timeout: 1m")


plant("killed while it loads", "4.startup",
      ("Deployment", "index-search-0", (*FIRST, "startupProbe"), {"grpc": {"port": 7402}, "failureThreshold": 30}))
plant("no startup probe", "4.startup", ("Deployment", "router", (*FIRST, "startupProbe"), None))
plant("killed after ten seconds", "4.startup",
      ("Deployment", "router", (*FIRST, "startupProbe", "failureThreshold"), 10))
plant("killed while it drains or loads", "4.liveness",
      ("Deployment", "reranker", (*FIRST, "livenessProbe", "grpc"), {"port": 7403}))
plant("another server's port", "4.liveness",
      ("Deployment", "reranker", (*FIRST, "livenessProbe", "grpc", "port"), 7402))
plant("killed for being busy", "4.liveness",
      ("Deployment", "reranker", (*FIRST, "livenessProbe", "timeoutSeconds"), 1))
plant("ready as soon as it lives", "4.readiness",
      ("Deployment", "query-encoder", (*FIRST, "readinessProbe", "grpc", "service"), "liveness"))
plant("ready half a minute too long", "4.readiness",
      ("Deployment", "query-encoder", (*FIRST, "readinessProbe", "periodSeconds"), 15))
plant("no readiness probe", "4.readiness", ("Deployment", "query-encoder", (*FIRST, "readinessProbe"), None))

plant("a permanent failure tried again", "5.failure-policy",
      ("CronJob", "corpus-encoder", (*JOB, "podFailurePolicy", "rules", 1, "action"), "Count"))
plant("a drained pod that counts", "5.failure-policy",
      ("CronJob", "corpus-encoder", (*JOB, "podFailurePolicy", "rules", 0), None))
plant("an interrupted trainer that fails for good", "5.failure-policy",
      ("CronJob", "trainer", (*JOB, "podFailurePolicy", "rules", 1, "onExitCodes", "values"), [1, 2, 75]))
plant("a restart in place", "5.failure-policy",
      ("CronJob", "evaluator", (*JOB, "template", "spec", "restartPolicy"), "OnFailure"))
plant("a replacement beside the old pod", "5.failure-policy",
      ("CronJob", "corpus-encoder", (*JOB, "podReplacementPolicy"), "TerminatingOrFailed"))
plant("workers that wait for each other in turn", "5.indexed",
      ("CronJob", "corpus-encoder", (*JOB, "parallelism"), 1))
plant("a job without indexes", "5.indexed", ("CronJob", "corpus-encoder", (*JOB, "completionMode"), None))
plant("two jobs at a time", "5.nightly", ("CronJob", "corpus-encoder", ("spec", "concurrencyPolicy"), "Allow"))
plant("a night that never comes", "5.nightly", ("CronJob", "corpus-encoder", ("spec", "suspend"), True))
plant("a week instead of a night", "5.nightly", ("CronJob", "corpus-encoder", ("spec", "schedule"), "0 2 * * 0"))
plant("an index that is not pruned", "5.pruned",
      ("CronJob", "prune-captions", (*JOB, "template", "spec", "containers", 0, "args", 2), "images"))
plant("a trainer by the clock", "5.by-hand", ("CronJob", "trainer", ("spec", "suspend"), None))
plant("a server that may write to the store", "5.store",
      ("Deployment", "index-search-0", (*FIRST, "volumeMounts", 0, "readOnly"), False))
plant("a job on another volume", "5.store",
      ("CronJob", "corpus-encoder", (*JOB, "template", "spec", "containers", 0, "volumeMounts", 0, "mountPath"),
       "/data"))
plant("no time for a checkpoint", "5.grace",
      ("CronJob", "trainer", (*JOB, "template", "spec", "terminationGracePeriodSeconds"), 10))


@mistake("a job of other workers than pods", "5.indexed")
def _(documents):
    edit(documents, "corpus-encoder", "corpus_encoder.yaml", "workers: 2", "workers: 4")


@mistake("a job that does not publish", "5.nightly")
def _(documents):
    edit(documents, "corpus-encoder", "corpus_encoder.yaml", "workers: 2", "workers: 2\npublish: false")


@mistake("a server of another store", "5.store")
def _(documents):
    edit(documents, "reranker", "reranker.yaml", "store: /var/lib/sightline/store", "store: /srv/store")


# By the store of the fleet that they are planted in.
ALL_MISTAKES = {
    "shared-volume": MISTAKES,
    "object-store-keys": object_store_mistakes.KEYS,
    "object-store-web-identity": object_store_mistakes.WEB_IDENTITY,
}


def said(offences):
    return [f"{name}: {text}" for name, text in offences]


def main(root, tools):
    models = schemas.Schemas(os.path.join(tools, "models"))
    tree = Tree(root, tools)
    try:
        for overlay in ("dev", "production"):
            done = tree.fleet(overlay, "--check")
            case(f"{overlay}/fleet is as fleet.py writes it", done.stdout.splitlines() + done.stderr.splitlines())
            bare = checks.offences(tree.render(overlay), models)
            case(f"{overlay} lacks nothing but images by digest",
                 said(o for o in bare if o[0] != "2.image-by-digest"))
            case(f"{overlay} has no image of its own", [] if any(o[0] == "2.image-by-digest" for o in bare)
                 else ["digests belong to whoever deploys"])
            tree.fleet(overlay, *IMAGES)
            case(f"{overlay}, with images", said(checks.offences(tree.render(overlay), models)))

        # Every combination of components.  The number of shards and the store change from one to the
        # next, so that each kind of store meets each set of the others.
        sets = [c for n in range(len(OTHERS) + 1) for c in itertools.combinations(OTHERS, n)]
        for number, (scaling, others) in enumerate(itertools.product(SCALING, sets)):
            shards, workers = 1 + number % 4, 1 + number % 3
            store = STORES[number % len(STORES)]
            name = f"{shards} shards, {workers} workers: " + ", ".join(filter(None, (store, scaling, *others)))
            try:
                found = checks.offences(tree.combine(scaling, others, shards, workers, store), models)
                # Without an autoscaler the overlay says how many replicas there are.
                case(name, said(o for o in found if o[0] != "2.two-of-all"))
            except RuntimeError as error:
                case(name, [str(error)])

        for store, mistakes in ALL_MISTAKES.items():
            documents = tree.combine("autoscaling-queue-time", OTHERS, 2, 2, store)
            for deployment in documents:
                if deployment["kind"] == "Deployment" and "sightline/shard" in deployment["metadata"]["labels"]:
                    deployment["spec"]["replicas"] = 2
            case(f"mistakes are planted in what is sound: {store}", said(checks.offences(documents, models)))
            for what, reported_by, make in mistakes:
                spoilt = copy.deepcopy(documents)
                make(spoilt)
                found = checks.offences(spoilt, models)
                case(f"{what} is reported by {reported_by}",
                     [] if reported_by in {name for name, _ in found} else ["not reported", *said(found)])
        sized = checks.Fleet(tree.combine("", (), 1, 1, "object-store-keys")).deployment("reranker")
        case("the README's patch sets the size of a cache",
             [] if "123Gi" in str(sized) and "20Gi" not in str(sized) else [str(sized)])
        reports = [reported_by for mistakes in ALL_MISTAKES.values() for _, reported_by, _ in mistakes]
        points = {}
        for reported_by in reports:
            points[reported_by[0]] = points.get(reported_by[0], 0) + 1
        case("three mistakes for each point", [p for p in "2345" if points.get(p, 0) < 3])
        case("a mistake for each check",
             sorted({"2.schema", *checks.CHECKS} - set(reports)))

        # The README's way from an empty cluster to an answer.
        commands = readme.commands(tree.readme)
        block = "\n".join(commands)
        case("the README has ten commands", [] if len(commands) == 10 else commands)
        templates = {d["metadata"]["name"] for d in tree.render("dev") if d["kind"] == "CronJob"}
        case("the README's jobs are there", set(re.findall(r"--from=cronjob/([\w-]+)", block)) - templates)
        case("the README's overlay is there", [path for path in re.findall(r"deploy/kubernetes/\S+", block)
                                               if not os.path.exists(os.path.join(root, path))])

        # What fleet.py refuses, and what it notices.
        for arguments in (["--shards=0"], ["--shards=1001"], ["--workers=x"], ["--image=other=a@" + DIGEST],
                          ["--image=sightline=a:1@" + DIGEST], ["--image=sightline=a"]):
            case(f"fleet.py refuses {arguments[0]}", [] if tree.fleet("dev", *arguments).returncode == 2 else ["taken"])
        built = os.path.join(tree.folder, "images.txt")
        with open(built, "w", encoding="utf-8") as target:
            target.write("".join(f"/images/{name}.tar {DIGEST} 123\n" for name in ("sightline", "sightline-router")))
        tree.fleet("production", f"--built={built}", "--repository=registry.example/team")
        images = {container["image"] for _, template in checks.Fleet(tree.render("production")).pods()
                  for container in checks.containers_of(template)}
        case("fleet.py takes the digests of what was built",
             images ^ {f"registry.example/team/{name}@{DIGEST}" for name in ("sightline", "sightline-router")})
        with open(built, "w", encoding="utf-8") as target:
            target.write(f"/images/sightline.tar {DIGEST} 123\n")
        for path in (built, built + ".gone"):
            case("fleet.py refuses what does not tell both digests",
                 [] if tree.fleet("dev", f"--built={path}").returncode == 2 else ["taken"])
        tree.fleet("dev", "--shards=3")
        tree.fleet("dev", "--workers=2")
        case("what is not given stays", said(checks.offences(tree.render("dev"), models)))
        os.mkdir(os.path.join(tree.overlay("dev"), "config"))
        with open(os.path.join(tree.overlay("dev"), "config/router.yaml"), "w", encoding="utf-8") as target:
            target.write("encoders: []\n")
        done = tree.fleet("dev", "--check")
        case("a configuration that has changed is noticed",
             [] if done.returncode == 1 and "router.yaml" in done.stdout else [done.stdout])
    finally:
        shutil.rmtree(tree.folder)
    print(f"cases: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
