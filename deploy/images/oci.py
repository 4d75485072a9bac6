"""Writes container images: layers, and the archive of an OCI layout with one image.

What is written depends on the entries and the version of zstd alone: not on the clock, the
user, the folder or the order in which files are found.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
from dataclasses import dataclass

INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+zstd"
# Reads fast whatever the level; higher ones take minutes for a tenth of the size.
_ZSTD = ("zstd", "--quiet", "--force", "-6")


@dataclass(frozen=True)
class Entry:
    """Something at a path of the image.  One of `source`, `content`, `link` says what; a
    folder has none of them."""
    path: str  # absolute
    mode: int = 0o644
    source: str = ""  # a file of this machine
    content: bytes | None = None
    link: str = ""
    owner: int = 0  # user and group

    def info(self) -> tarfile.TarInfo:
        """All of the header but the size; the time is the epoch's, so that a layer stays the
        same as long as its files do."""
        info = tarfile.TarInfo(self.path.lstrip("/"))
        info.uid = info.gid = self.owner
        info.mode = self.mode
        if self.link:
            info.type, info.linkname, info.mode = tarfile.SYMTYPE, self.link, 0o777
        elif not self.source and self.content is None:
            info.type = tarfile.DIRTYPE
        return info


def with_folders(entries: list[Entry]) -> list[Entry]:
    """In order of paths, each once, with the folders above them."""
    placed = {entry.path: entry for entry in entries}
    if len(placed) != len(entries):
        paths = sorted(entry.path for entry in entries)
        twice = [path for path, other in zip(paths, paths[1:]) if path == other]
        raise ValueError(f"two entries for {', '.join(twice)}")
    for path in list(placed):
        while (path := os.path.dirname(path)) != "/":
            placed.setdefault(path, Entry(path, 0o755))
    return [placed[path] for path in sorted(placed)]


@dataclass(frozen=True)
class Blob:
    path: str
    digest: str
    size: int
    diff_id: str = ""  # of a layer: the digest before compression

    def descriptor(self, media_type: str) -> dict:
        return {"mediaType": media_type, "digest": self.digest, "size": self.size}


def write_layer(entries: list[Entry], path: str) -> Blob:
    """A layer of these entries and the folders above them."""
    with open(path, "wb") as file, subprocess.Popen(
            _ZSTD, stdin=subprocess.PIPE, stdout=file) as zstd:
        plain = _Hashed(zstd.stdin)
        with tarfile.open(fileobj=plain, mode="w|", format=tarfile.PAX_FORMAT) as tar:
            for entry in with_folders(entries):
                _add(tar, entry)
        zstd.stdin.close()
        if zstd.wait() != 0:
            raise OSError(f"zstd could not write {path}")
    return Blob(path, file_digest(path), os.path.getsize(path), plain.digest())


def _add(tar: tarfile.TarFile, entry: Entry) -> None:
    info = entry.info()
    if entry.source:
        with open(entry.source, "rb") as content:
            info.size = os.fstat(content.fileno()).st_size
            tar.addfile(info, content)
    else:
        info.size = len(entry.content or b"")
        tar.addfile(info, io.BytesIO(entry.content or b""))


def write_tree(entries: list[Entry], folder: str) -> None:
    """The same as a folder; to give files their owners takes root."""
    for entry in with_folders(entries):
        path = os.path.join(folder, entry.path.lstrip("/"))
        if entry.link:
            os.symlink(entry.link, path)
        elif entry.source:
            shutil.copyfile(entry.source, path)
        elif entry.content is not None:
            with open(path, "wb") as file:
                file.write(entry.content)
        else:
            os.makedirs(path, exist_ok=True)
        if not entry.link:
            os.chown(path, entry.owner, entry.owner)
            os.chmod(path, entry.mode)
            os.utime(path, (0, 0))


def write_archive(layers: list[Blob], config: dict, annotations: dict[str, str], name: str,
                  path: str) -> str:
    """An archive with the image of these layers, `config` being all of its configuration but
    the layers; returns the image's digest.  `name` is no part of what the digest is of."""
    config = {**config, "rootfs": {"type": "layers", "diff_ids": [l.diff_id for l in layers]}}
    config_bytes = _json(config)
    manifest_bytes = _json({
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": _descriptor(config_bytes, CONFIG_TYPE),
        "layers": [layer.descriptor(LAYER_TYPE) for layer in layers],
        "annotations": annotations,
    })
    manifest = _descriptor(manifest_bytes, MANIFEST_TYPE)
    # podman reads the one, containerd the other.
    manifest["annotations"] = {"io.containerd.image.name": name,
                               "org.opencontainers.image.ref.name": name}
    entries = [
        Entry("/oci-layout", content=_json({"imageLayoutVersion": "1.0.0"})),
        Entry("/index.json", content=_json(
            {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [manifest]})),
        Entry(_blob_path(_sha256(config_bytes)), content=config_bytes),
        Entry(_blob_path(_sha256(manifest_bytes)), content=manifest_bytes),
        *(Entry(_blob_path(layer.digest), source=layer.path) for layer in layers),
    ]
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for entry in with_folders(entries):
            _add(tar, entry)
    return manifest["digest"]


def file_digest(path: str) -> str:
    with open(path, "rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


class _Hashed:
    """A stream that knows the digest of what went through it."""

    def __init__(self, stream):
        self._stream = stream
        self._hash = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        return self._stream.write(data)

    def digest(self) -> str:
        return "sha256:" + self._hash.hexdigest()


def _sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _descriptor(data: bytes, media_type: str) -> dict:
    return Blob("", _sha256(data), len(data)).descriptor(media_type)


def _blob_path(digest: str) -> str:
    return "/blobs/" + digest.replace(":", "/")


def _json(value: dict) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
