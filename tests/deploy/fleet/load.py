"""The questions that are asked meanwhile: loadtest in a namespace of its own, which balances over
the routers by their name, as a caller in a cluster does."""

import asyncio
import json
import os

from pods import Pods, Trouble

ROUTERS = "dns:///router-pods:7400"
DEADLINE = 5  # seconds of each request
OVERLAP = 1.0  # seconds that one leg of the load begins before the last one ends
MORE = 20  # seconds of each leg beyond the first

MIX = """\
mix:
  - {{name: reranked, kind: text, weight: 6, index: images, queries: {questions}, depth: [{{value: 20}}], deadline: {deadline}s}}
  - {{name: retrieval, kind: text, weight: 2, index: images, queries: {questions}, depth: [{{value: 0}}], deadline: {deadline}s}}
  - {{name: picture, kind: image, weight: 1, index: captions, queries: {pictures}, depth: [{{value: 10}}], deadline: {deadline}s}}
"""
STEADY = """\
name: change
description: what a fleet is asked while it changes
seed: {seed}
warm_up: 0s
length: {length}s
arrivals: {{kind: poisson, rate: {rate}}}
slo: {{max_error_share: 0}}
"""
CAPACITY = """\
name: capacity
description: what the fleet bears
arrivals: {{kind: poisson}}
slo: {{max_error_share: 0, max_degraded_share: 0.02, latency: [{{percentile: 75, within: 300ms}}]}}
capacity: {{lowest: 4, highest: 64, precision: 0.4, window: {window}s, settle: 1s}}
"""


def rate_of(report):
    """The capacity that a report tells; Trouble if it tells none."""
    found = report.get("capacity") or {}
    if not found.get("rate"):
        raise Trouble(f"no capacity was found: {found.get('why', 'the report tells none')}")
    return found["rate"]


class Load:
    """Runs loadtest in `namespace`; its reports lie below `folder`."""

    def __init__(self, namespace, program, store, folder):
        self._namespace, self._program, self._folder = namespace, program, folder
        self._mix = MIX.format(questions=store.questions, pictures=store.pictures, deadline=DEADLINE)
        self._runs, self._legs = [], []
        self._ended = asyncio.Event()

    def _begin(self, name, scenario):
        """(process, folder of the report)."""
        out = os.path.join(self._folder, name)
        os.makedirs(out)
        path = os.path.join(out, "scenario.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(scenario + self._mix)
        with open(os.path.join(out, "output.txt"), "wb") as log:
            process = Pods.run(self._namespace, [self._program, "run", path, "--target", ROUTERS, "--out", out], log)
        self._runs.append(process)
        return process, out

    @staticmethod
    async def _report(process, out):
        while process.poll() is None:
            await asyncio.sleep(0.1)
        try:
            with open(os.path.join(out, "report.json"), encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError as error:
            with open(os.path.join(out, "output.txt"), encoding="utf-8", errors="replace") as log:
                raise Trouble("loadtest failed: " + " ".join(log.read().splitlines()[-3:])) from error

    async def capacity(self, window):
        """Questions a second of which three of four are answered wholly within 300 ms."""
        return rate_of(await self._report(*self._begin("capacity", CAPACITY.format(window=window))))

    async def ask(self, rate, length):
        """Asks for `length` seconds, and then as long as `end` has not been called, without a
        pause between.  The reports of all."""
        while not self._legs or not self._ended.is_set():
            number = len(self._legs)
            length = MORE if number else length
            leg = self._begin(f"leg{number}", STEADY.format(seed=number + 1, length=length, rate=rate))
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
