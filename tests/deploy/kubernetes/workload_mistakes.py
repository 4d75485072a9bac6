"""Mistakes in what runs, for workload_checks.py."""

from planting import FIRST, JOB, POD, Mistakes, edit, of

MISTAKES = Mistakes()
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
plant("a GPU that nobody is given", "2.gpu",
      ("Deployment", "reranker", (*FIRST, "env"), [{"name": "SIGHTLINE_DEVICE", "value": "cuda"}]))
plant("a GPU that nobody knows of", "2.gpu",
      ("Deployment", "reranker", (*FIRST, "resources", "limits", "nvidia.com/gpu"), "1"))
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
