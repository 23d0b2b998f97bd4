"""Recording on the loopback interface, where this is allowed: a client and a broker replay recorded bytes."""

import asyncio
import socket
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.capture.live import programs as choose
from kdissect.capture.live.programs import PROGRAMS
from kdissect.model.frame import Frame
from kdissect.session.exchange import Exchange
from kdissect.testing import wire_recording as recording
from kdissect.testing.wire import KafkaWire, Recording, WireOptions
from tests.support.console import CAPTURES
from tests.support.live import SOURCES

ACKS = CAPTURES / "tansu_rdk216_acks.pcap"
FAULTY_PORT = 52854  # of the client whose Metadata request has trailing bytes


def conversation() -> list[Exchange]:
    """Return what one connection of the capture said."""
    return [e for e in Dissection(ACKS) if e.connection.client.port == FAULTY_PORT and e.response]


def framed(frame: Frame | None) -> bytes:
    assert frame is not None
    return len(frame.data).to_bytes(4) + frame.data


async def replay(port: int) -> int:
    """Say it all again; gives the number of exchanges."""
    said = conversation()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for exchange in said:
            await reader.readexactly(len(framed(exchange.request)))
            writer.write(framed(exchange.response))
        await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for exchange in said:
            writer.write(framed(exchange.request))
            await reader.readexactly(len(framed(exchange.response)))
        writer.close()
        await writer.wait_closed()
    return len(said)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@pytest.mark.parametrize("source", SOURCES)
def test_live(source: str, tmp_path: Path) -> None:
    def start(ports: list[int], interface: str | None) -> Recording:
        try:
            return recording.start_recording(str(tmp_path / "wire.pcapng"), ports, interface, source)
        except recording.CannotRecordError as error:
            pytest.skip(str(error))

    port = free_port()
    wire = KafkaWire(WireOptions(select=["FRM006"]), start).record(port)
    said = asyncio.run(replay(port))
    seen = wire.exchanges()  # while the recording goes on
    problem = wire.close()
    assert [e.api_key for e in seen] == [e.api_key for e in conversation()]
    assert said == len(seen)
    assert problem.startswith("kafka_wire: 1 finding in ")
    assert wire.close() == problem  # ending it again changes nothing


def test_a_port_where_nothing_is_said(tmp_path: Path) -> None:
    try:
        quiet = recording.start_recording(str(tmp_path / "quiet.pcapng"), [free_port()])
    except recording.CannotRecordError as error:
        pytest.skip(str(error))
    wire = KafkaWire(WireOptions(), lambda ports, interface: quiet).record(1)
    assert wire.close().endswith("quiet.pcapng: no Kafka traffic")
    assert KafkaWire(WireOptions(allow_empty=True), lambda ports, interface: quiet).record(1).close() == ""


def open_handles() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_no_handle_is_left_open(tmp_path: Path) -> None:
    before = None
    for number in range(3):
        try:
            recording.start_recording(str(tmp_path / f"{number}.pcapng"), [free_port()]).stop()
        except recording.CannotRecordError as error:
            pytest.skip(str(error))
        before = before or open_handles()  # the first one loads what all need
    assert open_handles() == before


def test_why_nothing_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that was tried, in one line."""
    words = "echo out of order >&2; exit 1"
    broken = {
        "dumpcap": PROGRAMS["dumpcap"]._replace(command=lambda _: ["no-such-program"]),
        "libpcap": PROGRAMS["libpcap"]._replace(command=lambda _: ["sh", "-c", words]),
        "tcpdump": PROGRAMS["tcpdump"]._replace(command=lambda _: ["no-such-program"]),
        "scapy": PROGRAMS["scapy"]._replace(command=lambda _: ["no-such-program"]),
    }
    monkeypatch.setattr(choose, "PROGRAMS", broken)
    with pytest.raises(recording.CannotRecordError, match=r"^out of order$"):
        recording.start_recording(str(tmp_path / "x.pcapng"), [1])
    broken["libpcap"] = broken["tcpdump"]
    with pytest.raises(recording.CannotRecordError) as caught:
        recording.start_recording(str(tmp_path / "x.pcapng"), [1])
    assert str(caught.value) == "no program can capture: " + "; ".join(
        f"{name}: No such file or directory" for name in ("dumpcap", "tcpdump", "tcpdump", "scapy")
    )
