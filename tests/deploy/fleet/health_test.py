"""Health is read from the bytes of a gRPC answer, and nothing else passes for it."""

import asyncio
import struct

import cases
import health
from health import DATA, END_STREAM, GOAWAY, HEADERS, SETTINGS, frame

SERVING = frame(DATA, 0, 1, b"\0\0\0\0\2\x08\1")


def status(data):
    async def feed():
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        return await health.read_status(reader)
    return asyncio.run(feed())


async def asked_of(answer):
    """(is_serving, what the server was sent, is_listening) of a server that answers so."""
    heard = []

    async def serve(reader, writer):
        heard.append(await reader.read(4096))
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    good = await health.is_serving("127.0.0.1", port, timeout=10)
    listening = await health.is_listening("127.0.0.1", port, timeout=10)
    server.close()
    return good, heard[0], listening


class HealthTest(cases.Case):

    def test_the_status_stands_behind_what_else_is_sent(self):
        before = frame(SETTINGS, 0, 0, b"\0" * 12) + frame(HEADERS, 4, 1, b"\x88")
        self.assertEqual(status(before + SERVING), health.SERVING)
        self.assertEqual(status(before + frame(DATA, 0, 1, b"\0\0\0\0\2\x08\2")), 2)
        self.assertEqual(status(frame(DATA, 0, 1, b"\0\0\0\0\0")), 0)

    def test_a_message_may_come_in_pieces(self):
        self.assertEqual(status(frame(DATA, 0, 1, b"\0\0\0") + frame(DATA, 0, 1, b"\0\2\x08\1")), 1)

    def test_refusals_are_no_status(self):
        for data in (frame(GOAWAY, 0, 0, b"\0" * 8), frame(3, 0, 1, b"\0" * 4),
                     frame(HEADERS, END_STREAM | 4, 1, b"\x88"), frame(DATA, 8, 1, b"\0"),
                     frame(DATA, 0, 1, b"\0\0\0\0\2\x10\1"), frame(DATA, 0, 1, b"\0\0\0\0\3\x08\1\1"),
                     struct.pack(">I", 1 << 20)[1:] + b"\0\0\0\0\0\1"):
            with self.assertRaises(health.Unhealthy, msg=data):
                status(data)

    def test_a_connection_that_breaks_off_is_no_status(self):
        for length in range(len(SERVING)):
            with self.assertRaises(EOFError):
                status(SERVING[:length])

    def test_a_call_is_made_as_http_2_wants_it(self):
        good, heard, listening = asyncio.run(asked_of(SERVING))
        self.assertTrue(good and listening)
        self.assertTrue(heard.startswith(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
        self.assertIn(b"\x05:path\x1c/grpc.health.v1.Health/Check", heard)
        self.assertTrue(heard.endswith(frame(DATA, END_STREAM, 1, b"\0" * 5)))
        self.assertFalse(asyncio.run(asked_of(b"HTTP/1.1 400 Bad Request\r\n\r\n"))[0])

    def test_nobody_there_is_neither_serving_nor_listening(self):
        async def ask():
            server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            server.close()
            await server.wait_closed()
            return await health.is_serving("127.0.0.1", port), await health.is_listening("127.0.0.1", port)
        self.assertEqual(asyncio.run(ask()), (False, False))


if __name__ == "__main__":
    cases.main()
