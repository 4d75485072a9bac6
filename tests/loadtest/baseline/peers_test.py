"""What peers.py makes of sides' answers and times.  Sides are fakes."""

import contextlib
import io
import json
import os
import sys

import cases
import data
import peers
import side

# Of three candidates, and milliseconds a query.
SCORES = [0.2, 0.5, 0.8]
FAST_AND_WRONG = [0.8, 0.5, 0.2]


class Fake:
    """A side whose clock is a number."""

    def __init__(self, scores, milliseconds):
        self.scores, self.milliseconds = scores, milliseconds

    def run(self, task, first, count):
        return self.milliseconds / 1000, self.scores if task == "reranking" else [1.0, 0.0]

    def end(self):
        pass


class Peers(cases.Case):
    def compared(self, fakes, *arguments):
        """The exit status, what was printed, and the JSON."""
        path = os.path.join(self.folder, "out.json")

        def start(name, command, environment):
            made = fakes.get(name)
            if made is None:
                raise side.CannotStart("it is not to be had here")
            return made

        peers.side.Side, peers.bundle.Bundle = start, lambda folder: FakeBundle()
        data.write_arrays = lambda folder: None
        data.peers_folder = lambda folder, model, tokenizer: os.path.join(folder, model)
        sys.argv = ["peers.py", self.folder, "--ours", "ours", "--json", path, "--rounds", "3",
                    "--questions", "2", *arguments]
        printed, status = io.StringIO(), 0
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            try:
                peers.main()
            except SystemExit as end:
                status = end.code
        if not os.path.exists(path):
            return status, printed.getvalue(), None
        with open(path, encoding="utf-8") as file:
            return status, printed.getvalue(), json.load(file)

    def verdict(self, told, ours, among):
        return next(line for line in told["tasks"]["reranking"]["verdicts"]
                    if (line["ours"], line["among"]) == (ours, among))

    def test_the_ratio_is_of_the_fastest_peer(self):
        status, printed, told = self.compared({
            "ours-float32": Fake(SCORES, 10), "torch-float32": Fake(SCORES, 40),
            "onnxruntime-float32": Fake(SCORES, 25)})
        self.assertEqual(status, 0)
        best = self.verdict(told, "ours-float32", "there is")
        self.assertEqual(best["best_peer"], "onnxruntime-float32")
        self.assertAlmostEqual(best["ratio"], 2.5)
        self.assertIn("2.50 [2.50, 2.50]", printed)

    def test_a_fast_wrong_answer_is_none(self):
        _, _, told = self.compared({
            "ours-float32": Fake(SCORES, 10), "torch-float32": Fake(SCORES, 40),
            "torch-int8": Fake(FAST_AND_WRONG, 1)})
        self.assertEqual(self.verdict(told, "ours-float32", "there is")["best_peer"], "torch-int8")
        self.assertEqual(self.verdict(told, "ours-float32", "agrees as well")["best_peer"],
                         "torch-float32")
        self.assertAlmostEqual(told["agreement"]["torch-int8"]["kendall"], -1)

    def test_a_peer_that_is_little_worse_agrees_as_well(self):
        ours, theirs = [0.2, 0.55, 0.8], [0.2, 0.45, 0.82]
        _, _, told = self.compared({
            "ours-int8": Fake(ours, 10), "torch-float32": Fake(SCORES, 40),
            "torch-int8": Fake(theirs, 12)})
        self.assertEqual(self.verdict(told, "ours-int8", "agrees as well")["best_peer"],
                         "torch-int8")

    def test_ours_against_ours_in_float32(self):
        _, printed, told = self.compared({
            "ours-float32": Fake(SCORES, 30), "ours-int8": Fake(SCORES, 10),
            "torch-float32": Fake(SCORES, 40)})
        line, = told["tasks"]["reranking"]["over_float32"]
        self.assertEqual(line["ours"], "ours-int8")
        self.assertAlmostEqual(line["ratio"], 3)
        self.assertRegex(printed, r"reranking +ours-int8 +3\.00 \[3\.00, 3\.00\]  ours-float32")

    def test_without_ours_in_float32_there_is_no_such_ratio(self):
        _, _, told = self.compared({
            "ours-int8": Fake(SCORES, 10), "torch-float32": Fake(SCORES, 40)})
        self.assertEqual(told["tasks"]["reranking"]["over_float32"], [])

    def test_what_cannot_start_is_left_out_aloud(self):
        status, printed, told = self.compared({"torch-float32": Fake(SCORES, 40)})
        self.assertEqual(status, 0)
        self.assertIn("left out: ours-int8: it is not to be had here", printed)
        self.assertEqual(told["left_out"]["torch-int8"], "it is not to be had here")

    def test_without_the_referee_nothing_is_told(self):
        status, _, told = self.compared({"ours-float32": Fake(SCORES, 10)})
        self.assertIn("nothing to compare with", status)
        self.assertIsNone(told)

    def test_float32_that_differs_is_an_error(self):
        status, _, told = self.compared({
            "ours-float32": Fake(FAST_AND_WRONG, 10), "torch-float32": Fake(SCORES, 40)})
        self.assertIn("WRONG in float32: ours-float32", status)
        self.assertIsNotNone(told)

    def test_only_some_with_the_referee(self):
        everything = {name: Fake(SCORES, 10) for name in [*peers.OURS, *peers.PEERS]}
        _, _, told = self.compared(everything, "--only", "ours-float32,torch-int8")
        self.assertEqual(sorted(told["agreement"]), ["ours-float32", "torch-float32", "torch-int8"])


class FakeBundle:
    tokenizer = None


if __name__ == "__main__":
    cases.main()
