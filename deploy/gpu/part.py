"""A part of check.sh: what it says and runs, and the JSON that it keeps."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import shutil
import subprocess
import sys
import traceback

# What parts measure beside PART.json.
_ALSO = {"search": ("search-*.json",), "models": ("stack.json", "whole.json"), "fleet": ("fleet/report.json",)}
# What programs end with where there is no GPU that they can use.
MISSING = 3
_KILLED = -9


class PartError(Exception):
    """What was wrong, and what to do."""


class MissingError(PartError):
    """Something is not here."""


class Part:
    """A part's text, and where its programs lie.  What an earlier run has measured is gone."""

    def __init__(self, name: str, bin_folder: str, out: str, cpu_only: bool):
        self.name, self.bin, self.out, self.cpu_only = name, bin_folder, out, cpu_only
        self.failures: set[int] = set()
        # pylint: disable-next=consider-using-with
        self._text = open(os.path.join(out, name + ".txt"), "w", encoding="utf-8")
        for pattern in (name + ".json", *_ALSO.get(name, ())):
            for path in glob.glob(os.path.join(glob.escape(out), pattern)):
                os.unlink(path)
        # Programs that were killed leave theirs there.
        self._temporary = os.path.join(out, "tmp")
        shutil.rmtree(self._temporary, ignore_errors=True)
        os.makedirs(self._temporary)

    def say(self, text: str) -> None:
        for file in (sys.stdout, self._text):
            print(text, file=file, flush=True)

    def run(self, *command: str, device: bool = False) -> tuple[int, str]:
        """A program's exit status and output, which is said; FOLDER/PROGRAM comes first."""
        self.say("$ " + " ".join(command))
        path = os.path.join(self.bin, command[0])
        if not os.path.exists(path):
            raise MissingError(f"{path} is not built; run --only build")
        environment = dict(os.environ, OMP_NUM_THREADS="1", SIGHTLINE_DEVICE="cuda" if device else "cpu",
                           TMPDIR=self._temporary)
        # With check.sh's lock, which a program that is left running has to hold.
        run = subprocess.Popen([path, *command[1:]], env=environment, encoding="utf-8", errors="replace",
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, close_fds=False)
        lines = []
        with run:
            for line in run.stdout:
                lines.append(line)
                self.say(line.rstrip("\n"))
        if run.returncode != 0:
            self.failures.add(run.returncode)
            self.say(f"{os.path.basename(path)} {_ending(run.returncode)}")
        return run.returncode, "".join(lines)

    def write(self, name: str, value: object) -> None:
        path = os.path.join(self.out, name)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(value, file, indent=1, sort_keys=True)
        os.replace(path + ".new", path)

    def measured(self, name: str, *command: str, last: str = "") -> tuple[bool, object]:
        """Whether a program held that writes what it measures to `name` of OUT, and that; not what an earlier run
        has left there.  One that has measured nothing does not hold, unless it says what it has left out.  `last` is
        what it is given after its options."""
        path = os.path.join(self.out, name)
        if os.path.exists(path):
            os.unlink(path)
        status, _ = self.run(*command, "--json", path, *filter(None, [last]))
        result = self.read(name)
        told = isinstance(result, dict) and (bool(result.get("left_out")) or [] not in result.values())
        if status == 0 and not told:
            self.say(f"{os.path.basename(command[0])} has measured nothing")
        return status == 0 and told, result

    def read(self, name: str) -> object:
        """Of this part or an earlier one; None if there is none."""
        path = os.path.join(self.out, name)
        try:
            with open(path, encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise PartError(f"{path} is damaged ({error}); run its part again") from error

    def end(self, status: int) -> None:
        """PART.json says whether the part held, beside what it has measured."""
        name = self.name + ".json"
        try:
            measured = self.read(name)
        except PartError:
            measured = None
        if not isinstance(measured, dict):
            measured = {} if measured is None else {"runs": measured}
        self.write(name, measured | {"held": status == 0, "status": status})

    def tell_error(self, text: str, with_traceback: bool = False) -> None:
        """A line; where the code comes from that raised it is for PART.txt."""
        print(f"check: {text}" + (f"; more is in {self.name}.txt" if with_traceback else ""), file=sys.stderr)
        with contextlib.suppress(OSError):
            print(traceback.format_exc() if with_traceback else text, file=self._text, flush=True)

    def close(self) -> None:
        # On a disk that is full it fails, and the file is closed all the same.
        with contextlib.suppress(OSError):
            self._text.close()


def _ending(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    return f"ended with signal {-status}" + ("; out of memory?" if status == _KILLED else "")
