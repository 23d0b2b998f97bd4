"""The same traffic seen on several interfaces of one host: captured with real programs on `any`.

A packet from container to container passes a veth, a bridge and a veth; `any` shows it on each. What the
peers say they exchanged is the truth: each exchange once, a retransmission only where a kernel counts one.
"""

import json
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.model.anomaly import AnomalyKind
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange, State
from tests.live.capturing import END_SECONDS, Live
from tests.live.network import RIGHT, RIGHT6, Lab, lab, wait_for

REQUESTS, SIZE = 5, 60_000  # 60 kB make packets of several segments, and fit every queue on the way
PATHS = {
    "container_to_container": ("left", RIGHT),
    "host_to_container": ("host", RIGHT),
    "over_ipv6": ("left", RIGHT6),
}
PROGRAMS = {
    "dumpcap": ("dumpcap", "-q", "-B", "64", "-i", "any", "-y"),
    "tcpdump": ("tcpdump", "-Z", "root", "-U", "-B", "65536", "-i", "any", "-y"),
}
BEGUN = {"dumpcap": "File:", "tcpdump": "listening on"}


@pytest.fixture(scope="module")
def network() -> Iterator[Lab]:
    with lab("kda") as built:
        built.broker("right", "::")
        yield built


def resent(network: Lab) -> int:
    """Return segments the kernels sent again so far."""
    total = 0
    for role in network.names:
        names, values = re.findall(r"^Tcp: (.*)$", network.run(role, "cat", "/proc/net/snmp"), re.MULTILINE)
        total += int(dict(zip(names.split(), values.split(), strict=True))["RetransSegs"])
    return total


def captured(network: Lab, program: str, link: str, path: str, file: Path) -> list[tuple[int, int, int]]:
    """Capture a conversation; what its client says of each exchange."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    role, address = PATHS[path]
    process = network.start("host", *PROGRAMS[program], link, "-w", str(file))
    assert process.stderr is not None
    wait_for(process.stderr, BEGUN[program])
    network.wait_until_seen(file, "BEFORE")
    rows = network.client(role, address, REQUESTS, SIZE)
    network.wait_until_seen(file, "BEHIND")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=END_SECONDS)
    return rows


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("program", "link", "path", "segmented"),
    [
        ("dumpcap", "LINUX_SLL", "container_to_container", False),
        ("dumpcap", "LINUX_SLL2", "container_to_container", True),
        ("dumpcap", "LINUX_SLL2", "host_to_container", True),
        ("dumpcap", "LINUX_SLL", "over_ipv6", False),
        ("tcpdump", "LINUX_SLL2", "over_ipv6", True),
        ("tcpdump", "LINUX_SLL", "host_to_container", False),
    ],
)
def test_each_exchange_is_there_once(
    network: Lab, program: str, link: str, path: str, segmented: bool, tmp_path: Path
) -> None:
    """`segmented`: the second veth cannot take more than a packet at once, so that `any` shows it cut."""
    network.run("host", "ip", "link", "set", "veth-right", "gso_max_segs", "1" if segmented else "65535")
    before = resent(network)
    rows = captured(network, program, link, path, tmp_path / "any.pcapng")
    sent_again = resent(network) - before
    events = list(Dissection(str(tmp_path / "any.pcapng")).events())
    (info,) = [event.connection for event in events if isinstance(event, ConnectionClosed)]
    found = [event for event in events if isinstance(event, Exchange)]
    assert {exchange.state for exchange in found} == {State.COMPLETE}
    assert [
        (e.correlation_id, *(f.bytes_on_wire for f in (e.request, e.response) if f)) for e in found
    ] == rows
    assert info.tcp is not None
    assert info.tcp.duplicates >= REQUESTS
    assert info.anomaly_counts[AnomalyKind.DUPLICATE_CAPTURE] >= REQUESTS
    assert info.tcp.gaps == 0
    if not sent_again:
        assert info.tcp.retransmissions == info.tcp.out_of_order == 0
        assert set(info.anomaly_counts) == {AnomalyKind.DUPLICATE_CAPTURE}


@pytest.mark.parametrize(
    "options", [("-i", "any"), ("-i", "veth-left", "-i", "br0", "-i", "veth-right")], ids=" ".join
)
@pytest.mark.parametrize("path", ["container_to_container", "host_to_container"])
def test_live_prints_each_exchange_once(network: Lab, options: tuple[str, ...], path: str) -> None:
    """Also where each interface has a capture of its own."""
    role, address = PATHS[path]
    live = Live(*options, "-f", "tcp port 9092", "--format", "jsonl", before=network.inside("host", ()))
    rows = network.client(role, address, REQUESTS, SIZE)
    live.wait_for(len(rows))
    live.signal(signal.SIGINT)
    ran = live.end()
    assert ran.code == 0
    found = [json.loads(line) for line in ran.out.splitlines()]
    told = [(row["correlation_id"], row["request"]["bytes"], row["response"]["bytes"]) for row in found]
    assert told == rows
    assert {row["state"] for row in found} == {"complete"}
