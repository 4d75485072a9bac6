"""Both ends of the lines that sides speak, over real processes."""

import os
import sys

import cases
import side

MODULES = os.path.dirname(os.path.abspath(side.__file__))


def started(program):
    return side.Side("it", [sys.executable, "-B", "-c", program],
                     dict(os.environ, PYTHONPATH=MODULES))


class Sides(cases.Case):
    def test_a_side_does_tasks_and_tells_the_last_answer(self):
        it = started("import side\nside.serve({'add': lambda n: [n, n + 1]})")
        seconds, answer = it.run("add", 4, 3)
        self.assertEqual(answer, [6, 7])
        self.assertGreaterEqual(seconds, 0)
        it.end()
        self.assertEqual(it.process.returncode, 0)

    def test_one_that_cannot_start_says_why(self):
        with self.assertRaisesRegex(side.CannotStart, "^no such precision here$"):
            started("print('cannot: no such precision here')")

    def test_one_that_ends_is_told_by_its_last_words(self):
        with self.assertRaisesRegex(side.CannotStart, "^the reason$"):
            started("import sys\nsys.exit('many words\\nthe reason')")

    def test_one_that_ends_silently_is_told_by_its_status(self):
        with self.assertRaisesRegex(side.CannotStart, "ended with 3 "):
            started("import sys\nsys.exit(3)")

    def test_a_program_that_is_not_there_is_named(self):
        with self.assertRaisesRegex(side.CannotStart, "/no/program: No such file"):
            side.Side("it", ["/no/program"], dict(os.environ))

    def test_one_that_dies_in_a_task_ends_the_comparison_with_its_words(self):
        it = started("import side, sys\nside.serve({'die': lambda n: sys.exit('out of it')})")
        with self.assertRaisesRegex(SystemExit, "it ended in die:\nout of it"):
            it.run("die", 0, 1)
        it.end()


if __name__ == "__main__":
    cases.main()
