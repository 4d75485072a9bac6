"""The store that a fleet serves: squares of two colours, encoded by the overlay's own job with the
demo's model, in two generations."""

import asyncio
import json
import os
import re
import subprocess
import sys

from manifests import only, outside
from pods import Trouble

INDEXES = ("images", "captions")
ALL, FEWER = "all", "fewer"
LEFT_OUT = 5  # pictures that the generation `fewer` does not have


class Store:
    """On `volume`, laid out as the volume of a cluster, and in the object store that `environment`
    names, if it does."""

    def __init__(self, root, volume, program_of, environment):
        self._root, self._volume, self._program_of = root, volume, program_of
        self._environment = {**os.environ, **environment}
        self._store = os.path.join(volume, "store")
        self.questions = os.path.join(volume, "questions.txt")
        self.pictures = os.path.join(volume, "pictures")

    def make(self, config):
        """`config` is the job's configuration.  Afterwards FEWER is published."""
        os.makedirs(self.pictures)
        tests = os.path.join(self._root, "tests/deploy/images/pictures.py")
        self._run([sys.executable, "-B", tests, self.pictures])
        captions = os.path.join(self.pictures, "captions.jsonl")
        with open(captions, encoding="utf-8") as file:
            lines = file.readlines()
        with open(self.questions, "w", encoding="utf-8") as file:
            file.writelines(json.loads(line)["captions"][0] + "\n" for line in lines)
        self._run([self._program_of("sightlinectl"), "add-model",
                   os.path.join(self._root, "deploy/demo/model"), "--store", self._store])
        path = os.path.join(self._volume, "corpus_encoder.yaml")
        for generation, kept in ((FEWER, lines[:-LEFT_OUT]), (ALL, lines)):
            with open(captions, "w", encoding="utf-8") as file:
                file.writelines(kept)
            with open(path, "w", encoding="utf-8") as file:
                file.write(outside(config, self._volume, "") +
                           f"generation: {generation}\npublish: {str(generation == FEWER).lower()}\n")
            self._run([self._program_of("corpus_encoder"), "--config", path])

    def _run(self, command):
        done = subprocess.run(["setpriv", "--pdeathsig", "KILL", *command], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, env=self._environment)
        if done.returncode != 0:
            raise Trouble(f"{' '.join(command)} failed: {' '.join(done.stdout.splitlines()[:3])}")

    # --- publications, while a fleet serves it ---

    async def publish(self):
        """Index -> sequence of what is published."""
        return await self._ctl("publish", ALL, *self._volume_too(), *self._place())

    async def rollback(self):
        return await self._ctl("rollback", *self._place())

    def _place(self):
        """Where publications are told: in the object store, if there is one."""
        url = self._environment.get("SIGHTLINE_OBJECT_STORE")
        return ["--object-store", url] if url else ["--store", self._store]

    def _volume_too(self):
        """Where what the object store lacks is taken from."""
        return ["--store", self._store] if "SIGHTLINE_OBJECT_STORE" in self._environment else []

    async def _ctl(self, command, *arguments):
        sequences = {}
        for index in INDEXES:
            process = await asyncio.create_subprocess_exec(
                self._program_of("sightlinectl"), command, index, *arguments,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env=self._environment)
            output, _ = await process.communicate()
            if process.returncode != 0:
                raise Trouble(f"sightlinectl {command} {index}: {output.decode().strip()}")
            sequences[index] = int(only(r"\(sequence (\d+)\)$", output.decode(), f"sightlinectl {command} {index}"))
        return sequences

    @staticmethod
    def holds(page, sequences):
        """Whether a server's page of metrics says that it serves these."""
        ready = {}
        for labels, value in re.findall(r"^sightline_generation_sequence\{(.*)\} (\S+)$", page, flags=re.M):
            fields = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            if fields["which"] == "ready":
                ready[fields["index"]] = float(value)
        return all(ready.get(index, -1) >= sequence for index, sequence in sequences.items())
