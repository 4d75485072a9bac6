"""What became of the questions, action by action, and whether that is good enough."""

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

FIND_LIMIT = 5.0  # seconds from the name's new answer until each router has connected
FOLLOW_LIMIT = 5.0  # seconds from when all servers hold a publication until all answers are of it
GRACE = 6.0  # seconds for which an action may show in answers after its end: a request's deadline
RECOVERY = 3.0  # seconds from when a lone replica serves again until no answer is without it
# Workloads without which there is an answer, which says what it lacks.
DISPENSABLE = ("reranker", "index-search")


@dataclass(frozen=True)
class Window:
    """When an action was done, in seconds since the epoch."""
    name: str
    begin: float
    end: float
    may_degrade: bool = False
    stolen: float = 0.0  # part of the CPUs' time that other machines had
    published: str = ""  # the generation, if it published one

    def covers(self, second):
        return self.begin - 1 <= second < self.end + GRACE

    def holds(self, second):
        return self.begin - 1 <= second < self.end


@dataclass(frozen=True)
class Lack:
    """When a workload had no replica that served, in seconds since the epoch."""
    workload: str
    kind: str
    begin: float
    end: float

    def excuses(self, second):
        """Whether answers to questions of that Second may be degraded."""
        return (self.kind in DISPENSABLE and
                self.begin < second.at + 1 + second.slowest and second.at < self.end + RECOVERY)


@dataclass
class Run:
    """A fleet that was asked while it was changed."""
    rate: float  # questions a second
    reports: list  # of loadtest
    windows: list
    first: str  # the generation that was published when it began
    lacks: list = field(default_factory=list)
    moves: list = field(default_factory=list)  # (pod, router, seconds)
    notes: list = field(default_factory=list)  # what else went wrong, in words


@dataclass
class Second:
    at: float
    asked: int = 0
    failed: int = 0
    degraded: int = 0
    slowest: float = 0.0  # seconds until the last of them was answered
    reasons: tuple = ()  # why answers were degraded
    generations: dict = field(default_factory=dict)  # name -> answers


def seconds_of(report):
    """A Second for each of a report's."""
    started = datetime.fromisoformat(report["result"]["started"]).timestamp()
    found = []
    for second in report["result"]["seconds"]:
        tally = second["tally"]
        found.append(Second(started + second["second"], tally["count"], tally["count"] - tally["ok"],
                            tally["degraded"], tally["latency"].get("max_ns", 0) / 1e9,
                            tuple(sorted(tally["degraded_reasons"])), tally["generations"]))
    return found


def errors_of(report):
    """Code -> requests that ended with it."""
    return {code: count for code, count in report["result"]["total"]["codes"].items() if code != "OK"}


def wrong_of(report):
    """What a report says of answers that were wrong, whatever their code."""
    return [f"answers: {criterion['measured']}" for criterion in report["verdict"]["criteria"]
            if criterion["name"] == "answers" and criterion["state"] == "broken"]


def during(second, windows):
    return ", ".join(window.name for window in windows if window.covers(second.at)) or "no action"


def published(second, run):
    """The generations that a question of that second may be answered of."""
    found = {run.first}
    for window in run.windows:
        if window.published and window.begin - 1 <= second:
            found = {window.published} if window.end + FOLLOW_LIMIT <= second else found | {window.published}
    return found


def misses(seconds, run):
    """(what, what was done meanwhile) -> answers that should not be so."""
    found = Counter()
    for second in seconds:
        when = during(second, run.windows)
        found["failed", when] += second.failed
        if not any(lack.excuses(second) for lack in run.lacks):
            found[f"degraded ({', '.join(second.reasons)})", when] += second.degraded
        for name in second.generations.keys() - published(second.at, run):
            found[f"of generation {name}, which was not published,", when] += second.generations[name]
    return +found


def least(rate, seconds):
    """The fewest answers that so long a time must have had: half of what the rate asks for, less
    what chance may take of questions that come when they like."""
    asked = rate * seconds
    return max(1, math.ceil(asked / 2 - math.sqrt(asked)))


def silences(seconds, run):
    """Each action during which too little was answered, and the whole, in words."""
    whole = Window("all actions", run.windows[0].begin, run.windows[-1].end)
    for window in [*run.windows, whole]:
        length = window.end - window.begin
        answered = sum(second.asked - second.failed for second in seconds if window.holds(second.at))
        if answered < least(run.rate, length):
            yield (f"{answered} questions were answered in the {length:.1f} s of: {window.name}; at {run.rate:.3g} a "
                   f"second they should be {least(run.rate, length)} at least")


def unplanned(run):
    """The lacks of replicas that no action was meant to cause, in words."""
    for lack in run.lacks:
        meant = any(window.may_degrade and window.begin <= lack.begin <= window.end for window in run.windows)
        if not meant or lack.kind not in DISPENSABLE:
            yield (f"no replica of {lack.workload} served for {lack.end - lack.begin:.1f} s during: "
                   f"{during(Second(lack.begin), run.windows)}")


def problems(run):
    """All that keeps a run from being good, in words."""
    seconds = [second for report in run.reports for second in seconds_of(report)]
    found = [*run.notes, *silences(seconds, run), *unplanned(run)]
    found += [f"{count} {what} during: {when}" for (what, when), count in sorted(misses(seconds, run).items())]
    for report in run.reports:
        errors = errors_of(report)
        if errors:
            found.append("errors: " + ", ".join(f"{count} {code}" for code, count in sorted(errors.items())))
        found += wrong_of(report)
    found += [f"{router} found {pod} only after {taken:.1f} s" for pod, router, taken in run.moves
              if taken > FIND_LIMIT]
    return found


def lines(run):
    """A line for each action, and one for all."""
    seconds = [second for report in run.reports for second in seconds_of(report)]
    width = max([len(window.name) for window in run.windows] + [6])
    yield f"{'action':{width}}  seconds  asked  failed  degraded  stolen"
    for window in run.windows:
        inside = [second for second in seconds if window.holds(second.at)]
        yield (f"{window.name:{width}}  {window.end - window.begin:7.1f}  {sum(s.asked for s in inside):5}  "
               f"{sum(s.failed for s in inside):6}  {sum(s.degraded for s in inside):8}  {window.stolen:6.0%}")
    for lack in run.lacks:
        others = [other for other in run.lacks if other is not lack]
        late = [s.at - lack.end for s in seconds if s.degraded and lack.end <= s.at < lack.end + GRACE and
                not any(other.excuses(s) for other in others)]
        yield (f"no replica of {lack.workload} served for {lack.end - lack.begin:.1f} s, and it was missed for "
               f"{max(late, default=0):.1f} s more")
    yield (f"{sum(s.asked for s in seconds)} questions in all, {run.rate:.3g} a second, "
           f"{sum(s.failed for s in seconds)} failed, {sum(s.degraded for s in seconds)} degraded")
