"""Pods as a cluster runs them, each a process in a network namespace of its own: names follow
them, and they end as the manifests say."""

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request

import drain
import health
from manifests import outside
from verdict import Lack

LOOK = 0.05  # seconds between two looks at something that will change
START_LIMIT = 120  # seconds until a pod has to be ready
FOUND_LIMIT = 60  # seconds after which nobody looks any more
ESTABLISHED = "01"


class Trouble(Exception):
    """A pod did what it must not do; the text names it."""


class Pod:
    """One process; `terminating` and `ready` are what the cluster thinks of it."""

    def __init__(self, name, workload, namespace, address, process):
        self.name, self.workload, self.namespace, self.address = name, workload, namespace, address
        self.process = process
        self.ready = self.terminating = self.hidden = self.ending = False
        self.named = None  # when its address came into a name
        self.listened = None  # when it was first known to listen

    def alive(self):
        return self.process.poll() is None


def addresses_of(service, pods):
    """What the name of a headless Service stands for: pods from when they have an address until
    they are gone, if it publishes those that are not ready, else only those that serve."""
    return [pod.address for pod in pods
            if not pod.hidden and service.selects.items() <= dict(pod.workload.labels).items() and
            (service.not_ready or pod.ready and not pod.terminating)]


def callers(table, port):
    """The IPv4 addresses that have a connection to the port, of a /proc/PID/net/tcp or tcp6."""
    found = set()
    for line in table.splitlines()[1:]:
        _, here, there, state = line.split()[:4]
        if state == ESTABLISHED and int(here.split(":")[1], 16) == port:
            # The last four bytes, in tcp6 of an address of both families; the kernel's order.
            found.add(socket.inet_ntoa(bytes.fromhex(there.split(":")[0][-8:])[::-1]))
    return found


def calls_of(page, method):
    """How many calls of a method a metrics page tells of, whatever became of them."""
    return sum(float(value) for labels, value in
               re.findall(r"^sightline_rpc_calls_total\{(.*)\} (\S+)$", page, flags=re.M)
               if f'method="{method}"' in labels)


class Lacks:
    """Notes when a workload that once served has no pod left that does."""

    def __init__(self):
        self._since = {}
        self._known = set()
        self.found = []

    def look(self, pods, now):
        serving = {pod.workload for pod in pods if pod.ready}
        for workload in self._known - serving:
            self._since.setdefault(workload, now)
        for workload in serving & self._since.keys():
            self.found.append(Lack(workload.name, workload.kind, self._since.pop(workload), now))
        self._known |= serving


class Pods:
    """All pods of a fleet and the names that they have.  The store of those without a cache is on
    `volume`; those with one are given `environment`."""

    def __init__(self, network, nameserver, manifests, program_of, folder, volume, environment):
        self._network, self._nameserver, self._manifests = network, nameserver, manifests
        self._program_of, self._folder, self._volume = program_of, folder, volume
        self._environment = environment
        self._started = 0
        self._tasks = set()
        self._lacks = Lacks()
        self.pods = []
        self.moves = []  # (pod, router, seconds) of each that was found
        self.notes = []  # what went wrong, in words

    # --- what is there ---

    def of(self, workload):
        """Those that are meant to stay, oldest first."""
        return [pod for pod in self.pods if pod.workload == workload and not pod.ending]

    def named(self, name):
        return next(workload for workload in self._manifests.workloads if workload.name == name)

    def lacks(self):
        return self._lacks.found

    def _set_ready(self, pod, ready):
        pod.ready = ready
        self._lacks.look(self.pods, time.time())

    def publish_names(self):
        now = time.monotonic()
        names = {service.name: addresses_of(service, self.pods) for service in self._manifests.services}
        for pod in self.pods:
            if pod.named is None and any(pod.address in addresses for addresses in names.values()):
                pod.named = now
        self._nameserver.set(names)

    def check(self):
        """Trouble if a pod has ended by itself."""
        for pod in self.pods:
            if not pod.ending and not pod.alive():
                raise Trouble(f"{pod.name} ended by itself with status {pod.process.returncode}; "
                              f"its log ends: {self._last_words(pod)}")

    def _last_words(self, pod):
        with open(os.path.join(self._folder, pod.name + ".log"), encoding="utf-8", errors="replace") as log:
            return " ".join(log.read().splitlines()[-3:])

    # --- their lives ---

    def begin(self, workload, hidden=False):
        """A new pod, which has a name at once unless it is hidden."""
        self._started += 1
        name = f"{workload.name}-{self._started}"
        namespace, address = self._network.add(name)
        state = os.path.join(self._folder, name + ".state")
        config = os.path.join(self._folder, name + ".yaml")
        with open(config, "w", encoding="utf-8") as file:
            volume = os.path.join(self._folder, name + ".cache") if workload.caches else self._volume
            file.write(outside(workload.config, volume, state))
        with open(os.path.join(self._folder, name + ".log"), "wb") as log:
            process = self.run(namespace, [self._program_of(workload.program), "--config", config], log,
                               self._environment if workload.caches else {})
        pod = Pod(name, workload, namespace, address, process)
        pod.hidden = hidden
        self.pods.append(pod)
        self.publish_names()
        self._watch(pod)
        return pod

    @staticmethod
    def run(namespace, command, log, environment=None):
        """A process in a namespace, which ends with this one whatever happens; `environment` is
        what it has beside this one's."""
        return subprocess.Popen(["ip", "netns", "exec", namespace, "setpriv", "--pdeathsig", "KILL", *command],
                                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                env={**os.environ, **(environment or {})})

    async def await_ready(self, pod):
        """Until its readiness probe holds."""
        limit = time.monotonic() + START_LIMIT
        while not await health.is_serving(pod.address, pod.workload.port):
            if not pod.alive() or time.monotonic() > limit:
                raise Trouble(f"{pod.name} does not become ready: {self._last_words(pod)}")
            await asyncio.sleep(2 * LOOK)
        self._set_ready(pod, True)
        self.publish_names()

    async def start(self, workload, hidden=False):
        pod = self.begin(workload, hidden)
        await self.await_ready(pod)
        return pod

    async def stop(self, pod):
        """As the kubelet: it leaves the names of pods that serve, sleeps, signals, and waits.
        Names that publish what is not ready keep it until it is gone."""
        pod.ending = pod.terminating = True
        self.publish_names()
        await asyncio.sleep(self._manifests.ending.pre_stop)
        self._set_ready(pod, False)
        limit = time.monotonic() + self._manifests.ending.grace - self._manifests.ending.pre_stop
        wrong = await drain.watch(pod.address, pod.workload.port,
                                  lambda: pod.process.send_signal(signal.SIGTERM), pod.alive, limit)
        while pod.alive() and time.monotonic() < limit:
            await asyncio.sleep(LOOK)
        if pod.alive():
            wrong.append(f"it had to be killed: it had not ended after {self._manifests.ending.grace:g} s")
            pod.process.kill()
            pod.process.wait()
        if pod.process.returncode not in (0, -signal.SIGKILL):
            wrong.append(f"it ended with status {pod.process.returncode}: {self._last_words(pod)}")
        self.notes += [f"{pod.name}: {what}" for what in wrong]
        self._forget(pod)

    async def kill(self, pod, silently, known):
        """kill -9.  `silently`: its connections break without a word, as when a node is lost.
        Its address stays in the names for `known` seconds."""
        pod.ending = True
        self._set_ready(pod, False)
        if silently:
            self._network.unplug(pod.namespace)
        pod.process.kill()
        pod.process.wait()
        await asyncio.sleep(known)
        self._forget(pod)

    def _forget(self, pod):
        self.pods.remove(pod)
        self.publish_names()
        self._network.remove(pod.namespace)
        for kind in (".state", ".cache"):
            shutil.rmtree(os.path.join(self._folder, pod.name + kind), ignore_errors=True)

    def move_name(self, old, new):
        """In one answer the new pod's address, in the next the other's."""
        old.hidden, new.hidden = True, False
        self.publish_names()

    async def all_found(self):
        """Until nobody looks for a pod any more."""
        while self._tasks:
            await asyncio.sleep(LOOK)

    def end_all(self):
        for task in self._tasks:
            task.cancel()
        for pod in self.pods:
            pod.process.kill()
            pod.process.wait()

    # --- who finds them ---

    def routers(self):
        return [pod for pod in self.pods
                if pod.workload.kind == "router" and pod.ready and not pod.terminating]

    def _watch(self, pod):
        if pod.workload.kind == "router":
            return
        task = asyncio.get_running_loop().create_task(self._await_found(pod))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _await_found(self, pod):
        """Notes how long each router that serves takes to connect to a pod, once it listens and
        its name says where it is."""
        while pod.listened is None or pod.named is None:
            if not pod.alive() or pod.ending:
                return
            if pod.listened is None and await health.is_listening(pod.address, pod.workload.port):
                pod.listened = time.monotonic()
            await asyncio.sleep(LOOK)
        begin = max(pod.listened, pod.named)
        waiting = {router.address: router for router in self.routers()}
        while waiting and pod.alive() and not pod.ending and time.monotonic() < begin + FOUND_LIMIT:
            connected = self._callers(pod)
            for address, router in list(waiting.items()):
                if address in connected:
                    self.moves.append((pod.name, router.name, max(0.0, time.monotonic() - begin)))
                    del waiting[address]
                elif router.ending:
                    del waiting[address]
            await asyncio.sleep(LOOK)
        for router in waiting.values():
            if pod.alive() and not pod.ending and not router.ending:
                self.notes.append(f"{router.name} did not find {pod.name} within {FOUND_LIMIT} s")

    @staticmethod
    def _callers(pod):
        found = set()
        for family in ("tcp", "tcp6"):
            try:
                with open(f"/proc/{pod.process.pid}/net/{family}", encoding="utf-8") as table:
                    found |= callers(table.read(), pod.workload.port)
            except OSError:
                pass  # it has ended, or knows no such family
        return found

    @staticmethod
    def metrics(pod):
        """The pod's page of metrics; OSError if it cannot be had."""
        with urllib.request.urlopen(f"http://{pod.address}:{pod.workload.metrics_port}/metrics", timeout=5) as page:
            return page.read().decode()
