"""Batches of real traffic: counts of independent scanners, records equal to what kafka-python reads."""

import re
import zlib
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.reader import read_records
from kdissect.model.record_batch import CODEC_NAMES, Codec, RecordBatch
from tests.support.captures import manifest
from tests.support.console import CHECKOUT
from tests.support.messages.batches import batch_bytes
from tests.support.messages.records import all_records, batches_of, faults_of, ours, theirs

SHIPPED = sorted((CHECKOUT / "captures").glob("*.pcap*"))


def batches(path: Path) -> list[RecordBatch]:
    return [batch for exchange in Dissection(path) for batch in batches_of(exchange, whole_frames=True)]


def check_records(found: list[RecordBatch]) -> None:
    """Every batch whose checksum is right, against kafka-python."""
    for batch in found:
        if batch.crc_is_right:
            assert ours(batch) == theirs(batch.data[batch.start : batch.end])


@pytest.mark.sampled(16)
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
        if "badcrc" not in name:  # see the next test
            assert all_records(modern) == counted["records"], name
    assert codecs == {(2, 0), (2, 1), (2, 2), (2, 3), (2, 4), (0, 0), (0, 1), (0, 2)}


def test_broken_batches_give_the_records_of_the_scanner_but_for_two_rules(reference: Path) -> None:
    """4224 and 4220 records, because of three of the 17 broken batches.

    We go on behind a record that does not fit, as its length says where it ends: 123 and 37 records more
    than the scanner, which stops there. It takes what a gzip stream gave until it broke off, 156 records
    (the last with -27 headers), of which we take nothing: no checksum vouches for them. The scanner's rules
    are inferred: they give its number.
    """
    name = "dmg_tansu_rdk216_codecs_badcrc.pcap"
    found = batches(reference / "captures" / name)
    ours_and_theirs = [(len(read_records(batch).records), by_the_scanner(batch)) for batch in found]
    assert [sum(counts) for counts in zip(*ours_and_theirs, strict=True)] == [4224, 4220]
    assert manifest(reference)[name]["records"] == 4220
    different = [
        (CODEC_NAMES[batch.codec], *counts)
        for batch, counts in zip(found, ours_and_theirs, strict=True)
        if counts[0] != counts[1]
    ]
    assert different == [("zstd", 276, 153), ("snappy", 142, 105), ("gzip", 0, 156)]


def by_the_scanner(batch: RecordBatch) -> int:
    """Return the records up to the first that does not fit; of a gzip stream as far as it goes."""
    if batch.codec == Codec.GZIP:
        content = zlib.decompressobj(31).decompress(batch.data[batch.records_start : batch.end])
        data = batch_bytes(content, batch.count or 0)
        batch = split_batches(data, 0, len(data)).batches[0]
    found = read_records(batch)
    if not found.faults:
        return len(found.records)
    first = next(fault.path for fault in found.faults if not fault.path.endswith(".headers"))
    number = re.match(r"records\[(\d+)\]", first)
    return int(number[1]) if number else 0


def test_every_bad_batch_of_the_damaged_capture_is_named(reference: Path) -> None:
    found = batches(reference / "captures" / "dmg_tansu_rdk216_codecs_badcrc.pcap")
    named = [
        batch for batch in found if any(fault.startswith("bad_crc crc: says") for fault in faults_of(batch))
    ]
    assert (len(found), len(named)) == (30, 17)
    good = [batch for batch in found if batch.crc_is_right]
    assert all(not faults_of(batch) for batch in good)
