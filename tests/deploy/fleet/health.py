"""Asks a server for its health by gRPC, as the kubelet does: one unary call over HTTP/2, without
TLS, read only as far as it takes to know the status (RFC 7540, RFC 7541, grpc.health.v1)."""

import asyncio
import struct

SERVING, NOT_SERVING = 1, 2
PATH = "/grpc.health.v1.Health/Check"
DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY = 0, 1, 3, 4, 7
END_STREAM, END_HEADERS, PADDED = 1, 4, 8
STREAM = 1
MAX_FRAME = 1 << 14


class Unhealthy(Exception):
    """There is no status to be had."""


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def header(name, value):
    """A literal header, neither compressed nor remembered."""
    def text(data):
        if len(data) > 126:
            raise ValueError(f"{data!r} is too long for a length of one byte")
        return bytes([len(data)]) + data
    return b"\0" + text(name.encode()) + text(value.encode())


def beginning(authority, path):
    """The bytes by which a connection and its only call begin."""
    headers = b"".join(header(name, value) for name, value in (
        (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", authority),
        ("content-type", "application/grpc"), ("te", "trailers")))
    return (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, b"") +
            frame(HEADERS, END_HEADERS, STREAM, headers))


def request(authority):
    """All bytes of a call for the health of the whole server, which an empty message asks for."""
    return beginning(authority, PATH) + frame(DATA, END_STREAM, STREAM, struct.pack(">BI", 0, 0))


def status_of(message):
    """HealthCheckResponse.status; Unhealthy if it is no such message."""
    if message == b"":
        return 0
    if len(message) != 2 or message[0] != 0x08 or message[1] > 0x7F:
        raise Unhealthy(f"{message!r} is no answer of a health service")
    return message[1]


async def read_frame(reader):
    """(kind, flags, stream, payload)"""
    head = await reader.readexactly(9)
    length = int.from_bytes(head[:3], "big")
    if length > MAX_FRAME:
        raise Unhealthy(f"a frame of {length} bytes")
    return *struct.unpack(">BBI", head[3:]), await reader.readexactly(length)


async def read_status(reader):
    """The status that the bytes of a connection carry."""
    body = b""
    while True:
        kind, flags, stream, payload = await read_frame(reader)
        if kind in (RST_STREAM, GOAWAY):
            raise Unhealthy("the call was refused")
        if stream != STREAM:
            continue
        if kind == DATA:
            if flags & PADDED:
                raise Unhealthy("padded data, which gRPC does not send")
            body += payload
            if len(body) >= 5 and len(body) == 5 + int.from_bytes(body[1:5], "big"):
                return status_of(body[5:])
        if flags & END_STREAM:
            raise Unhealthy("the call failed")


async def status(host, port, timeout=1.0):
    """What the server says within `timeout` seconds; None if that is nothing."""
    writer = None

    async def ask():
        nonlocal writer
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(request(f"{host}:{port}"))
        return await read_status(reader)

    try:
        return await asyncio.wait_for(ask(), timeout)
    except (OSError, EOFError, asyncio.TimeoutError, Unhealthy):
        return None
    finally:
        if writer:
            writer.close()


async def is_serving(host, port, timeout=1.0):
    """Whether the server says within `timeout` seconds that it is SERVING."""
    return await status(host, port, timeout) == SERVING


async def is_listening(host, port, timeout=1.0):
    """Whether the port takes a connection within `timeout` seconds."""
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), timeout)
    except (OSError, asyncio.TimeoutError):
        return False
    writer.close()
    return True
