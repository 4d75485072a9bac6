#!/usr/bin/python3
"""Holds deploy/monitoring to promtool, to the servers' sources and to itself: alerts have
playbooks and tests, rules and dashboards name metrics that there are, the list of metrics is that
of the sources, the monitor takes every server.  Then plants mistakes and sees each reported.

usage: monitoring_test.py ROOT TOOLS    TOOLS is what ../kubernetes/tools.sh prints
"""

import concurrent.futures
import copy
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

import yaml

# What others export and our rules and dashboards read.
OTHERS = re.compile(r"(kube|container|kubelet)_[a-z_]+|up")
NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
ADDED = re.compile(r'\bAdd(Counter|Gauge|Histogram)\(\s*"([a-z_]+)",\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')

TESTS = ("alerts_test.yaml", "job_alerts_test.yaml")
# Nine of ten tasks of a busy pod wait 50 to 100 ms; nobody asks the idle one, which is no NaN.
ADAPTER_TEST = {
    "rule_files": ["adapter.yml"], "evaluation_interval": "1m",
    "tests": [{
        "interval": "15s",
        "input_series": [
            {"series": f'sightline_batch_wait_seconds_bucket{{namespace="a",pod="{pod}",queue="rerank",le="{le}"}}',
             "values": values}
            for pod, le, values in (("busy", "0.05", "0+0x40"), ("busy", "0.1", "0+90x40"), ("busy", "+Inf", "0+100x40"),
                                    ("idle", "0.05", "7x40"), ("idle", "0.1", "7x40"), ("idle", "+Inf", "7x40"))],
        "promql_expr_test": [{
            "expr": "sightline_batch_wait_p90_seconds", "eval_time": "8m",
            "exp_samples": [{"labels": 'sightline_batch_wait_p90_seconds{pod="busy"}', "value": 0.1},
                            {"labels": 'sightline_batch_wait_p90_seconds{pod="idle"}', "value": 0}]}],
    }],
}

passed, failed = 0, 0


def case(name, offences):
    global passed, failed
    offences = list(offences)
    if offences:
        failed += 1
        print(f"FAILED {name}", *offences, sep="\n  ")
    else:
        passed += 1


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as source:
        return source.read()


class Monitoring:
    """All that is checked, as data that mistakes can be planted in."""

    def __init__(self, root):
        folder = os.path.join(root, "deploy/monitoring")
        self.rules = yaml.safe_load(read(folder, "rules.yaml"))["spec"]
        self.tests = {name: yaml.safe_load(read(root, "tests/deploy/monitoring", name)) for name in TESTS}
        self.playbooks = {name[:-3]: read(folder, "playbooks", name)
                          for name in os.listdir(os.path.join(folder, "playbooks")) if name != "README.md"}
        self.metrics = json.loads(read(folder, "metrics.json"))
        self.monitor = yaml.safe_load(read(folder, "pods.yaml"))["spec"]
        self.dashboards = {name: json.loads(read(folder, "dashboards", name))
                           for name in os.listdir(os.path.join(folder, "dashboards"))}
        self.kept = yaml.safe_load(read(folder, "kustomization.yaml"))
        self.sources = {}  # name -> (type, help)
        for top in ("common", "services"):
            for at, _, names in os.walk(os.path.join(root, top)):
                for name in names:
                    if name.endswith(".cc"):
                        for kind, metric, text in ADDED.findall(read(at, name)):
                            told = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text))
                            self.sources["sightline_" + metric] = (kind.lower(), told)
        # What the adapter asks Prometheus for two pods, as a rule of its own.
        adapter = yaml.safe_load(read(root, "deploy/kubernetes/components/autoscaling-queue-time/adapter_rules.yaml"))
        query = adapter["rules"][0]["metricsQuery"]
        for name, value in (("Series", adapter["rules"][0]["seriesQuery"].split("{")[0]), ("GroupBy", "pod"),
                            ("LabelMatchers", 'namespace="a",pod=~"busy|idle"')):
            query = query.replace(f"<<.{name}>>", value)
        self.adapter = {"groups": [{"name": "adapter", "rules": [{"record": adapter["rules"][0]["name"]["as"],
                                                                  "expr": query}]}]}
        self.ports = {}  # binary -> labels and ports of its pod, as the base and fleet.py have them
        for path in ("router", "query_encoder", "reranker"):
            document = next(yaml.safe_load_all(read(root, f"deploy/kubernetes/base/{path}.yaml")))
            self.ports[path] = document["spec"]["template"]["spec"]["containers"][0]["ports"]
        document = yaml.safe_load(read(root, "deploy/kubernetes/servers/index_search.yaml"))
        self.ports["index_search"] = document["spec"]["template"]["spec"]["containers"][0]["ports"]

    def alerts(self):
        return [rule for group in self.rules["groups"] for rule in group["rules"] if "alert" in rule]

    def expressions(self):
        for group in self.rules["groups"]:
            for rule in group["rules"]:
                yield rule.get("alert") or rule["record"], rule["expr"]
        for name, dashboard in self.dashboards.items():
            for panel in dashboard["panels"]:
                for target in panel.get("targets", []):
                    yield f"{name}, {panel['title']}", target["expr"]


def metrics_of(expression):
    """The names of series that it reads."""
    bare = re.sub(r'"[^"]*"', "", expression)
    bare = re.sub(r"\b(by|on|ignoring|group_left|group_right)\s*\([^)]*\)", " ", bare)
    bare = re.sub(r"\{[^}]*\}", " ", bare)
    bare = re.sub(r"\[[^\]]*\]", " ", bare)
    bare = re.sub(r"\b\d[\w.]*", " ", bare)
    words = {"and", "or", "unless", "by", "on", "bool", "offset", "group_left"}
    for match in NAME.finditer(bare):
        if match[0] not in words and not re.match(r"\s*\(", bare[match.end():]):
            yield match[0]


def promtool(monitoring, tools):
    """(check, what is wrong), one after the other: a later test takes seconds that nobody needs who
    has seen one fail."""
    with tempfile.TemporaryDirectory(prefix="alerts.") as folder:
        for name, content in (("rules.yml", monitoring.rules), *monitoring.tests.items(),
                              ("adapter.yml", monitoring.adapter), ("adapter_test.yaml", ADAPTER_TEST)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as target:
                yaml.safe_dump(content, target)
        for command in (("check", "rules", "--lint=all", "--lint-fatal", "rules.yml"),
                        *(("test", "rules", name) for name in (*TESTS, "adapter_test.yaml"))):
            done = subprocess.run([os.path.join(tools, "usr/bin/promtool"), *command], cwd=folder,
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                yield "6.promtool", done.stdout + done.stderr


def offences(monitoring):
    """(check, what is wrong)."""
    alerts = {alert["alert"]: alert for alert in monitoring.alerts()}
    for name, alert in alerts.items():
        if alert.get("labels", {}).get("severity") not in ("page", "ticket"):
            yield "6.severity", f"{name}: has none"
        notes = alert.get("annotations", {})
        if not notes.get("summary"):
            yield "6.playbook", f"{name}: has no summary"
        if notes.get("playbook") != f"playbooks/{name}.md" or name not in monitoring.playbooks:
            yield "6.playbook", f"{name}: has no playbook"
    for name, text in monitoring.playbooks.items():
        if name not in alerts:
            yield "6.playbook", f"{name}: is of no alert"
        elif not text.startswith(f"# {name}\n") or len(text.split()) < 30:
            yield "6.playbook", f"{name}: says nothing"
        for link in re.findall(r"\]\((Sightline\w+)\.md\)", text):
            if link not in monitoring.playbooks:
                yield "6.playbook", f"{name}: sends people to {link}"
        for command in re.findall(r"kubectl logs deploy\S*", text):
            yield "6.playbook", f"{name}: {command} reads one pod of several"

    fires = {t["alertname"] for file in monitoring.tests.values() for test in file["tests"]
             for t in test["alert_rule_test"] if t["exp_alerts"]}
    for name in alerts:
        if name not in fires:
            yield "6.tested", f"{name}: is in no test that sees it come"

    for metric in monitoring.metrics:
        told = (metric["type"], metric["help"])
        if monitoring.sources.get(metric["name"]) != told:
            yield "6.metrics", f"metrics.json has {metric['name']} {told}, the sources {monitoring.sources.get(metric['name'])}"
    for name in sorted(set(monitoring.sources) - {m["name"] for m in monitoring.metrics}):
        yield "6.metrics", f"metrics.json lacks {name}"

    series = {rule["record"] for group in monitoring.rules["groups"] for rule in group["rules"] if "record" in rule}
    for metric in monitoring.metrics:
        endings = ("_bucket", "_sum", "_count") if metric["type"] == "histogram" else ("",)
        series.update(metric["name"] + ending for ending in endings)
    read_by_dashboards = set()
    for where, expression in monitoring.expressions():
        for name in metrics_of(expression):
            if name not in series and not OTHERS.fullmatch(name):
                yield "6.known-metrics", f"{where}: reads {name}, which nobody exports"
            if ".json" in where:
                read_by_dashboards.add(re.sub(r"_(bucket|sum|count)$", "", name))
    for metric in monitoring.metrics:
        if metric["name"] not in read_by_dashboards:
            yield "6.dashboards", f"no dashboard shows {metric['name']}"
    for name, dashboard in monitoring.dashboards.items():
        ids = [panel["id"] for panel in dashboard["panels"]]
        if len(set(ids)) != len(ids) or not dashboard.get("uid"):
            yield "6.dashboards", f"{name}: panels without an id of their own"
        places = [tuple(panel["gridPos"].values()) for panel in dashboard["panels"]]
        if len(set(places)) != len(places):
            yield "6.dashboards", f"{name}: panels on one place"
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                if 'namespace="$ns"' not in target["expr"]:
                    yield "6.dashboards", f"{name}, {panel['title']}: adds up namespaces"
        kept = [path for g in monitoring.kept["configMapGenerator"] for path in g["files"]]
        if f"dashboards/{name}" not in kept:
            yield "6.dashboards", f"{name}: is not deployed"

    for where, expression in monitoring.expressions():
        for jobs in re.findall(r'\bjob=~?"([^"]*)"', expression):
            for job in set(jobs.split("|")) - {binary.replace("_", "-") for binary in monitoring.ports}:
                yield "6.scraped", f"{where}: asks for the job {job}, which there is none of"
    endpoint = monitoring.monitor["podMetricsEndpoints"][0]
    for binary, ports in monitoring.ports.items():
        if endpoint["port"] not in [port["name"] for port in ports]:
            yield "6.scraped", f"{binary}: has no port {endpoint['port']}"
    if monitoring.monitor["selector"]["matchLabels"].get("app.kubernetes.io/component") != "server":
        yield "6.scraped", "the monitor does not take all servers"
    if monitoring.monitor.get("jobLabel") != "app.kubernetes.io/name":
        yield "6.scraped", "`job` is not what the rules take it for"
    if "sightline/shard" not in monitoring.monitor.get("podTargetLabels", []):
        yield "6.scraped", "shards cannot be told apart"


def rule(monitoring, name):
    return next(r for r in monitoring.alerts() if r["alert"] == name)


def change(monitoring, name, old, new):
    changed = rule(monitoring, name)
    expression = " ".join(changed["expr"].split())
    if old not in expression:
        raise KeyError(f"{name} has no {old}")
    changed["expr"] = expression.replace(old, new)


# Those that come from what others have too, by names that others may use.
OF_FLEETS = ("NoReplica", "ReplicaMissing", "Restarting", "Memory", "NotScraped", "AutoscalerAtMaximum",
             "StoreFilling", "JobFailed", "NothingEncoded")

def without_comparisons(expression):
    """As if all that it looks at were worth an alert."""
    expression = re.sub(r"(==|!=|>=|<=|>|<) -?[\d.]+", "", expression)
    return re.sub(r"(==|!=|>=|<=|>|<)(?= (on|ignoring|kube_|\())", "and", expression)


def coming_too_often(monitoring, tools):
    """The alerts that promtool finds where they must not be, if nothing keeps them away."""
    spoilt = copy.deepcopy(monitoring)
    for alert in spoilt.alerts():
        alert["expr"] = without_comparisons(alert["expr"])
    return set(re.findall(r"alertname: (\w+),", "".join(text for _, text in promtool(spoilt, tools))))


MISTAKES = [
    ("a metric that nobody exports", "6.known-metrics",
     lambda m: rule(m, "SightlineQueueFull").update(expr="rate(sightline_batch_refused_total[5m]) > 1")),
    ("a panel of a metric that was renamed", "6.known-metrics",
     lambda m: m.dashboards["fleet.json"]["panels"][1]["targets"][0].update(
         expr='rate(sightline_calls_total{namespace="$ns"}[5m])')),
    ("a threshold ten times too high", "6.promtool",
     lambda m: change(m, "SightlineRefusing", "0.01", "0.1")),
    ("an expression that cannot be read", "6.promtool",
     lambda m: rule(m, "SightlineErrors").update(expr="sum(rate(sightline_rpc_calls_total[5m])")),
    ("an alert that comes at once", "6.promtool", lambda m: rule(m, "SightlineReplicaMissing").pop("for")),
    *((f"a {name} of somebody else's", "6.promtool",
       lambda m, name=name: change(m, f"Sightline{name}", " and on (namespace) sightline:fleets", ""))
      for name in OF_FLEETS),
    ("restarts of somebody else's beside the fleet", "6.promtool",
     lambda m: change(m, "SightlineRestarting", "-[a-z0-9]+-[a-z0-9]+", "-.*")),
    ("memory of somebody else's beside the fleet", "6.promtool",
     lambda m: change(m, "SightlineMemory", "-[a-z0-9]+-[a-z0-9]+", "-.*")),
    ("memory that files take", "6.promtool", lambda m: change(m, "SightlineMemory", "_rss", "_working_set_bytes")),
    ("a fleet that nobody misses", "6.promtool",
     lambda m: change(m, "SightlineNotScraped", "or sightline:fleets unless", "and sightline:fleets unless")),
    ("a command that somebody mistyped", "6.promtool",
     lambda m: change(m, "SightlineJobFailed", "|receive", "|receive|sightlinectl")),
    ("an adapter that answers NaN", "6.promtool",
     lambda m: m.adapter["groups"][0]["rules"][0].update(
         expr=m.adapter["groups"][0]["rules"][0]["expr"].split(" > 0")[0])),
    ("an alert without a playbook", "6.playbook", lambda m: m.playbooks.pop("SightlineSlow")),
    ("a playbook of no alert", "6.playbook", lambda m: m.playbooks.update(SightlineGone="# SightlineGone\n")),
    ("a playbook that says nothing", "6.playbook",
     lambda m: m.playbooks.update(SightlineSlow="# SightlineSlow\n\nLook at it.\n")),
    ("a playbook that reads one router's log", "6.playbook",
     lambda m: m.playbooks.update(SightlineErrors=m.playbooks["SightlineErrors"].replace(
         "-l app.kubernetes.io/name=router", "deploy/router"))),
    ("an alert without a severity", "6.severity", lambda m: rule(m, "SightlineSlow").pop("labels")),
    ("an alert that no test sees", "6.tested",
     lambda m: m.tests["alerts_test.yaml"]["tests"].pop(0)),
    ("a metric that the page leaves out", "6.metrics", lambda m: m.metrics.pop(3)),
    ("a metric of another type", "6.metrics", lambda m: m.metrics[0].update(type="gauge")),
    ("a metric that is gone from the sources", "6.metrics", lambda m: m.sources.pop("sightline_batch_tasks")),
    ("a metric that no dashboard shows", "6.dashboards",
     lambda m: m.dashboards["fleet.json"]["panels"].pop()),
    ("a dashboard that adds up namespaces", "6.dashboards",
     lambda m: m.dashboards["fleet.json"]["panels"][1]["targets"][0].update(expr="sum(sightline_rpc_in_flight)")),
    ("a dashboard that is not deployed", "6.dashboards",
     lambda m: m.kept["configMapGenerator"][0]["files"].pop()),
    ("an alert on a job of another name", "6.scraped",
     lambda m: rule(m, "SightlineNotScraped").update(expr='up{job="query_encoder"} == 0')),
    ("a monitor of another port", "6.scraped",
     lambda m: m.monitor["podMetricsEndpoints"][0].update(port="http")),
    ("a monitor of routers alone", "6.scraped",
     lambda m: m.monitor["selector"].update(matchLabels={"app.kubernetes.io/name": "router"})),
]


def main(root, tools):
    done = subprocess.run([sys.executable, os.path.join(root, "deploy/monitoring/generate.py"), "--check"],
                          capture_output=True, text=True, check=False)
    case("METRICS.md and dashboards are as generate.py writes them", done.stdout.splitlines())
    sound = Monitoring(root)
    case("sources have metrics", [] if len(sound.sources) > 15 else [str(sorted(sound.sources))])
    case("the monitoring agrees with itself and with the sources", [f"{n}: {t}" for n, t in offences(sound)])
    case("promtool", [t for _, t in promtool(sound, tools)])
    case("each alert has something that it must not come from",
         {alert["alert"] for alert in sound.alerts()} - coming_too_often(sound, tools))

    def found_in(mistake):
        spoilt = copy.deepcopy(sound)
        mistake[2](spoilt)
        found = list(offences(spoilt))
        if mistake[1] == "6.promtool":
            found += itertools.islice(promtool(spoilt, tools), 1)
        return found
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        reports = list(pool.map(found_in, MISTAKES))
    for (what, reported_by, _), found in zip(MISTAKES, reports):
        case(f"{what} is reported by {reported_by}",
             [] if reported_by in {n for n, _ in found} else ["not reported", *(f"{n}: {t}" for n, t in found)])
    print(f"cases: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
