"""Mistakes in traffic, for traffic_checks.py."""

from planting import FIRST, POD, Mistakes, edit

MISTAKES = Mistakes()
plant, mistake = MISTAKES.plant, MISTAKES.made_by

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
plant("rules for the adapter where it does not read", "3.queue-time",
      ("ConfigMap", "router-", ("data", "config.yaml"), "rules: [{seriesQuery: a}]"))
plant("queue time without CPU time", "3.queue-time",
      ("HorizontalPodAutoscaler", "reranker", ("spec", "metrics", 0), None))


@mistake("a pod that moves and is looked for too late", "3.moved-pod")
def _(documents):
    edit(documents, "router", "router.yaml", "resolve_interval: 2s", "resolve_interval: 10s")


@mistake("a drain longer than the grace", "3.drain")
def _(documents):
    edit(documents, "query-encoder", "query_encoder.yaml", "drain_timeout: 20s", "drain_timeout: 1m")
