"""The name server answers questions as a resolver wants them, and any other packet without harm."""

import asyncio
import random
import socket
import struct

import cases
import nameserver

NAMES = {"reranker": ("198.18.1.1", "198.18.1.2"), "empty": ()}


def question(name=b"\x08reranker\0", kind=1, klass=1, flags=0x0100, count=1):
    return struct.pack(">6H", 7, flags, count, 0, 0, 0) + name + struct.pack(">2H", kind, klass)


def read(reply):
    """(number, flags, code, addresses, TTLs) of an answer."""
    number, flags, _, answers, _, _ = struct.unpack_from(">6H", reply)
    addresses, times = [], set()
    at = len(reply) - 16 * answers
    for _ in range(answers):
        pointer, kind, klass, ttl, length = struct.unpack_from(">3HIH", reply, at)
        assert (pointer, kind, klass, length) == (0xC00C, 1, 1, 4)
        addresses.append(socket.inet_ntoa(reply[at + 12:at + 16]))
        times.add(ttl)
        at += 16
    return number, flags, flags & 15, addresses, times


class NameServerTest(cases.Case):

    def code(self, packet):
        return read(nameserver.answer(packet, NAMES))[2]

    def test_a_name_has_its_addresses_in_turn(self):
        number, flags, code, addresses, times = read(nameserver.answer(question(), NAMES))
        self.assertEqual((number, code, addresses, times), (7, 0, ["198.18.1.1", "198.18.1.2"], {1}))
        self.assertEqual(flags & 0x8500, 0x8500)  # an answer, by the authority, recursion as desired
        self.assertEqual(read(nameserver.answer(question(), NAMES, 1))[3], ["198.18.1.2", "198.18.1.1"])

    def test_case_does_not_matter(self):
        self.assertEqual(len(read(nameserver.answer(question(b"\x08ReRanker\0"), NAMES))[3]), 2)

    def test_an_unknown_name_and_one_without_addresses(self):
        self.assertEqual(self.code(question(b"\x03who\0")), nameserver.NO_SUCH_NAME)
        self.assertEqual(read(nameserver.answer(question(b"\x05empty\0"), NAMES))[2:4], (0, []))

    def test_a_question_of_another_type_finds_nothing_but_the_name(self):
        self.assertEqual(read(nameserver.answer(question(kind=28), NAMES))[2:4], (0, []))

    def test_what_is_not_for_this_server_is_refused(self):
        self.assertEqual(self.code(question(klass=3)), nameserver.REFUSED)
        self.assertEqual(self.code(question(flags=0x2900)), nameserver.NOT_IMPLEMENTED)

    def test_answers_and_scraps_are_not_answered(self):
        self.assertIsNone(nameserver.answer(question(flags=0x8100), NAMES))
        self.assertIsNone(nameserver.answer(question()[:11], NAMES))
        self.assertIsNone(nameserver.answer(b"", NAMES))

    def test_hostile_names_are_malformed(self):
        for name in (b"\xc0\x0c", b"\x3f" + b"a" * 10, b"\x40" + b"a" * 64 + b"\0", (b"\x01a" * 200) + b"\0"):
            self.assertEqual(self.code(question(name)), nameserver.MALFORMED, name)
        self.assertEqual(self.code(question()[:-3]), nameserver.MALFORMED)
        self.assertEqual(self.code(question(count=2)), nameserver.MALFORMED)
        self.assertEqual(self.code(question(count=0)), nameserver.MALFORMED)

    def test_no_bytes_at_all_break_it(self):
        chance = random.Random(1)
        for _ in range(20000):
            packet = bytearray(question())
            for _ in range(chance.randrange(1, 6)):
                packet[chance.randrange(len(packet))] = chance.randrange(256)
            reply = nameserver.answer(bytes(packet[:chance.randrange(len(packet) + 1)]), NAMES)
            self.assertLessEqual(len(reply or b""), 512)

    def test_more_addresses_than_an_answer_holds_are_refused(self):
        with self.assertRaisesRegex(ValueError, "reranker has 17 addresses"):
            nameserver.NameServer().set({"reranker": ["10.0.0.1"] * 17})

    def test_the_socket_answers_with_what_was_set_last(self):
        async def ask():
            server = nameserver.NameServer()
            port = await server.serve("127.0.0.1", 0)
            loop = asyncio.get_running_loop()
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as caller:
                caller.setblocking(False)
                caller.connect(("127.0.0.1", port))
                found = []
                for address in ("198.18.0.8", "198.18.0.9"):
                    server.set({"Reranker": [address]})
                    caller.send(b"scrap")
                    caller.send(question())
                    found += read(await asyncio.wait_for(loop.sock_recv(caller, 512), 10))[3]
                server.close()
                return found
        self.assertEqual(asyncio.run(ask()), ["198.18.0.8", "198.18.0.9"])


if __name__ == "__main__":
    cases.main()
