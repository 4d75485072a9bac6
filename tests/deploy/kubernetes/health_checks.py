"""Point 4: what the kubelet asks a server."""

from rendered import check, dig, title


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
