#!/usr/bin/python3
"""Renders every overlay and all combinations of components, as the README tells an operator to,
and holds them to the API's models and to checks.py; then plants the mistakes of *_mistakes.py in
what is sound and sees each reported by the check that is meant to.

usage: manifests_test.py ROOT TOOLS    TOOLS is what tools.sh prints
"""

import collections
import concurrent.futures
import copy
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

import checks
import health_mistakes
import job_mistakes
import object_store_mistakes
import policy_checks
import policy_mistakes
import readme
import rendered
import schemas
import traffic_mistakes
import workload_mistakes

DIGEST = "sha256:" + "0123456789abcdef" * 4
IMAGES = [f"--image={name}=registry.example:5000/team/{name}@{DIGEST}" for name in ("sightline", "sightline-router")]
# One of each of these; "" is none.
SCALING = ("", "autoscaling-cpu", "autoscaling-queue-time")
OTHERS = ("disruption", "network-policies", "monitoring")
STORES = ("shared-volume", "object-store-keys", "object-store-web-identity", "object-store")

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

    def combine(self, scaling, others, shards, workers, store="shared-volume", overlay="combination"):
        """An overlay of these components, as the README tells to write one; with a store by keys one
        of a port of its own, and AWS's by web identity."""
        folder = self.overlay(overlay)
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        shutil.copy(os.path.join(self.overlay("production"), "namespace.yaml"), folder)
        resources = ["../../base", "namespace.yaml"]
        components = ["fleet"] + (["../../components/shared-volume"] if store == "shared-volume" else [])
        components += [f"../../components/{scaling}"] if scaling else []
        components += ["../../../monitoring" if name == "monitoring" else f"../../components/{name}"
                       for name in others]
        if "disruption" in others:
            resources.append("fleet/disruption.yaml")
        if store != "shared-volume":
            endpoint = "https://minio.storage:9000" if store == "object-store-keys" else None
            readme.write_object_store(folder, readme.object_store(self.readme, store, endpoint))
            components.append("object-store")
        with open(os.path.join(folder, "kustomization.yaml"), "w", encoding="utf-8") as target:
            yaml.safe_dump({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
                            "namespace": "sightline", "resources": resources, "components": components},
                           target)
        done = self.fleet(overlay, f"--shards={shards}", f"--workers={workers}", *IMAGES)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return self.render(overlay)


# By the store of the fleet that they are planted in.
ALL_MISTAKES = {
    "shared-volume": [mistake for module in (workload_mistakes, policy_mistakes, traffic_mistakes, health_mistakes,
                                             job_mistakes) for mistake in module.MISTAKES],
    "object-store-keys": object_store_mistakes.KEYS,
    "object-store-web-identity": object_store_mistakes.WEB_IDENTITY,
    "object-store": object_store_mistakes.POD_IDENTITY,
}


def said(offences):
    return [f"{name}: {text}" for name, text in offences]


def check_overlays(tree, models):
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


def check_combinations(tree, models):
    """All of them, several at a time; the number of shards changes from one to the next."""
    sets = [c for n in range(len(OTHERS) + 1) for c in itertools.combinations(OTHERS, n)]

    def rendered_as(number, store, scaling, others):
        shards, workers = 1 + number % 4, 1 + number % 3
        name = f"{shards} shards, {workers} workers: " + ", ".join(filter(None, (store, scaling, *others)))
        try:
            return name, tree.combine(scaling, others, shards, workers, store, f"combination-{number}"), []
        except RuntimeError as error:
            return name, None, [str(error)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        begun = [pool.submit(rendered_as, number, *combination)
                 for number, combination in enumerate(itertools.product(STORES, SCALING, sets))]
        for done in concurrent.futures.as_completed(begun):
            name, documents, errors = done.result()
            found = [] if errors else checks.offences(documents, models)
            # Without an autoscaler the overlay says how many replicas there are.
            case(name, errors + said(o for o in found if o[0] != "2.two-of-all"))
    case("there are 96 combinations", [] if len(begun) == 96 else [str(len(begun))])


def check_mistakes(tree, models):
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
    reports = [reported_by for mistakes in ALL_MISTAKES.values() for _, reported_by, _ in mistakes]
    points = collections.Counter(reported_by[0] for reported_by in reports)
    case("three mistakes for each point", [p for p in "2345" if points[p] < 3])
    case("a mistake for each check", sorted({"2.schema", *checks.CHECKS} - set(reports)))


def check_readme(tree, root):
    """Its patches, and its way from an empty cluster to an answer."""
    tree.combine("", ("network-policies",), 1, 1)
    path = os.path.join(tree.overlay("combination"), "kustomization.yaml")
    with open(path, "a", encoding="utf-8") as target:
        yaml.safe_dump({"patches": readme.names_patches(tree.readme)}, target)
    network = policy_checks.Network(checks.Fleet(tree.render("combination")))
    case("the README's patch allows another address of names", [
        f"{protocol} of {peer}" for protocol in ("UDP", "TCP")
        for peer in (policy_checks.Peer(address="10.96.0.10"), *policy_checks.NAMES)
        if not network.out(policy_checks.ROUTER, peer, 53, protocol)])
    documents = tree.combine("", ("monitoring",), 1, 1, "object-store-keys")
    sized = checks.Fleet(documents).deployment("reranker")
    case("the README's patch sets the size of a cache",
         [] if "123Gi" in str(sized) and "20Gi" not in str(sized) else [str(sized)])
    waits = {rule["alert"]: rule.get("for") for d in documents if d["kind"] == "PrometheusRule"
             for group in d["spec"]["groups"] for rule in group["rules"] if "alert" in rule}
    case("the README's patch lets alerts wait for a load", [
        f"{alert}: {waits[alert]}" for alert, wanted in (
            ("SightlineReplicaMissing", "90m"), ("SightlineGenerationBehind", "90m"),
            ("SightlineGenerationNotPinned", "120m"), ("SightlineNoReplica", "1m")) if waits[alert] != wanted])
    commands = readme.commands(tree.readme)
    block = "\n".join(commands)
    case("the README has ten commands", [] if len(commands) == 10 else commands)
    templates = {d["metadata"]["name"] for d in tree.render("dev") if d["kind"] == "CronJob"}
    case("the README's jobs are there", set(re.findall(r"--from=cronjob/([a-z][\w-]*)", tree.readme)) - templates)
    case("the README's overlay is there", [path for path in re.findall(r"deploy/kubernetes/\S+", block)
                                           if not os.path.exists(os.path.join(root, path))])


def check_object_store_in_production(tree, models):
    """The README's component is given to an overlay by the edits that it tells, and takes nothing
    away; what it warns of is refused."""
    shutil.copytree(tree.overlay("production"), tree.overlay("own"))
    readme.give_object_store(tree.readme, tree.overlay("own"), "https://minio.storage:9000")
    done = tree.fleet("own", *IMAGES)
    case("production takes an object store", done.stderr.splitlines() or
         said(checks.offences(tree.render("own"), models)))
    path = os.path.join(tree.overlay("own"), "kustomization.yaml")
    with open(path, "a", encoding="utf-8") as target:
        target.write("patches:\n  - target: {kind: Deployment, name: router}\n    patch: |\n"
                     "      - {op: add, path: /metadata/labels/a, value: b}\n")
    lost = {name for name, _ in checks.offences(tree.render("own"), models)}
    case("a second `patches` takes the replicas of all shards", [] if "2.two-of-all" in lost else sorted(lost))
    for arguments in ([], ["--check"]):
        done = tree.fleet("own", *arguments)
        case(f"fleet.py refuses it, {arguments}", [] if done.returncode == 2 and path in done.stderr and
             "'patches' more than once" in done.stderr else [done.stderr])


def check_gpus(tree, models):
    """Any of the servers, and the job, may compute on GPUs, in production and with all else that it has."""
    kinds = ("index-search", "query-encoder", "reranker", "corpus-encoder")
    for chosen in [c for n in range(1, len(kinds) + 1) for c in itertools.combinations(kinds, n)]:
        folder = tree.overlay("gpus")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tree.overlay("production"), folder)
        readme.give_gpus(tree.readme, folder, chosen)
        done = tree.fleet("gpus", "--shards=2", *IMAGES)
        documents = tree.render("gpus")
        case(f"production with GPUs for {', '.join(chosen)}",
             done.stderr.splitlines() or said(checks.offences(documents, models)))
        fleet = checks.Fleet(documents)
        case("they have one each, and nobody else has", [
            f"{name}: {count}" for name, count in
            ((name.split("/")[1], rendered.gpus_of(template)) for name, template in fleet.pods())
            if count != int(name.startswith(chosen))])
        case("nobody scales them", set(chosen) & set(fleet.scaled()))


def check_fleet_script(tree, models):
    """What fleet.py refuses, and what it notices."""
    for arguments in (["--shards=0"], ["--shards=701"], ["--workers=x"], ["--image=other=a@" + DIGEST],
                      ["--image=sightline=a:1@" + DIGEST], ["--image=sightline=a"]):
        case(f"fleet.py refuses {arguments[0]}", [] if tree.fleet("dev", *arguments).returncode == 2 else ["taken"])
    built = os.path.join(tree.folder, "images.txt")
    for large in ("sightline-cuda", "sightline"):
        with open(built, "w", encoding="utf-8") as target:
            target.write("".join(f"/images/{name}.tar {DIGEST} 123\n" for name in (large, "sightline-router")))
        tree.fleet("production", f"--built={built}", "--repository=registry.example/team")
        images = {container["image"] for _, template in checks.Fleet(tree.render("production")).pods()
                  for container in rendered.containers_of(template)}
        case(f"fleet.py takes the digests of what was built, {large}",
             images ^ {f"registry.example/team/{name}@{DIGEST}" for name in (large, "sightline-router")})
    for variants in (("sightline",), ("sightline", "sightline-cuda", "sightline-router"), ()):
        with open(built, "w", encoding="utf-8") as target:
            target.write("".join(f"/images/{name}.tar {DIGEST} 123\n" for name in variants))
        case(f"fleet.py refuses to tell two digests from those of {variants}",
             [] if tree.fleet("dev", f"--built={built}").returncode == 2 else ["taken"])
    case("fleet.py refuses a file that is not there",
         [] if tree.fleet("dev", f"--built={built}.gone").returncode == 2 else ["taken"])
    tree.fleet("dev", "--shards=3")
    tree.fleet("dev", "--workers=2")
    case("what is not given stays", said(checks.offences(tree.render("dev"), models)))
    os.mkdir(os.path.join(tree.overlay("dev"), "config"))
    with open(os.path.join(tree.overlay("dev"), "config/router.yaml"), "w", encoding="utf-8") as target:
        target.write("encoders: []\n")
    done = tree.fleet("dev", "--check")
    case("a configuration that has changed is noticed",
         [] if done.returncode == 1 and "router.yaml" in done.stdout else [done.stdout])


def maps_of(tree, overlay):
    """The ConfigMaps of its folder `fleet` as they are applied; with all else, kubectl takes two
    minutes to render them."""
    folder = tree.overlay("maps")
    shutil.copytree(os.path.join(tree.overlay(overlay), "fleet"), folder)
    path = os.path.join(folder, "kustomization.yaml")
    with open(path, encoding="utf-8") as source:
        made = yaml.safe_load(source)
    for key in ("resources", "components", "patches"):
        del made[key]
    made.update(apiVersion="kustomize.config.k8s.io/v1beta1", kind="Kustomization", namespace="sightline")
    with open(path, "w", encoding="utf-8") as target:
        yaml.safe_dump(made, target)
    return tree.render("maps")


def check_most_shards(tree):
    """As many as `kubectl apply` takes, which notes what it applies in an annotation."""
    done = tree.fleet("production", "--shards=700")
    case("700 shards", done.stderr.splitlines())
    noted = {}
    for document in maps_of(tree, "production"):
        # As Go writes it.
        text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
        text = re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", text)
        noted[rendered.title(document)] = len(text.encode()) + len("kubectl.kubernetes.io/last-applied-configuration\n")
    case("kubectl apply takes each ConfigMap", {name: size for name, size in noted.items() if size > 256 * 1024})
    case("and not many more shards", [] if max(noted.values()) > 0.9 * 256 * 1024 else [str(noted)])
    os.mkdir(os.path.join(tree.overlay("production"), "config"))
    with open(os.path.join(tree.overlay("production"), "config/index_search.yaml"), "w", encoding="utf-8") as target:
        target.write("# What is said at length.\n" * 20)
    done = tree.fleet("production")
    case("a longer configuration is refused for so many",
         [] if done.returncode == 2 and "config/index_search.yaml" in done.stderr else [done.stderr])


def main(root, tools):
    models = schemas.Schemas(os.path.join(tools, "models"))
    tree = Tree(root, tools)
    try:
        check_overlays(tree, models)
        check_combinations(tree, models)
        check_mistakes(tree, models)
        check_readme(tree, root)
        check_object_store_in_production(tree, models)
        check_gpus(tree, models)
        check_fleet_script(tree, models)
        check_most_shards(tree)
    finally:
        shutil.rmtree(tree.folder)
    print(f"cases: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
