"""Network namespaces with veth pairs and a bridge between them, as a container runtime sets them up.

Three namespaces: `host` with a bridge, `left` and `right` each joined to it by a veth pair. Nothing of the
machine's own network is touched.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.support.console import CHECKOUT

PEERS = CHECKOUT / "benchmarks" / "kafka_peers.py"
HOST, LEFT, RIGHT = "10.99.0.1", "10.99.0.2", "10.99.0.3"
LEFT6, RIGHT6 = "fd99::2", "fd99::3"
_READY_SECONDS = 240


class Lab:
    """The namespaces by role, and processes inside them."""

    def __init__(self, prefix: str) -> None:
        self.names = {role: f"{prefix}{role}" for role in ("host", "left", "right")}
        self._processes: list[subprocess.Popen[str]] = []

    def run(self, role: str, *command: str) -> str:
        """Run to the end inside a namespace; its output. Fails the test with what it said."""
        done = subprocess.run(
            self.inside(role, command), capture_output=True, text=True, check=False, timeout=_READY_SECONDS
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def inside(self, role: str, command: Sequence[str]) -> list[str]:
        """Return the command line that runs inside a namespace."""
        return ["ip", "netns", "exec", self.names[role], *command]

    def start(self, role: str, *command: str) -> subprocess.Popen[str]:
        """Start inside a namespace; ended with the lab."""
        process = subprocess.Popen(
            self.inside(role, command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=CHECKOUT,
        )
        self._processes.append(process)
        return process

    def broker(self, role: str, address: str, port: int = 9092) -> None:
        """Run a broker that listens inside a namespace."""
        process = self.start(role, sys.executable, str(PEERS), "broker", address, str(port))
        assert process.stdout is not None
        assert process.stdout.readline().startswith("listening")

    def client(
        self, role: str, address: str, requests: int, size: int, port: int = 9092
    ) -> list[tuple[int, int, int]]:
        """Return a client inside a namespace: correlation id, bytes sent and bytes received of each
        exchange.
        """
        said = self.run(
            role, sys.executable, str(PEERS), "client", address, str(port),
            "--requests", str(requests), "--size", str(size),
        )  # fmt: skip
        rows = [tuple(map(int, line.split())) for line in said.splitlines()]
        return [(row[0], row[1], row[2]) for row in rows]

    def wait_until_seen(self, file: Path, mark: str) -> None:
        """Send datagrams until one is in a capture file: what was sent before it is there too."""
        program = (
            f"import socket; socket.socket(type=socket.SOCK_DGRAM).sendto({mark.encode()!r}, ({HOST!r}, 9))"
        )
        end = time.monotonic() + _READY_SECONDS
        while time.monotonic() < end:
            self.run("left", sys.executable, "-S", "-c", program)
            if file.exists() and mark.encode() in file.read_bytes():
                return
        raise AssertionError(f"{file} has no {mark}")

    def build(self) -> None:
        """Make namespaces, bridge and veth pairs."""
        for name in self.names.values():
            _ip("netns", "add", name)
        host = self.names["host"]
        _ip("-n", host, "link", "add", "br0", "type", "bridge", "forward_delay", "0", "mcast_snooping", "0")
        _ip("-n", host, "address", "add", f"{HOST}/24", "dev", "br0")
        for role, address, address6 in (("left", LEFT, LEFT6), ("right", RIGHT, RIGHT6)):
            name = self.names[role]
            _ip(
                "-n",
                host,
                "link",
                "add",
                f"veth-{role}",
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                name,
            )
            _ip("-n", host, "link", "set", f"veth-{role}", "master", "br0", "up")
            _ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            _ip("-n", name, "address", "add", f"{address6}/64", "dev", "eth0", "nodad")
            _ip("-n", name, "link", "set", "eth0", "up")
            _ip("-n", name, "link", "set", "lo", "up")
        _ip("-n", host, "link", "set", "lo", "up")
        _ip("-n", host, "link", "set", "br0", "up")

    def tear_down(self) -> None:
        """End the processes and delete the namespaces, and all in them."""
        for process in self._processes:
            process.kill()
            process.communicate()
        for name in self.names.values():
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


@contextmanager
def lab(prefix: str) -> Iterator[Lab]:
    """Yield a lab; skip the test if namespaces cannot be made."""
    if shutil.which("ip") is None or not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("network namespaces need root and iproute2")
    built = Lab(f"{prefix}{os.getpid()}")
    try:
        try:
            built.build()
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no namespaces with veth and bridge here: {error.stderr.strip()}")
        yield built
    finally:
        built.tear_down()


def wait_for(file: IO[str], mark: str) -> str:
    """Read lines up to one with `mark`; all of them."""
    said, end = "", time.monotonic() + _READY_SECONDS
    while mark not in said and time.monotonic() < end:
        line = file.readline()
        if not line:
            break
        said += line
    assert mark in said, said
    return said


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], capture_output=True, text=True, check=True)
