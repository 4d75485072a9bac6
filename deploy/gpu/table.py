"""The table of check.sh: what was measured, beside the ceilings that were measured with it, what others take for the
same, and the goals."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Callable, NamedTuple

import goals
from part import MISSING, PartError

if TYPE_CHECKING:
    from part import Part

_HEAD = ("what", "ms", "a second", "of the copy", "of the product", "beside", "goal", "held")
_LEFT = {0, 5, 6, 7}
_CPU = "the CPU"


class Fault(NamedTuple):
    """Of a part: why the table does not hold."""

    part: str
    text: str
    missing: bool = False  # rather than wrong


def read_parts(part: Part, names: list[str]) -> tuple[dict[str, dict], list[Fault]]:
    """What parts have measured, in OUT, and what is to be said of those that have not ended or did not hold."""
    kept, faults = {}, []
    for name in names:
        path = os.path.join(part.out, name + ".json")
        try:
            value = part.read(name + ".json")
        except PartError:
            faults.append(_damaged(name))
            continue
        if not os.path.exists(path):
            faults.append(Fault(name, f"no {name}.json in {part.out}; run --only {name}", missing=True))
        elif not isinstance(value, dict) or "held" not in value:
            faults.append(Fault(name, f"{name} has not ended; run --only {name}", missing=True))
        else:
            kept[name] = value
            if value["held"] is not True:
                faults.append(Fault(name, f"{name} did not hold; {name}.txt says why",
                                    missing=value.get("status") == MISSING))
    return kept, faults


def _damaged(name: str) -> Fault:
    return Fault(name, f"{name}.json is damaged; run --only {name}")


def rows_of_part(name: str, kept: dict[str, dict], told: Callable[[dict], list[dict]],
                 faults: list[Fault]) -> list[dict]:
    """A part that is said to have held, and tells nothing that can be read, is another of the faults."""
    rows = []
    if name in kept:
        try:
            rows = told(kept[name])
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            pass
    if not rows and not any(fault.part == name for fault in faults):
        faults.append(_damaged(name))
    return rows


def rows_of(searches: list[dict], models: dict, faiss: dict | None = None, eager: dict | None = None) -> list[dict]:
    """A row for each search, each pass of blocks and of a whole model, and one for each golden, which is not timed:

        {"what", "seconds", "per_second", "copy_share", "product_share", "peer", "goals", "held", "device",
         "on_device", "of"}

    A share is of what a ceiling of the same program's run allows; None where there is no such ceiling or the work is
    not known.  Bytes are those of one reading.  `per_second` counts queries or requests.  `peer` is None, or
    {"name", "seconds", "ratio"}: how many times as long it takes.  `of` is what goals know a row by.
    """
    rows = []
    for each in searches:
        for search in each["searches"]:
            rows.append(_search_row(each, search, faiss))
    stack = models.get("stack")
    for each in (stack or {}).get("passes", []):
        rows.append(_pass_row(stack, each, eager))
    whole = models.get("whole")
    rows += [_whole_row(whole, each) for each in (whole or {}).get("passes", [])]
    rows += [_golden_row(f"golden {each['folder']}, {each['precision']}", each["met"], each["max_abs_error"])
             for each in models.get("goldens", [])]
    rows += [_golden_row(f"three steps of {each['folder']}, float32", each["met"], each["max_relative_error"])
             for each in models.get("training", [])]
    goals.judge(rows)
    return rows


def _search_row(each: dict, search: dict, faiss: dict | None) -> dict:
    of = {"rows": search.get("rows", each["rows"]), "dimension": each["dimension"], "batch": search["batch"],
          "lists": search.get("lists")}
    lists = f", {of['lists']} lists" if of["lists"] else ""
    near = ", queries near rows" if search.get("queries") == "near rows" else ""
    held = "as the rows of the lists" if lists else "as " + each["referee"].replace("_", " ")
    if "recall" in search:
        held = f"finds {search['recall'] * 100:.1f} % of ten, " + held
    peer = None if lists else _faiss_beside(of, faiss)
    what = f"{_count(of['rows'])} x {of['dimension']}{lists}{near}, batch {of['batch']}"
    return _row(what, each, search, search["batch"], held) | {"of": of, "peer": peer}


def _faiss_beside(of: dict, faiss: dict | None) -> dict | None:
    """They were timed by turns, so that the ratio is of their own run."""
    if not faiss or not faiss.get("searches") or (faiss["rows"], faiss["dimension"]) != (of["rows"], of["dimension"]):
        return None
    return next(({"name": "FAISS", "seconds": one["faiss_seconds"], "ratio": one["faiss_seconds"] / one["seconds"]}
                 for one in faiss["searches"] if one["batch"] == of["batch"]), None)


def _pass_row(stack: dict, each: dict, eager: dict | None) -> dict:
    # What leads to blocks and what follows them is not in it, and no goal is of it.
    of = {"precision": each["precision"]}
    # By the time as well: eager.json may be of an earlier run's passes.
    peer = next(({"name": "PyTorch", "seconds": one["seconds"], "ratio": one["seconds"] / each["seconds"]}
                 for one in (eager or {}).get("passes", [])
                 if all(one[key] == each[key] for key in ("load", "precision")) and one["beside"] == each["seconds"]),
                None)
    return _row(f"blocks of {each['load']}, {each['precision']}", stack, each, each["requests"],
                f"off by {each['off_by']:.2g}") | {"of": of, "peer": peer}


def _whole_row(run: dict, each: dict) -> dict:
    of = {key: each[key] for key in ("precision", "work", "requests", "sequences")}
    of |= {"is_whole": True, "is_batch": each["requests"] > 1}
    return _row(f"model, {each['load']}, {each['precision']}", run, each, each["requests"],
                "the same each time") | {"of": of, "peer": None}


def _golden_row(what: str, met: bool, error: float | None) -> dict:
    held = "not compared" if error is None else f"off by {error:.2g}"
    return {"what": what, "seconds": None, "per_second": None,
            "copy_share": None, "product_share": None, "held": held if met else "NOT MET, " + held,
            "device": "", "on_device": False, "of": {}, "peer": None}


def _row(what: str, run: dict, measured: dict, count: int, held: str) -> dict:
    """`count` queries or requests of one program's run."""
    def share(amount: float, ceiling: str) -> float | None:
        most = run.get("ceilings", {}).get(ceiling, 0)
        return amount / measured["seconds"] / most if amount and most else None

    return {"what": what, "seconds": measured["seconds"], "per_second": count / measured["seconds"],
            "copy_share": share(measured.get("bytes", 0), "copied_bytes_per_second"),
            "product_share": share(measured.get("operations", 0), "product_operations_per_second"),
            "held": held if not measured["wrong"] else "WRONG: " + measured["wrong"],
            "device": run["device"], "on_device": run["device"] != _CPU}


def _count(rows: int) -> str:
    return f"{rows // 1000000}M" if rows % 1000000 == 0 else f"{rows // 1000}k"


def text_of(rows: list[dict]) -> str:
    """The table, and a line that says whose the goals are."""
    cells = [_HEAD, *(_cells(row) for row in rows)]
    # A column that nothing is in tells nothing.
    kept = [i for i in range(len(_HEAD)) if any(line[i] for line in cells[1:])]
    widths = {i: max(len(line[i]) for line in cells) for i in kept}
    lines = ["  ".join(line[i].ljust(widths[i]) if i in _LEFT else line[i].rjust(widths[i]) for i in kept).rstrip()
             for line in cells]
    return "\n".join([*lines, goals.summary(rows)])


def _cells(row: dict) -> tuple[str, ...]:
    peer = row["peer"]
    return (row["what"], _number(row["seconds"] and row["seconds"] * 1e3, 3), _number(row["per_second"], 0),
            _percent(row["copy_share"]), _percent(row["product_share"]),
            f"{peer['name']} {peer['seconds'] * 1e3:.3f} ms, {peer['ratio']:.2f} times as long" if peer else "",
            goals.told(row), row["held"])


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}".replace(",", " ")


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share * 100:.1f} %"
