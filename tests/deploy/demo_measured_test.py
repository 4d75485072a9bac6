"""deploy/demo/measured.json holds the bars of the demo's model, and its README's tables say what it says."""

import json
import re
import sys
import unittest

import cases

README, MEASURED = sys.argv[1:3]
_SPLITS = {"trained-on, 1 000": ("train", 1000), "validation, 239": ("validation", 239),
           "held out, 548": ("held_out", 548)}


def share(value):
    return f"{100 * value:.1f}"


def gain(method):
    of = method["minus_retrieval"]["recall_at_1"]
    return f"{100 * of['difference']:+.1f} [{100 * of['low']:+.1f}, {100 * of['high']:+.1f}]"


def told():
    """(direction, split, queries, method, depth) of a row of the tables -> its recalls and its gain."""
    rows = {}
    direction = split = None
    with open(README, encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if cells[0] in ("text→image", "image→text"):
                direction = cells[0].replace("→", "_to_")
            elif not line.startswith("|"):
                direction = None
            if direction is None or not re.fullmatch(r"[\d.]+", cells[3] if len(cells) > 3 else ""):
                continue
            split = _SPLITS.get(cells[0], split)
            rows[(direction, *split, cells[1], 0 if cells[2] == "–" else int(cells[2]))] = (cells[3:7], cells[7])
    return rows


class DemoMeasuredTest(unittest.TestCase):

    def setUp(self):
        with open(MEASURED, encoding="utf-8") as file:
            self.report = json.load(file)
        self.methods = {(result["direction"], result["split"], result["query_count"], method["name"], method["depth"]):
                        method for result in self.report["results"] for method in result["methods"]}

    def test_each_row_of_the_tables_is_what_was_measured(self):
        rows = told()
        self.assertEqual(set(rows), set(self.methods))
        for of, (recalls, lift) in rows.items():
            with self.subTest(of=of):
                method = self.methods[of]
                self.assertEqual(recalls, [share(method["recall"][depth]) for depth in ("1", "5", "10", "20")])
                self.assertEqual(lift, gain(method) if "minus_retrieval" in method else "")

    def test_what_is_declared_is_what_was_chosen(self):
        for direction, items in (("text_to_image", "images"), ("image_to_text", "captions")):
            chosen = self.report["choice"][direction]
            self.assertEqual(self.report[items]["declared"], {key: chosen[key] for key in ("combination", "lambda")})

    def test_the_bars_hold(self):
        served = "add_lambda:0.8"
        self.assertGreaterEqual(self.methods["text_to_image", "train", 1000, served, 20]["recall"]["10"], 0.95)
        self.assertGreaterEqual(self.methods["text_to_image", "held_out", 548, served, 20]["recall"]["10"], 0.30)
        self.assertGreaterEqual(self.methods["image_to_text", "held_out", 548, served, 20]["recall"]["10"], 0.20)
        for direction in ("text_to_image", "image_to_text"):
            lift = self.methods[direction, "train", 1000, served, 20]["minus_retrieval"]["recall_at_1"]
            self.assertGreaterEqual(lift["difference"], 0.02)
            kept = self.methods[direction, "held_out", 548, served, 20]["minus_retrieval"]["recall_at_1"]
            self.assertGreaterEqual(kept["high"], 0)


if __name__ == "__main__":
    cases.main()
