"""What became of the questions, action by action, and whether that is good enough."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

FIND_LIMIT = 5.0  # seconds from the name's new answer until each router has connected
GRACE = 6.0  # seconds for which an action may show in answers after its end: a request's deadline


@dataclass(frozen=True)
class Window:
    """When an action was done, in seconds since the epoch."""
    name: str
    begin: float
    end: float
    may_degrade: bool
    stolen: float = 0.0  # part of the CPUs' time that other machines had

    def covers(self, second):
        return self.begin - 1 <= second < self.end + GRACE


@dataclass
class Second:
    at: float
    asked: int = 0
    failed: int = 0
    degraded: int = 0


def seconds_of(report):
    """A Second for each of a report's."""
    started = datetime.fromisoformat(report["result"]["started"]).timestamp()
    found = []
    for second in report["result"]["seconds"]:
        tally = second["tally"]
        found.append(Second(started + second["second"], tally["count"], tally["count"] - tally["ok"],
                            tally["degraded"]))
    return found


def errors_of(report):
    """Code -> requests that ended with it."""
    return {code: count for code, count in report["result"]["total"]["codes"].items() if code != "OK"}


def wrong_of(report):
    """What a report says of answers that were wrong, whatever their code."""
    return [f"answers: {criterion['measured']}" for criterion in report["verdict"]["criteria"]
            if criterion["name"] == "answers" and criterion["state"] == "broken"]


def misses(seconds, windows):
    """("failed" or "degraded", what was done meanwhile) -> answers that should not be so."""
    found = Counter()
    for second in seconds:
        at_work = [window for window in windows if window.covers(second.at)]
        during = ", ".join(window.name for window in at_work) or "no action"
        found["failed", during] += second.failed
        if not any(window.may_degrade for window in at_work):
            found["degraded", during] += second.degraded
    return +found


def problems(reports, windows, moves, notes, needed_generations):
    """All that keeps a run from being good, in words."""
    found = list(notes)
    seconds = [second for report in reports for second in seconds_of(report)]
    if not any(second.asked for second in seconds):
        found.append("nothing was asked")
    found += [f"{count} {what} during: {during}"
              for (what, during), count in sorted(misses(seconds, windows).items())]
    for report in reports:
        errors = errors_of(report)
        if errors:
            found.append("errors: " + ", ".join(f"{count} {code}" for code, count in sorted(errors.items())))
        found += wrong_of(report)
    generations = {name for report in reports for name in report["result"]["total"]["generations"]}
    if not needed_generations <= generations:
        found.append(f"answers came of {sorted(generations)} alone, not of {sorted(needed_generations)}")
    for pod, router, seconds_taken in moves:
        if seconds_taken > FIND_LIMIT:
            found.append(f"{router} found {pod} only after {seconds_taken:.1f} s")
    return found


def lines(reports, windows):
    """A line for each action, and one for all."""
    seconds = [second for report in reports for second in seconds_of(report)]
    width = max([len(window.name) for window in windows] + [6])
    yield f"{'action':{width}}  seconds  asked  failed  degraded  stolen"
    for window in windows:
        inside = [second for second in seconds if window.begin - 1 <= second.at < window.end]
        yield (f"{window.name:{width}}  {window.end - window.begin:7.1f}  {sum(s.asked for s in inside):5}  "
               f"{sum(s.failed for s in inside):6}  {sum(s.degraded for s in inside):8}  {window.stolen:6.0%}")
    yield (f"{sum(s.asked for s in seconds)} questions in all, {sum(s.failed for s in seconds)} failed, "
           f"{sum(s.degraded for s in seconds)} degraded")
