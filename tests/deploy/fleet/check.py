"""Changes a fleet under load and judges the answers; check.sh says what for and how.

usage: check.py --binaries DIR [--whole] [--fleet NAME]... [--out DIR]
"""

import argparse
import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass

import actions
import verdict
from load import Load
from manifests import Manifests
from nameserver import NameServer
from network import GATEWAY, CannotMake, Network, Taken
from pods import Pods, Trouble, calls_of
from object_store import ObjectStore
from store import FEWER, Store

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
SHARDS = 2  # so that a lone shard may be missed
SETTLE = 2.0  # seconds between two actions
# Of what the fleet bears, a quarter is asked: the pods share one machine, and what one takes to warm
# up is taken from those that serve.
ASKED = 4


@dataclass(frozen=True)
class Fleet:
    overlay: str
    replicas: int  # of each workload
    object_store: bool = False


# Two is what the autoscaler keeps and what shards have.
FLEETS = {"production": Fleet("production", 2), "dev": Fleet("dev", 1),
          "object-store": Fleet("production", 2, object_store=True)}


def say(text):
    print(f"fleet: {text}", flush=True)


def program_in(folder):
    """Name -> path of a binary: all in one folder, or as Bazel lays them out.  Trouble if it is
    not there."""
    def find(name):
        for path in (name, f"services/{name}/{name}", f"{name}/{name}", f"tests/common/object_store/{name}"):
            full = os.path.join(folder, path)
            if os.path.isfile(full):
                return full
        raise Trouble(f"{folder} has no {name}; build it, or give --binaries another folder")
    return find


def cpu_time():
    """(all, stolen) of the machine's CPUs so far."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(field) for field in file.readline().split()[1:9]]
    return sum(fields), fields[7]


class Check:
    """One fleet."""

    def __init__(self, network, fleet, program_of, folder, whole):
        self._network, self._whole, self._folder, self._fleet = network, whole, folder, fleet
        self._program_of = program_of
        self._volume = os.path.join(folder, "volume")
        self._manifests = Manifests(ROOT, fleet.overlay, SHARDS, folder, fleet.object_store)
        self._nameserver = NameServer()
        self._object_store = (ObjectStore(program_of("s3_test_server"), os.path.join(folder, "objects"), GATEWAY)
                              if fleet.object_store else None)
        self._store = self._pods = self._load = None

    async def run(self):
        """Whether all was good."""
        try:
            await self._nameserver.serve(GATEWAY)
            await self._make_store()
            await self._start()
            return await self._change()
        finally:
            if self._load:
                self._load.end_all()
            if self._pods:
                self._pods.end_all()
            if self._object_store:
                self._object_store.close()
            self._nameserver.close()
            self._network.empty()

    async def _make_store(self):
        environment = await self._object_store.serve() if self._object_store else {}
        self._store = Store(ROOT, self._volume, self._program_of, environment)
        await asyncio.to_thread(self._store.make, self._manifests.config("corpus_encoder.yaml"))
        self._pods = Pods(self._network, self._nameserver, self._manifests, self._program_of, self._folder,
                          self._volume, environment)

    async def _start(self):
        pods = [self._pods.begin(workload) for workload in self._manifests.workloads
                for _ in range(self._fleet.replicas)]
        await asyncio.gather(*(self._pods.await_ready(pod) for pod in pods))
        await self._pods.all_found()
        namespace, _ = self._network.add("caller")
        self._load = Load(namespace, self._program_of("loadtest"), self._store, self._folder)

    async def _change(self):
        capacity = await self._load.capacity()
        rate = round(capacity / ASKED, 2)
        workloads = self._manifests.workloads
        todo = (actions.plan_of_object_store(workloads) if self._object_store
                else actions.plan(workloads, self._fleet.replicas, self._whole))
        say(f"{len(self._pods.pods)} pods bear {capacity:.3g} questions a second; a quarter of that is asked, "
            f"and {len(todo)} actions done")
        asking = asyncio.create_task(self._load.ask(rate, actions.usual_length(todo)))
        windows = await self._do(todo, asking)
        self._load.end()
        reports = await asking
        return self._judge(verdict.Run(rate, reports, windows, FEWER, self._pods.lacks(), self._pods.moves,
                                       self._pods.notes))

    async def _do(self, todo, asking):
        doing, windows = actions.Doing(self._pods, self._store, self._object_store), []
        await asyncio.sleep(SETTLE)
        for action in todo:
            before, begin = cpu_time(), time.time()
            await doing.do(action)
            if asking.done():
                asking.result()
            now = cpu_time()
            windows.append(verdict.Window(str(action), begin, time.time(), action.may_degrade,
                                          (now[1] - before[1]) / max(1, now[0] - before[0]),
                                          actions.PUBLISHED.get(action.kind, "")))
            say(f"{action}: {windows[-1].end - begin:.1f} s")
            await asyncio.sleep(SETTLE)
        return windows

    def _judge(self, run):
        for line in verdict.lines(run):
            say(line)
        slowest = max(run.moves, key=lambda move: move[2], default=None)
        if slowest:
            say(f"{len(run.moves)} times a router found a pod; the slowest, {slowest[1]} {slowest[0]}, "
                f"took {slowest[2]:.2f} s")
        for report in run.reports:
            for doubt in report["verdict"]["doubts"]:
                say(f"loadtest doubts: {doubt}")
        self._tell_balance()
        found = verdict.problems(run)
        for problem in found:
            say(f"NOT GOOD: {problem}")
        return not found

    def _tell_balance(self):
        for pod in self._pods.routers():
            say(f"{pod.name} was asked {calls_of(self._pods.metrics(pod), 'SearchItems'):.0f} times")


async def check(network, fleet, program_of, folder, whole):
    """As Check.run; a signal ends it in good order."""
    task = asyncio.create_task(Check(network, fleet, program_of, folder, whole).run())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await task


def run(arguments, network):
    """Fleets that were not good."""
    failed = []
    for name in arguments.fleet or (FLEETS if arguments.whole else ["production"]):
        say(f"fleet {name}")
        folder = tempfile.mkdtemp(prefix=f"{name}.", dir=arguments.out)
        try:
            good = asyncio.run(check(network, FLEETS[name], program_in(arguments.binaries), folder, arguments.whole))
        except (Trouble, CannotMake, OSError) as trouble:
            say(f"NOT GOOD: {trouble}")
            good = False
        if good:
            shutil.rmtree(folder)
        else:
            say(f"configurations, logs and reports are in {folder}")
            failed.append(name)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", required=True)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--fleet", action="append", choices=FLEETS)
    parser.add_argument("--out", default=tempfile.gettempdir())
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    try:
        network = Network()
    except CannotMake as reason:
        say(f"LEFT OUT: no network can be made here: {reason}")
        return 1 if os.environ.get("SIGHTLINE_CONTAINERS") == "yes" else 0
    except Taken as reason:
        say(reason)
        return 1
    with contextlib.closing(network):
        try:
            return 1 if run(arguments, network) else 0
        except asyncio.CancelledError:
            say("ended by a signal")
            return 1


if __name__ == "__main__":
    sys.exit(main())
