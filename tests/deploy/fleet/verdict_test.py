"""Failures, degraded answers and late finds are seen, and told with what was done then."""

import cases
import load
import verdict
from pods import Trouble
from verdict import Window

START = 1000.0
WINDOWS = [Window("restart router", START + 10, START + 20, False),
           Window("kill reranker", START + 40, START + 50, True)]
NEEDED = {"all", "fewer"}


def report(seconds=(), codes=None, generations=("all", "fewer"), wrong=False):
    """Of seconds (number, asked, ok, degraded)."""
    return {
        "verdict": {"doubts": [], "criteria": [
            {"name": "answers", "measured": "1 of 9 wrong", "state": "broken" if wrong else "held"},
            {"name": "failed requests", "measured": "0", "state": "held"}]},
        "result": {
            "started": "1970-01-01T00:16:40.000000000+00:00",
            "total": {"codes": codes or {"OK": 9}, "generations": dict.fromkeys(generations, 1)},
            "seconds": [{"second": number, "tally": {"count": asked, "ok": ok, "degraded": degraded}}
                        for number, asked, ok, degraded in seconds],
        }}


def problems(*reports, moves=(), notes=()):
    return verdict.problems(list(reports), WINDOWS, list(moves), list(notes), NEEDED)


class VerdictTest(cases.Case):

    def test_a_good_run_has_no_problems(self):
        self.assertEqual(problems(report([(0, 4, 4, 0), (45, 4, 4, 3)]), moves=[("a", "r", 4.9)]), [])

    def test_nothing_asked_is_not_good(self):
        self.assertEqual(problems(report()), ["nothing was asked"])

    def test_a_failure_is_told_with_what_was_done(self):
        self.assertEqual(problems(report([(15, 4, 3, 0), (16, 4, 2, 0)], {"OK": 5, "UNAVAILABLE": 3})),
                         ["3 failed during: restart router", "errors: 3 UNAVAILABLE"])
        self.assertEqual(problems(report([(35, 4, 3, 0)])), ["1 failed during: no action"])

    def test_degraded_answers_are_good_only_where_a_replica_is_missing(self):
        for second, good in ((5, False), (15, False), (38, False), (40, True), (55, True), (56, False)):
            self.assertEqual(problems(report([(second, 4, 4, 2)])) == [], good, second)

    def test_wrong_answers_are_not_good(self):
        self.assertEqual(problems(report([(0, 4, 4, 0)], wrong=True)), ["answers: 1 of 9 wrong"])

    def test_late_finds_and_notes_are_not_good(self):
        self.assertEqual(problems(report([(0, 4, 4, 0)]), moves=[("pod", "router-1", 5.2)], notes=["x"]),
                         ["x", "router-1 found pod only after 5.2 s"])

    def test_all_generations_must_have_answered(self):
        self.assertIn("alone, not of", problems(report([(0, 4, 4, 0)], generations=["all"]))[0])
        self.assertEqual(problems(report([(0, 4, 4, 0)], generations=["all"]),
                                  report([(0, 4, 4, 0)], generations=["fewer"])), [])

    def test_each_action_has_its_line(self):
        head, first, second, last = verdict.lines([report([(15, 4, 3, 0), (45, 5, 5, 2)])], WINDOWS)
        self.assertEqual(head.split()[0], "action")
        self.assertEqual(first.split()[-5:], ["10.0", "4", "1", "0", "0%"])
        self.assertEqual(second.split()[-5:], ["10.0", "5", "0", "2", "0%"])
        self.assertEqual(last, "9 questions in all, 1 failed, 2 degraded")

    def test_capacity_is_what_was_reranked_of_too_much(self):
        def of(ok, degraded):
            return {"result": {"by_kind": {"reranked": {"ok": ok, "degraded": degraded}},
                               "seconds": [{"ended": 7}] * 12 + [{"ended": 0}] * 3}}
        self.assertAlmostEqual(load.capacity_of(of(500, 420)), 10)
        with self.assertRaises(Trouble):
            load.capacity_of(of(500, 500))


if __name__ == "__main__":
    cases.main()
