"""What is made of reports: ratios of capacities that were found, and goodput at twice one."""

import contextlib
import io
import json
import os
import sys

import cases
import ratios

SCENARIO = """name: one
arrivals: {kind: poisson, rate: 40}
mix:
  - {kind: text, queries: ../../some/questions.jsonl, deadline: 1s}
  - kind: image
    queries: /pictures  # some
fleet: {shards: 2, precision: fastest, rerankers: 0}
capacity: {lowest: 2, highest: 400, precision: 0.05}
"""


class Ratios(cases.Case):
    def report(self, name, ending="found", rate=10.0, precision="int8", reranked=None, **run):
        """The path of a report."""
        report = {
            "capacity": {"ending": ending, "rate": rate, "why": "because"},
            "result": {"scenario": "one", "environment": {"cores": "2", "cpu": "a CPU"},
                       "intended_rate": 20.0, "length_ns": 100e9,
                       "generator": {"kept_schedule": True},
                       "total": {"count": 2000, "precisions": {f"reranker {precision}": 9},
                                 "reranked": reranked}, **run}}
        return self.write(name, json.dumps(report).encode())

    def overloaded(self, **changed):
        counts = {"answers": 1000, "in_time": 900, "asked": 20000, "scored": 9000,
                  "judged": 1000, "right": 600, "retrieved_right": 500, **changed}
        return self.report("overload", reranked=counts)

    def told(self, *words):
        """What is printed, or why nothing is."""
        sys.argv, printed = ["ratios.py", *words], io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            try:
                ratios.main()
            except SystemExit as end:
                return str(end.code)
        return printed.getvalue()

    def test_a_key_is_changed_and_the_others_stay(self):
        path = self.write("folder/one.yaml", SCENARIO.encode())
        changed = self.told("change", path, "fleet.precision=float32")
        self.assertIn("fleet: {shards: 2, rerankers: 0, precision: float32}\n", changed)
        self.assertIn("precision: 0.05}", changed)
        self.assertIn("arrivals: {kind: poisson, rate: 80}\n",
                      self.told("change", path, "arrivals.rate=80"))

    def test_what_lies_beside_the_scenario_is_found_from_anywhere(self):
        path = self.write("folder/one.yaml", SCENARIO.encode())
        changed = self.told("change", path, "fleet.precision=float32")
        self.assertIn(f"queries: {os.path.dirname(path)}/../../some/questions.jsonl, dead", changed)
        self.assertIn("queries: /pictures  # some", changed)
        others = self.told("change", path, "fleet.precision=float32", "queries=/captions.jsonl")
        self.assertIn("queries: /captions.jsonl, dead", others)
        self.assertIn("queries: /pictures  # some", others)

    def test_a_fleet_of_defaults_and_a_scenario_without_one(self):
        defaults = self.write("defaults.yaml", b"name: a\nfleet: {}\n")
        self.assertIn("fleet: {precision: int8}",
                      self.told("change", defaults, "fleet.precision=int8"))
        none = self.write("none.yaml", b"name: a\n")
        self.assertIn("no line 'fleet: {...}'", self.told("change", none, "fleet.precision=int8"))

    def test_the_ratio_names_the_precisions_and_the_cpu(self):
        told = self.told("precision", self.report("a", rate=4.0, precision="float32"),
                         self.report("b", rate=10.0))
        self.assertIn("2 cores of a CPU\n", told)
        self.assertIn("float32 4 a second (reranker float32), fastest 10 (reranker int8), "
                      "ratio 2.50", told)

    def test_the_ratio_of_several_rounds_is_of_medians(self):
        rounds = [self.report(f"r{i}", rate=rate)
                  for i, rate in enumerate([4.0, 10.0, 5.0, 15.0, 4.4, 11.0])]
        self.assertIn("medians of 3 rounds: float32 4.4 a second, fastest 11, ratio 2.50",
                      self.told("precision", *rounds))

    def test_a_capacity_that_was_not_found_is_none(self):
        good = self.report("good")
        for ending in ("below lowest", "inconclusive"):
            bad = self.report("bad", ending=ending)
            self.assertIn(f"not found: {ending}", self.told("precision", good, bad))
            self.assertIn(f"not found: {ending}", self.told("precision", bad, good))
            self.assertIn(f"not found: {ending}", self.told("rate", bad))

    def test_beyond_the_highest_rate_it_is_at_least_that(self):
        low, high = self.report("low", rate=4.0), self.report("high", "above highest", 10.0)
        self.assertIn("ratio >= 2.50", self.told("precision", low, high))
        self.assertIn("not found: above highest", self.told("precision", high, low))
        self.assertIn("not found: above highest", self.told("rate", high))

    def test_a_report_that_is_not_there(self):
        self.assertIn("no report", self.told("rate", os.path.join(self.folder, "none")))

    def test_goodput_is_a_share_of_the_capacity(self):
        told = self.told("overload", "10", self.overloaded())
        self.assertIn("goodput 9 a second = 90 % of the capacity", told)
        self.assertIn("mean 9.0 of 20, wanted 8: holds", told)
        self.assertIn("60.0 %, by retrieval alone 50.0 %: holds", told)

    def test_shallow_answers_are_no_goodput(self):
        told = self.told("overload", "10", self.overloaded(scored=7000))
        self.assertIn("goodput none", told)
        self.assertIn("mean 7.0 of 20, wanted 8: BROKEN", told)

    def test_reranking_that_helps_nobody_is_no_goodput(self):
        told = self.told("overload", "10", self.overloaded(right=500))
        self.assertIn("goodput none", told)
        self.assertIn("BROKEN", told)

    def test_random_weights_tell_nothing_of_recall(self):
        told = self.told("overload", "10", self.overloaded(right=0, retrieved_right=0))
        self.assertIn("goodput 9 a second", told)
        self.assertIn("Recall@1: cannot be told", told)

    def test_a_generator_that_was_late_tells_of_itself(self):
        counts = {"answers": 1, "in_time": 1, "asked": 1, "scored": 1, "judged": 0, "right": 0,
                  "retrieved_right": 0}
        late = self.report("late", reranked=counts, generator={"kept_schedule": False})
        self.assertIn("did not keep its schedule", self.told("overload", "10", late))


if __name__ == "__main__":
    cases.main()
