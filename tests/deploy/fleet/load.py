"""The questions that are asked meanwhile: loadtest in a namespace of its own, which balances over
the routers by their name, as a caller in a cluster does."""

import asyncio
import json
import os
import time

from pods import Pods, Trouble

ROUTERS = "dns:///router-pods:7400"
DEADLINE = 5  # seconds of each request
DEPTH = 20  # candidates that are reranked
OVERLAP = 1.0  # seconds that one leg of the load begins before the last one ends
MORE = 20  # seconds of each leg beyond the first

MIX = """\
mix:
  - {{name: reranked, kind: text, weight: 6, index: images, queries: {questions}, depth: [{{value: {depth}}}], deadline: {deadline}s}}
  - {{name: retrieval, kind: text, weight: 2, index: images, queries: {questions}, depth: [{{value: 0}}], deadline: {deadline}s}}
  - {{name: picture, kind: image, weight: 1, index: captions, queries: {pictures}, depth: [{{value: 10}}], deadline: {deadline}s}}
"""
SCENARIO = """\
name: {name}
seed: {seed}
warm_up: 0s
length: {length}s
arrivals: {{kind: poisson, rate: {rate}}}
slo: {{max_error_share: 0}}
"""
RERANKED_SHARE = 6 / 9  # of the mix
# More than any fleet of this size bears on two cores, for so many seconds.
TOO_MUCH, LONG_ENOUGH = 64, 12
# What loadtest ends with that has asked all of its questions: all held, something did not, or it
# cannot be told.
ASKED_ALL = (0, 1, 3)
LATE = 60  # seconds after the last question by which loadtest has to have ended


def capacity_of(report):
    """Questions a second that a fleet bears, told by what became of too many: they were reranked
    less deep than they asked for, and what was reranked of all of them is what it can do.  Trouble
    if that is nothing."""
    tally = report["result"]["by_kind"]["reranked"]
    whole = tally.get("reranked", {"scored": 0})["scored"] / DEPTH
    lasted = sum(second["ended"] > 0 for second in report["result"]["seconds"])
    if whole <= 0 or lasted == 0:
        raise Trouble("no question was reranked while the fleet was asked too much; is the machine that slow?")
    return whole / lasted / RERANKED_SHARE


def check_end(status, output):
    """Trouble if loadtest has stopped before all of its questions were asked."""
    if status not in ASKED_ALL:
        raise Trouble(f"loadtest failed with status {status}: {' '.join(output.splitlines()[-3:])}")


class Load:
    """Runs loadtest in `namespace`; its reports lie below `folder`."""

    def __init__(self, namespace, program, store, folder):
        self._namespace, self._program, self._folder = namespace, program, folder
        self._mix = MIX.format(questions=store.questions, pictures=store.pictures, depth=DEPTH,
                               deadline=DEADLINE)
        self._runs, self._legs = [], []
        self._ended = asyncio.Event()

    def _begin(self, name, seed, length, rate):
        """(process, folder of the report, when it has to have ended)."""
        out = os.path.join(self._folder, name)
        os.makedirs(out)
        path = os.path.join(out, "scenario.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SCENARIO.format(name=name, seed=seed, length=length, rate=rate) + self._mix)
        with open(os.path.join(out, "output.txt"), "wb") as log:
            process = Pods.run(self._namespace, [self._program, "run", path, "--target", ROUTERS, "--out", out], log)
        self._runs.append(process)
        return process, out, time.monotonic() + length + LATE

    @staticmethod
    async def _report(process, out, limit):
        while process.poll() is None:
            if time.monotonic() > limit:
                raise Trouble(f"loadtest has not ended {LATE} s after its last question")
            await asyncio.sleep(0.1)
        with open(os.path.join(out, "output.txt"), encoding="utf-8", errors="replace") as log:
            check_end(process.returncode, log.read())
        with open(os.path.join(out, "report.json"), encoding="utf-8") as file:
            return json.load(file)

    async def capacity(self):
        """Questions a second: first told by far too many, which cost the fleet something beside
        their reranking, then by twice what it bore of those."""
        rough = capacity_of(await self._report(*self._begin("rough", 1, LONG_ENOUGH, TOO_MUCH)))
        rate = min(TOO_MUCH, round(2 * rough, 2))
        return max(rough, capacity_of(await self._report(*self._begin("capacity", 2, LONG_ENOUGH, rate))))

    async def ask(self, rate, length):
        """Asks for `length` seconds, and then as long as `end` has not been called, without a
        pause between.  The reports of all."""
        while not self._legs or not self._ended.is_set():
            number = len(self._legs)
            length = MORE if number else length
            leg = self._begin(f"leg{number}", number + 1, length, rate)
            self._legs.append(asyncio.create_task(self._report(*leg)))
            done, _ = await asyncio.wait({self._legs[-1]}, timeout=length - OVERLAP)
            for failed in done:
                failed.result()
        return await asyncio.gather(*self._legs)

    def end(self):
        """No leg begins any more."""
        self._ended.set()

    def end_all(self):
        for leg in self._legs:
            leg.cancel()
        for process in self._runs:
            process.kill()
            process.wait()
