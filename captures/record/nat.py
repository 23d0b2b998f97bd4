"""A NAT between clients and the broker, made with network namespaces and nftables, captured on both sides.

Clients run in one namespace, and another one translates their addresses and ports (masquerade) on the way to
the broker, which listens on 127.0.0.1 as always. One dumpcap in the translating namespace captures both of
its interfaces into one file, as `tcpdump -i any` on a router does. Linux and root; everything stays on this
machine.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from captures.record import workshop
from captures.record.drivers import Driver
from captures.record.spec import HOST

_CLIENTS, _ROUTER = "kdissect-nat-c", "kdissect-nat-r"
_CLIENT_END, _INSIDE = "kdnat0", "kdnat1"  # ends of the way from clients to the router
_OUTSIDE, _BROKER_END = "kdnat2", "kdnat3"  # and from there to the broker
_ADDRESSES = {"client": "10.77.1.2", "inside": "10.77.1.1", "outside": "10.77.2.1", "broker": "10.77.2.2"}
_SETTLE_S = 1
_LOCAL = "echo 1 > /proc/sys/net/ipv4/conf/{}/route_localnet"


def behind_nat(driver: Driver) -> Driver:
    """Return the driver on the other side of the NAT."""
    return driver._replace(command=["ip", "netns", "exec", _CLIENTS, *driver.command])


@contextmanager
def translated(port: int, target: Path) -> Iterator[None]:
    """Set up the NAT and capture both of its sides into `target`."""
    for name in (_CLIENTS, _ROUTER):
        workshop.run(["ip", "netns", "add", name])
    try:
        _set_up()
        tap = _capture(port, target)
        try:
            yield
            time.sleep(_SETTLE_S)
        finally:
            tap.send_signal(signal.SIGINT)
            tap.wait(20)
    finally:
        for name in (_CLIENTS, _ROUTER):  # takes the interfaces with it
            workshop.run(["ip", "netns", "del", name])


def _set_up() -> None:
    workshop.program("nft", "translate addresses")
    clients, router = _inside(_CLIENTS), _inside(_ROUTER)
    _link(_CLIENT_END, _CLIENTS, _ADDRESSES["client"], _INSIDE, _ROUTER, _ADDRESSES["inside"])
    _link(_BROKER_END, "", _ADDRESSES["broker"], _OUTSIDE, _ROUTER, _ADDRESSES["outside"])
    for prefix, device in ((clients, _CLIENT_END), (router, _INSIDE), (router, _OUTSIDE), ([], _BROKER_END)):
        workshop.run([*prefix, "sh", "-c", _LOCAL.format(device)])
    workshop.run([*router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"])
    for prefix, by, device in (
        (clients, _ADDRESSES["inside"], _CLIENT_END), (router, _ADDRESSES["broker"], _OUTSIDE),
    ):  # fmt: skip
        workshop.run([*prefix, "ip", "route", "add", f"{HOST}/32", "via", by, "dev", device])
    table = (
        "table ip nat { chain post { type nat hook postrouting priority srcnat;"
        f" oifname {_OUTSIDE} meta l4proto tcp masquerade random; }}; }}"
    )
    workshop.run([*router, "nft", table])


def _inside(namespace: str) -> list[str]:
    return ["ip", "netns", "exec", namespace] if namespace else []


def _link(one: str, namespace: str, address: str, other: str, there: str, its: str) -> None:
    workshop.run(["ip", "link", "add", one, "type", "veth", "peer", "name", other])
    for device, inside, own in ((one, namespace, address), (other, there, its)):
        if inside:
            workshop.run(["ip", "link", "set", device, "netns", inside])
        workshop.run([*_inside(inside), "ip", "addr", "add", f"{own}/24", "dev", device])
        workshop.run([*_inside(inside), "ip", "link", "set", device, "up"])


def _capture(port: int, target: Path) -> "subprocess.Popen[bytes]":
    dumpcap = workshop.program("dumpcap", "capture both sides of the NAT")
    ways = [word for name in (_INSIDE, _OUTSIDE) for word in ("-i", name, "-f", f"tcp port {port}")]
    command = [*_inside(_ROUTER), dumpcap, "-q", *ways, "-w", str(target)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert process.stderr is not None
    while b"File:" not in process.stderr.readline():
        if process.poll() is not None:
            raise RuntimeError("dumpcap does not capture both sides of the NAT")
    os.set_blocking(process.stderr.fileno(), False)
    return process
