"""Saved exchanges: the same when read again, from files and from streams."""

from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.capture.formats.packet_file import PacketFile
from kdissect.excerpt.frames_file import frame_packets
from kdissect.session.exchange import Exchange
from kdissect.tui.processes.saver import save
from kdissect.tui.processes.worker_messages import Order, SaveOrder
from kdissect.tui.screens.save_screen import run_saver
from tests.support.console import CAPTURES, run
from tests.support.messages.frames import with_data

PRODUCE = str(CAPTURES / "kafka44_java_produce.pcapng")


def frames(exchange: Exchange) -> tuple[bytes, bytes]:
    return (
        b"" if exchange.request is None else exchange.request.data,
        b"" if exchange.response is None else exchange.response.data,
    )


def chosen() -> list[Exchange]:
    return [one for one in Dissection(PRODUCE) if one.api_key == 0][:5]


def test_the_file_is_that_of_extract(tmp_path: Path) -> None:
    wanted = chosen()
    places = frozenset((one.connection.id, one.ordinal) for one in wanted)
    path, other = tmp_path / "saved.pcapng", tmp_path / "extracted.pcapng"
    saved = run_saver(SaveOrder(Order((PRODUCE,)), places, str(path)))
    assert (saved.written, saved.trouble) == (5, "")
    options = [f"--exchange={connection}/{ordinal}" for connection, ordinal in places]
    assert run("extract", PRODUCE, *options, "-o", other).code == 0
    assert path.read_bytes() == other.read_bytes()
    again = {frames(one) for one in Dissection(str(path))}
    assert {frames(one) for one in wanted} <= again


def test_troubles_are_told_in_a_line(tmp_path: Path) -> None:
    places = frozenset({("0" * 16, 3)})
    nothing = save(SaveOrder(Order((PRODUCE,)), places, str(tmp_path / "none.pcapng")))
    assert nothing.written == 0
    assert nothing.trouble
    assert not (tmp_path / "none.pcapng").exists()
    wanted = frozenset((one.connection.id, one.ordinal) for one in chosen())
    nowhere = save(SaveOrder(Order((PRODUCE,)), wanted, str(tmp_path / "no" / "such.pcapng")))
    assert nowhere.written == 0
    assert "No such file" in nowhere.trouble


@pytest.mark.parametrize("cut", [False, True])
def test_frames_become_packets_that_read_the_same(cut: bool, tmp_path: Path) -> None:
    wanted = chosen()
    if cut:
        asked, answered = wanted[0].request, wanted[1].response
        assert asked is not None
        assert answered is not None
        wanted[0].request = with_data(asked, asked.data[:-3])
        wanted[1].response = with_data(answered, answered.data[:-3])
    path = tmp_path / "frames.pcapng"
    with PacketFile(str(path)) as file:
        for packet, _, _ in frame_packets(wanted):
            file.write(packet)
    again = list(Dissection(str(path)))
    found = {(one.api_key, one.correlation_id, one.client_id): one for one in again}
    for one in wanted:
        other = found[one.api_key, one.correlation_id, one.client_id]
        assert frames(other) == frames(one)
        assert other.connection.client == one.connection.client
        assert other.request is not None
        assert one.request is not None
        assert other.request.time_ns == one.request.time_ns
        assert (other.request.is_cut, other.request.size) == (one.request.is_cut, one.request.size)


def test_a_frame_larger_than_a_packet(tmp_path: Path) -> None:
    (exchange,) = chosen()[:1]
    assert exchange.request is not None
    data = exchange.request.data + bytes(200_000)
    exchange.request = with_data(exchange.request, data, exchange.request.size + 200_000)
    with PacketFile(str(tmp_path / "large.pcapng")) as file:
        packets = [packet for packet, _, _ in frame_packets([exchange])]
        for packet in packets:
            file.write(packet)
    assert len(packets) > 3
    assert frames(next(iter(Dissection(str(tmp_path / "large.pcapng")))))[0] == exchange.request.data


def test_connections_are_copied_whole(tmp_path: Path) -> None:
    """Connections without exchanges, as of causes about failed ones."""
    refused = str(CAPTURES / "kafka44_java_refused.pcapng")
    ends = {one.connection.id: str(one.connection.client) for one in Dissection(refused)}
    wanted = frozenset(sorted(ends)[:2])
    path = tmp_path / "saved.pcapng"
    saved = save(SaveOrder(Order((refused,)), frozenset(), str(path), wanted))
    assert (saved.written, saved.trouble) == (2, "")
    assert {str(one.connection.client) for one in Dissection(str(path))} == {ends[one] for one in wanted}
