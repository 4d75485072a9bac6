"""A network of this machine alone: namespaces on one bridge, each with an address of its own and
the bridge's address as its name server.  What an earlier run has left is removed first.

It takes root, or CAP_NET_ADMIN, CAP_SYS_ADMIN (mount) and CAP_NET_BIND_SERVICE, and an /etc and
a /run that can be written to.
"""

import fcntl
import ipaddress
import os
import shutil
import signal
import subprocess

BRIDGE = "sightline0"
BRIDGE_MAC = "02:00:00:00:00:01"
PREFIX = "sightline-"
# Of the block that is set aside for tests of networks (RFC 2544), so that nothing real has it.
SUBNET = ipaddress.ip_network("198.18.0.0/16")
GATEWAY = str(SUBNET[1])
LOCK = "/run/sightline-fleet.lock"
RESOLVERS = "/etc/netns"


class CannotMake(Exception):
    """This machine makes no such network; the text says why."""


class Taken(Exception):
    """Another run is at work."""


def ip(*arguments):
    """Runs ip; CannotMake with its words if it fails."""
    try:
        done = subprocess.run(("ip", *arguments), capture_output=True, text=True, check=False)
    except OSError as error:
        raise CannotMake(f"ip: {error.strerror}; install iproute2") from error
    if done.returncode != 0:
        raise CannotMake(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def namespaces():
    return [line.split()[0] for line in ip("netns", "list").splitlines() if line.startswith(PREFIX)]


class Network:
    """One at a time on a machine, or Taken.  `close` leaves nothing, processes in the namespaces included."""

    def __init__(self):
        self._made = 0
        try:
            self._lock = open(LOCK, "w", encoding="utf-8")
        except OSError as error:
            raise CannotMake(f"{LOCK}: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._lock.close()
            raise Taken(f"another run is at work: it holds {LOCK}") from error
        try:
            self._remove_all()
            # Without one of its own a bridge has the lowest address of its ports, which come and
            # go, and what is sent to the one before is lost until that has been noticed.
            ip("link", "add", BRIDGE, "address", BRIDGE_MAC, "type", "bridge")
            ip("addr", "add", f"{GATEWAY}/{SUBNET.prefixlen}", "dev", BRIDGE)
            ip("link", "set", BRIDGE, "up")
            self._try_one()
        except (CannotMake, OSError) as error:
            self.close()
            raise CannotMake(str(error)) from error

    def _try_one(self):
        name, _ = self.add("trial")
        ip("netns", "exec", name, "true")
        self.remove(name)

    def add(self, label):
        """(namespace, address), neither of which was there before."""
        self._made += 1
        name, link, address = f"{PREFIX}{label}", f"sl{self._made}", str(SUBNET[256 + self._made])
        os.makedirs(f"{RESOLVERS}/{name}", exist_ok=True)
        # `ip netns exec` lays this over /etc/resolv.conf.
        with open(f"{RESOLVERS}/{name}/resolv.conf", "w", encoding="utf-8") as file:
            file.write(f"nameserver {GATEWAY}\noptions timeout:1 attempts:3\n")
        ip("netns", "add", name)
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", link, "master", BRIDGE, "up")
        ip("-n", name, "addr", "add", f"{address}/{SUBNET.prefixlen}", "dev", "eth0")
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "link", "set", "eth0", "up")
        return name, address

    @staticmethod
    def unplug(name):
        """From now on nothing reaches the namespace, and nobody is told."""
        ip("-n", name, "link", "set", "eth0", "down")

    @staticmethod
    def remove(name):
        """Its processes have ended, or are killed."""
        for pid in ip("netns", "pids", name).split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            # The namespace itself goes when the kernel comes to it, its link's name with it.
            ip("-n", name, "link", "del", "eth0")
        except CannotMake:
            pass  # one that was made by half has none
        ip("netns", "del", name)
        shutil.rmtree(f"{RESOLVERS}/{name}", ignore_errors=True)

    def empty(self):
        """No namespace is left."""
        for name in namespaces():
            self.remove(name)

    def _remove_all(self):
        self.empty()
        if os.path.exists(f"/sys/class/net/{BRIDGE}"):
            ip("link", "del", BRIDGE)
        if os.path.isdir(RESOLVERS):
            for name in os.listdir(RESOLVERS):
                if name.startswith(PREFIX):
                    shutil.rmtree(os.path.join(RESOLVERS, name), ignore_errors=True)
            if not os.listdir(RESOLVERS):
                os.rmdir(RESOLVERS)

    def close(self):
        try:
            self._remove_all()
        except CannotMake as error:
            print(f"fleet: {error}", flush=True)
        self._lock.close()
