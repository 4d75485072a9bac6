"""Which images there are: what each holds, and what its configuration says."""

from __future__ import annotations

import time
from dataclasses import dataclass

from closure import PRIVATE

# Nobody's on any machine, as other images have it.
USER = 65532


@dataclass(frozen=True)
class Variant:
    title: str
    programs: dict[str, str]  # what they are called in the image, and as what they are built
    # The variant whose programs (but for those of an equal name) and libraries it holds too, and
    # whose layers of libraries it shares.
    below: str = ""
    debian_programs: tuple[str, ...] = ()
    cuda: bool = False  # built with a LibTorch that lies beside Debian
    environment: tuple[str, ...] = ("PATH=/usr/bin",)


_SERVERS_AND_JOBS = {name: name for name in (
    "corpus_encoder", "evaluator", "index_search", "query_encoder", "reranker", "sightlinectl", "trainer")}
# tar unpacks what is sent to the volume of a fleet.
_TAR = ("/usr/bin/tar",)

VARIANTS = {
    "sightline-router": Variant(
        "Sightline's router and sightlinectl", {"router": "router", "sightlinectl": "sightlinectl_small"}),
    "sightline": Variant(
        "Sightline's servers, jobs and sightlinectl", _SERVERS_AND_JOBS, "sightline-router", _TAR),
    "sightline-cuda": Variant(
        "Sightline's servers, jobs and sightlinectl, on CUDA", _SERVERS_AND_JOBS, "sightline-router", _TAR,
        cuda=True,
        environment=(
            "PATH=/usr/bin",
            # The driver's libraries are mounted into a container that runs: into Debian's folder,
            # or, by what knows no distributions, into one of the others.
            f"LD_LIBRARY_PATH={PRIVATE}:/usr/local/nvidia/lib64:/usr/lib64",
            "NVIDIA_VISIBLE_DEVICES=all",
            "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
        )),
}


def chain(name: str) -> list[str]:
    """A variant and those below it, the lowest first."""
    return [*(chain(VARIANTS[name].below) if VARIANTS[name].below else []), name]


def configuration(name: str, labels: dict[str, str], layer_names: list[str]) -> dict:
    """Of the image, without its layers.  There is no entry point: the first argument names a
    program."""
    created = labels["org.opencontainers.image.created"]
    return {
        "architecture": "amd64",
        "os": "linux",
        "created": created,
        "config": {
            "User": f"{USER}:{USER}",
            "Env": list(VARIANTS[name].environment),
            "WorkingDir": "/",
            "Cmd": ["router" if name == "sightline-router" else "sightlinectl", "--help"],
            "Labels": labels,
        },
        "history": [{"created": created, "created_by": layer} for layer in layer_names],
    }


def labels_of(name: str, revision: str, created: int) -> dict[str, str]:
    key = "org.opencontainers.image."
    # Of what is ours and compiled in; Debian's licences are in /usr/share/doc.
    licenses = "Apache-2.0 AND MIT AND LicenseRef-Debian-packages"
    if VARIANTS[name].cuda:
        licenses += " AND LicenseRef-LibTorch-and-CUDA"
    return {
        key + "title": name,
        key + "description": VARIANTS[name].title + ", for x86-64-v3",
        key + "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created)),
        key + "revision": revision,
        key + "licenses": licenses,
    }
