#!/usr/bin/env python3
"""Writes what is drawn from one list: METRICS.md from metrics.json, and the dashboards of
Grafana from the panels below.

usage: generate.py [--check]
  --check   writes nothing; says which file is out of date, and exits 1 if any is
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# Of a dashboard: rows of panels; of a panel: title, unit, and (legend, expression)s.  $ns is
# the namespace that is chosen.
FLEET = ("Sightline: fleet", "sightline-fleet", [
    ("Answers", [
        ("Calls a second, by code", "reqps", [
            ("{{method}} {{code}}", 'sum by (method, code) (rate(sightline_rpc_calls_total{namespace="$ns",job="router",service="sightline.v1.Search"}[5m])) > 0')]),
        ("Share of calls that fail", "percentunit", [
            ("5 minutes", 'sightline:errors:ratio5m{namespace="$ns"}'),
            ("1 hour", 'sightline:errors:ratio1h{namespace="$ns"}')]),
        ("Time of a search", "s", [
            (f"p{q}", f'histogram_quantile(0.{q}, sum by (le) (rate(sightline_rpc_latency_seconds_bucket{{namespace="$ns",job="router",method="SearchItems"}}[5m])))')
            for q in ("50", "95", "99")]),
        ("Time of a stage, p95", "s", [
            ("{{stage}}", 'histogram_quantile(0.95, sum by (stage, le) (rate(sightline_stage_seconds_bucket{namespace="$ns"}[5m])))')]),
        ("Answers that are less than was asked, a second", "reqps", [
            ("{{reason}}", 'sum by (reason) (rate(sightline_degraded_answers_total{namespace="$ns"}[5m]))')]),
        ("How hard indexes are looked into, searches a second", "reqps", [
            ("{{effort}} filter: {{filter}}", 'sum by (effort, filter) (rate(sightline_index_searches_total{namespace="$ns"}[5m]))')]),
        ("How reranking ends, a second", "reqps", [
            ("{{outcome}}", 'sum by (outcome) (rate(sightline_rerank_outcomes_total{namespace="$ns"}[5m]))')]),
        ("Reranked searches by precision, a second", "reqps", [
            ("{{precision}}", 'sum by (precision) (rate(sightline_reranked_searches_total{namespace="$ns"}[5m]))')]),
        ("Share of the depth that was asked for", "percentunit", [
            ("{{pod}}", 'sum by (pod) (rate(sightline_rerank_candidates_total{namespace="$ns",which="scored"}[5m])) / sum by (pod) (rate(sightline_rerank_candidates_total{namespace="$ns",which="asked"}[5m]))')]),
    ]),
    ("Caches", [
        ("Share that need not be computed", "percentunit", [
            ("{{cache}}", 'sum by (cache) (rate(sightline_cache_lookups_total{namespace="$ns",outcome=~"hit|shared"}[5m])) / sum by (cache) (rate(sightline_cache_lookups_total{namespace="$ns"}[5m]))')]),
        ("Memory", "bytes", [
            ("{{cache}} {{pod}}", 'sightline_cache_bytes{namespace="$ns"}')]),
        ("Entries", "none", [
            ("{{cache}} {{pod}}", 'sightline_cache_entries{namespace="$ns"}')]),
        ("Entries that have to go, a second", "reqps", [
            ("{{cache}}", 'sum by (cache) (rate(sightline_cache_evictions_total{namespace="$ns"}[5m]))')]),
    ]),
    ("Replicas", [
        ("Pods that serve", "none", [
            ("{{deployment}}", 'kube_deployment_status_replicas_available{namespace="$ns"}')]),
        ("Attempts beyond the first, a second", "reqps", [
            ("{{set}} {{cause}}", 'sum by (set, cause) (rate(sightline_replica_extra_attempts_total{namespace="$ns"}[5m]))'),
            ("{{set}} not allowed", 'sum by (set) (rate(sightline_replica_budget_refusals_total{namespace="$ns"}[5m]))')]),
        ("Extra attempts for each call", "percentunit", [
            ("{{set}}", 'sum by (set) (rate(sightline_replica_extra_attempts_total{namespace="$ns"}[5m])) / sum by (set) (rate(sightline_replica_calls_total{namespace="$ns"}[5m]))')]),
        ("Share of handlers that found the loop behind", "percentunit", [
            ("{{pod}}", 'sum by (pod) (rate(sightline_rpc_handlers_total{namespace="$ns",job=~"router|index-search",place="thread_behind"}[5m])) / sum by (pod) (rate(sightline_rpc_handlers_total{namespace="$ns",job=~"router|index-search"}[5m]))')]),
        ("Calls in progress", "none", [
            ("{{job}} {{sightline_shard}}", 'sum by (job, sightline_shard) (sightline_rpc_in_flight{namespace="$ns"})')]),
    ]),
    ("Queues", [
        ("Wait for a batch, p90", "s", [
            ("{{job}} {{sightline_shard}} {{queue}}", 'histogram_quantile(0.9, sum by (job, sightline_shard, queue, le) (rate(sightline_batch_wait_seconds_bucket{namespace="$ns"}[5m])))')]),
        ("Work on a batch, p90", "s", [
            ("{{job}} {{sightline_shard}} {{queue}}", 'histogram_quantile(0.9, sum by (job, sightline_shard, queue, le) (rate(sightline_batch_process_seconds_bucket{namespace="$ns"}[5m])))')]),
        ("Tasks in a batch", "none", [
            ("{{job}} {{queue}}", 'sum by (job, queue) (rate(sightline_batch_tasks_sum{namespace="$ns"}[5m])) / sum by (job, queue) (rate(sightline_batch_tasks_count{namespace="$ns"}[5m]))')]),
        ("Cost of a batch", "none", [
            ("{{job}} {{queue}}", 'sum by (job, queue) (rate(sightline_batch_cost_sum{namespace="$ns"}[5m])) / sum by (job, queue) (rate(sightline_batch_cost_count{namespace="$ns"}[5m]))')]),
        ("Waiting now, by cost", "none", [
            ("{{pod}} {{queue}}", 'sightline_batch_queued_cost{namespace="$ns"} > 0')]),
        ("Models' precision, by agreement with float32", "none", [
            ("{{pod}} {{model}} {{precision}}", 'sightline_model_agreement{namespace="$ns"} > 0')]),
        ("Refused and dropped, a second", "reqps", [
            ("{{job}} {{queue}} refused", 'sum by (job, queue) (rate(sightline_batch_refused_tasks_total{namespace="$ns"}[5m]))'),
            ("{{job}} {{queue}} dropped", 'sum by (job, queue) (rate(sightline_batch_dropped_tasks_total{namespace="$ns"}[5m]))')]),
    ]),
    ("Searches of shards", [
        ("Exact and approximate, a second", "reqps", [
            ("{{sightline_shard}} {{exactness}}", 'sum by (sightline_shard, exactness) (rate(sightline_shard_searches_total{namespace="$ns"}[5m]))')]),
        ("Effort, p50 and p90", "none", [
            ("{{sightline_shard}} p50", 'histogram_quantile(0.5, sum by (sightline_shard, le) (rate(sightline_index_search_effort_bucket{namespace="$ns"}[5m])))'),
            ("{{sightline_shard}} p90", 'histogram_quantile(0.9, sum by (sightline_shard, le) (rate(sightline_index_search_effort_bucket{namespace="$ns"}[5m])))')]),
        ("Searched with less effort than asked, a second", "reqps", [
            ("{{sightline_shard}}", 'sum by (sightline_shard) (rate(sightline_index_reduced_searches_total{namespace="$ns"}[5m]))')]),
        ("With a filter, a second", "reqps", [
            ("{{sightline_shard}}", 'sum by (sightline_shard) (rate(sightline_index_filtered_searches_total{namespace="$ns"}[5m]))')]),
        ("Items that a filter lets through, p50", "percentunit", [
            ("{{sightline_shard}}", 'histogram_quantile(0.5, sum by (sightline_shard, le) (rate(sightline_index_matched_share_bucket{namespace="$ns"}[5m])))')]),
    ]),
    ("Machine", [
        ("CPU time", "none", [
            ("{{pod}}", 'sum by (pod) (rate(container_cpu_usage_seconds_total{namespace="$ns",container="server"}[5m]))')]),
        ("Memory, as a share of the limit", "percentunit", [
            ("{{pod}}", 'max by (pod) (container_memory_rss{namespace="$ns",container="server"}) / max by (pod) (kube_pod_container_resource_limits{namespace="$ns",container="server",resource="memory"})')]),
        ("Memory of requests in progress", "bytes", [
            ("{{pod}}", 'sightline_rpc_in_flight_bytes{namespace="$ns"}')]),
    ]),
])
GENERATIONS = ("Sightline: generations and jobs", "sightline-generations", [
    ("Generations", [
        ("Sequence that requests go to", "none", [
            ("{{index}} {{pod}}", 'sightline_pinned_generation_sequence{namespace="$ns"}')]),
        ("Sequences behind the published one", "none", [
            ("{{index}} {{pod}}", 'sightline_generation_sequence{namespace="$ns",which="desired"} - ignoring (which) sightline_generation_sequence{namespace="$ns",which="ready"}')]),
        ("Loaded and refused, in all", "none", [
            ("{{job}} {{sightline_shard}} {{index}} {{result}}", 'sum by (job, sightline_shard, index, result) (sightline_generation_loads_total{namespace="$ns"})')]),
        ("Time of a load, p90 of a day", "s", [
            ("{{job}} {{sightline_shard}}", 'histogram_quantile(0.9, sum by (job, sightline_shard, le) (increase(sightline_generation_load_seconds_bucket{namespace="$ns"}[1d])))')]),
    ]),
    ("Jobs", [
        ("Since the last run that went well", "s", [
            ("{{cronjob}}", 'time() - kube_cronjob_status_last_successful_time{namespace="$ns"}')]),
        ("Pods at work", "none", [
            ("{{job_name}}", 'kube_job_status_active{namespace="$ns"} > 0')]),
        ("Pods that failed", "none", [
            ("{{job_name}}", 'kube_job_status_failed{namespace="$ns"} > 0')]),
        ("Workers that are done", "none", [
            ("{{job_name}}", 'kube_job_status_succeeded{namespace="$ns"}')]),
    ]),
    ("Store", [
        ("Room on the volume", "percentunit", [
            ("free", 'max(kubelet_volume_stats_available_bytes{namespace="$ns",persistentvolumeclaim="sightline"}) / max(kubelet_volume_stats_capacity_bytes{namespace="$ns",persistentvolumeclaim="sightline"})')]),
    ]),
])
GPUS = ("Sightline: GPUs", "sightline-gpus", [
    ("Memory", [
        ("Held by generations", "bytes", [
            ("{{pod}} device {{device}}", 'sightline_device_held_bytes{namespace="$ns"}')]),
        ("GPUs that pods have", "none", [
            ("{{pod}}", 'sum by (pod) (kube_pod_container_resource_limits{namespace="$ns",container="server",resource="nvidia_com_gpu"})')]),
        ("Loads that a device failed", "none", [
            ("{{job}} {{sightline_shard}} {{index}}", 'sum by (job, sightline_shard, index) (sightline_generation_loads_total{namespace="$ns",result="DEVICE_FAILED"})')]),
    ]),
    ("Models", [
        ("A pass, p50 and p95", "s", [
            ("{{job}} p50", 'histogram_quantile(0.5, sum by (job, le) (rate(sightline_device_pass_seconds_bucket{namespace="$ns"}[5m])))'),
            ("{{job}} p95", 'histogram_quantile(0.95, sum by (job, le) (rate(sightline_device_pass_seconds_bucket{namespace="$ns"}[5m])))')]),
        ("Of that waiting for others, p95", "s", [
            ("{{job}}", 'histogram_quantile(0.95, sum by (job, le) (rate(sightline_device_wait_seconds_bucket{namespace="$ns"}[5m])))')]),
        ("Passes a second", "reqps", [
            ("{{job}} {{launches}}", 'sum by (job, launches) (rate(sightline_device_passes_total{namespace="$ns"}[5m]))')]),
        ("Copied, a second", "Bps", [
            ("{{pod}} {{direction}}", 'sum by (pod, direction) (rate(sightline_device_copied_bytes_total{namespace="$ns"}[5m]))')]),
    ]),
    ("Searches", [
        ("A batch, p50 and p95", "s", [
            ("{{sightline_shard}} p50", 'histogram_quantile(0.5, sum by (sightline_shard, le) (rate(sightline_batch_process_seconds_bucket{namespace="$ns",queue=~"search_device_.*"}[5m])))'),
            ("{{sightline_shard}} p95", 'histogram_quantile(0.95, sum by (sightline_shard, le) (rate(sightline_batch_process_seconds_bucket{namespace="$ns",queue=~"search_device_.*"}[5m])))')]),
        ("Queries in a batch", "none", [
            ("{{sightline_shard}}", 'sum by (sightline_shard) (rate(sightline_batch_cost_sum{namespace="$ns",queue=~"search_device_.*"}[5m])) / sum by (sightline_shard) (rate(sightline_batch_cost_count{namespace="$ns",queue=~"search_device_.*"}[5m]))')]),
        ("Wait for a device, p90", "s", [
            ("{{sightline_shard}}", 'histogram_quantile(0.9, sum by (sightline_shard, le) (rate(sightline_batch_wait_seconds_bucket{namespace="$ns",queue=~"search_device_.*"}[5m])))')]),
    ]),
])
SOURCE = {"type": "prometheus", "uid": "${source}"}


def dashboard(title, uid, rows):
    panels, y = [], 0
    for row, members in rows:
        panels.append({"type": "row", "title": row, "collapsed": False, "panels": [],
                       "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}})
        y += 1
        for number, (name, unit, targets) in enumerate(members):
            panels.append({
                "type": "timeseries", "title": name, "datasource": SOURCE,
                "gridPos": {"x": 8 * (number % 3), "y": y + 8 * (number // 3), "w": 8, "h": 8},
                "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
                "options": {"legend": {"displayMode": "list", "placement": "bottom"},
                            "tooltip": {"mode": "multi", "sort": "desc"}},
                "targets": [{"refId": chr(ord("A") + i), "datasource": SOURCE, "expr": expression,
                             "legendFormat": legend} for i, (legend, expression) in enumerate(targets)]})
        y += 8 * -(-len(members) // 3)
    for number, panel in enumerate(panels):
        panel["id"] = number + 1
    variables = [
        {"type": "datasource", "name": "source", "label": "Prometheus", "query": "prometheus"},
        {"type": "query", "name": "ns", "label": "Namespace", "datasource": SOURCE, "refresh": 2,
         "query": {"query": "label_values(sightline_pinned_generation_sequence, namespace)", "refId": "ns"}},
    ]
    return json.dumps({"title": title, "uid": uid, "schemaVersion": 39, "tags": ["sightline"],
                       "time": {"from": "now-6h", "to": "now"}, "refresh": "30s", "editable": False,
                       "templating": {"list": variables}, "panels": panels}, indent=1) + "\n"


def metrics_page():
    with open(os.path.join(HERE, "metrics.json"), encoding="utf-8") as source:
        metrics = json.load(source)
    lines = ["# Metrics", "",
             "All that servers export, on the path `/metrics` of their metrics port. Written by `generate.py` from `metrics.json`; jobs export none, and are told by what Kubernetes says of them.", "",
             "| name | type | servers | labels | meaning | how to read it |", "|---|---|---|---|---|---|"]
    for metric in metrics:
        labels = ", ".join(f"`{name}`" + (f" ({values})" if values else "")
                           for name, values in metric["labels"].items())
        lines.append(f"| `{metric['name']}` | {metric['type']} | {metric['servers']} | {labels} | "
                     f"{metric['help']} | {metric['read']} |")
    return "\n".join(lines) + "\n"


def main():
    wanted = {"METRICS.md": metrics_page(),
              "dashboards/fleet.json": dashboard(*FLEET),
              "dashboards/generations_and_jobs.json": dashboard(*GENERATIONS),
              "dashboards/gpus.json": dashboard(*GPUS)}
    stale = []
    for name, content in wanted.items():
        path = os.path.join(HERE, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as source:
                if source.read() == content:
                    continue
        stale.append(name)
        if "--check" not in sys.argv[1:]:
            with open(path, "w", encoding="utf-8") as target:
                target.write(content)
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"deploy/monitoring/{name} is out of date: run deploy/monitoring/generate.py")
        return 1 if stale else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
