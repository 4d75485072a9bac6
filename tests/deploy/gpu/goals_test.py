"""Goals are of the rows that they name, of the best of several, and of devices alone."""

import cases
import goals


def row(of, seconds=0.001, per_second=1000.0, device="NVIDIA H200", peer=None):
    return {"of": of, "seconds": seconds, "per_second": per_second, "device": device,
            "on_device": device != "the CPU", "peer": peer}


def passes(requests, per_second, precision="bfloat16"):
    return row({"precision": precision, "requests": requests, "sequences": 20 * requests,
                "work": "score", "is_whole": True, "is_batch": requests > 1}, seconds=requests / per_second, per_second=per_second)


def judged(*rows):
    goals.judge(list(rows))
    return [[(goal["text"], goal["met"]) for goal in each["goals"]] for each in rows]


class GoalsTest(cases.Case):

    def test_exact_searches_alone_are_judged_by_rows_and_batch(self):
        exact = {"rows": 10000000, "dimension": 512, "batch": 256, "lists": None}
        self.assertEqual(judged(row(exact, per_second=19999.0), row(exact | {"batch": 64}),
                                row(exact | {"lists": "3 of 9"}, per_second=1e9)),
                         [[("at least 20 000 a second", False)], [], []])

    def test_one_request_is_judged_by_its_time_and_batches_by_the_best_of_them(self):
        self.assertEqual(judged(passes(1, 900.0), passes(4, 1900.0), passes(8, 2100.0), passes(16, 2050.0)),
                         [[("at most 1 ms", False)], [], [("at least 2 000 a second", True)], []])

    def test_a_text_is_judged_by_what_a_whole_model_takes(self):
        text = row({"precision": "bfloat16", "requests": 1, "sequences": 1, "work": "encode", "is_whole": True,
                    "is_batch": False}, seconds=0.0009)
        self.assertEqual(judged(text), [[("at most 1 ms", True)]])

    def test_blocks_alone_have_no_goal_but_being_ahead_of_a_peer(self):
        blocks = {"precision": "bfloat16"}
        self.assertEqual(judged(row(blocks), row(blocks, peer={"name": "PyTorch", "ratio": 1.5})),
                         [[], [("ahead of PyTorch", True)]])

    def test_float32_has_no_goals(self):
        peer = {"name": "PyTorch", "ratio": 0.5}
        self.assertEqual(judged(passes(1, 900.0, "float32") | {"peer": peer}), [[]])
        self.assertEqual(judged(passes(16, 10.0) | {"peer": peer})[0][1], ("ahead of PyTorch", False))

    def test_a_cpu_is_not_judged(self):
        exact = {"rows": 1000000, "dimension": 768, "batch": 1, "lists": None}
        rows = [row(exact, device="the CPU", peer={"name": "FAISS", "ratio": 2.0})]
        self.assertEqual(judged(*rows), [[]])
        self.assertIn("nothing here is measured against one", goals.summary(rows))

    def test_the_summary_counts_and_names_the_device(self):
        rows = [passes(1, 1100.0), passes(4, 1900.0)]
        goals.judge(rows)
        self.assertEqual(goals.summary(rows), "Goals are for an H200; NVIDIA H200 meets 1 of 2.")


cases.main()
