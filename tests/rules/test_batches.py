"""How rules about batches are driven: one cause, one finding; bounds; secrets."""

import gzip
from typing import Any

import lz4.frame
import pytest
import zstandard

from kdissect.api import Dissection
from kdissect.decoders.records.canonical_batch import are_canonical
from kdissect.engine.records.record_sets import record_batches
from kdissect.model.finding import Finding
from kdissect.model.packets.packet import Packet
from kdissect.rules.judging.batch_judge import BatchJudge
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import REQUEST, RESPONSE
from kdissect.rules.run_coverage.coverage import Coverage
from kdissect.rules.views.batch_view import has_canonical_content
from kdissect.rules.views.body_view import Body, body_of
from tests.decoders.compression.test_codecs import xerial
from tests.rules.fixtures.batches import BASE, GOOD, SECOND, ZSTD, batch, fetched, produced, records
from tests.rules.scripted_connection import findings, judged
from tests.support.console import CAPTURES
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.run import exchanges_of


def told(packets: list[Packet]) -> list[tuple[str, int]]:
    return [(finding.code, finding.count) for finding in record_findings(packets)]


def record_findings(packets: list[Packet]) -> list[Finding]:
    return [finding for finding in findings(packets) if finding.code.startswith("REC")]


def test_a_damaged_batch_silences_what_its_bytes_would_mean() -> None:
    assert told(produced(batch({"attributes": 1}, crc=5, attributes=0x168, last_delta=9))) == [("REC004", 1)]


def test_each_batch_has_findings_of_its_own() -> None:
    odd = batch({"attributes": 1}), batch({"attributes": 1}, base_offset=1), batch(base_offset=2, crc=1)
    assert told(fetched(b"".join(odd))) == [("REC030", 2), ("REC004", 1)]


def test_of_many_records_the_first_is_told() -> None:
    many = records(*[{"attributes": 1}] * 500)
    (finding,) = record_findings(produced(batch_bytes(many, 500, max_timestamp=BASE)))
    assert finding.count == 1
    assert finding.place.path.endswith("records.batches[0].records[0].attributes")


@pytest.mark.parametrize("by", [1, 8, 30])
def test_a_length_that_is_too_short_is_one_cause(by: int) -> None:
    long = {"value": bytes(60)}
    length = len(batch(long)) - 12
    assert told(produced(batch(long, length=length - by))) == [("REC001", 1)]
    assert told(produced(batch(long, length=length + by))) == [("REC002", 1)]


@pytest.mark.parametrize("at", [1, 10, 40, 60])
def test_a_last_batch_that_is_cut_is_legal_in_a_fetch(at: int) -> None:
    assert told(fetched(GOOD + SECOND[:at])) == []
    assert [code for code, _ in told(produced(GOOD + SECOND[:at]))] == ["REC002"]


def test_records_too_large_to_decompress_are_inconclusive() -> None:
    bomb = zstandard.compress(bytes(129 << 20))
    judge = judged(produced(batch_bytes(bomb, 1, attributes=ZSTD, max_timestamp=BASE)))
    assert ("REC005", "the records are larger than is decompressed") in judge.inconclusive
    assert not [finding for finding in judge.findings.all() if finding.code.startswith("REC")]


LZ4_FRAME = lz4.frame.compress(records({}), content_checksum=True)
XERIAL = xerial(records({}))
READABLE = {
    "content's checksum": (3, LZ4_FRAME[:-1] + bytes((LZ4_FRAME[-1] ^ 1,))),
    "little-endian": (2, XERIAL[:8] + b"\x01\0\0\0\x01\0\0\0" + XERIAL[16:]),
}


@pytest.mark.parametrize("why", READABLE)
def test_frames_that_some_readers_refuse_are_reported_with_their_part(why: str) -> None:
    codec, data = READABLE[why]
    (finding,) = record_findings(produced(batch_bytes(data, attributes=codec, max_timestamp=BASE)))
    assert (finding.code, why in finding.seen) == ("REC005", True)


def test_secrets_are_not_shown() -> None:
    scram = b"\x01\x0b\0secret-of-somebody"  # UserScramCredentialRecord, which does not fit
    data = batch_bytes(record_bytes(value=scram), max_timestamp=BASE)
    (finding,) = record_findings(fetched(data, topic="__cluster_metadata"))
    assert (finding.code, finding.place.bytes_seen) == ("REC041", b"")
    cut = batch_bytes(record_bytes(value=scram)[:-1], max_timestamp=BASE)
    (finding,) = record_findings(fetched(cut, topic="__cluster_metadata"))
    assert (finding.code, finding.place.bytes_seen) == ("REC011", b"")


def test_rules_about_other_formats_are_not_exercised() -> None:
    rules = judged(produced(GOOD)).coverage.rules
    assert rules["REC030"] == rules["REC021"] == rules["REC005"] == 1
    assert not rules["REC029"] and not rules["REC027"]


def test_batches_are_cut_once_for_histories_and_rules() -> None:
    exchange = next(e for e in exchanges_of(produced(GOOD)) if e.api_key == 0)
    assert record_batches(exchange) is record_batches(exchange)


def body(packets: list[Packet], side: str) -> Body:
    found = body_of(next(e for e in exchanges_of(packets) if e.api_key != 18), side)
    assert found is not None
    return found


def test_a_batch_that_was_produced_is_not_looked_through_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []

    def look(*arguments: Any, **options: bool) -> bool:
        looks.append(1)
        return are_canonical(*arguments, **options)

    monkeypatch.setattr("kdissect.rules.views.batch_view.are_canonical", look)
    data = batch_bytes(gzip.compress(records({}), mtime=0), attributes=1, max_timestamp=BASE)
    judge = BatchJudge(ALL_RULES, Coverage())
    for packets, side in ((produced(data), REQUEST), (fetched(data), RESPONSE), (fetched(SECOND), RESPONSE)):
        assert not list(judge.faults(body(packets, side)))
    assert len(looks) == 2


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kdissect.rules.judging.batch_judge.MOST_CANONICAL", 3)
    judge = BatchJudge(ALL_RULES, Coverage())
    for number in range(8):
        assert not list(judge.faults(body(produced(batch(sequence=number)), REQUEST)))
        assert 0 < len(judge._canonical) <= 3


def test_nearly_all_batches_of_recordings_are_canonical() -> None:
    canonical = total = 0
    for name in (
        "kafka44_java_produce.pcapng",
        "kafka44_sarama_produce.pcapng",
        "kafka28zk_franz_late.pcapng",
    ):
        for exchange in Dissection(CAPTURES / name):
            asked = body_of(exchange, REQUEST)
            if asked is None or asked.api.name != "Produce" or not asked.fits:
                continue
            for _, found in record_batches(exchange):
                for one in found.batches:
                    total += 1
                    canonical += has_canonical_content(one, dense=True)
    assert canonical > 0.8 * total > 20
