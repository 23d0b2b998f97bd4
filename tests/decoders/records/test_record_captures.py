"""Batches of real traffic: counts of independent scanners, records equal to what kafka-python reads."""

from pathlib import Path

import pytest

import kdissect
from kdissect.model.record_batch import RecordBatch
from tests.support.captures import manifest
from tests.support.console import CHECKOUT
from tests.support.records import all_records, batches_of, faults_of, ours, theirs

SHIPPED = sorted((CHECKOUT / "captures").glob("*.pcap*"))


def batches(path: Path) -> list[RecordBatch]:
    return [batch for exchange in kdissect.open(path) for batch in batches_of(exchange, whole_frames=True)]


def check_records(found: list[RecordBatch]) -> None:
    """Every batch whose checksum is right, against kafka-python."""
    for batch in found:
        if batch.crc_is_right:
            assert ours(batch) == theirs(batch.data[batch.start : batch.end])


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_captures_equal_kafka_python(path: Path) -> None:
    check_records(batches(path))


def test_reference_captures_equal_kafka_python_and_the_scanners(reference: Path) -> None:
    codecs = set()
    for name, counted in manifest(reference).items():
        found = batches(reference / "captures" / name)
        check_records(found)
        codecs |= {(batch.magic, batch.codec) for batch in found}
        modern = [batch for batch in found if batch.magic == 2]
        assert (len(modern), len(found) - len(modern), sum(not batch.crc_is_right for batch in found)) == (
            counted["record_batches"],
            counted["legacy_messages"],
            counted["bad_crc"],
        ), name
        if "badcrc" not in name:  # there the scanner and we save different parts of the broken batches
            assert all_records(modern) == counted["records"], name
    assert codecs == {(2, 0), (2, 1), (2, 2), (2, 3), (2, 4), (0, 0), (0, 1), (0, 2)}


def test_every_bad_batch_of_the_damaged_capture_is_named(reference: Path) -> None:
    found = batches(reference / "captures" / "dmg_tansu_rdk216_codecs_badcrc.pcap")
    named = [
        batch for batch in found if any(fault.startswith("bad_crc crc: says") for fault in faults_of(batch))
    ]
    assert (len(found), len(named)) == (30, 17)
    good = [batch for batch in found if batch.crc_is_right]
    assert all(not faults_of(batch) for batch in good)
