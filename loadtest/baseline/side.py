"""Both ends of the lines that sides speak: processes that do the same tasks in turns.

A side prints "ready", or "cannot: REASON" and ends.  Then it reads lines "TASK FIRST COUNT",
does TASK for COUNT queries beginning with the FIRST-th, and answers
{"seconds": of all, "answer": numbers of the last}, a line each.
"""

import json
import subprocess
import sys
import tempfile
import time


class CannotStart(Exception):
    """Says why."""


class Side:
    """A process that was started; CannotStart if it did not get ready."""

    def __init__(self, name, command, environment):
        self.name = name
        # What it says is told only if it ends: libraries warn much.
        self.said = tempfile.TemporaryFile(mode="w+", errors="replace")
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=self.said, text=True,
                                            env=environment)
        except OSError as error:
            self.said.close()
            raise CannotStart(f"{command[0]}: {error.strerror}") from None
        line = self.process.stdout.readline().strip()
        if line != "ready":
            self.process.stdin.close()
            status = self.process.wait()
            reason = line.removeprefix("cannot: ") or self.last_words(1)
            self.end()
            raise CannotStart(reason or f"it ended with {status} and said nothing")

    def last_words(self, lines):
        self.said.seek(0)
        return "\n".join(self.said.read().strip().splitlines()[-lines:])

    def run(self, task, first, count):
        """Seconds a query, and the answer to the last."""
        try:
            print(task, first, count, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} ended in {task}:\n{self.last_words(20)}")
        told = json.loads(line)
        return told["seconds"] / count, told["answer"]

    def end(self):
        for pipe in (self.process.stdin, self.process.stdout):
            pipe.close()
        self.process.wait()
        self.said.close()


def serve(tasks):
    """The side's end; `tasks` are functions from a query's number to a list of numbers."""
    print("ready", flush=True)
    for line in sys.stdin:
        task, first, count = line.split()
        begin = time.monotonic()
        for i in range(int(count)):
            answer = tasks[task](int(first) + i)
        seconds = time.monotonic() - begin
        print(json.dumps({"seconds": seconds, "answer": answer}), flush=True)
