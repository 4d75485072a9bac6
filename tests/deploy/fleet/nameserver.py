"""A name server for one fleet, as a cluster's is for its headless Services: a name stands for
the addresses that its pods have at the moment (RFC 1035, UDP, questions of type A).

Any packet may come; what is no question is not answered, so that two servers cannot keep each
other busy.
"""

import asyncio
import socket
import struct

HEADER = struct.Struct(">6H")
MAX_NAME = 255
MAX_ADDRESSES = 16  # what fits into 512 bytes beside the longest name
A, IN = 1, 1
TTL = 1  # seconds
NO_ERROR, MALFORMED, NO_SUCH_NAME, NOT_IMPLEMENTED, REFUSED = 0, 1, 3, 4, 5


class Malformed(Exception):
    """The question cannot be read."""


def read_question(packet):
    """(name in lower case, type, class, where the question ends) of the packet's only question."""
    labels, at = [], HEADER.size
    while True:
        if at >= len(packet):
            raise Malformed("the name has no end")
        length = packet[at]
        if length == 0:
            break
        # Above 63 it is a pointer or of a kind that nobody uses; a lone question needs neither.
        if length > 63 or at + 1 + length > len(packet) or at + 1 + length - HEADER.size > MAX_NAME:
            raise Malformed("a label is too long, or no label")
        labels.append(packet[at + 1:at + 1 + length].decode("latin-1").lower())
        at += 1 + length
    if at + 5 > len(packet):
        raise Malformed("type or class is missing")
    kind, klass = struct.unpack_from(">2H", packet, at + 1)
    return ".".join(labels), kind, klass, at + 5


def answer(packet, names, turn=0):
    """What to send back for a packet, given name -> addresses; None for nothing.  `turn` says
    with which address the list begins."""
    if len(packet) < HEADER.size:
        return None
    number, flags, questions, _, _, _ = HEADER.unpack_from(packet)
    if flags & 0x8000:
        return None  # an answer

    def reply(code, question=b"", addresses=()):
        # An answer by the authority, with the caller's operation and its wish for recursion.
        head = HEADER.pack(number, 0x8480 | flags & 0x7900 | code, 1 if question else 0,
                           len(addresses), 0, 0)
        return head + question + b"".join(
            struct.pack(">3HIH", 0xC000 | HEADER.size, A, IN, TTL, 4) + socket.inet_aton(address)
            for address in addresses)

    if flags & 0x7800:
        return reply(NOT_IMPLEMENTED)
    if questions != 1:
        return reply(MALFORMED)
    try:
        name, kind, klass, end = read_question(packet)
    except Malformed:
        return reply(MALFORMED)
    question = packet[HEADER.size:end]
    if klass != IN:
        return reply(REFUSED, question)
    if name not in names:
        return reply(NO_SUCH_NAME, question)
    addresses = names[name] if kind == A else ()
    begin = turn % len(addresses) if addresses else 0
    return reply(NO_ERROR, question, tuple(addresses[begin:]) + tuple(addresses[:begin]))


class NameServer(asyncio.DatagramProtocol):
    """Serves on the loop that `serve` runs on until `close`."""

    def __init__(self):
        self._names = {}
        self._turn = 0
        self._transport = None

    async def serve(self, address, port=53):
        """Returns the port.  OSError if it cannot be had."""
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(
            lambda: self, local_addr=(address, port))
        return self._transport.get_extra_info("sockname")[1]

    def set(self, names):
        """From now on these are the names: name -> IPv4 addresses."""
        for name, addresses in names.items():
            if len(addresses) > MAX_ADDRESSES:
                raise ValueError(f"{name} has {len(addresses)} addresses, and an answer holds {MAX_ADDRESSES}")
        self._names = {name.lower(): tuple(addresses) for name, addresses in names.items()}

    def datagram_received(self, data, addr):
        self._turn += 1
        reply = answer(data, self._names, self._turn)
        if reply is not None:
            self._transport.sendto(reply, addr)

    def close(self):
        if self._transport:
            self._transport.close()
