"""The multiplier: copies have the exchanges of their recording, and no damage of their own."""

import shutil
import struct
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import multiply
import pytest

from kdissect.api import Dissection
from kdissect.capture.files import open_captures
from kdissect.model.packets.packet import Packet
from tests.support.packets.pcaps import pcap_bytes, write_pcap

CAPTURES = Path(__file__).parents[2] / "captures"
RECORDING = CAPTURES / "kafka44_aiokafka_transactions.pcapng"
EXCHANGES = 64  # of the recording: captures/README.md
TLS = CAPTURES / "kafka44_java_tls13.pcapng"
KEYS = CAPTURES / "kafka44_java_tls13.keys"
ETHERNET = 14
Copy = Callable[..., Path]


@pytest.fixture
def multiplied(tmp_path: Path) -> Copy:
    """Return a function that writes copies of recordings and returns their path."""

    def write(*sources: Path, name: str = "out.pcap", count: int = 3) -> Path:
        output = tmp_path / name
        multiply.multiply(sources, output, count=count)
        return output

    return write


def packets_of(path: Path) -> list[Packet]:
    return list(open_captures([str(path)]).packets())


def contents(dissection: Dissection) -> Counter[tuple[object, ...]]:
    """Return what the exchanges are, whoever the client is."""
    found: Counter[tuple[object, ...]] = Counter()
    for exchange in dissection:
        frames = [frame and bytes(frame.data) for frame in (exchange.request, exchange.response)]
        found[exchange.api_key, exchange.api_version, exchange.correlation_id, exchange.state, *frames] += 1
    return found


def times(counts: Counter[Any], number: int) -> Counter[Any]:
    return Counter({key: count * number for key, count in counts.items()})


def anomalies(dissection: Dissection) -> Counter[str]:
    """Return anomalies of exchanges and connections, by kind."""
    found: Counter[str] = Counter()
    connections = {}
    for exchange in dissection:
        found.update(str(anomaly.kind) for anomaly in exchange.anomalies or ())
        connections[exchange.connection.id] = exchange.connection
    found.update(str(anomaly.kind) for one in connections.values() for anomaly in one.anomalies)
    return found


def test_copies_have_the_exchanges_of_the_recording(multiplied: Copy) -> None:
    expected = contents(Dissection(str(RECORDING)))
    assert expected.total() == EXCHANGES
    assert contents(Dissection(str(multiplied(RECORDING)))) == times(expected, 3)


@pytest.mark.parametrize("name", [RECORDING.name, "tansu_rdk216_kip848.pcap"])
def test_copies_have_no_anomalies_but_those_of_the_recording(name: str, multiplied: Copy) -> None:
    once = anomalies(Dissection(str(CAPTURES / name)))
    assert bool(once) == (name != RECORDING.name)
    assert anomalies(Dissection(str(multiplied(CAPTURES / name)))) == times(once, 3)


def test_every_copy_has_other_clients(multiplied: Copy) -> None:
    clients = {(str(e.connection.client), e.connection.start_ns) for e in Dissection(str(RECORDING))}
    copied = {
        (str(e.connection.client), e.connection.start_ns) for e in Dissection(str(multiplied(RECORDING)))
    }
    assert len(copied) == 3 * len(clients)
    assert len({client for client, _ in copied}) == len(copied)


def test_copies_follow_each_other(multiplied: Copy) -> None:
    before = packets_of(RECORDING)
    after = packets_of(multiplied(RECORDING))
    size = len(before)
    assert len(after) == 3 * size
    assert [packet.time_ns for packet in after[:size]] == [packet.time_ns for packet in before]
    steps = {after[place + size].time_ns - after[place].time_ns for place in range(2 * size)}
    assert len(steps) == 1
    assert steps.pop() > before[-1].time_ns - before[0].time_ns


def test_copies_side_by_side_share_their_time(tmp_path: Path) -> None:
    output = tmp_path / "side.pcap"
    multiply.multiply([RECORDING], output, count=3, side_by_side=True)
    assert contents(Dissection(str(output))) == times(contents(Dissection(str(RECORDING))), 3)
    ports = [packet.data[34:38] for packet in packets_of(output)[:3]]
    assert len(set(ports)) == 3, "the first packet of every copy comes first"


def test_recordings_follow_each_other_in_a_copy(multiplied: Copy) -> None:
    other = CAPTURES / "kafka44_aiokafka_admin.pcapng"
    both = contents(Dissection(str(RECORDING))) + contents(Dissection(str(other)))
    assert contents(Dissection(str(multiplied(RECORDING, other, count=2)))) == times(both, 2)


def test_the_next_address_has_ports_where_they_run_out(
    monkeypatch: pytest.MonkeyPatch, multiplied: Copy
) -> None:
    monkeypatch.setattr(multiply, "LAST_PORT", multiply.FIRST_PORT + 5)
    copied = Dissection(str(multiplied(RECORDING)))
    assert contents(copied) == times(contents(Dissection(str(RECORDING))), 3)
    assert {str(e.connection.client).rpartition(":")[0] for e in copied} >= {"127.0.0.1", "127.0.0.2"}


def test_tls_is_decrypted_with_the_secrets_in_the_output(tmp_path: Path) -> None:
    output = tmp_path / "tls.pcapng"
    recording, _ = multiply.multiply([TLS], output, count=2, keys=[KEYS])
    assert recording.tls_ports == {19317}
    plain = contents(Dissection(str(TLS), key_logs=[str(KEYS)]))
    assert contents(Dissection(str(output))) == times(plain, 2)
    again = tmp_path / "again.pcapng"
    multiply.multiply([output], again, count=2)
    assert contents(Dissection(str(again))) == times(plain, 4), "secrets of a recording are kept"


def in_ipv6(packet: Packet) -> Packet:
    """Return a packet of TCP over IPv4 as one over IPv6; its TCP checksum is wrong."""
    data = packet.data
    length = struct.unpack_from(">H", data, ETHERNET + 2)[0]
    payload = data[ETHERNET + 20 : ETHERNET + length]
    ends = [bytes.fromhex("fd00" + "00" * 10) + data[at : at + 4] for at in (ETHERNET + 12, ETHERNET + 16)]
    head = struct.pack(">IHBB", 6 << 28, len(payload), 6, 64) + b"".join(ends)
    changed = data[:12] + b"\x86\xdd" + head + payload
    return packet._replace(data=changed, wire_length=len(changed))


def as_ipv6(tmp_path: Path, packets: Iterable[Packet]) -> Path:
    return Path(write_pcap(tmp_path / "v6.pcap", map(in_ipv6, packets)))


def test_ipv6(tmp_path: Path, multiplied: Copy) -> None:
    source = as_ipv6(tmp_path, packets_of(RECORDING))
    assert contents(Dissection(str(multiplied(source)))) == times(contents(Dissection(str(RECORDING))), 3)


@pytest.mark.exhaustive
@pytest.mark.parametrize("version", [4, 6])
def test_tshark_counts_the_same_and_finds_checksums_correct(version: int, tmp_path: Path) -> None:
    if not shutil.which("tshark"):
        pytest.skip("tshark is not installed")
    source = RECORDING if version == 4 else as_ipv6(tmp_path, packets_of(RECORDING))
    output = tmp_path / "out.pcap"
    recording, _ = multiply.multiply([source], output, count=3)
    decode = [part for port in recording.brokers for part in ("-d", f"tcp.port=={port},kafka")]

    def counted(path: Path) -> Counter[str]:
        fields = ("kafka.api_key", "kafka.correlation_id", "kafka.len")
        wanted = [part for field in fields for part in ("-e", field)]
        command = ["tshark", "-r", str(path), *decode, "-Y", "kafka", "-T", "fields", *wanted]
        return Counter(
            subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        )

    assert counted(output) == Counter({row: 3 * count for row, count in counted(source).items()})
    checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    wrong = ["-Y", "tcp.checksum.status == 0 || ip.checksum.status == 0"]
    found = subprocess.run(
        ["tshark", "-r", str(output), *checks, *wrong], capture_output=True, text=True, check=True
    )
    assert found.stdout == ""


def words(data: bytes) -> int:
    """Return their sum in ones' complement (RFC 1071), 0 where a checksum among them is correct."""
    return int.from_bytes(data + bytes(len(data) & 1), "big") % 0xFFFF


@pytest.mark.parametrize("version", [4, 6])
def test_checksums_are_correct(version: int, tmp_path: Path, multiplied: Copy) -> None:
    source = RECORDING if version == 4 else as_ipv6(tmp_path, packets_of(RECORDING))
    for packet in packets_of(multiplied(source)):
        data = packet.data[ETHERNET:]
        addresses, segment = (data[12:20], data[20:]) if version == 4 else (data[8:40], data[40:])
        assert version == 6 or words(data[:20]) == 0
        assert words(addresses + struct.pack(">HH", 6, len(segment)) + segment) == 0


def test_checksums_of_packets_that_were_cut_stay_those_of_whole_packets(
    tmp_path: Path, multiplied: Copy
) -> None:
    correct = multiplied(RECORDING, name="correct.pcap", count=1)
    packets = packets_of(correct)
    cut = Path(write_pcap(tmp_path / "cut.pcap", [one._replace(data=one.data[:80]) for one in packets]))
    whole = packets_of(multiplied(correct, name="whole.pcap"))
    parts = packets_of(multiplied(cut, name="parts.pcap"))
    assert any(len(one.data) > 80 for one in whole)
    for one, part in zip(whole, parts, strict=True):
        # 0 and 0xFFFF are one number in ones' complement (RFC 1071).
        sums = [int.from_bytes(data[50:52], "big") % 0xFFFF for data in (one.data, part.data)]
        assert sums[0] == sums[1]
        assert one.data[:50] + one.data[52:80] == part.data[:50] + part.data[52:]


def test_link_types_do_not_mix(tmp_path: Path, multiplied: Copy) -> None:
    raw = [one._replace(data=one.data[ETHERNET:], link_type=101) for one in packets_of(RECORDING)]
    path = tmp_path / "raw.pcap"
    path.write_bytes(pcap_bytes(raw, link_type=101))
    assert contents(Dissection(str(multiplied(path)))).total() == 3 * EXCHANGES
    with pytest.raises(ValueError, match="several link types"):
        multiply.read([RECORDING, path])
