"""2,000 made-up records of eight countries: precision and recall of each kind, and what redaction leaves."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.decoders.records.reader import iter_records
from kdissect.engine.records.personal_parts import Part, PersonalParts
from kdissect.engine.records.record_sets import record_batches
from kdissect.model.record_batch import Record, RecordBatch
from kdissect.personal.hits import Kind
from kdissect.serdes.contents import content_of
from tests.personal.made_up import made_up
from tests.personal.made_up_systems import Unseen
from tests.personal.made_up_systems import records as of_systems
from tests.support.console import CAPTURES

for module in ("phonenumbers", "stdnum"):
    pytest.importorskip(module, reason="needs the extra personal")

FOLDER = CAPTURES / "personal"
CAPTURE = FOLDER / "personal.pcap.gz"
RECORDS = 2_000
PRECISION, RECALL = 0.97, 0.9
OF_A_SHAPE = 12  # records of each shape that are redacted

Item = tuple[str, str, str]


def batches(path: Path) -> Iterator[RecordBatch]:
    for exchange in Dissection(str(path)):
        for field in record_batches(exchange):
            yield from field.found.batches


def records(path: Path) -> list[Record]:
    return [record for batch in batches(path) for record in iter_records(batch, [])]


def items(record: Record) -> Counter[Item]:
    """Return part, path and kind of what is found in a record."""
    found: Counter[Item] = Counter()
    for part in PersonalParts().of("events", record):
        for one in part.content.found:
            path = part.name + one.leaf.path.removeprefix("$") if part.part is Part.HEADER else one.leaf.path
            found[str(part.part), path, str(one.hit.kind)] += 1
    return found


@cache
def counts() -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Return by kind: what was found and planted, what was only found, what was only planted."""
    with gzip.open(FOLDER / "truth.jsonl.gz", "rt") as lines:
        truth = [Counter(map(tuple, json.loads(line))) for line in lines]
    found = [items(record) for record in records(CAPTURE)]
    assert len(found) == len(truth) == RECORDS
    right, wrong, missed = Counter[str](), Counter[str](), Counter[str]()
    for ours, theirs in zip(found, truth, strict=True):
        for counter, some in ((right, ours & theirs), (wrong, ours - theirs), (missed, theirs - ours)):
            for (_, _, kind), number in some.items():
                counter[kind] += number
    return right, wrong, missed


@pytest.mark.parametrize("kind", Kind)
def test_precision_and_recall(kind: str) -> None:
    right, wrong, missed = (counter[kind] for counter in counts())
    assert right > 200
    assert right / (right + wrong) >= PRECISION
    assert right / (right + missed) >= RECALL


@pytest.fixture(scope="module")
def redacted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("redacted") / "out.pcapng"
    assert main(["extract", "--redact=personal", "-o", str(out), str(CAPTURE)]) == 0
    return out


def test_redaction_leaves_no_hit(redacted: Path) -> None:
    assert sum(map(len, map(items, records(redacted)))) == 0


def test_redaction_keeps_lengths_and_checksums(redacted: Path) -> None:
    before, after = list(batches(CAPTURE)), list(batches(redacted))
    assert [(one.codec, one.count) for one in after] == [(one.codec, one.count) for one in before]
    assert all(one.crc_is_right for one in after)
    for old, new in zip(records(CAPTURE), records(redacted), strict=True):
        assert len(new.key or b"") == len(old.key or b"")
        assert len(new.value or b"") == len(old.value or b"")
        assert [len(value or b"") for _, value in new.headers] == [
            len(value or b"") for _, value in old.headers
        ]


def test_redaction_keeps_what_is_not_personal(redacted: Path) -> None:
    with gzip.open(FOLDER / "truth.jsonl.gz", "rt") as lines:
        truth = [json.loads(line) for line in lines]
    same = 0
    for old, new, planted in zip(records(CAPTURE), records(redacted), truth, strict=True):
        if not planted:
            assert new == old
            same += 1
        if (old.value or b"")[:1] != b"{":
            continue
        was, now = json.loads(old.value or b""), json.loads(new.value or b"")
        steps = {path.split(".")[1].removesuffix("[]") for part, path, _ in planted if part == "value"}
        assert {name: value for name, value in now.items() if name not in steps} == {
            name: value for name, value in was.items() if name not in steps
        }
    assert same > 200


@cache
def counts_by_shape() -> tuple[Counter[str], Counter[str], Counter[str]]:
    right, wrong, missed = Counter[str](), Counter[str](), Counter[str]()
    for one in made_up():
        found = Counter[str]()
        for (_, _, kind), number in items(Record(0, 0, None, one.data)).items():
            found[kind] += number
        right += found & one.truth
        wrong += found - one.truth
        missed += one.truth - found
    return right, wrong, missed


@pytest.mark.parametrize("kind", sorted(set(Kind) - {Kind.CREDENTIAL, Kind.COORDINATES}))
def test_precision_and_recall_of_other_shapes(kind: str) -> None:
    """Query strings, logfmt, XML, CSV, latin-1, MessagePack, CBOR and dates as lists, of other countries."""
    right, wrong, missed = (counter[kind] for counter in counts_by_shape())
    assert right > 1000
    assert right / (right + wrong) >= PRECISION
    assert right / (right + missed) >= RECALL


def test_redaction_of_other_shapes_leaves_no_hit() -> None:
    parts = PersonalParts()
    for one in made_up()[::7]:
        record = Record(0, 0, None, one.data)
        masked = parts.masked("events", record)
        assert len(masked.value or b"") == len(one.data)
        assert not items(masked), (one.shape, masked.value)
        if one.shape in ("message_pack", "cbor"):
            assert content_of(masked.value) is not None
        if one.shape == "latin_1":
            assert json.loads((masked.value or b"").decode("latin-1"))["note"] == "Grüße"


def in_record(one: Unseen) -> Record:
    return Record(0, 0, one.key, one.value, one.headers)


@cache
def counts_of_systems() -> tuple[Counter[str], Counter[str], Counter[str]]:
    right, wrong, missed = Counter[str](), Counter[str](), Counter[str]()
    for one in of_systems():
        found = Counter[str]()
        for (_, _, kind), number in items(in_record(one)).items():
            found[kind] += number
        right += found & one.truth
        wrong += found - one.truth - one.either
        missed += one.truth - found
    return right, wrong, missed


@pytest.mark.parametrize("kind", Kind)
def test_precision_and_recall_in_shapes_of_systems(kind: str) -> None:
    """Change events, JSON in JSON, Avro's JSON, lists of attributes, FHIR, ISO 20022, logs, forms and CSV."""
    right, wrong, missed = (counter[kind] for counter in counts_of_systems())
    assert right > 150
    assert right / (right + wrong) >= PRECISION
    assert right / (right + missed) >= RECALL


def test_redaction_of_shapes_of_systems_leaves_no_hit() -> None:
    parts, shapes = PersonalParts(), Counter[str]()
    for one in of_systems():
        shapes[one.shape] += 1
        if shapes[one.shape] > OF_A_SHAPE:
            continue
        masked = parts.masked("events", in_record(one))
        assert len(masked.value or b"") == len(one.value)
        assert not items(masked), (one.shape, masked.value)
        if one.value.startswith(b"{"):
            json.loads(masked.value or b"")
        if one.shape.startswith("plain"):
            assert masked.value == one.value
