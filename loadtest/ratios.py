#!/usr/bin/env python3
"""What scripts that compare runs of the load test share: a scenario with one key changed, and
ratios of what reports say.

usage: ratios.py change SCENARIO SECTION.KEY=VALUE... [queries=FILE] >FILE
       ratios.py rate REPORT
       ratios.py precision FLOAT32_REPORT FASTEST_REPORT...      (as many of either, by turns)
       ratios.py overload RATE REPORT

change: SECTION stands on one line, as `fleet: {precision: fastest, shards: 2}`.  What the file
names beside itself is named in full, so that FILE may lie anywhere.  queries: of all texts.
rate: the capacity that was found.  precision: of each pair, and of their medians, how much more
the fastest precision bears.  overload: goodput at twice RATE, as a share of RATE.

A capacity that was not found is no figure: refused, but for ">=" where the fastest precision
still held at the highest rate.

exit status: 0 printed, 1 the reports have no such figure, 2 wrong usage
"""

import json
import os
import re
import statistics
import sys

# Of what is asked for, 8 of 20: Goodput::kLeastDepth of loadtest/measure/load_result.h.
LEAST_DEPTH = 0.4


class NoFigure(Exception):
    pass


def changed(text, section, key, value):
    """The scenario `text` with that key in that section."""
    line = re.search(rf"^{section}: \{{(.*)\}}$", text, re.M)
    if not line:
        raise NoFigure(f"the scenario has no line '{section}: {{...}}'")
    keys = [pair for pair in line[1].split(", ") if pair and not pair.startswith(f"{key}:")]
    keys.append(f"{key}: {value}")
    return f"{text[:line.start(1)]}{', '.join(keys)}{text[line.end(1):]}"


def change(path, words):
    """The scenario of the file, changed as the words say."""
    with open(path, encoding="utf-8") as file:
        text, queries = file.read(), ""
    for word in words:
        name, value = word.split("=", 1)
        if name == "queries":
            queries = value
        else:
            text = changed(text, *name.split("."), value)
    folder = os.path.dirname(os.path.abspath(path))
    return re.sub(r"\bqueries: ([^/\s,}][^\s,}]*)",
                  lambda named: f"queries: {queries or os.path.join(folder, named[1])}", text)


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise NoFigure(f"{path} is no report: {error}") from None


def capacity(report, at_least=False):
    """The rate that was found; `at_least`: or that was the highest, and held."""
    found = report.get("capacity")
    if not found:
        raise NoFigure(f"{report['result']['scenario']} looked for no capacity")
    if found["ending"] == "found" or (at_least and found["ending"] == "above highest"):
        return found["rate"]
    raise NoFigure(f"the capacity of {report['result']['scenario']} was not found: "
                   f"{found['ending']}: {found['why']}")


def machine(report):
    about = report["result"]["environment"]
    return f"{about.get('cores', '?')} cores of {about.get('cpu', 'an unknown CPU')}"


def precisions(report):
    """What answers were computed in: "encoder int8, reranker int8"."""
    told = report["result"]["total"].get("precisions", {})
    return ", ".join(sorted(told)) or "precision not told"


def precision_lines(reports):
    """float32 and fastest by turns."""
    slow, fast = reports[0::2], reports[1::2]
    if not slow or len(slow) != len(fast):
        raise NoFigure("give as many reports in float32 as in the fastest precision, by turns")
    rates = [(capacity(a), capacity(b, at_least=True)) for a, b in zip(slow, fast)]
    more = [">= " if b["capacity"]["ending"] != "found" else "" for b in fast]
    lines = [machine(fast[0])]
    for (before, after), told, a, b in zip(rates, more, slow, fast):
        lines.append(f"capacity: float32 {before:.3g} a second ({precisions(a)}), "
                     f"fastest {told}{after:.3g} ({precisions(b)}), ratio {told}{after / before:.2f}")
    if len(rates) > 1:
        before, after = (statistics.median(side) for side in zip(*rates))
        lines.append(f"medians of {len(rates)} rounds: float32 {before:.3g} a second, fastest "
                     f"{max(more)}{after:.3g}, ratio {max(more)}{after / before:.2f}")
    return lines


def share(part, whole):
    return part / whole if whole else 0


def judged(holds):
    return "holds" if holds else "BROKEN"


def recall_told(counts):
    """Random weights find nothing, with reranking or without: that tells nothing of it."""
    return counts["right"] + counts["retrieved_right"] > 0


def recall_line(counts):
    if not recall_told(counts):
        return "Recall@1: cannot be told: no answer began with an item that is known to be right"
    right, retrieved = (share(counts[name], counts["judged"])
                        for name in ("right", "retrieved_right"))
    return (f"Recall@1: {100 * right:.1f} %, by retrieval alone {100 * retrieved:.1f} %: "
            f"{judged(right > retrieved)}")


def overload_lines(rate, report):
    run = report["result"]
    counts = run["total"].get("reranked")
    if not counts:
        raise NoFigure(f"no answer of {run['scenario']} was to be reranked")
    if not run["generator"]["kept_schedule"]:
        raise NoFigure("the generator did not keep its schedule: figures tell of it too")
    goodput = counts["in_time"] / (run["length_ns"] * 1e-9)
    depth, asked = (share(counts[name], counts["answers"]) for name in ("scored", "asked"))
    deep = depth >= LEAST_DEPTH * asked
    holds = deep and (counts["right"] > counts["retrieved_right"] or not recall_told(counts))
    return [f"{machine(report)}, {precisions(report)}",
            f"capacity {rate:.3g} a second, offered {run['intended_rate']:.3g}",
            f"goodput {'' if holds else 'none, but for a broken condition '}{goodput:.3g} a second"
            f" = {100 * goodput / rate:.0f} % of the capacity",
            f"in time: {counts['in_time']} of {counts['answers']} answers, of "
            f"{run['total']['count']} requests",
            f"depth: in the mean {depth:.1f} of {asked:.0f}, wanted {LEAST_DEPTH * asked:.0f}: "
            f"{judged(deep)}",
            recall_line(counts)]


def run(words):
    if len(words) >= 3 and words[0] == "change" and all(
            re.fullmatch(r"(\w+\.\w+|queries)=\S+", word) for word in words[2:]):
        return [change(words[1], words[2:]).rstrip("\n")]
    if len(words) == 2 and words[0] == "rate":
        return [f"{capacity(read(words[1])):.6g}"]
    if len(words) >= 3 and words[0] == "precision":
        return precision_lines([read(path) for path in words[1:]])
    if len(words) == 3 and words[0] == "overload":
        return overload_lines(float(words[1]), read(words[2]))
    print(__doc__, file=sys.stderr)
    sys.exit(2)


def main():
    try:
        print("\n".join(run(sys.argv[1:])))
    except NoFigure as why:
        sys.exit(f"loadtest: {why}")


if __name__ == "__main__":
    main()
