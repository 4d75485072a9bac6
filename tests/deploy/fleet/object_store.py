"""An object store for a fleet: the test server of tests/common/object_store, which checks each
signature, as pods and jobs reach it."""

import asyncio
import os
import subprocess

from pods import Trouble

# What an overlay's ConfigMap `object-store` and its Secret say.
KEYS = {"SIGHTLINE_OBJECT_STORE": "s3://bucket/fleet", "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "an-id", "AWS_SECRET_ACCESS_KEY": "a-secret"}
PIECE = 1 << 16


class ObjectStore:
    """Keeps objects in `folder`.  The server listens on the loopback of this machine alone, so
    what comes to a port of `address`, where the pods' namespaces end, is passed on to it."""

    def __init__(self, program, folder, address):
        self._program, self._folder, self._address = program, folder, address
        self._process = self._relay = None
        self._target = 0

    async def serve(self):
        """The environment of who asks it."""
        await self.start()
        self._relay = await asyncio.start_server(self._pass_on, self._address, 0)
        port = self._relay.sockets[0].getsockname()[1]
        return {**KEYS, "AWS_ENDPOINT_URL_S3": f"http://{self._address}:{port}"}

    async def start(self):
        """With the objects that it had."""
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", self._program, self._folder],
            env={**os.environ, **KEYS}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        endpoint = await asyncio.to_thread(self._process.stdout.readline)
        if not endpoint:
            raise Trouble(f"{self._program} does not start")
        self._target = int(endpoint.strip().rsplit(":", 1)[1])

    def end(self):
        """Its connections break, and no other is taken until `start`."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()
            self._process = None

    def close(self):
        if self._relay:
            self._relay.close()
        self.end()

    async def _pass_on(self, reader, writer):
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self._copy(reader, back), self._copy(there, writer))

    @staticmethod
    async def _copy(reader, writer):
        try:
            while piece := await reader.read(PIECE):
                writer.write(piece)
                await writer.drain()
        except OSError:
            pass  # the other way sees it too
        finally:
            writer.close()
