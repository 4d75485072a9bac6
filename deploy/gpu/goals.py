"""What check.sh's table holds measurements to: goals of an H200, which no other device is failed for, nor it itself."""

from __future__ import annotations

from typing import NamedTuple

# Rows of the table have these keys; as in the programs' JSON.
_EXACT = {"lists": None}
_MODEL = {"precision": "bfloat16", "is_whole": True}

# Of the fleet, half of all answers within so long; and of the job.
RETRIEVED_SECONDS = 0.002
RERANKED_SECONDS = 0.006
BUSY_SHARE = 0.9


class Goal(NamedTuple):
    """Of rows that have `of` among their keys; where that are several, of the best of them."""

    of: dict
    milliseconds: float = 0  # at most
    per_second: float = 0    # at least

    def text(self) -> str:
        return (f"at most {self.milliseconds:g} ms" if self.milliseconds
                else f"at least {self.per_second:,.0f} a second".replace(",", " "))

    def is_met(self, row: dict) -> bool:
        if self.milliseconds:
            return row["seconds"] * 1e3 <= self.milliseconds
        return row["per_second"] >= self.per_second


GOALS = (
    Goal(_EXACT | {"rows": 1000000, "dimension": 768, "batch": 1}, milliseconds=0.6),
    Goal(_EXACT | {"rows": 1000000, "dimension": 768, "batch": 256}, per_second=150000),
    Goal(_EXACT | {"rows": 10000000, "dimension": 512, "batch": 256}, per_second=20000),
    Goal(_MODEL | {"work": "encode", "sequences": 1}, milliseconds=1),
    Goal(_MODEL | {"work": "score", "requests": 1, "sequences": 20}, milliseconds=1),
    Goal(_MODEL | {"work": "score", "requests": 1, "sequences": 100}, milliseconds=2.5),
    Goal(_MODEL | {"work": "score", "is_batch": True}, per_second=2000),
)


def judge(rows: list[dict]) -> None:
    """Adds "goals" to each row: [{"text", "met"}], none where the CPU has computed."""
    for row in rows:
        row["goals"] = []
        ratio = row["peer"] and row["peer"]["ratio"]
        # Of products in float32, which no goal is of, it is told how they compare.
        if ratio and row["on_device"] and row["of"].get("precision") != "float32":
            row["goals"].append({"text": f"ahead of {row['peer']['name']}", "met": ratio > 1})
    for goal in GOALS:
        judged = [row for row in rows if row["on_device"] and row["seconds"]
                  and all(row["of"].get(key) == value for key, value in goal.of.items())]
        if judged:
            best = max(judged, key=lambda row: row["per_second"])
            best["goals"].insert(0, {"text": goal.text(), "met": goal.is_met(best)})


def row(what: str, held: str, wanted: str, met: bool | None, seconds: float | None = None) -> dict:
    """A row of the table of what has no ceiling; `met` is None where nothing is asked, as of a CPU."""
    return {"what": what, "seconds": seconds, "per_second": None, "copy_share": None, "product_share": None,
            "peer": None, "goals": [] if met is None else [{"text": wanted, "met": met}], "held": held, "device": "",
            "on_device": met is not None, "of": {}}


def told(row_of_table: dict) -> str:
    """How its goals stand."""
    return "; ".join(f"{goal['text']}: {'met' if goal['met'] else 'missed'}" for goal in row_of_table["goals"])


def text_of(rows: list[dict]) -> str:
    """A line for each, without a table."""
    lines = []
    for each in rows:
        seconds = "not measured" if each["seconds"] is None else f"{each['seconds'] * 1e3:.2f} ms"
        lines.append("; ".join(filter(None, (f"{each['what']}: {seconds}, {each['held']}", told(each)))))
    return "\n".join(lines)


def summary(rows: list[dict]) -> str:
    """Of all that was judged."""
    goals = [goal for row in rows for goal in row["goals"]]
    if not goals:
        return "Goals are for an H200; nothing here is measured against one."
    met = sum(goal["met"] for goal in goals)
    # Rows of the fleet and of jobs do not know its name.
    devices = ", ".join(sorted({row["device"] for row in rows if row["goals"] and row["device"]}))
    return f"Goals are for an H200; {devices or 'this device'} meets {met} of {len(goals)}."
