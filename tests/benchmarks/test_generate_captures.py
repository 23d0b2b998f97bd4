"""The generator's captures, read by tshark, scapy, dpkt and kafka-python; equal options give equal bytes."""

import shutil
import subprocess
from collections import Counter
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import dpkt
import pytest

from tests.benchmarks.generated import Generate, Generated
from tests.benchmarks.streams import Reading, segments, streams

# kafka-python 3.0.12 reads its schemas by a function that Python 3.11 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated:DeprecationWarning")

OLD = ("--versions", "old", "--connections", "12")
SIZES = {"mtu": "3MB", "small": "600k", "loopback": "4MB"}
PROFILES = list(SIZES)


def tshark_rows(path: Path, *options: str) -> list[list[str]]:
    """Return fields of each packet as tshark prints them; skips without tshark."""
    if not shutil.which("tshark"):
        pytest.skip("tshark is not installed")
    command = ["tshark", "-r", str(path), "-d", "tcp.port==9092,kafka", "-T", "fields", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def old_capture(generate: Generate, profile: str) -> Generated:
    return generate("--size", SIZES[profile], "--profile", profile, *OLD)


def null_link_capture(generate: Generate) -> Generated:
    options = ("--size", "200k", "--profile", "loopback", "--link", "null", "--connections", "3")
    return generate(*options, "--versions", "new", "--codec", "zstd")


@pytest.mark.exhaustive
@pytest.mark.parametrize("profile", PROFILES)
def test_tshark_counts_what_the_truth_says(generate: Generate, profile: str) -> None:
    path, truth = old_capture(generate, profile)
    names = ("frame.number", "kafka.api_key", "kafka.api_version", "kafka.correlation_id")
    rows = tshark_rows(path, *(part for name in names for part in ("-e", name)))
    assert len(rows) == truth["packets"]
    api: Counter[str] = Counter()
    keys = 0
    for _, packet_keys, versions, _ in rows:
        keys += len(packet_keys.split(",")) if packet_keys else 0
        # tshark shows the key in both directions, the version in requests only; no packet holds both kinds.
        if versions:
            api.update(f"{k}v{v}" for k, v in zip(packet_keys.split(","), versions.split(","), strict=True))
    assert dict(api) == truth["api"]
    assert keys - api.total() == truth["responses"] == truth["paired"]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("profile", PROFILES)
def test_tshark_finds_nothing_malformed(generate: Generate, profile: str) -> None:
    path, _ = old_capture(generate, profile)
    wrong = "_ws.malformed || tcp.checksum.status == 0 || ip.checksum.status == 0 || tcp.analysis.flags"
    checks = ("-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE")
    assert tshark_rows(path, *checks, "-Y", wrong, "-e", "frame.number", "-e", "_ws.expert.message") == []


@pytest.mark.exhaustive
def test_scapy_reads_every_packet_and_computes_the_same_checksums(generate: Generate) -> None:
    from scapy.layers.inet import IP, TCP
    from scapy.utils import PcapReader

    for path, truth in (old_capture(generate, "loopback"), null_link_capture(generate)):
        count = 0
        with PcapReader(str(path)) as packets:
            while True:
                try:
                    packet = packets.read_packet(size=2**18)  # its default cuts packets at 65535 bytes
                except EOFError:
                    break
                count += 1
                ip = packet[IP].copy()
                sums = ip.chksum, ip[TCP].chksum
                del ip.chksum, ip[TCP].chksum
                rebuilt = IP(bytes(ip))
                assert (rebuilt.chksum, rebuilt[TCP].chksum) == sums
        assert count == truth["packets"]
        assert path.stat().st_size == truth["bytes"]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("profile", "versions"),
    [*((p, "old") for p in PROFILES), ("mtu", "new"), ("small", "new"), ("small", "mixed")],
)
def test_kafka_python_decodes_every_frame(generate: Generate, profile: str, versions: str) -> None:
    path, truth = generate("--size", SIZES[profile], "--profile", profile, "--versions", versions, *OLD[2:])
    reading = Reading(path)
    assert dict(reading.api) == truth["api"]
    assert reading.responses == truth["responses"] == truth["whole"]["paired"]
    assert reading.unanswered == truth["no_response_expected"] > 0
    assert (len(reading.batches), reading.records) == (truth["record_batches"], truth["records"])
    assert (
        truth["requests"] == truth["responses"] + truth["no_response_expected"] == truth["whole"]["requests"]
    )


@pytest.mark.exhaustive
def test_versions_options(generate: Generate) -> None:
    seen = {}
    for versions in ("old", "new", "mixed"):
        path, truth = generate(
            "--size", SIZES["small"], "--profile", "small", "--versions", versions, *OLD[2:]
        )
        pairs = [tuple(map(int, api.split("v"))) for api in truth["api"]]
        seen[versions] = {key: {v for k, v in pairs if k == key} for key, _ in pairs}
        refused = Reading(path).errors[35]
        assert (refused > 0) == (versions == "mixed"), "new clients meet old brokers only in mixed traffic"
    assert max(seen["old"][0]) == 8
    assert max(seen["old"][1]) == 11
    assert (min(seen["new"][0]), max(seen["new"][0])) == (11, 13)
    assert (min(seen["new"][1]), max(seen["new"][1])) == (16, 18)
    assert seen["mixed"][0] >= {3, 8, 11}
    assert set(seen["old"]) == set(seen["new"]) == {0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 18, 22}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("profile", ["mtu", "small"])
def test_batches_are_what_kafka_python_reads(generate: Generate, profile: str) -> None:
    from kafka.record.default_records import DefaultRecordBatch

    path, _ = old_capture(generate, profile)
    codecs = Counter()
    for data in Reading(path).batches:
        batch = DefaultRecordBatch(data)
        assert batch.validate_crc()
        codecs[batch.compression_type] += 1
        if codecs[batch.compression_type] > 5 or batch.compression_type == 2:
            continue  # records of five batches a codec; kafka-python reads snappy only with python-snappy
        records = list(batch)
        assert [r.offset - batch.base_offset for r in records] == list(range(batch.last_offset_delta + 1))
        assert batch.first_timestamp <= records[-1].timestamp == batch.max_timestamp
    assert set(codecs) == {0, 1, 2, 3, 4}


def test_one_codec(generate: Generate) -> None:
    path, _ = null_link_capture(generate)
    assert {batch[22] & 7 for batch in Reading(path).batches} == {4}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("profile", ["mtu", "small"])
def test_same_options_same_bytes(generate: Generate, profile: str) -> None:
    path, truth = old_capture(generate, profile)
    again, truth_again = generate("--size", SIZES[profile], "--profile", profile, *OLD, attempt=2)
    assert digest(path) == digest(again)
    assert truth == truth_again


def test_another_seed_other_bytes(generate: Generate) -> None:
    path, truth = old_capture(generate, "small")
    other, other_truth = generate("--size", SIZES["small"], "--profile", "small", *OLD, "--seed", "2")
    assert digest(path) != digest(other)
    assert truth["api"] != other_truth["api"]


def digest(path: Path) -> bytes:
    return sha256(path.read_bytes()).digest()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("profile", PROFILES)
def test_shape(generate: Generate, profile: str) -> None:
    path, truth = old_capture(generate, profile)
    wanted = {"mtu": 3_000_000, "small": 600_000, "loopback": 4_000_000}[profile]
    assert wanted * 0.95 < truth["bytes"] < wanted * 1.25, (
        "every conversation ends in order, so a little over"
    )
    packets = list(segments(path))
    assert [p.time for p in packets] == sorted(p.time for p in packets)
    largest = max(len(p.payload) for p in packets)
    assert largest == 65483 if profile == "loopback" else largest <= 1448
    kinds = Counter(p.flags & (dpkt.tcp.TH_SYN | dpkt.tcp.TH_FIN | dpkt.tcp.TH_ACK) for p in packets)
    opened = kinds[dpkt.tcp.TH_SYN]
    assert opened == kinds[dpkt.tcp.TH_SYN | dpkt.tcp.TH_ACK] == truth["connections"] >= 12
    assert kinds[dpkt.tcp.TH_FIN | dpkt.tcp.TH_ACK] == 2 * opened
    switches = sum(a.flow[1::2] != b.flow[1::2] for a, b in pairwise(packets))
    assert switches > 3 * opened, "connections take turns"


@pytest.mark.exhaustive
def test_reorder_swaps_segments_and_nothing_else(generate: Generate) -> None:
    path, truth = generate("--size", SIZES["mtu"], "--reorder", "5%", *OLD)
    latest: dict[object, int] = {}
    backwards = 0
    for packet in segments(path):
        if packet.payload:
            backwards += (packet.seq - latest.get(packet.flow, packet.seq)) % 2**32 > 2**31
            latest[packet.flow] = packet.seq
    assert backwards == truth["swapped_segments"] // 2 > 10
    assert truth["lost_packets"] == 0
    assert dict(Reading(path).api) == truth["api"]


def test_loss_leaves_packets_out_and_says_how_many(generate: Generate) -> None:
    path, truth = generate("--size", SIZES["small"], "--profile", "small", "--loss", "5%", *OLD)
    missing = 0
    last: dict[object, int] = {}
    for packet in segments(path):
        # IP ids of a sender count up by one: a step of two is a packet the capture missed.
        missing += (packet.ip_id - last.get(packet.flow, packet.ip_id - 1) - 1) & 0xFFFF
        last[packet.flow] = packet.ip_id
    edges = truth["connections"] * 2
    assert truth["lost_packets"] - edges <= missing <= truth["lost_packets"]
    assert missing > 50
    sent = truth["requests"] + truth["responses"]
    cut = sent - truth["whole"]["requests"] - truth["whole"]["responses"]
    assert 0.03 < cut / sent < 0.08, "small frames lie in one segment each: one in twenty is lost"
    assert truth["whole"]["paired"] < min(truth["whole"]["requests"], truth["whole"]["responses"])
    with pytest.raises((AssertionError, KeyError)):
        streams(path)


def test_bad_options_are_refused(generate: Generate) -> None:
    for options in (["--size", "much"], ["--reorder", "200%"], ["--connections", "0"]):
        with pytest.raises(AssertionError, match=options[0]):
            generate(*options)


def test_silent_connections_greet_and_say_nothing_more(generate: Generate) -> None:
    """Each has its handshake, and requests that are answered whole, as dpkt counts them."""
    path, truth = generate("--silent", "40", "--profile", "small")
    flags: Counter[int] = Counter()
    sent: Counter[frozenset[tuple[bytes, int]]] = Counter()
    with path.open("rb") as file:
        for _, data in dpkt.pcap.Reader(file):
            ip = dpkt.ethernet.Ethernet(data).data
            flags[ip.data.flags & (dpkt.tcp.TH_SYN | dpkt.tcp.TH_FIN | dpkt.tcp.TH_RST)] += 1
            sent[frozenset(((ip.src, ip.data.sport), (ip.dst, ip.data.dport)))] += bool(ip.data.data)
    assert truth["connections"] == 40 == len(sent)
    assert flags[dpkt.tcp.TH_SYN] == 80, "a SYN each way"
    assert set(flags) == {0, dpkt.tcp.TH_SYN}, "none ends"
    assert min(sent.values()) >= 4, "ApiVersions and Metadata, and an answer to each"
