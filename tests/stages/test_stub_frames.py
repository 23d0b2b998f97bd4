"""Thin frames: all but the records, byte by byte, and the checksums they had."""

import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdissect.api import Dissection
from kdissect.decoders.records.checksum import crc32c
from kdissect.engine.records.record_sets import record_batches
from kdissect.model.frame import Frame
from kdissect.session.exchange import Exchange
from kdissect.stages.stub_frames import CASTAGNOLI, IEEE, forged, stub_bytes, stubs_of

CAPTURES = Path(__file__).parents[2] / "captures"
NAMES = (
    "kafka44_kp3_produce.pcapng", "kafka28zk_sarama_releases.pcapng", "mock_rdk216_txn.pcap",
    "kafka32_quorum.pcapng",
)  # fmt: skip
_HEADER = (
    "start", "end", "magic", "base_offset", "leader_epoch", "attributes", "last_offset_delta",
    "base_timestamp", "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "count",
    "crc", "crc_is_right",
)  # fmt: skip


def _again(exchange: Exchange) -> Exchange:
    """Return the exchange with stub frames."""
    made = Exchange(exchange.connection, exchange.ordinal)
    for name in ("kind", "api_key", "api_version", "request_body_offset", "response_body_offset", "state"):
        setattr(made, name, getattr(exchange, name))
    asked, answered = stubs_of(exchange)
    made.request = None if asked is None else _frame(exchange.request, stub_bytes(asked))
    made.response = None if answered is None else _frame(exchange.response, stub_bytes(answered))
    return made


def _frame(frame: Frame | None, data: bytes) -> Frame:
    assert frame is not None
    assert len(data) == len(frame.data)
    return Frame(data, frame.size, frame.first_ref, frame.last_ref, frame.time_ns, frame.end_time_ns)


def _headers(exchange: Exchange) -> list[Any]:
    return [
        (section, [tuple(getattr(batch, name) for name in _HEADER) for batch in found.batches], found.cut)
        for section, found in record_batches(exchange)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_batches_are_as_before_and_bodies_decode(name: str) -> None:
    kept = thin = 0
    for exchange in Dissection(str(CAPTURES / name)):
        again = _again(exchange)
        assert _headers(again) == _headers(exchange)
        assert again.request_summary() == exchange.request_summary()
        assert again.response_summary() == exchange.response_summary()
        for one, other in zip(again.bodies(), exchange.bodies(), strict=True):
            assert (one is None) == (other is None)
            assert one is None or other is None or (one.fits, one.end) == (other.fits, other.end)
        for pieces, frame in zip(stubs_of(exchange), (exchange.request, exchange.response), strict=True):
            if pieces is not None and frame is not None:
                thin += sum(len(piece) for piece in pieces if isinstance(piece, bytes))
                kept += len(frame.data)
    assert 0 < thin < kept


def test_no_byte_of_a_record_is_left() -> None:
    for exchange in Dissection(str(CAPTURES / "kafka44_kp3_produce.pcapng")):
        asked, answered = stubs_of(exchange)
        side = asked if exchange.api_key == 0 else answered
        for _, found in record_batches(exchange):
            for batch in found.batches:
                records = bytes(batch.data[batch.start + 64 : batch.end])
                for start in range(0, len(records) - 16, 16):
                    piece = records[start : start + 16]
                    if any(piece) and side is not None:
                        assert not any(piece in kept for kept in side if isinstance(kept, bytes))


def test_a_wrong_checksum_stays_wrong_and_its_field_whole(reference: Path) -> None:
    wrong = 0
    for exchange in Dissection(str(reference / "captures" / "dmg_tansu_rdk216_codecs_badcrc.pcap")):
        for _, found in record_batches(_again(exchange)):
            wrong += sum(not batch.crc_is_right for batch in found.batches)
    assert wrong > 0


@given(st.binary(max_size=200), st.integers(0, (1 << 32) - 1))
def test_a_checksum_can_be_had_by_four_bytes(data: bytes, wanted: int) -> None:
    assert crc32c(data + forged(CASTAGNOLI, crc32c(data), wanted)) == wanted
    assert zlib.crc32(data + forged(IEEE, zlib.crc32(data), wanted)) == wanted
