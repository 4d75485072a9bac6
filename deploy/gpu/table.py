"""The table of check.sh: what was measured, beside the ceilings that were measured with it."""

from __future__ import annotations

_HEAD = ("what", "ms", "of the copy", "of the product", "held")


def rows_of(searches: list[dict], models: dict) -> list[dict]:
    """A row for each search and each pass: {"what", "seconds", "copy_share", "product_share", "held"}.

    A share is of what a ceiling of the same program's run allows; None where there is no such ceiling
    or the work is not known.  Bytes are those of one reading.
    """
    rows = []
    for each in searches:
        for search in each["searches"]:
            lists = f", {search['lists']} lists" if "lists" in search else ""
            what = f"{_count(search.get('rows', each['rows']))} x {each['dimension']}{lists}, batch {search['batch']}"
            held = "as the rows of the lists" if lists else "as " + each["referee"].replace("_", " ")
            rows.append(_row(what, search, each["ceilings"], held))
    stack = models.get("stack")
    for each in stack["passes"] if stack else []:
        rows.append(_row(f"{each['load']}, {each['precision']}", each, stack["ceilings"],
                         f"off by {each['off_by']:.2g}"))
    for each in models.get("goldens", []):
        error = each["max_abs_error"]
        held = "not compared" if error is None else f"off by {error:.2g}"
        rows.append({"what": f"golden {each['folder']}, {each['precision']}", "seconds": None,
                     "copy_share": None, "product_share": None,
                     "held": held if each["met"] else "NOT MET, " + held})
    return rows


def _row(what: str, measured: dict, ceilings: dict, held: str) -> dict:
    def share(amount: float, ceiling: str) -> float | None:
        most = ceilings.get(ceiling, 0)
        return amount / measured["seconds"] / most if amount and most else None

    return {"what": what, "seconds": measured["seconds"],
            "copy_share": share(measured.get("bytes", 0), "copied_bytes_per_second"),
            "product_share": share(measured.get("operations", 0), "product_operations_per_second"),
            "held": held if not measured["wrong"] else "WRONG: " + measured["wrong"]}


def _count(rows: int) -> str:
    return f"{rows // 1000000}M" if rows % 1000000 == 0 else f"{rows // 1000}k"


def text_of(rows: list[dict]) -> str:
    cells = [_HEAD]
    for row in rows:
        milliseconds = "" if row["seconds"] is None else f"{row['seconds'] * 1e3:.3f}"
        cells.append((row["what"], milliseconds, _percent(row["copy_share"]), _percent(row["product_share"]),
                      row["held"]))
    widths = [max(len(line[i]) for line in cells) for i in range(len(_HEAD))]
    lines = [[cell.ljust(width) if i in (0, 4) else cell.rjust(width)
              for i, (cell, width) in enumerate(zip(line, widths))] for line in cells]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share * 100:.1f} %"
