"""Watches how a server ends, from its signal on: it has to say that it does not serve any more
while its port is open, and to keep a call that it has when its port is closed."""

import asyncio
import time

import health

LOOK = 0.1  # seconds between two looks
KEPT = 0.5  # seconds that a call has to outlive the port
# A call that lasts for as long as its caller asks nothing.
PATH = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"


class Call:
    """One that is under way from `begin` until `hang_up`, unless the server ends it."""

    def __init__(self, reader, writer):
        self._writer = writer
        self._ended = asyncio.ensure_future(self._await_end(reader))

    @classmethod
    async def begin(cls, host, port):
        """None if the server cannot be reached."""
        try:
            reader, writer = await asyncio.wait_for(asyncio.open_connection(host, port), 1)
        except (OSError, asyncio.TimeoutError):
            return None
        writer.write(health.beginning(f"{host}:{port}", PATH))
        return cls(reader, writer)

    @staticmethod
    async def _await_end(reader):
        try:
            while True:
                kind, flags, stream, _ = await health.read_frame(reader)
                if stream == health.STREAM and (kind == health.RST_STREAM or flags & health.END_STREAM and
                                                kind in (health.DATA, health.HEADERS)):
                    return
        except (OSError, EOFError, health.Unhealthy):
            return

    def ended(self):
        return self._ended.done()

    def hang_up(self):
        self._ended.cancel()
        self._writer.close()


async def watch(host, port, signal_it, alive, limit):
    """Calls `signal_it` and returns when the port is closed, the process gone, or the monotonic clock
    at `limit`.  What was wrong, in words."""
    call = await Call.begin(host, port)
    if call is None:
        signal_it()
        return ["its port was closed before it was told to end"]
    try:
        return await _watch(host, port, call, signal_it, alive, limit)
    finally:
        call.hang_up()


async def _watch(host, port, call, signal_it, alive, limit):
    signal_it()
    said = lost = False
    while alive() and time.monotonic() < limit:
        answer = await health.status(host, port)
        if answer is None and not await health.is_listening(host, port):
            break
        said = said or answer == health.NOT_SERVING
        lost = lost or call.ended()
        await asyncio.sleep(LOOK)
    await asyncio.sleep(KEPT)
    found = [] if said else ["it closed its port without having said NOT_SERVING"]
    if lost or call.ended():
        found.append("it cut off a call that was under way")
    return found
