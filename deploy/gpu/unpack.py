"""Unpacks what pack.sh has packed, for check.sh; by `python3 -I`, so that nothing but Python's own is imported.

    unpack.py ARCHIVE FOLDER

FOLDER becomes the archive's pack/, and is not touched before all of that is there.  Others may have made the archive:
it may hold regular files and folders below pack/, and nothing that points elsewhere.  Exit status 1, with a line, if
it cannot be unpacked.
"""

from __future__ import annotations

import errno
import lzma
import os
import shutil
import signal
import sys
import tarfile

_TOP = "pack"
_CHUNK = 1 << 20


class UnpackError(Exception):
    """What is wrong with the archive."""


def place_of(member: tarfile.TarInfo) -> str:
    """Where below the folder it goes."""
    top, *parts = member.name.split("/")
    if top != _TOP or not set(parts).isdisjoint({"", ".", ".."}):
        raise UnpackError(f"is no archive of pack.sh: {member.name!r} does not lie below {_TOP}/")
    if not (member.isdir() or member.isreg() and parts) or member.issparse():
        raise UnpackError(f"is no archive of pack.sh: {member.name!r} is no regular file and no folder")
    return os.path.join(*parts) if parts else ""


def unpack(archive: str, folder: str) -> None:
    """Into a folder that is empty."""
    with lzma.open(archive) as packed:
        with tarfile.open(fileobj=packed, mode="r|") as tar:
            for member in tar:
                path = os.path.join(folder, place_of(member))
                if member.isdir():
                    os.makedirs(path, exist_ok=True)
                    continue
                os.makedirs(os.path.dirname(path), exist_ok=True)
                # Modes and owners are nobody's here, and no file comes twice.
                with open(path, "xb") as file:
                    shutil.copyfileobj(tar.extractfile(member), file, _CHUNK)
        # The checksum is at the end.
        while packed.read(_CHUNK):
            pass
    if not os.path.isfile(os.path.join(folder, "build.json")):
        raise UnpackError(f"is no archive of pack.sh: it has no {_TOP}/build.json")


def put_in_place(archive: str, folder: str) -> None:
    new = folder + ".new"
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(new)
    try:
        unpack(archive, new)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def fault(error: Exception, folder: str) -> str:
    """What `archive` is or cannot, and what to do."""
    if isinstance(error, UnpackError):
        return str(error)
    if isinstance(error, EOFError) or "unexpected end" in str(error):
        return "is truncated: copy it again"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"cannot be unpacked, disk full: free some of that of {folder}, or name another with --out"
    if isinstance(error, lzma.LZMAError) and "orrupt" in str(error):
        return f"is damaged: copy it again ({error})"
    if isinstance(error, OSError):
        return f"cannot be unpacked: {error}"
    return f"is no archive of pack.sh ({error})"


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    archive, folder = sys.argv[1:]
    try:
        put_in_place(archive, folder)
    # tarfile raises a dozen others for what others have made.
    except Exception as error:  # pylint: disable=broad-exception-caught
        print(f"check: {archive} {fault(error, folder)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
