"""A way between clients and the broker that takes time and loses packets, without a queueing discipline.

Clients run in a network namespace whose only device is a TUN device; another TUN device stands before the
broker, which listens on 127.0.0.1 as always. A process between both hands packets on, each after what its
way takes, and drops some of them. `tc netem` does the same where the kernel has it. Linux and root;
everything stays on this machine.
"""

import fcntl
import heapq
import json
import os
import random
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from captures.record import workshop
from captures.record.drivers import Driver

_NAMESPACE = "kdissect-far"
_CLIENT, BROKER_END = "kdfar0", "kdfar1"
_ADDRESS = "10.77.0.1"
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000  # linux/if_tun.h
_TCP_AT = 20  # of IPv4 without options
_READ_S = 0.2


class Way(NamedTuple):
    """How long packets take, and which are lost.

    `lost` are the numbers of packets with data that are dropped, counted from 0 over both directions; `loss`
    is the part of all packets that is, by chance.
    """

    to_broker_ms: float
    to_client_ms: float
    lost: Sequence[int] = ()
    loss: float = 0.0


def far(driver: Driver) -> Driver:
    """Return the driver on the other side of the way."""
    return driver._replace(command=["ip", "netns", "exec", _NAMESPACE, *driver.command])


@contextmanager
def far_away(way: Way, port: int, output: Path, *, tapped: bool = True) -> Iterator[dict[str, Any]]:
    """Set up the way and capture it at both ends into `client.pcapng` and `broker.pcapng`.

    Without `tapped` nobody captures it here; `BROKER_END` is the interface that the broker's end has. Gives a
    dict that has, afterwards, `lost`: who sent each packet with data that was dropped, when, and when its
    bytes came again.
    """
    found: dict[str, Any] = {}
    tuns = [_open(name) for name in (_CLIENT, BROKER_END)]
    workshop.run(["ip", "netns", "add", _NAMESPACE])
    try:
        _set_up()
        log = output / "far.json"
        command = [
            sys.executable, "-m", "captures.record.far", json.dumps(way), str(log), *map(str, tuns),
        ]  # fmt: skip
        forwarder = subprocess.Popen(command, pass_fds=tuns)
        taps = [_capture(prefix, device, port, output / name) for prefix, device, name in (
            (["ip", "netns", "exec", _NAMESPACE], _CLIENT, "client.pcapng"),
            ([], BROKER_END, "broker.pcapng"),
        ) if tapped]  # fmt: skip
        try:
            yield found
            time.sleep(1)  # what is under way, and in the kernel's buffers
        finally:
            for process in (*taps, forwarder):
                process.send_signal(signal.SIGINT)
                process.wait(20)
        found |= json.loads(log.read_text())
    finally:
        workshop.run(["ip", "netns", "del", _NAMESPACE])
        for tun in tuns:
            os.close(tun)


def _open(name: str) -> int:
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI))
    os.set_inheritable(tun, True)
    return tun


def _set_up() -> None:
    inside = ["ip", "netns", "exec", _NAMESPACE]
    local = "echo 1 > /proc/sys/net/ipv4/conf/{}/route_localnet"
    workshop.run(["ip", "link", "set", _CLIENT, "netns", _NAMESPACE])
    workshop.run([*inside, "ip", "addr", "add", _ADDRESS, "dev", _CLIENT])
    workshop.run([*inside, "ip", "link", "set", _CLIENT, "up", "mtu", "1500"])
    workshop.run([*inside, "sh", "-c", local.format(_CLIENT)])
    workshop.run([*inside, "ip", "route", "add", "127.0.0.1/32", "dev", _CLIENT, "src", _ADDRESS])
    workshop.run(["ip", "link", "set", BROKER_END, "up", "mtu", "1500"])
    workshop.run(["sh", "-c", local.format(BROKER_END)])
    workshop.run(["ip", "route", "add", f"{_ADDRESS}/32", "dev", BROKER_END])


def _capture(prefix: list[str], device: str, port: int, target: Path) -> "subprocess.Popen[bytes]":
    dumpcap = workshop.program("dumpcap", "capture both ends of the way")
    command = [*prefix, dumpcap, "-q", "-i", device, "-f", f"tcp port {port}", "-w", str(target)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert process.stderr is not None
    while b"File:" not in process.stderr.readline():
        if process.poll() is not None:
            raise RuntimeError(f"dumpcap does not capture on {device}")
    return process


class _Forwarder:
    """Hands packets on, later."""

    def __init__(self, way: Way, tuns: Sequence[int]) -> None:
        self._took_s = way.to_broker_ms / 1000, way.to_client_ms / 1000
        self._lost = set(way.lost)
        self._loss = way.loss
        self._chance = random.Random(1)
        self._tuns = tuns
        self._waiting: list[tuple[float, int, int, bytes]] = []
        self._number = self._with_data = 0
        self._gone: dict[tuple[int, bytes], dict[str, Any]] = {}

    @property
    def lost(self) -> list[dict[str, Any]]:
        """What was dropped."""
        return list(self._gone.values())

    def run(self) -> None:
        """Until it is interrupted."""
        os.nice(-10)
        while True:
            now = time.monotonic()
            while self._waiting and self._waiting[0][0] <= now:
                _, _, side, packet = heapq.heappop(self._waiting)
                os.write(self._tuns[1 - side], packet)
            left = self._waiting[0][0] - time.monotonic() if self._waiting else _READ_S
            for tun in select.select(self._tuns, [], [], max(0, left))[0]:
                self._take(self._tuns.index(tun), os.read(tun, 65536))

    def _take(self, side: int, packet: bytes) -> None:
        if packet[0] != 0x45:  # IPv6 announces itself on every device
            return
        self._number += 1
        if not self._loses(side, packet):
            due = time.monotonic() + self._took_s[side]
            heapq.heappush(self._waiting, (due, self._number, side, packet))

    def _loses(self, side: int, packet: bytes) -> bool:
        header = _TCP_AT + (packet[_TCP_AT + 12] >> 4) * 4
        by_chance = self._chance.random() < self._loss
        if len(packet) <= header:
            return by_chance
        key = side, packet[_TCP_AT : _TCP_AT + 8]  # ports and sequence number
        now_ns = time.time_ns()
        if key in self._gone and not by_chance:
            self._gone[key].setdefault("again_ns", now_ns)
            return False
        self._with_data += 1
        if self._with_data - 1 not in self._lost and not by_chance:
            return False
        if key in self._gone:
            return True
        self._gone[key] = {
            "by": ("client", "broker")[side],
            "port": struct.unpack_from(">HH", packet, _TCP_AT)[side],
            "seq": struct.unpack_from(">I", packet, _TCP_AT + 4)[0],
            "bytes": len(packet) - header,
            "at_ns": now_ns,
        }
        return True


def _main() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # who starts in the background has it ignored
    way, log, *tuns = sys.argv[1:]
    forwarder = _Forwarder(Way(*json.loads(way)), [int(tun) for tun in tuns])
    try:
        forwarder.run()
    except KeyboardInterrupt:
        Path(log).write_text(json.dumps({"lost": forwarder.lost}))


if __name__ == "__main__":
    _main()
