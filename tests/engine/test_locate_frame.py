"""A frame among thousands of its size in one packet is found without putting each of them together."""

import struct

import pytest

from kdissect.decoders.records.checksum import crc32c
from kdissect.engine.exchange_log import locate_frame as refind
from kdissect.engine.exchange_log.log_columns import MARK_BYTES
from kdissect.engine.exchange_log.logged_frames import Want
from kdissect.model.endpoint import Endpoint
from kdissect.session.info import ConnectionInfo
from tests.support.messages.traffic import Conversation

COUNT = 1500


def frame(number: int) -> bytes:
    """Of 20 bytes."""
    return struct.pack(">iiiii", 16, 3, number, 0, -1)


@pytest.mark.parametrize("number", [0, 700, COUNT - 1])
def test_frames_of_one_size_are_told_apart_where_they_lie(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []
    assemble = refind._assemble
    monkeypatch.setattr(refind, "_assemble", lambda *what: tries.append(1) or assemble(*what))
    sent = b"".join(map(frame, range(COUNT)))
    packets = Conversation().handshake().client(sent, len(sent)).packets
    ends = Endpoint("10.0.0.1", 40000), Endpoint("10.0.0.2", 9092)
    info = ConnectionInfo("x", "", *ends, packets[0].time_ns)
    content = frame(number)[4:]
    ref, time_ns = packets[-1].ref, packets[-1].time_ns
    want = Want(info, True, ref, ref, time_ns, time_ns, 16, 16, crc32c(content[:MARK_BYTES]), False)
    finder = refind.Refinder(want)
    assert finder.feed(packets)
    assert finder.found is not None
    assert finder.found.data == content
    assert len(tries) == 1


def test_a_frame_that_goes_on_in_the_next_packet_is_put_together() -> None:
    sent = b"".join(map(frame, range(100)))
    packets = Conversation().handshake().client(sent, 33).packets
    info = ConnectionInfo("x", "", Endpoint("10.0.0.1", 40000), Endpoint("10.0.0.2", 9092), 0)
    content = frame(51)[4:]
    first = packets[3 + 51 * 20 // 33]
    last = packets[3 + (51 * 20 + 19) // 33]
    assert first is not last
    want = Want(info, True, first.ref, last.ref, 0, 0, 16, 16, crc32c(content[:MARK_BYTES]), False)
    finder = refind.Refinder(want)
    assert finder.feed(packets)
    assert finder.found is not None
    assert finder.found.data == content
