"""What is kept between batches: nothing of connections that are over, the same for those that are silent."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from kdissect.engine.analyzer import LINGER_NS
from kdissect.model.packet import Packet
from tests.pipeline.streaming.arriving import arrive, assert_equal
from tests.pipeline.streaming.drive import Stream, settings_of
from tests.support.traffic import BROKER, CLIENT, START_NS, Conversation, request, response

HOUR_NS = 3600 * 10**9
MINUTE_NS = 60 * 10**9


def _versions(start_ns: int, port: int, ends: bool = True) -> Conversation:
    """A connection with one ApiVersions exchange."""
    talk = Conversation(ports=(port, 9092), start_ns=start_ns).handshake()
    talk.client(request(18, 0, 1)).broker(response(1, b"\0\0\0\0\0\0"))
    return talk.fin(CLIENT).fin(BROKER) if ends else talk


def _at(packets: list[Packet]) -> list[Packet]:
    return sorted(packets, key=lambda packet: packet.time_ns)


def test_state_of_connections_that_are_over_goes(tmp_path: Path) -> None:
    stream = Stream(settings_of(tmp_path, tmp_path / "in"))
    for number in range(6):
        start = START_NS + number * 2 * LINGER_NS
        arrive(
            tmp_path / "in",
            number,
            [p for port in range(5) for p in _versions(start, 41000 + 10 * number + port).packets],
        )
        (done,) = stream.catch_up()
        assert done.flows == 5, "those of the file before are gone"
    assert sum(store.flows for store in stream.stores.values()) == 5
    assert_equal(tmp_path / "tables", [tmp_path / "in"])


def test_a_day_of_idle_connections_does_not_grow_the_state(tmp_path: Path) -> None:
    """Ten connections that send a keep-alive each ten minutes, and one short one each hour, for a day."""
    stream = Stream(settings_of(tmp_path, tmp_path / "in", tables=frozenset({"connections", "exchanges"})))
    idle = [_versions(START_NS + port, 42000 + port, ends=False) for port in range(10)]
    sizes = []
    for hour in range(24):
        start = START_NS + hour * HOUR_NS
        for talk in idle:
            for minute in range(0, 60, 10):
                talk.wait(max(0, start + minute * MINUTE_NS - talk.now)).packet(CLIENT)
        packets = [p for talk in idle for p in talk.packets] + _versions(
            start + MINUTE_NS, 50000 + hour
        ).packets
        for talk in idle:
            talk.packets.clear()
        arrive(tmp_path / "in", hour, _at(packets))
        (done,) = stream.catch_up()
        sizes.append(done.state_bytes)
        assert done.flows <= 12
    assert max(sizes[4:]) <= sizes[3] + 2000, sizes


def test_connections_that_fall_silent_are_over_without_a_packet_of_theirs(tmp_path: Path) -> None:
    stream = Stream(settings_of(tmp_path, tmp_path / "in"))
    arrive(
        tmp_path / "in", 0, _at([p for n in range(4) for p in _versions(START_NS, 43000 + n, False).packets])
    )
    (done,) = stream.catch_up()
    assert done.flows == 4
    arrive(tmp_path / "in", 1, _versions(START_NS + HOUR_NS, 44000).packets)
    (done,) = stream.catch_up()
    assert done.flows == 1
    assert_equal(tmp_path / "tables", [tmp_path / "in"])
