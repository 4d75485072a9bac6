"""Mistakes in fleets whose store is in an object store: by keys, by web identity, and by what the
cluster gives to pods.
"""

import copy

from planting import FIRST, JOB, POD, Mistakes, edit, of

CRON_POD = (*JOB, "template", "spec")
CRON_FIRST = (*CRON_POD, "containers", 0)
STORAGE = ("ephemeral", "volumeClaimTemplate", "spec", "resources", "requests", "storage")


def pods(documents, kind, name):
    path = POD if kind == "Deployment" else CRON_POD
    at = of(documents, kind, name)
    for key in path:
        at = at[key]
    return at


def named(items, name):
    return next(item for item in items if item["name"] == name)


def volume(documents, name, which):
    return named(pods(documents, "Deployment", name)["volumes"], which)


def mount(documents, name, path):
    return next(m for m in pods(documents, "Deployment", name)["containers"][0]["volumeMounts"]
                if m["mountPath"] == path)


KEYS = Mistakes()
plant, mistake = KEYS.plant, KEYS.made_by

plant("a server without the object store", "5.object-store",
      ("Deployment", "reranker", (*FIRST, "envFrom", 0), None))
plant("a job without the object store", "5.object-store",
      ("CronJob", "corpus-encoder", (*CRON_FIRST, "envFrom", 0), None))
plant("a prune that is told of no object store", "5.object-store",
      ("CronJob", "prune-images", (*CRON_FIRST, "envFrom", 0), None))
plant("a prune of the volume alone", "5.pruned-places", ("CronJob", "prune-images", (*CRON_FIRST, "args", 5), None))
plant("a prune of the object store alone", "5.pruned-places",
      ("CronJob", "prune-captions", (*CRON_FIRST, "args", 3), None))
plant("no keys for an init container", "5.object-store-keys",
      ("CronJob", "evaluator", (*CRON_POD, "initContainers", 1, "envFrom", 1), None))
plant("no keys for a server", "5.object-store-keys", ("Deployment", "index-search-0", (*FIRST, "envFrom", 1), None))
plant("a secret key in the manifest", "5.object-store-keys",
      ("Deployment", "query-encoder", (*FIRST, "env"), [{"name": "AWS_SECRET_ACCESS_KEY", "value": "abc"}]))
plant("an environment without a hash", "2.hashed-configuration",
      ("Deployment", "reranker", (*FIRST, "envFrom", 0, "configMapRef", "name"), "object-store"))
plant("an index that the evaluator does not have", "5.evaluator-inputs",
      ("CronJob", "evaluator", (*CRON_POD, "initContainers", 1), None))
plant("an index that the evaluator finds elsewhere", "5.evaluator-inputs",
      ("CronJob", "evaluator", (*CRON_POD, "initContainers", 0, "args", 3), "--store=/var/lib/sightline"))
plant("no way to the object store", "2.policies", ("NetworkPolicy", "object-store", ("spec", "egress"), []))
plant("AWS's port for a store of another", "2.policies",
      ("NetworkPolicy", "object-store", ("spec", "egress", 0, "ports", 1, "port"), 443))
plant("the store's port in the place of STS's", "2.policies",
      ("NetworkPolicy", "object-store", ("spec", "egress", 0, "ports", 0, "port"), 9000))
plant("every way out", "2.policies", ("NetworkPolicy", "object-store", ("spec", "egress", 0), {}))
plant("a router that may go out", "2.policies", ("NetworkPolicy", "object-store", ("spec", "podSelector"), {}))
plant("no names for whoever asks the object store", "2.policies",
      ("Deployment", "reranker", ("spec", "template", "metadata", "labels", "sightline/names"), None))
plant("a pod whose label is forgotten", "5.object-store-label",
      ("CronJob", "corpus-encoder", (*JOB, "template", "metadata", "labels", "sightline/object-store"), None))
plant("a job that cannot write", "5.store",
      ("CronJob", "corpus-encoder", (*CRON_FIRST, "volumeMounts", 0, "readOnly"), True))


@mistake("a bucket that nobody named", "5.object-store")
def _(documents):
    of(documents, "ConfigMap", "object-store-")["data"]["SIGHTLINE_OBJECT_STORE"] = "s3://BUCKET/sightline"


@mistake("the router with keys", "5.object-store")
def _(documents):
    given = pods(documents, "Deployment", "reranker")["containers"][0]["envFrom"]
    pods(documents, "Deployment", "router")["containers"][0]["envFrom"] = copy.deepcopy(given)


@mistake("keys for a job that unpacks what it is sent", "5.object-store")
def _(documents):
    pods(documents, "CronJob", "receive")["containers"][0]["envFrom"] = [{"secretRef": {"name": "object-store-keys"}}]


@mistake("keys in the ConfigMap", "5.object-store-keys")
def _(documents):
    of(documents, "ConfigMap", "object-store-")["data"].update(AWS_ACCESS_KEY_ID="AKID", AWS_SECRET_ACCESS_KEY="abc")


@mistake("a cache that all servers share", "5.cache")
def _(documents):
    found = volume(documents, "reranker", "store")
    del found["ephemeral"]
    found["persistentVolumeClaim"] = {"claimName": "sightline"}


@mistake("a cache on the node's own disk", "5.cache")
def _(documents):
    found = volume(documents, "index-search-1", "store")
    del found["ephemeral"]
    found["emptyDir"] = {"sizeLimit": "20Gi"}


@mistake("a cache that is read only", "5.cache")
def _(documents):
    mount(documents, "query-encoder", "/var/lib/sightline")["readOnly"] = True


@mistake("no room for two generations", "5.cache")
def _(documents):
    at = volume(documents, "index-search-0", "store")
    for key in STORAGE[:-1]:
        at = at[key]
    at[STORAGE[-1]] = "2Gi"


@mistake("a cache that may fill its disk", "5.cache")
def _(documents):
    edit(documents, "query-encoder", "query_encoder.yaml", "state_dir", "object_store: {max_cache_bytes: 20GiB}\nstate_dir")


WEB_IDENTITY = Mistakes()
plant, mistake = WEB_IDENTITY.plant, WEB_IDENTITY.made_by

plant("no role", "5.object-store-keys", ("Deployment", "reranker", (*FIRST, "env"), []))
plant("a token where nobody looks", "5.web-identity",
      ("CronJob", "evaluator", (*CRON_POD, "initContainers", 0, "env", 1, "value"), "/var/run/secrets/token"))


def token(documents, kind, name):
    return named(pods(documents, kind, name)["volumes"], "identity")["projected"]["sources"][0]["serviceAccountToken"]


@mistake("a token for the cluster's API", "5.web-identity")
def _(documents):
    del token(documents, "Deployment", "index-search-0")["audience"]


@mistake("a token that is not renewed", "5.web-identity")
def _(documents):
    token(documents, "CronJob", "corpus-encoder")["expirationSeconds"] = 31536000


@mistake("a token of another file", "5.web-identity")
def _(documents):
    token(documents, "Deployment", "query-encoder")["path"] = "jwt"


@mistake("a token that may be overwritten", "5.web-identity")
def _(documents):
    del mount(documents, "reranker", "/var/run/secrets/object-store")["readOnly"]


@mistake("keys beside the role", "5.object-store-keys")
def _(documents):
    pods(documents, "Deployment", "reranker")["containers"][0]["envFrom"].append(
        {"secretRef": {"name": "object-store-keys"}})


@mistake("a role that is none", "5.object-store-keys")
def _(documents):
    of(documents, "ConfigMap", "object-store-")["data"]["JOB_ROLE_ARN"] = "sightline-job"


POD_IDENTITY = Mistakes()
plant, mistake = POD_IDENTITY.plant, POD_IDENTITY.made_by

plant("no way to whoever gives keys to pods", "2.policies", ("NetworkPolicy", "object-store", ("spec", "egress", 1), None))
plant("keys of the old network's address alone", "2.policies",
      ("NetworkPolicy", "object-store", ("spec", "egress", 1, "to", 1), None))
plant("a way to the keys of the node", "2.policies",
      ("NetworkPolicy", "object-store", ("spec", "egress", 1, "to", 0, "ipBlock", "cidr"), "169.254.0.0/16"))


@mistake("keys for one server alone", "5.object-store-keys")
def _(documents):
    pods(documents, "Deployment", "reranker")["containers"][0]["envFrom"].append(
        {"secretRef": {"name": "object-store-keys"}})
