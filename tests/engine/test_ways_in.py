"""Captures as tools and mirrors write them: the exchanges of the plain capture, whatever is around them."""

import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.model.packets.packet import Packet, packet_ref
from kdissect.net.parser import SegmentParser
from tests.support.console import CAPTURES, run
from tests.support.packets.wrapped import (
    CONTAINER,
    ETHERNET_HEADER,
    FORMS,
    IN,
    OUT,
    POD,
    gtp,
    outer_ip,
    packets_of,
    pcap,
    pcapng,
    pktap,
    ptcpdump,
    udp,
)

# tshark 4.0 takes DLT_USER2 for nothing, the frame type of ERSPAN III for Ethernet always, and the byte order
# of NFLOG for that of the file.
UNKNOWN_TO_TSHARK = ("pktap as macOS wrote it first", "erspan III of IP", "nflog of a big-endian host")
SOURCE = CAPTURES / "kafka44_java_groups.pcapng"


def written(folder: Path, content: bytes, suffix: str = "pcap") -> str:
    """Under one name, so that connections keep their identity."""
    folder.mkdir()
    path = folder / f"c.{suffix}"
    path.write_bytes(content)
    return str(path)


def rows(path: str, capfd: pytest.CaptureFixture[str], *more: str) -> list[dict[str, Any]]:
    assert main(["inspect", "--format", "jsonl", path, *more]) == 0
    ran = capfd.readouterr()
    assert ran.err == ""
    found = [json.loads(line) for line in ran.out.splitlines()]
    for row in found:
        for side in ("request", "response"):
            if row[side] is not None:
                row[side]["packets"].pop("file")
    return found


def without_processes(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "processes"} for row in found]


@pytest.mark.parametrize("form", [form for form in FORMS if form != "plain"])
def test_every_form_has_the_exchanges_of_the_plain_one(
    form: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    packets = packets_of(SOURCE)
    plain = rows(written(tmp_path / "plain", pcap(packets)), capfd)
    assert len(plain) > 90
    link, wrap = FORMS[form]
    assert without_processes(rows(written(tmp_path / "wrapped", pcap(packets, link, wrap)), capfd)) == plain


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("version", [(2, 1), (2, 2), (2, 3)])
def test_old_versions_of_pcap(
    version: tuple[int, int], order: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    packets = packets_of(SOURCE)
    plain = rows(written(tmp_path / "plain", pcap(packets)), capfd)
    old = pcap(packets, version=version, order=order)
    assert rows(written(tmp_path / "old", old), capfd) == plain


def test_swapped_version_words(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    packets = packets_of(SOURCE)
    plain = rows(written(tmp_path / "plain", pcap(packets)), capfd)
    swapped = bytearray(pcap(packets))
    swapped[4:8] = b"\0\2\0\4"
    assert rows(written(tmp_path / "swapped", bytes(swapped)), capfd) == plain


@pytest.mark.sampled(8)
@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("form", [form for form in FORMS if form not in UNKNOWN_TO_TSHARK])
def test_tshark_finds_the_same_segments(form: str, tmp_path: Path) -> None:
    link, wrap = FORMS[form]
    packets = packets_of(SOURCE)[:60]
    path = written(tmp_path / "wrapped", pcap(packets, link, wrap))
    fields = ("tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.ack_raw", "tcp.len")
    command = ["tshark", "-r", path, "-Y", "tcp", "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    parser = SegmentParser()
    ours = []
    for number, packet in enumerate(packets, 1):
        segment = parser.parse(Packet(number, number, link, wrap(packet.data), len(wrap(packet.data))))
        assert segment is not None
        ports = struct.unpack(">HH", segment.flow[-4:])
        ours.append("\t".join(map(str, (*ports, segment.seq, segment.ack, len(segment.payload)))))
    assert told == ours


def client_port(packets: list[Packet]) -> bytes:
    """Return the port of the client, by its SYN."""
    for packet in packets:
        tcp = packet.data[ETHERNET_HEADER + 20 :]
        if tcp[13] & 0x12 == 2:
            return tcp[2:4]
    raise AssertionError("no SYN")


def is_from_client(packet: Packet, broker_port: bytes) -> bool:
    return packet.data[ETHERNET_HEADER + 22 : ETHERNET_HEADER + 24] == broker_port


def commented(
    folder: Path, captured_at: str, suffix: str = "pcapng", directed: bool = True, order: str = "<"
) -> str:
    """Return a capture of ptcpdump on the machine of one end, or of both."""
    packets = packets_of(SOURCE)
    broker_port = client_port(packets)
    pod, container = POD.format("orders-7d", "shop"), CONTAINER.format("app")
    client = ptcpdump(4094, "/usr/bin/java", container, pod)
    broker = ptcpdump(1, "/opt/kafka/java")

    def comments(packet: Packet) -> tuple[list[str], int]:
        sent = is_from_client(packet, broker_port)
        if captured_at == "client":
            return client, (OUT if sent else IN) * directed
        if captured_at == "broker":
            return broker, (IN if sent else OUT) * directed
        return (client if sent else broker), OUT * directed

    return written(folder, pcapng(packets, comments, order), suffix)


JAVA = {
    "end": "client", "process": "/usr/bin/java", "pid": 4094, "pod": "orders-7d", "namespace": "shop",
    "container": "app",
}  # fmt: skip
KAFKA = {
    "end": "broker", "process": "/opt/kafka/java", "pid": 1, "pod": None, "namespace": None,
    "container": None,
}  # fmt: skip


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("captured_at", "told"), [("client", [JAVA]), ("broker", [KAFKA]), ("both", [JAVA, KAFKA])]
)
def test_comments_tell_of_the_end_they_were_captured_at(
    captured_at: str, told: list[Any], order: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = commented(tmp_path / "ptcpdump", captured_at, order=order)
    found = rows(path, capfd)
    assert [row["processes"] for row in found] == [told] * len(found)
    plain = rows(written(tmp_path / "plain", pcap(packets_of(SOURCE)), "pcapng"), capfd)
    assert without_processes(found) == plain
    bodies = rows(path, capfd, "--bodies")
    assert [row["processes"] for row in bodies] == [told] * len(found)
    assert [list(row) for row in bodies] == [list(row) for row in found]


def test_without_a_direction_nobody_knows_which_end_it_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found = rows(commented(tmp_path / "c", "client", directed=False), capfd)
    assert found[0]["processes"] == [JAVA | {"end": None}]
    both = rows(commented(tmp_path / "b", "both", directed=False), capfd)
    assert both[-1]["processes"] == [JAVA | {"end": None}, KAFKA | {"end": None}]


def test_pktap_tells_of_sender_and_receiver(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    packets = packets_of(SOURCE)
    broker_port = client_port(packets)

    def wrap(data: bytes) -> bytes:
        sent = data[ETHERNET_HEADER + 22 : ETHERNET_HEADER + 24] == broker_port
        return pktap(data, OUT if sent else IN, pid=77, name=b"kcat\0rest")

    found = rows(written(tmp_path / "pktap", pcap(packets, 258, wrap)), capfd)
    nothing = dict.fromkeys(("pod", "namespace", "container"))
    assert [row["processes"] for row in found] == [
        [{"end": "client", "process": "kcat", "pid": 77} | nothing]
    ] * len(found)


def test_pktap_without_a_process_tells_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    content = pcap(packets_of(SOURCE), 258, lambda data: pktap(data, pid=-1, name=b""))
    assert "processes" not in rows(written(tmp_path / "pktap", content), capfd)[0]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("test", "share"),
    [
        ("pod == orders-7d", "all"), ("client.pod == orders-7d", "all"), ("broker.pod == orders-7d", "none"),
        ("pid == 1", "all"), ("client.pid == 1", "none"), ("broker.pid == 1", "all"), ("pid > 4000", "all"),
        ("process contains kafka", "all"), ("client.process contains kafka", "none"),
        ("namespace == shop", "all"), ("container == app and api == Fetch", "some"),
        ("processes.end == broker", "all"), ("processes", "all"),
        ("pod == other", "none"), ("not client.namespace == shop", "none"),
    ],
)  # fmt: skip
def test_filters(test: str, share: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = commented(tmp_path / "c", "both")
    every, found = len(rows(path, capfd)), len(rows(path, capfd, "-Y", test))
    assert {"all": found == every, "none": found == 0, "some": 0 < found < every}[share]


def test_an_ordinary_capture_has_no_processes(capfd: pytest.CaptureFixture[str]) -> None:
    assert rows(str(SOURCE), capfd, "-Y", "processes or pod or client.pid > 0") == []


@pytest.mark.parametrize("jobs", [[], ["--jobs", "2"]])
def test_columns(jobs: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = commented(tmp_path / "c", "client")
    assert main(["inspect", "-e", "number,processes.pod,processes.pid", "--format", "tsv", path]) == 0
    assert capfd.readouterr().out.splitlines()[1].split("\t") == ["1", "orders-7d", "4094"]
    assert rows(path, capfd, *jobs)[0]["processes"] == [JAVA]


def test_statistics_by_pod(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = commented(tmp_path / "c", "both")
    for names, key in (
        ("pod", ["orders-7d"]), ("process,pid", ["/usr/bin/java", "4094"]),
        ("namespace,container", ["shop", "app"]),
    ):  # fmt: skip
        assert main(["stats", "--by", names, "--format", "json", path]) == 0
        groups = json.loads(capfd.readouterr().out)
        assert key in [[str(row[name]) for name in names.split(",")] for row in groups["rows"]]


def test_connections_tell_processes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = commented(tmp_path / "c", "both")
    assert main(["connections", "--format", "jsonl", path]) == 0
    found = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [row["processes"] for row in found] == [[JAVA, KAFKA]] * len(found)


def test_a_connection_that_came_to_nothing_tells_whose_it_was(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    packets = packets_of(SOURCE)[:1]
    assert packets[0].data[ETHERNET_HEADER + 33] & 0x12 == 2
    content = pcapng(packets, lambda _: (ptcpdump(7, "nc"), OUT))
    assert main(["connections", "--format", "jsonl", written(tmp_path / "c", content, "pcapng")]) == 0
    (row,) = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert (row["kind"], row["processes"][0]["process"], row["processes"][0]["end"]) == (
        "no_data",
        "nc",
        "client",
    )


def test_what_arguments_hold_is_not_taken_for_a_pod(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    forged = "PID: 5\nCmd: sh\nArgs: sh -c\nPodName: forged\nPID: 6\nCmd: other"
    pod = POD.format("real", "shop")
    content = pcapng(packets_of(SOURCE), lambda _: ([forged, pod], OUT))
    found = rows(written(tmp_path / "c", content, "pcapng"), capfd)[0]["processes"][0]
    assert (found["pid"], found["process"], found["pod"]) == (5, "sh", "real")


@pytest.mark.parametrize(
    "text",
    ["", "PID: ", "PID: x\nCmd:  ", "PID: 10000000000", "PID: 0", "a comment\nof somebody", "\xff" * 9],
)
def test_comments_that_tell_of_no_process(
    text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    content = pcapng(packets_of(SOURCE), lambda _: ([text], OUT))
    assert "processes" not in rows(written(tmp_path / "c", content, "pcapng"), capfd)[0]


@pytest.mark.parametrize("pid", [1, 4194304, 4294967295])  # the largest of Linux, of 32 bits
def test_ids_of_processes(pid: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    content = pcapng(packets_of(SOURCE), lambda _: ([f"PID: {pid}"], OUT))
    assert rows(written(tmp_path / "c", content, "pcapng"), capfd)[0]["processes"][0]["pid"] == pid


def test_an_end_that_passes_to_another_process_has_both(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    numbers = iter(range(10**6))
    content = pcapng(packets_of(SOURCE), lambda _: (ptcpdump(next(numbers), "sh"), OUT))
    found = rows(written(tmp_path / "c", content, "pcapng"), capfd)
    assert len(found[-1]["processes"]) == 4  # no more are kept
    assert {one["end"] for one in found[-1]["processes"]} == {"client", "broker"}


# what cannot be read


def parsed(link: int, data: bytes) -> tuple[Any, SegmentParser]:
    parser = SegmentParser()
    return parser.parse(Packet(packet_ref(0, 1), 1, link, data, len(data))), parser


@pytest.mark.parametrize("form", FORMS)
def test_every_cut_of_a_packet_is_malformed_or_a_shorter_segment(form: str) -> None:
    link, wrap = FORMS[form]
    whole = wrap(next(packet.data for packet in packets_of(SOURCE) if len(packet.data) > 100))
    for length in range(len(whole)):
        segment, parser = parsed(link, whole[:length])
        assert segment is None or segment.missing or length > len(whole) - 4  # padding alone was cut
        assert segment is not None or parser.not_tcp == 1


PACKET = packets_of(SOURCE)[0].data
HOSTILE = {
    "pktap shorter than its own header": (258, struct.pack("<I", 8) + pktap(PACKET)[4:]),
    "pktap longer than the packet": (258, struct.pack("<I", 1 << 31) + pktap(PACKET)[4:]),
    "pktap inside pktap": (258, pktap(pktap(PACKET), link=258)),
    "pktap of a marked link type": (258, pktap(PACKET, link=1 << 16 | 1)),
    "nflog attribute of no length": (239, b"\2\0\0\0" + bytes(64)),
    "nflog without a packet": (239, b"\2\0\0\5" + b"\x08\0\1\0" + b"\x08\0\1\0"),
    "nflog of ARP": (239, b"\3\0\0\5" + b"\x20\0\x09\0" + bytes(28)),
    "gtp extension of no length": (1, gtp(PACKET, b"\0\7\0\x85" + bytes(8), 0x34)),
    "gtp extensions without an end": (1, gtp(PACKET, b"\0\7\0\x85" + b"\1\0\0\x85" * 9, 0x34)),
    "gtp of no IP": (1, gtp(bytes(40))),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_headers_are_malformed(name: str) -> None:
    segment, parser = parsed(*HOSTILE[name])
    assert segment is None
    assert parser.malformed == 1
    assert not parser.others


def test_what_gtp_says_to_itself_is_no_tunnel() -> None:
    for data in (gtp(PACKET, message=1), gtp(PACKET, flags=0x50)):
        segment, parser = parsed(1, data)
        assert segment is None
        assert parser.others == {"udp": 1}


def test_a_private_link_type_is_not_taken_for_pktap() -> None:
    _, parser = parsed(149, bytes(200))
    assert parser.unsupported == {149: 1}
    assert parser.malformed == 0


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("ah", outer_ip(51, b"\6\4" + bytes(40))),
        ("nsh", bytes(12) + b"\x89\x4f" + bytes(40)),
        ("tzsp", udp(37008, b"\1\0\0\1\1" + PACKET)),
        ("l2tp", outer_ip(115, bytes(40))),
        ("l2tp", udp(1701, b"\0\3\0\0" + bytes(20))),
        ("vxlan-gpe", udp(4790, b"\x0c\0\0\4" + bytes(30))),
    ],
)
def test_encapsulations_that_are_not_read_are_named(
    name: str, data: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "c", pcap([Packet(1, 10**18, 1, data, len(data))]))
    assert main(["inspect", path]) == 0
    told = f"kdissect: warning: 1 of 1 packet is in an encapsulation that is not read: 1 {name}\n"
    assert capfd.readouterr().err == told


@pytest.mark.parametrize(
    ("link", "name"), [(117, "PFLOG"), (104, "C_HDLC"), (242, "IPOIB"), (147, "LINKTYPE_147")]
)
def test_link_types_that_are_not_read_are_named(
    link: int, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "c", pcap([Packet(1, 10**18, link, bytes(60), 60)], link))
    assert main(["inspect", path]) == 0
    told = f"kdissect: warning: 1 of 1 packet is of a link type that is not read: 1 {name}\n"
    assert capfd.readouterr().err == told


# excerpts


def test_extract_keeps_comments(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = commented(tmp_path / "c", "both", order=">")
    for more in ([], ["--connections"]):
        out = tmp_path / f"out{len(more)}"
        out.mkdir()
        assert main(["extract", path, "-o", str(out / "c.pcapng"), "--api", "Fetch", *more]) == 0
        capfd.readouterr()
        found = rows(str(out / "c.pcapng"), capfd)
        assert found
        assert [row["processes"] for row in found] == [[JAVA, KAFKA]] * len(found)


def test_what_is_redacted_has_no_comments(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.pcapng"
    assert main(["extract", commented(tmp_path / "c", "both"), "-o", str(out), "--redact"]) == 0
    capfd.readouterr()
    assert b"-Xmx1g" not in out.read_bytes()
    assert "processes" not in rows(str(out), capfd)[0]


def test_a_stream_keeps_comments(tmp_path: Path) -> None:
    content = Path(commented(tmp_path / "c", "client")).read_bytes()
    ran = run("live", "--format", "jsonl", "-", stdin=content)
    found = [json.loads(line) for line in ran.out.splitlines()]
    assert found
    assert [row["processes"] for row in found] == [[JAVA]] * len(found)


# tables


@pytest.mark.parametrize("captured_at", ["client", "both"])
def test_tables_have_processes_with_connections(
    captured_at: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra arrow")
    path = commented(tmp_path / "c", captured_at)
    assert main(["tables", path, "--output", str(tmp_path / "tables")]) == 0
    assert capfd.readouterr().err == ""
    told = parquet.read_table(tmp_path / "tables" / "connections")["processes"].to_pylist()
    assert told == [[JAVA] if captured_at == "client" else [JAVA, KAFKA]] * len(told)
    plain = written(tmp_path / "plain", pcap(packets_of(SOURCE)))
    assert main(["tables", plain, "--output", str(tmp_path / "others")]) == 0
    assert set(parquet.read_table(tmp_path / "others" / "connections")["processes"].to_pylist()) == {None}


def test_many_tasks_know_the_processes_that_one_knows(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra arrow")
    from tests.pipeline.parquet import compare, of_run

    compare([Path(commented(tmp_path / "c", "both"))], tmp_path / "tables", tables={"connections"}, parts=3)
    assert "'pod'" in str(of_run(tmp_path / "tables", "connections"))
