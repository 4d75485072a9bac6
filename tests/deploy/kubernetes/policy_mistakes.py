"""Mistakes in the network policies, for policy_checks.py."""

from planting import Mistakes

MISTAKES = Mistakes()
plant = MISTAKES.plant

plant("shards whom anybody may ask", "2.policies", ("NetworkPolicy", "index-search", ("spec", "ingress"), [{}]))
plant("a router that cannot ask the reranker", "2.policies",
      ("NetworkPolicy", "reranker", ("spec", "ingress", 0, "ports", 0, "port"), 7402))
plant("no names for the router", "2.policies",
      ("NetworkPolicy", "names", ("spec", "podSelector", "matchLabels"), {"app.kubernetes.io/name": "evaluator"}))
plant("metrics for everybody", "2.policies",
      ("NetworkPolicy", "metrics", ("spec", "ingress", 0, "from"), [{"namespaceSelector": {}}]))
for number, cache in enumerate(("a node's", "kubespray's"), start=1):
    plant(f"no names of {cache} cache", "2.policies",
          ("NetworkPolicy", "names", ("spec", "egress", 0, "to", number), None))
plant("metrics that Prometheus does not reach", "2.policies",
      ("NetworkPolicy", "metrics", ("spec", "ingress", 0, "ports", 0, "endPort"), 9402))
plant("a job that asks the router", "2.policies",
      ("NetworkPolicy", "evaluator", ("spec", "podSelector", "matchLabels"), {"app.kubernetes.io/component": "job"}),
      ("NetworkPolicy", "router", ("spec", "ingress", 0, "from"), [{"podSelector": {}}]))
