"""What is done to a fleet while it is asked, and in which order."""

import asyncio
from dataclasses import dataclass

from pods import Trouble
from store import ALL, FEWER
from verdict import DISPENSABLE

SCALED = ("router", "query-encoder", "reranker")
# Seconds that an address of a pod stays known that was killed, and until another takes its place.
STALE, REPLACED = 2.0, 3.0
# How long an old pod outlives its name: longer than a move may go unnoticed.
OVERLAP = 5.0
# What an action and the pause after it take on two cores that have other work too, in seconds.
USUAL = {"restart": 20, "drain": 14, "kill": 9, "lose": 12, "publish": 9, "rollback": 6,
         "scale": 22, "move": 11, "outage": 14}
PUBLISHED = {"publish": ALL, "rollback": FEWER}
AWAY = 10.0  # seconds of an outage of the object store


@dataclass(frozen=True)
class Action:
    """`kind` of the table below, done to these workloads at once."""
    kind: str
    workloads: tuple = ()
    may_degrade: bool = False

    def __str__(self):
        return " ".join((self.kind, *(workload.name for workload in self.workloads)))


def kinds(workloads, *wanted):
    return [workload for workload in workloads if workload.kind in wanted]


def plan(workloads, replicas, whole):
    """The actions for a fleet with that many replicas of each workload.  Of what answers nothing
    without it, a lone router or encoder, none is taken away before another is there."""
    lone = replicas == 1
    spared = [w for w in workloads if not lone or w.kind in DISPENSABLE]
    backends = [w for w in workloads if w.kind != "router"]

    def each(kind, of):
        takes = lone and kind in ("kill", "lose")
        return [Action(kind, (workload,), takes) for workload in of]

    drain = Action("drain", tuple(spared), lone)
    if not whole:
        return [*each("kill", kinds(spared, "query-encoder", "router")), Action("publish"),
                *each("kill", kinds(spared, "reranker", "index-search")[:2]), drain,
                *each("move", kinds(backends, "query-encoder")), Action("rollback"),
                Action("restart", tuple(workloads))]
    return [*each("restart", workloads), drain, *each("kill", spared),
            *each("lose", kinds(spared, "query-encoder", "reranker", "index-search")),
            Action("publish"), *each("scale", kinds(workloads, *SCALED)), *each("move", backends),
            Action("rollback"), Action("restart", tuple(workloads))]


def plan_of_object_store(workloads):
    """What an object store and the servers' own caches have a part in, with two replicas of each."""
    shards, fetching = kinds(workloads, "index-search"), kinds(workloads, "query-encoder", "reranker")
    return [Action("outage"), Action("publish"), *(Action("restart", (shard,)) for shard in shards),
            *(Action("scale", (workload,)) for workload in fetching), Action("rollback"),
            *(Action("lose", (shard,)) for shard in shards[:1]), Action("restart", tuple(workloads))]


def usual_length(actions):
    """Seconds that the load should last; it goes on if that is not enough."""
    return sum(USUAL[action.kind] for action in actions)


class Doing:
    """Does actions to the pods of a fleet; `store` publishes, in `object_store` if there is one."""

    def __init__(self, pods, store, object_store):
        self._pods, self._store, self._object_store = pods, store, object_store
        # Of several workloads one pod starts at a time: in a cluster it has CPUs of its own to load
        # with, here it takes them from those that serve.
        self._surge = asyncio.Lock()

    async def do(self, action):
        """Until the fleet is whole again: every pod serves, and is known to every router."""
        if action.workloads:
            await asyncio.gather(*(getattr(self, "_" + action.kind)(w) for w in action.workloads))
        else:
            await getattr(self, "_" + action.kind)()
        await self._pods.all_found()
        self._pods.check()

    async def _restart(self, workload):
        """A rolling update, surge one and unavailable none.  What ends is no replica any more,
        so the next one is not waited with."""
        ending = []
        for old in self._pods.of(workload):
            async with self._surge:
                await self._pods.start(workload)
            ending.append(asyncio.create_task(self._pods.stop(old)))
        await asyncio.gather(*ending)

    async def _drain(self, workload):
        """An eviction: the replacement begins when the old pod begins to end."""
        await asyncio.gather(self._pods.stop(self._pods.of(workload)[0]), self._pods.start(workload))

    async def _kill(self, workload, silently=False):
        async def replace():
            await asyncio.sleep(REPLACED)
            await self._pods.start(workload)
        await asyncio.gather(self._pods.kill(self._pods.of(workload)[0], silently, STALE), replace())

    async def _lose(self, workload):
        await self._kill(workload, silently=True)

    async def _scale(self, workload):
        """One more, and one less when that one has been at work."""
        oldest = self._pods.of(workload)[0]
        await self._pods.start(workload)
        await asyncio.sleep(OVERLAP)
        await self._pods.stop(oldest)

    async def _move(self, workload):
        """The name's answer changes from one address to another; the old one still serves, and
        then nothing is there."""
        old = self._pods.of(workload)[0]
        new = await self._pods.start(workload, hidden=True)
        self._pods.move_name(old, new)
        await asyncio.sleep(OVERLAP)
        await self._pods.kill(old, silently=True, known=0)

    async def _outage(self):
        """The object store is away for some seconds."""
        self._object_store.end()
        await asyncio.sleep(AWAY)
        await self._object_store.start()

    async def _publish(self):
        await self._follow(await self._store.publish())

    async def _rollback(self):
        await self._follow(await self._store.rollback())

    async def _follow(self, sequences):
        """Until all that hold generations hold these: index -> sequence."""
        for _ in range(60):
            behind = []
            for pod in self._pods.pods:
                if pod.workload.kind != "router":
                    page = await asyncio.to_thread(self._pods.metrics, pod)
                    if not self._store.holds(page, sequences):
                        behind.append(pod.name)
            if not behind:
                return
            await asyncio.sleep(1)
        raise Trouble(f"{', '.join(behind)} did not follow the publication within a minute")
