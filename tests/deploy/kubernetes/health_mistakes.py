"""Mistakes in probes, for health_checks.py."""

from planting import FIRST, Mistakes

MISTAKES = Mistakes()
plant = MISTAKES.plant

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
