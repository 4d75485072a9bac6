"""Point 5: how jobs end, when they run, where they write."""

import re

from rendered import check, dig, flag, job_of, mounted, title

PERMANENT, AGAIN = [1, 2], [75]
TRIES = 20  # of each worker


@check("5.failure-policy")
def failure_policy(fleet):
    """The convention of exit statuses, in this order, whichever of a pod's containers ends.  What a
    drained pod was sent is gone with it."""
    for cron in fleet.crons:
        job = job_of(cron)
        sent = any(container.get("stdin") for container in job["template"]["spec"]["containers"])
        wanted = [
            ("FailJob" if sent else "Ignore", None, ["DisruptionTarget"]),
            ("FailJob", {"operator": "In", "values": PERMANENT}, []),
            ("Count", {"operator": "In", "values": AGAIN}, []),
        ]
        rules = [(r["action"], r.get("onExitCodes"),
                  [c["type"] for c in r.get("onPodConditions", []) if c.get("status") == "True"])
                 for r in dig(job, "podFailurePolicy", "rules", default=[])]
        if rules != wanted:
            yield f"{title(cron)}: ends by the rules {rules}"
        if job["template"]["spec"].get("restartPolicy") != "Never":
            yield f"{title(cron)}: restarts in place, so that no rule is asked"
        if "backoffLimit" not in job:
            yield f"{title(cron)}: does not say how often it is tried"
        if job.get("podReplacementPolicy") != "Failed":
            yield f"{title(cron)}: a replacement starts beside the pod that holds the lock"


@check("5.indexed")
def indexed(fleet):
    """parallelism = completions = workers, and one outage may end all of them as often as one."""
    cron = fleet.by_name.get(("CronJob", "corpus-encoder"))
    if cron is None:
        yield "there is no corpus-encoder"
        return
    job = job_of(cron)
    workers = dig(fleet.configuration(job["template"]), "workers")
    if job.get("completionMode") != "Indexed":
        yield f"{title(cron)}: is not an Indexed Job"
    if not job.get("completions") == job.get("parallelism") == workers:
        yield (f"{title(cron)}: {job.get('completions')} completions, {job.get('parallelism')} at once, "
               f"{workers} workers")
    if job.get("backoffLimit", 0) < TRIES * workers:
        yield f"{title(cron)}: {workers} workers have {job.get('backoffLimit')} tries together"


@check("5.nightly")
def nightly(fleet):
    """It publishes, one run at a time; in production every night."""
    cron = fleet.by_name.get(("CronJob", "corpus-encoder"))
    configuration = fleet.configuration(job_of(cron)["template"]) if cron else {}
    if not cron or dig(configuration, "publish", default=True) is not True or "--no-publish" in \
            job_of(cron)["template"]["spec"]["containers"][0]["args"]:
        yield "corpus-encoder does not publish"
        return
    if not re.fullmatch(r"\d+ \d+ \* \* \*", cron["spec"]["schedule"]):
        yield f"{title(cron)}: runs at {cron['spec']['schedule']}"
    if fleet.production and cron["spec"].get("suspend"):
        yield f"{title(cron)}: is suspended in production"
    for each in fleet.crons:
        if each["spec"].get("concurrencyPolicy") != "Forbid":
            yield f"{title(each)}: may run twice at a time"
        if not each["spec"].get("timeZone"):
            yield f"{title(each)}: runs by whatever clock the control plane has"


@check("5.pruned")
def pruned(fleet):
    """Each index that is served is pruned daily."""
    indexes = dig(fleet.configuration(fleet.deployment("router")["spec"]["template"]), "indexes", default={})
    for index in indexes:
        cron = fleet.by_name.get(("CronJob", f"prune-{index}"))
        args = dig(job_of(cron), "template", "spec", "containers", 0, "args") if cron else []
        if args[:3] != ["sightlinectl", "prune", index]:
            yield f"{index} is not pruned"


@check("5.by-hand")
def by_hand(fleet):
    """What is not the nightly work runs when it is asked to, and not by the clock."""
    for name in ("training-set", "trainer", "evaluator", "receive", "sightlinectl"):
        cron = fleet.by_name.get(("CronJob", name))
        if cron is None:
            yield f"there is no {name}"
        elif cron["spec"].get("suspend") is not True:
            yield f"{title(cron)}: runs by itself"


@check("5.store")
def store(fleet):
    """Jobs write to a file system that servers only read, unless it is a cache of their own; both
    find the store at one place."""
    for name, pod in fleet.pods():
        binary = pod["spec"]["containers"][0]["args"][0]
        mounts = {m["mountPath"]: m for m in pod["spec"]["containers"][0].get("volumeMounts", [])}
        mount = mounts.get("/var/lib/sightline")
        if binary == "router":
            if mount:
                yield f"{name}: has the store, which it does not read"
            continue
        if mount is None:
            yield f"{name}: does not have the store"
            continue
        writes = name.startswith("CronJob/") or fleet.object_store(pod) is not None
        if bool(mount.get("readOnly")) == writes:
            yield f"{name}: readOnly is {bool(mount.get('readOnly'))}"
        container = pod["spec"]["containers"][0]
        told = dig(fleet.configuration(pod), "store") or flag(container, "--store")
        if told is None and flag(container, "--object-store"):
            continue  # it works on that alone
        if binary != "tar" and not name.endswith("/training-set") and told != "/var/lib/sightline/store":
            yield f"{name}: looks for the store at {told}"


@check("5.grace")
def grace(fleet):
    """An interrupted job has time to finish what is in flight, or to write a checkpoint."""
    for cron in fleet.crons:
        if job_of(cron)["template"]["spec"].get("terminationGracePeriodSeconds", 30) < 60:
            yield f"{title(cron)}: has less than a minute to end"


@check("5.tmp")
def tmp(fleet):
    """A job, whose root it cannot write to, has a /tmp.  Of what has a name there it takes a bounded
    part of its node; spools have none."""
    for cron in fleet.crons:
        pod = job_of(cron)["template"]
        mount, volume = mounted(pod, pod["spec"]["containers"][0], "/tmp")
        if "emptyDir" not in (volume or {}) or mount.get("readOnly"):
            yield f"{title(cron)}: cannot write to /tmp"
        elif not volume["emptyDir"].get("sizeLimit"):
            yield f"{title(cron)}: may fill its node by /tmp"
