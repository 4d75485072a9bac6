"""Silence, failures, degraded answers and late finds are seen, and told with what was done then."""

import cases
import load
import verdict
from pods import Trouble
from verdict import Lack, Run, Window

START = 1000.0
WINDOWS = [Window("restart router", START + 10, START + 20),
           Window("kill reranker", START + 40, START + 50, may_degrade=True)]
REASONS = ("SHARDS_MISSING", "DEPTH_REDUCED")
GONE = Lack("reranker", "reranker", START + 41, START + 46)


def report(seconds=(), codes=None, wrong=False, generation="fewer", slowest=0.5):
    """Of seconds (number, asked, ok, degraded), in which the last answer took `slowest` seconds."""
    return {
        "verdict": {"doubts": [], "criteria": [
            {"name": "answers", "measured": "1 of 9 wrong", "state": "broken" if wrong else "held"},
            {"name": "failed requests", "measured": "0", "state": "held"}]},
        "result": {
            "started": "1970-01-01T00:16:40.000000000+00:00",
            "total": {"codes": codes or {"OK": 9}},
            "seconds": [{"second": number, "tally": {"count": asked, "ok": ok, "degraded": degraded,
                                                     "latency": {"max_ns": slowest * 1e9} if asked else {},
                                                     "degraded_reasons": dict.fromkeys(REASONS, 1) if degraded else {},
                                                     "generations": {generation: ok} if ok else {}}}
                        for number, asked, ok, degraded in seconds],
        }}


ANSWERED = report([(second, 1, 1, 0) for second in range(60)])  # throughout


def problems(*reports, windows=None, rate=1, lacks=(GONE,), **others):
    return verdict.problems(Run(rate, [ANSWERED, *reports], windows or WINDOWS, "fewer", list(lacks), **others))


class VerdictTest(cases.Case):

    def test_a_good_run_has_no_problems(self):
        self.assertEqual(problems(report([(0, 4, 4, 0), (1, 0, 0, 0), (45, 4, 4, 3)]), moves=[("a", "r", 4.9)]), [])

    def test_an_action_during_which_nothing_was_answered_is_not_good(self):
        def but_for(silent):
            return report([(second, 2, 2, 0) for second in range(60) if second not in silent])
        run = Run(2, [but_for(range(9, 20))], WINDOWS, "fewer")
        self.assertEqual(verdict.problems(run), [
            "0 questions were answered in the 10.0 s of: restart router; at 2 a second they should be 6 at least"])
        self.assertEqual(verdict.problems(Run(2, [but_for(range(9, 17))], WINDOWS, "fewer")), [])

    def test_what_failed_is_no_answer(self):
        failed = report([(second, 2, 0 if 9 <= second < 20 else 2, 0) for second in range(60)])
        self.assertIn("0 questions were answered in the 10.0 s of: restart router",
                      verdict.problems(Run(2, [failed], WINDOWS, "fewer"))[0])

    def test_a_load_that_stopped_early_is_not_good(self):
        run = Run(1, [report([(second, 1, 1, 0) for second in range(30)])], WINDOWS, "fewer")
        self.assertEqual([problem.split(" questions")[0] for problem in verdict.problems(run)], ["0"])
        self.assertEqual(len(verdict.problems(Run(1, [report()], WINDOWS, "fewer"))), 3)
        thin = report([(second, 1, 1, 0) for second in (10, 11, 12, 40, 41, 42)])
        self.assertEqual(verdict.problems(Run(1, [thin], WINDOWS, "fewer")), [
            "6 questions were answered in the 40.0 s of: all actions; at 1 a second they should be 14 at least"])

    def test_half_of_the_rate_is_asked_for_but_for_chance(self):
        for rate, seconds, fewest in ((5, 60, 133), (3, 10, 10), (1, 4, 1), (0.1, 1, 1)):
            self.assertEqual(verdict.least(rate, seconds), fewest)

    def test_a_failure_is_told_with_what_was_done(self):
        self.assertEqual(problems(report([(15, 4, 3, 0), (16, 4, 2, 0)], {"OK": 5, "UNAVAILABLE": 3})),
                         ["3 failed during: restart router", "errors: 3 UNAVAILABLE"])
        self.assertEqual(problems(report([(35, 4, 3, 0)])), ["1 failed during: no action"])

    def test_degraded_answers_are_good_only_while_a_replica_is_missing(self):
        for second, good in ((5, False), (15, False), (39, False), (40, True), (48, True), (49, False), (56, False)):
            self.assertEqual(problems(report([(second, 4, 4, 2)])) == [], good, second)
        self.assertEqual(problems(report([(38, 4, 4, 2)], slowest=2.1)), [])
        self.assertEqual(problems(report([(45, 4, 4, 2)]), lacks=[]),
                         ["2 degraded (DEPTH_REDUCED, SHARDS_MISSING) during: kill reranker"])

    def test_a_replica_may_be_missing_only_where_that_was_meant(self):
        self.assertEqual(problems(lacks=[Lack("reranker", "reranker", START + 11, START + 12.5)]),
                         ["no replica of reranker served for 1.5 s during: restart router"])
        self.assertEqual(problems(lacks=[Lack("router", "router", START + 41, START + 43)]),
                         ["no replica of router served for 2.0 s during: kill reranker"])

    def test_answers_are_of_what_is_published(self):
        windows = [Window("publish", START + 10, START + 20, published="all"), WINDOWS[1],
                   Window("rollback", START + 54, START + 56, published="fewer")]
        def of(generation, second):
            seconds = [(number, 1, 1, 0) for number in range(24)]
            return verdict.problems(Run(1, [report(seconds), report([(n, 1, 1, 0) for n in range(24, 61)],
                                                                    generation="all"),
                                            report([(second, 2, 2, 0)], generation=generation)], windows, "fewer"))
        for generation, second, good in (("all", 5, False), ("all", 9, True), ("fewer", 24, True),
                                         ("fewer", 25, False), ("all", 60, True), ("all", 61, False),
                                         ("other", 30, False), ("fewer", 53, True)):
            self.assertEqual(of(generation, second) == [], good, (generation, second))
        self.assertEqual(of("fewer", 30), ["2 of generation fewer, which was not published, during: no action"])

    def test_wrong_answers_are_not_good(self):
        self.assertEqual(problems(report([(0, 4, 4, 0)], wrong=True)), ["answers: 1 of 9 wrong"])

    def test_late_finds_and_notes_are_not_good(self):
        self.assertEqual(problems(report([(0, 4, 4, 0)]), moves=[("pod", "router-1", 5.2)], notes=["x"]),
                         ["x", "router-1 found pod only after 5.2 s"])

    def test_each_action_has_its_line(self):
        run = Run(3, [report([(15, 4, 3, 0), (45, 5, 5, 2), (47, 1, 1, 1)])], WINDOWS, "fewer", [GONE])
        head, first, second, lack, last = verdict.lines(run)
        self.assertEqual(head.split()[0], "action")
        self.assertEqual(first.split()[-5:], ["10.0", "4", "1", "0", "0%"])
        self.assertEqual(second.split()[-5:], ["10.0", "6", "0", "3", "0%"])
        self.assertEqual(lack, "no replica of reranker served for 5.0 s, and it was missed for 1.0 s more")
        self.assertEqual(last, "10 questions in all, 3 a second, 1 failed, 3 degraded")

    def test_capacity_is_what_was_reranked_of_too_much(self):
        def of(**tally):
            return {"result": {"by_kind": {"reranked": tally},
                               "seconds": [{"ended": 7}] * 12 + [{"ended": 0}] * 3}}
        self.assertAlmostEqual(load.capacity_of(of(ok=500, reranked={"asked": 10000, "scored": 1600})), 10)
        for nothing in (of(ok=500, reranked={"asked": 10000, "scored": 0}), of(ok=0)):
            with self.assertRaises(Trouble):
                load.capacity_of(nothing)

    def test_a_loadtest_that_was_stopped_is_trouble(self):
        for status in load.ASKED_ALL:
            load.check_end(status, "")
        for status in (2, 75, -9):
            with self.assertRaisesRegex(Trouble, f"status {status}: b c d"):
                load.check_end(status, "a\nb\nc\nd\n")


if __name__ == "__main__":
    cases.main()
