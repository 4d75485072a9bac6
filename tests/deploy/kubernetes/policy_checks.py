"""Point 2 too: who reaches whom, by the network policies, if there are any."""

import collections
import ipaddress

from rendered import check, matches, title

# A pod of these labels in a namespace of those, or an address outside of the cluster.
Peer = collections.namedtuple("Peer", ("labels", "space", "address"), defaults=({}, {}, None))
HERE = {"kubernetes.io/metadata.name": "here"}
STRANGER, CALLER, PROMETHEUS = Peer(), Peer(space={"sightline/callers": "true"}), Peer(space={"sightline/monitoring": "true"})
OUTSIDE = Peer(address="203.0.113.9")
# A cluster's names, and the caches of them that a node may have.
NAMES = (Peer(space={"kubernetes.io/metadata.name": "kube-system"}), Peer(address="169.254.20.10"),
         Peer(address="169.254.25.10"))
# Who gives keys to pods by EKS Pod Identity, and who would give them those of the node.
AGENT = (Peer(address="169.254.170.23"), Peer(address="fd00:ec2::23"))
NODE_METADATA = Peer(address="169.254.169.254")


def is_peer(entry, peer):
    """Whether an entry of `from` or `to` means it."""
    if "ipBlock" in entry or peer.address:
        return bool("ipBlock" in entry and peer.address and
                    ipaddress.ip_address(peer.address) in ipaddress.ip_network(entry["ipBlock"]["cidr"]))
    space = entry.get("namespaceSelector")
    if space is None and peer.space is not HERE:
        return False
    return (space is None or matches(space, peer.space)) and matches(entry.get("podSelector", {}), peer.labels)


def has_port(rule, port, protocol):
    ports = rule.get("ports")
    return not ports or any(p.get("protocol", "TCP") == protocol and p["port"] <= port <= p.get("endPort", p["port"])
                            for p in ports)


class Network:
    def __init__(self, fleet):
        self.policies = [p["spec"] for p in fleet.of_kind("NetworkPolicy")]
        self.labels = {name: pod["metadata"]["labels"] for name, pod in fleet.pods()}

    def passes(self, direction, name, peer, port, protocol="TCP"):
        """Whether the policies let the pod and that peer through; all pass whom none covers."""
        key, ends = ("ingress", "from") if direction == "Ingress" else ("egress", "to")
        covering = [spec for spec in self.policies
                    if direction in spec["policyTypes"] and matches(spec["podSelector"], self.labels[name])]
        return not covering or any(
            has_port(rule, port, protocol) and (not rule.get(ends) or any(is_peer(e, peer) for e in rule[ends]))
            for spec in covering for rule in spec.get(key) or [])

    def out(self, name, peer, port, protocol="TCP"):
        return self.passes("Egress", name, peer, port, protocol)

    def into(self, name, peer, port):
        return self.passes("Ingress", name, peer, port)

    def reaches(self, source, target, port):
        return (self.out(source, Peer(self.labels[target], HERE), port) and
                self.into(target, Peer(self.labels[source], HERE), port))


ROUTER, EVALUATOR = "Deployment/router", "CronJob/evaluator"


@check("2.policies")
def policies(fleet):
    """Everybody reaches whom he has to, and nobody else."""
    network = Network(fleet)
    if network.policies:
        yield from of_backends(fleet, network)
        yield from of_router(network)
        for name, pod in fleet.pods():
            yield from outwards(fleet, network, name, fleet.object_store(pod) is not None)
        yield from of_metrics(fleet, network)


def of_backends(fleet, network):
    for deployment in fleet.deployments:
        target = title(deployment)
        port = deployment["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"]
        if target == ROUTER:
            continue
        if not network.reaches(ROUTER, target, port):
            yield f"{ROUTER} does not reach {target}"
        for source in network.labels:
            if source != ROUTER and network.reaches(source, target, port):
                yield f"{source} reaches {target}"
        if any(network.into(target, peer, port) for peer in (CALLER, STRANGER)):
            yield f"a stranger reaches {target}"


def of_router(network):
    for source in network.labels:
        if source != ROUTER and network.reaches(source, ROUTER, 7400) != (source == EVALUATOR):
            yield f"{source}: whether it reaches the router is {network.reaches(source, ROUTER, 7400)}"
    if not network.into(ROUTER, CALLER, 7400):
        yield "callers do not reach the router"
    if network.into(ROUTER, STRANGER, 7400):
        yield "strangers reach the router"


def outwards(fleet, network, name, asks_store):
    """Names, the object store, and keys to it, for those who need them."""
    for peer in NAMES:
        dns = network.out(name, peer, 53, "UDP")
        if dns != (asks_store or name in (ROUTER, EVALUATOR)):
            yield f"{name}: whether it reaches the cluster's DNS{f' at {peer.address}' if peer.address else ''} is {dns}"
    # At 443 is STS too, which gives keys for the token of a service account.
    asked = {443, fleet.object_store_port()}
    for port in sorted({80, 443, fleet.object_store_port() or 443}):
        for peer in (OUTSIDE, STRANGER):
            if network.out(name, peer, port) != (asks_store and port in asked):
                yield f"{name}: whether it reaches port {port} outside of the fleet is {network.out(name, peer, port)}"
    for peer in AGENT:
        if network.out(name, peer, 80) != asks_store:
            yield f"{name}: whether it reaches {peer.address}, which gives pods their keys, is {not asks_store}"
    if network.out(name, NODE_METADATA, 80) and fleet.object_store_port() != 80:
        yield f"{name}: reaches the keys of its node"


def of_metrics(fleet, network):
    for deployment in fleet.deployments:
        port = deployment["spec"]["template"]["spec"]["containers"][0]["ports"][1]["containerPort"]
        if not network.into(title(deployment), PROMETHEUS, port):
            yield f"Prometheus does not reach {title(deployment)}"
        if network.into(title(deployment), STRANGER, port):
            yield f"strangers reach the metrics of {title(deployment)}"
