"""What deploy/kubernetes says of a fleet, as far as a fleet of plain processes can follow it:
names and ports of its Services, how its pods end, what each is configured with.

Configurations are those of the base and what fleet.py writes for an overlay, but for the two
folders of a container's file system.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass

STORE, STATE = "/var/lib/sightline", "/var/cache/sightline"


@dataclass(frozen=True)
class Service:
    """A headless Service."""
    name: str
    selects: dict  # labels
    not_ready: bool  # publishNotReadyAddresses


@dataclass(frozen=True)
class Workload:
    """A Deployment of servers."""
    name: str
    program: str
    port: int
    metrics_port: int
    labels: tuple  # of (key, value)
    config: str  # with the two folders as a container has them
    caches: bool = False  # its store is a cache of its own, of an object store

    @property
    def kind(self):
        return dict(self.labels)["app.kubernetes.io/name"]


@dataclass(frozen=True)
class Ending:
    """How the kubelet ends a pod, in seconds."""
    pre_stop: float
    grace: float  # preStop included


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def only(pattern, text, where):
    found = re.findall(pattern, text, flags=re.M)
    if len(found) != 1:
        raise ValueError(f"{where}: {len(found)} matches of {pattern}, not one")
    return found[0]


def labels_of(text):
    return dict(re.findall(r"([a-z./]+): \"?([\w-]+)\"?", text))


def services_of(text):
    """The headless Services among the documents of a manifest."""
    found = []
    for document in re.split(r"^---$", text, flags=re.M):
        if re.search(r"^kind: Service$", document, flags=re.M) and "clusterIP: None" in document:
            found.append(Service(
                only(r"^  name: (\S+)$", document, "Service"),
                labels_of(only(r"^  selector: \{(.*)\}$", document, "Service")),
                "publishNotReadyAddresses: true" in document))
    return found


def workloads_of(text, config_of, where):
    """The Deployments of servers among them; `config_of` reads a configuration by its file name."""
    found = []
    for document in re.split(r"^---$", text, flags=re.M):
        if not re.search(r"^kind: Deployment$", document, flags=re.M):
            continue
        program, config = only(r"args: \[(\w+), --config, /etc/sightline/(\S+)\]", document, where)
        found.append((only(r"^  name: (\S+)$", document, where), program,
                      labels_of(only(r"matchLabels: \{(.*)\}", document, where)), config_of(config)))
    return found


def selects(selector, labels):
    """Whether a labelSelector of = and != takes something with these labels."""
    terms = [re.fullmatch(r"([^=!]+)(!?)=(.*)", term).groups() for term in selector.split(",")]
    return all((labels.get(key) == value) != bool(unlike) for key, unlike, value in terms)


def caching(component):
    """Labels -> whether the component object-store gives such a server a cache of its own."""
    server = read(os.path.join(component, "server.yaml"))
    only(r"configMapRef: \{name: (object-store)\}", server, "server.yaml")
    only(r"\{name: store, mountPath: (/var/lib/sightline)\}", server, "server.yaml")
    only(r"^        - name: store\n +(ephemeral):", server, "server.yaml")
    selector = only(r"path: server.yaml\n    target:\n      kind: Deployment\n      labelSelector: (\S+)",
                    read(os.path.join(component, "kustomization.yaml")), "kustomization.yaml")
    return lambda labels: selects(selector, {"app.kubernetes.io/component": "server", **labels})


def ports_of(text, where):
    return [int(only(rf"name: {name}, containerPort: (\d+)", text, where)) for name in ("grpc", "metrics")]


# Every question goes to the servers, be it one that was asked before.
NO_CACHES = "cache: {max_embedding_bytes: 0, max_score_bytes: 0, max_result_bytes: 0}\n"


class Manifests:
    """Of an overlay with that many shards, and with an object store if it is to have one; `folder`
    is a scratch folder."""

    def __init__(self, root, overlay, shards, folder, object_store=False):
        deploy = os.path.join(root, "deploy/kubernetes")
        self._caches = (caching(os.path.join(deploy, "components/object-store")) if object_store
                        else lambda labels: False)
        self._overlay = os.path.join(folder, overlay)
        shutil.copytree(os.path.join(deploy, "overlays", overlay), self._overlay)
        subprocess.run([sys.executable, "-B", os.path.join(deploy, "fleet.py"), self._overlay,
                        "--shards", str(shards), "--workers", "1"],
                       check=True, stdout=subprocess.DEVNULL)
        self._base = os.path.join(deploy, "base")
        server = read(os.path.join(deploy, "servers/server.yaml"))
        self.ending = Ending(float(only(r"preStop: \{sleep: \{seconds: (\d+)\}\}", server, "server.yaml")),
                             float(only(r"terminationGracePeriodSeconds: (\d+)", server, "server.yaml")))
        self.services, self.workloads = [], []
        for name in ("router", "query_encoder", "reranker"):
            text = read(os.path.join(self._base, name + ".yaml"))
            self._add(text, text, name)
        self._add(read(os.path.join(self._overlay, "fleet/shards.yaml")),
                  read(os.path.join(deploy, "servers/index_search.yaml")), "shards")

    def _add(self, text, ports, where):
        self.services += services_of(text)
        for name, program, labels, config in workloads_of(text, self.config, where):
            self.workloads.append(
                Workload(name, program, *ports_of(ports, where), tuple(labels.items()), config,
                         self._caches(labels)))

    def config(self, name):
        """A file of the fleet's folder, or else of the base."""
        made = os.path.join(self._overlay, "fleet", name)
        text = read(made if os.path.exists(made) else os.path.join(self._base, "config", name))
        return text + NO_CACHES if name == "router.yaml" else text


def outside(config, volume, state):
    """A configuration with the container's folders replaced by those of this machine."""
    return config.replace(STORE, volume).replace(STATE, state)
