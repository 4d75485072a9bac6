"""What claims.py needs of the machine: its programs, files and locks."""

import ctypes
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
AGAIN = 75


class Failed(Exception):
    """What went wrong, for people; `status` is what the program ends with."""

    def __init__(self, message, status=1):
        super().__init__(message)
        self.status = status


def run(arguments):
    """What the program prints.  Its progress goes to the terminal.  A signal that comes meanwhile
    becomes its SIGTERM, and it ends as it does then: the trainer, with a checkpoint."""
    asked, child = [], None

    def stop(*_):
        asked.append(True)
        if child is not None:
            child.terminate()

    prctl, death, parent = ctypes.CDLL(None).prctl, 1, os.getpid()

    def end_with_parent():
        """It ends, as by SIGTERM, if this process is killed."""
        prctl(death, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(AGAIN)

    # Before it begins: one that comes while it does is told to it then.
    before = {number: signal.signal(number, stop)
              for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        # In a group of its own: Ctrl-C reaches it once, through here.
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, start_new_session=True,
                              preexec_fn=end_with_parent) as child:
            if asked:
                child.terminate()
            out = child.communicate()[0]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if asked:
        raise Failed("interrupted; the same command goes on", AGAIN)
    if child.returncode != 0:
        name = os.path.basename(arguments[0])
        raise Failed(f"{name} {arguments[1]} ended with {child.returncode}",
                     AGAIN if child.returncode == AGAIN else 1)
    return out


def write(path, text):
    """The file appears whole or not at all."""
    with open(path + ".tmp", "w", encoding="utf-8") as target:
        target.write(text)
    os.replace(path + ".tmp", path)


def put_folder(source, path):
    """A copy of a folder, in place of what is there; never half of it."""
    shutil.rmtree(path + ".tmp", ignore_errors=True)
    shutil.copytree(source, path + ".tmp")
    shutil.rmtree(path, ignore_errors=True)
    os.rename(path + ".tmp", path)


def read(path):
    """The text of a file, None if there is none."""
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as source:
        try:
            return source.read()
        except UnicodeDecodeError as error:
            raise Failed(f"{path} is no text: {error}") from error


def parsed(text, where):
    """JSON; Failed says where it stands if it is none."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise Failed(f"{where} is no JSON: {error}") from error


def lines_of(path):
    """JSON, an object a line."""
    with open(path, encoding="utf-8") as source:
        return [parsed(line, f"{path}, line {number},") for number, line in enumerate(source, start=1)]


def reports_of(path):
    """A run's metrics.  A kill or a full disk may have left half a line, which a run passes over."""
    reports = []
    for line in (read(path) or "").splitlines():
        try:
            report = json.loads(line)
        except ValueError:
            continue
        if isinstance(report, dict) and "event" in report:
            reports.append(report)
    return reports


def number_of(path):
    """That a file has; 0 if there is none."""
    text = read(path) or "0"
    if not re.fullmatch(r"[0-9]+(\.[0-9]*)?(e[-+]?[0-9]+)?\s*", text):
        raise Failed(f"{path} has no number of seconds; remove it, or write what the row took")
    return float(text)


def sum_of(path):
    with open(path, "rb") as source:
        return hashlib.sha256(source.read()).hexdigest()


def made(path, key, make):
    """Calls `make`, which writes `path`, unless that was made for the same key."""
    if not os.path.exists(path) or read(path + ".key") != key:
        if os.path.exists(path + ".key"):
            os.remove(path + ".key")
        make()
        write(path + ".key", key)
    return path


def lock(folder):
    """Until the program ends nobody else works in `folder`."""
    handle = open(os.path.join(folder, "lock"), "w", encoding="utf-8")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Failed(f"another run works in {folder}; wait for it", AGAIN) from error
    return handle


def machine():
    """The processor's name, its widest vectors, since a name may be of several, how many cores there
    are, and the kernel that OpenBLAS is told to use, where it is told: most of the time goes there."""
    text = read("/proc/cpuinfo") or ""
    says = dict(line.replace("\t", "").split(":", 1) for line in text.splitlines() if ":" in line)
    flags = says.get("flags", "").split()
    found = {"processor": says.get("model name", "unknown").strip(),
             "vectors": next((of for of in ("amx_bf16", "avx512f", "avx2") if of in flags), "unknown"),
             "cores": len(os.sched_getaffinity(0))}
    kernel = os.environ.get("OPENBLAS_CORETYPE")
    return dict(found, openblas=kernel) if kernel else found


def built_programs():
    """Paths by name; installs and builds what is missing."""
    subprocess.run([os.path.join(ROOT, "deploy/bazel/setup.sh"),
                    os.path.join(HERE, "packages.txt")], check=True, stdout=sys.stderr)
    names = ["trainer", "evaluator", "sightlinectl"]
    subprocess.run(["bazel", "build", "--noshow_progress"] + [f"//services/{n}" for n in names],
                   cwd=ROOT, check=True, stdout=sys.stderr)
    binaries = subprocess.run(["bazel", "info", "bazel-bin"], cwd=ROOT, check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()
    return {name: os.path.join(binaries, "services", name, name) for name in names}
