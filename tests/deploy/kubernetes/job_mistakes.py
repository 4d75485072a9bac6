"""Mistakes in jobs, for job_checks.py."""

from planting import FIRST, JOB, Mistakes, edit

# Of a job's volumes and mounts: behind the store.
TMP = 1

MISTAKES = Mistakes()
plant, mistake = MISTAKES.plant, MISTAKES.made_by

plant("a permanent failure tried again", "5.failure-policy",
      ("CronJob", "corpus-encoder", (*JOB, "podFailurePolicy", "rules", 1, "action"), "Count"))
plant("a drained pod that counts", "5.failure-policy",
      ("CronJob", "corpus-encoder", (*JOB, "podFailurePolicy", "rules", 0), None))
plant("a job that waits for what was sent already", "5.failure-policy",
      ("CronJob", "receive", (*JOB, "podFailurePolicy", "rules", 0, "action"), "Ignore"))
plant("an interrupted trainer that fails for good", "5.failure-policy",
      ("CronJob", "trainer", (*JOB, "podFailurePolicy", "rules", 1, "onExitCodes", "values"), [1, 2, 75]))
plant("a permanent failure of an init container tried again", "5.failure-policy",
      ("CronJob", "evaluator", (*JOB, "podFailurePolicy", "rules", 1, "onExitCodes", "containerName"), "job"))
plant("everything but 75 counted", "5.failure-policy",
      ("CronJob", "trainer", (*JOB, "podFailurePolicy", "rules", 2, "onExitCodes", "operator"), "NotIn"))
plant("a restart in place", "5.failure-policy",
      ("CronJob", "evaluator", (*JOB, "template", "spec", "restartPolicy"), "OnFailure"))
plant("a replacement beside the old pod", "5.failure-policy",
      ("CronJob", "corpus-encoder", (*JOB, "podReplacementPolicy"), "TerminatingOrFailed"))
plant("workers that wait for each other in turn", "5.indexed",
      ("CronJob", "corpus-encoder", (*JOB, "parallelism"), 1))
plant("tries for one worker", "5.indexed", ("CronJob", "corpus-encoder", (*JOB, "backoffLimit"), 20))
plant("a job without indexes", "5.indexed", ("CronJob", "corpus-encoder", (*JOB, "completionMode"), None))
plant("two jobs at a time", "5.nightly", ("CronJob", "corpus-encoder", ("spec", "concurrencyPolicy"), "Allow"))
plant("a night that never comes", "5.nightly", ("CronJob", "corpus-encoder", ("spec", "suspend"), True))
plant("a week instead of a night", "5.nightly", ("CronJob", "corpus-encoder", ("spec", "schedule"), "0 2 * * 0"))
plant("an index that is not pruned", "5.pruned",
      ("CronJob", "prune-captions", (*JOB, "template", "spec", "containers", 0, "args", 2), "images"))
plant("a trainer by the clock", "5.by-hand", ("CronJob", "trainer", ("spec", "suspend"), None))
plant("a server that may write to the store", "5.store",
      ("Deployment", "index-search-0", (*FIRST, "volumeMounts", 0, "readOnly"), False))
plant("a job on another volume", "5.store",
      ("CronJob", "corpus-encoder", (*JOB, "template", "spec", "containers", 0, "volumeMounts", 0, "mountPath"),
       "/data"))
plant("a /tmp without a limit", "5.tmp",
      ("CronJob", "corpus-encoder", (*JOB, "template", "spec", "volumes", TMP, "emptyDir"), {}))
plant("a /tmp that cannot be written", "5.tmp",
      ("CronJob", "trainer", (*JOB, "template", "spec", "containers", 0, "volumeMounts", TMP, "mountPath"), "/var/tmp"))
plant("no time for a checkpoint", "5.grace",
      ("CronJob", "trainer", (*JOB, "template", "spec", "terminationGracePeriodSeconds"), 10))


@mistake("a job of other workers than pods", "5.indexed")
def _(documents):
    edit(documents, "corpus-encoder", "corpus_encoder.yaml", "workers: 2", "workers: 4")


@mistake("a job that does not publish", "5.nightly")
def _(documents):
    edit(documents, "corpus-encoder", "corpus_encoder.yaml", "workers: 2", "workers: 2\npublish: false")


@mistake("a server of another store", "5.store")
def _(documents):
    edit(documents, "reranker", "reranker.yaml", "store: /var/lib/sightline/store", "store: /srv/store")
