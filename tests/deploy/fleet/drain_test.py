"""A server ends well that says so first, and keeps the calls that it has."""

import asyncio

import cases
import drain
from health import DATA, END_STREAM, GOAWAY, RST_STREAM, frame

STATUS = {status: frame(DATA, 0, 1, b"\0\0\0\0\2\x08" + bytes([status])) for status in (1, 2)}


drain.LOOK = 0.01
drain.KEPT = 0.2


class Server:
    """Answers every call for health, and holds every other; `end` is what the signal has it do."""

    def __init__(self, end):
        self._end, self._held, self._tasks = end, [], []
        self._said = None
        self.status, self.gone = 1, False

    async def _serve(self, reader, writer):
        asked = await reader.read(4096)
        if drain.PATH.encode() in asked:
            self._held.append(writer)
        elif asked:
            writer.write(STATUS[self.status])
            writer.close()
            self._said = self.status

    async def watched(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        loop = asyncio.get_running_loop()
        found = await drain.watch("127.0.0.1", port, lambda: self._tasks.append(loop.create_task(self._end(self))),
                                  lambda: not self.gone, loop.time() + 20)
        for writer in self._held:
            writer.close()
        self._server.close()
        return found

    async def say(self, status):
        """And wait until it was asked for."""
        self.status, self._said = status, None
        while self._said is None or not self._held:
            await asyncio.sleep(0)

    def close_port(self):
        self._server.close()

    async def cut_off(self):
        """The port and what it took, once it has the call that is held."""
        while not self._held:
            await asyncio.sleep(0)
        self.close_port()
        for writer in self._held:
            writer.close()

    def send(self, data):
        for writer in self._held:
            writer.write(data)


def watch(end):
    async def run():
        return await Server(end).watched()
    return asyncio.run(run())


class DrainTest(cases.Case):

    def test_a_good_end_says_so_and_keeps_its_calls(self):
        async def end(server):
            await server.say(2)
            server.send(frame(GOAWAY, 0, 0, b"\0" * 8))
            server.close_port()
        self.assertEqual(watch(end), [])

    def test_a_port_that_closes_before_anything_was_said_is_seen(self):
        async def end(server):
            await server.say(1)
            server.close_port()
        self.assertEqual(watch(end), ["it closed its port without having said NOT_SERVING"])

    def test_a_call_that_is_cut_off_is_seen(self):
        for last in (frame(RST_STREAM, 0, 1, b"\0" * 4), frame(1, END_STREAM | 4, 1, b"\x88")):
            async def end(server, last=last):
                await server.say(2)
                server.close_port()
                server.send(last)
            self.assertEqual(watch(end), ["it cut off a call that was under way"])

    def test_a_process_that_is_gone_at_once_is_seen(self):
        async def end(server):
            await server.cut_off()
            server.gone = True
        self.assertEqual(len(watch(end)), 2)


if __name__ == "__main__":
    cases.main()
