"""What decompression gives is bounded for a run, not only for a batch; what is usual is never cut."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

from kdissect.decoders.compression import codec as codecs
from kdissect.decoders.compression.codec import decompress
from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.reader import iter_records, read_records
from kdissect.model.errors import DecodeError, OutputLimitError
from kdissect.model.limits import DEFAULT_LIMITS, use
from kdissect.model.record_batch import Codec, RecordBatch
from kdissect.model.run_budget import start_run, take_met
from tests.hostile.records import produced
from tests.support.messages.batches import batch_bytes, message_bytes, record_bytes

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def limits() -> Iterator[Callable[..., None]]:
    """Yield a function that sets limits for a run; the limits of the process apply again afterwards."""

    def begin(**changed: int) -> None:
        use(DEFAULT_LIMITS._replace(**changed))

    start_run()
    take_met()
    yield begin
    use(DEFAULT_LIMITS)
    start_run()
    take_met()


def bomb(count: int) -> bytes:
    """Return records that are equal to the last byte, offsets too."""
    return batch_bytes(zstandard.compress(record_bytes() * count), count, attributes=Codec.ZSTD)


def usual(count: int) -> bytes:
    """As alike as records of a producer are: offsets and times count up, keys and values are the same."""
    records = b"".join(record_bytes(n, n, b"key", bytes(60)) for n in range(count))
    return batch_bytes(zstandard.compress(records, 19), count, attributes=Codec.ZSTD, last_delta=count - 1)


def batch_of(data: bytes) -> RecordBatch:
    return split_batches(data, 0, len(data)).batches[0]


def test_records_of_many_batches_are_as_many_as_a_run_has(limits: Callable[..., None]) -> None:
    limits(run_records=10_000)
    data = bomb(5000)
    read = [len(read_records(batch_of(data)).records) for _ in range(10)]
    each = DEFAULT_LIMITS.run_record_ratio * len(data)
    assert read[0] == 5000
    assert sum(read) <= 10_000 + 10 * each
    assert read[-1] == each
    assert take_met() == ["run_records"]
    faults = read_records(batch_of(data)).faults
    assert [str(fault.kind) for fault in faults] == ["decompression_limit"]


@pytest.mark.exhaustive
def test_those_that_are_asked_for_one_by_one_count_as_far_as_they_were(limits: Callable[..., None]) -> None:
    limits(run_records=100)
    many = bomb(20_000)
    for _ in range(200):
        assert next(iter_records(batch_of(many), [])).offset == 0
    assert not take_met()


def test_bytes_of_many_batches_are_as_many_as_a_run_has(
    limits: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits(run_bytes=1 << 20)
    given = []
    zstd = codecs._decompressor(Codec.ZSTD)
    monkeypatch.setitem(
        codecs._loaded,
        Codec.ZSTD,
        lambda data, limit, legacy: given.append(limit) or zstd(data, limit, legacy),
    )
    data = zstandard.compress(bytes(400_000))
    outcomes = []
    for _ in range(8):
        try:
            outcomes.append(len(decompress(Codec.ZSTD, data)))
        except OutputLimitError:
            outcomes.append(-1)
    assert outcomes == [400_000, 400_000, -1, -1, -1, -1, -1, -1]
    # What is refused cost what it was allowed, once; then little is allowed.
    assert given[3:] == [DEFAULT_LIMITS.run_ratio * len(data)] * 5
    assert take_met() == ["run_bytes"]


def test_bytes_that_are_broken_at_their_end_count_too(limits: Callable[..., None]) -> None:
    limits(run_bytes=1 << 20)
    data = gzip.compress(bytes(900_000), mtime=0)[:-6] + bytes(6)
    for _ in range(2):
        with pytest.raises(DecodeError):
            decompress(Codec.GZIP, data)
    with pytest.raises(OutputLimitError):
        decompress(Codec.GZIP, gzip.compress(bytes(900_000), mtime=0))


def test_what_is_inside_of_what_was_decompressed_is_not_captured(limits: Callable[..., None]) -> None:
    limits(run_bytes=1, run_ratio=20)
    inner = message_bytes(
        gzip.compress(message_bytes(bytes(3000), magic=1) * 2, 9, mtime=0), magic=1, attributes=1
    )
    outer = message_bytes(gzip.compress(inner, mtime=0), magic=1, attributes=1)
    found = read_records(batch_of(outer))
    assert "decompression_limit" in {str(fault.kind) for fault in found.faults}
    limits()
    assert len(read_records(batch_of(outer)).records) == 2


def test_no_capture_of_a_producer_is_cut(limits: Callable[..., None]) -> None:
    """However much there is of it: nothing is counted."""
    limits(run_bytes=1, run_records=1)
    data = usual(2000)
    assert 20 < 2000 * 70 / len(data) < DEFAULT_LIMITS.run_ratio
    for _ in range(50):
        assert len(read_records(batch_of(data)).records) == 2000
    assert not take_met()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def command(*words: object, compiled: bool = True) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"KDISSECT_NATIVE": "1" if compiled else "0"}
        words_ = [sys.executable, "-m", "kdissect", *map(str, words)]
        return subprocess.run(words_, capture_output=True, text=True, env=environment, check=False)

    return command


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """Return a usual batch before, between and behind bombs."""
    path = tmp_path / "a.pcap"
    path.write_bytes(produced(usual(50), bomb(3000), usual(60), bomb(4000), bomb(4000), usual(70))())
    return path


LIMITS = "run_records=5000,run_bytes=64KiB"
WAYS = (
    ("info", "--records"),
    ("topics", "--sizes"),
    ("records", "--format", "jsonl"),
    ("inspect", "--bodies", "--records", "--format", "jsonl"),
    ("check",),
)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("words", WAYS, ids=" ".join)
def test_commands_tell_it_and_say_the_same_compiled_or_not(
    words: tuple[str, ...], capture: Path, run: Run
) -> None:
    cut = run(*words, capture, "--limits", LIMITS)
    assert "more than is read in one run: run_" in cut.stderr
    assert "more than is read in one run" not in run(*words, capture).stderr
    plainly = run(*words, capture, "--limits", LIMITS, compiled=False)
    assert (plainly.stdout, plainly.stderr, plainly.returncode) == (cut.stdout, cut.stderr, cut.returncode)


def test_columns_of_records_are_those_of_lines(capture: Path, run: Run, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra arrow")
    from pyarrow import parquet

    lines = run("records", capture, "--format", "jsonl", "--limits", LIMITS).stdout.splitlines()
    offsets = [json.loads(line)["offset"] for line in lines]
    for compiled in (True, False):
        path = tmp_path / f"{compiled}.parquet"
        told = run(
            "records", capture, "-o", path, "--format", "parquet", "--limits", LIMITS, compiled=compiled
        )
        assert "more than is read in one run" in told.stderr
        assert parquet.read_table(path)["offset"].to_pylist() == offsets
    assert 50 + 60 + 70 < len(offsets) < 50 + 60 + 70 + 11_000


def test_info_counts_it(capture: Path, run: Run) -> None:
    facts = json.loads(run("info", "--records", "--format", "json", capture, "--limits", LIMITS).stdout)
    assert facts["anomalies"]["decompression_limit"] >= 1


def test_a_run_that_begins_has_all_of_it(limits: Callable[..., None]) -> None:
    limits(run_records=100)
    for _ in range(2):
        start_run()
        read = len(read_records(batch_of(bomb(3000))).records)
        assert read == 100 + DEFAULT_LIMITS.run_record_ratio * len(bomb(3000))
