"""Record decode of the same batches by kdissect, kafka-python and aiokafka: nanoseconds a record.

    python benchmarks/record_decode.py

Batches are built by kafka-python, seeded, of records as clients send them. `objects` are Record tuples, as
rows and rules read them; `compiled` are all columns of the Parquet file as buffers for Arrow, each batch from
a Produce request of its own, where the hot path is compiled. Every reader checks the checksum.
aiokafka is measured where it is installed; its reader is compiled from Cython.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from random import Random

from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.reader import read_records
from kdissect.engine.records.record_sets import RecordSet
from kdissect.model.native import native
from kdissect.session.exchange import Exchange

BATCHES = 400
ROUNDS = 15
# Records a batch, bytes of a value, headers: one at a time, what a linger of some ms gives, large values.
SHAPES = {"1 x 200 B": (1, 200, 0), "20 x 100 B": (20, 100, 0), "20 x 100 B, 2 headers": (20, 100, 2),
          "100 x 1 KB": (100, 1000, 0), "500 x 30 B": (500, 30, 0)}  # fmt: skip
CODECS = {"none": 0, "lz4": 3, "zstd": 4}

Read = Callable[[bytes], int]
"""Reads the records of a batch; gives how many there are."""


def batches(records: int, size: int, headers: int, codec: int) -> list[bytes]:
    """Seeded batches, as kafka-python builds them."""
    from kafka.record.default_records import DefaultRecordBatchBuilder

    random = Random(1)
    built = []
    for _ in range(BATCHES):
        builder = DefaultRecordBatchBuilder(
            magic=2, compression_type=codec, batch_size=1 << 30, is_transactional=False, producer_id=-1,
            producer_epoch=-1, base_sequence=-1,
        )  # fmt: skip
        for index in range(records):
            value = random.randbytes(size // 4).hex().encode()[: size // 2] + b"x" * (size - size // 2)
            own = [(f"h{number}", b"value") for number in range(headers)]
            builder.append(index, 1_700_000_000_000 + index, b"key-%d" % random.randrange(10**6), value, own)
        built.append(bytes(builder.build()))
    return built


def objects(data: bytes) -> int:
    """Ours, a tuple a record."""
    return sum(len(read_records(batch).records) for batch in split_batches(data, 0, len(data)).batches)


def kafka_python(data: bytes) -> int:
    """kafka-python's, an object a record."""
    from kafka.record.default_records import DefaultRecordBatch

    batch = DefaultRecordBatch(data)
    if not batch.validate_crc():
        raise ValueError("checksum")
    return sum(1 for record in batch if record.value is not None)


def aiokafka(data: bytes) -> int:
    """aiokafka's, an object a record."""
    from aiokafka.record.default_records import DefaultRecordBatch

    batch = DefaultRecordBatch(data)
    if not batch.validate_crc():
        raise ValueError("checksum")
    return sum(1 for record in batch if record.value is not None)


def compiled(requests: list[Exchange]) -> int:
    """Return all columns of the table, compiled."""
    from kdissect.engine.records.compiled_records import ENOUGH, CompiledRecords

    def taken() -> Iterator[int]:
        if columns.rows:
            yield columns.take()[1]

    def left(records: RecordSet) -> Iterator[int]:
        raise ValueError(f"{records} did not fit")

    def note(error: Exception, _exchange: Exchange) -> None:
        raise error

    columns = native.RecordColumns(None, None)
    held: CompiledRecords[int] = CompiledRecords(columns, lambda _: "file", taken, left, note)
    count = 0
    for request in requests:
        if held.take_exchange(request) == ENOUGH:
            count += sum(held.close())
    return count + sum(held.close())


def produce_request(batch: bytes) -> Exchange:
    """Return a Produce request of version 3: transactional id, acks, timeout, one topic, one partition."""
    from kdissect.model.endpoint import Endpoint
    from kdissect.model.frame import Frame
    from kdissect.session.info import ConnectionInfo

    info = ConnectionInfo("0" * 16, "", Endpoint("10.0.0.1", 1), Endpoint("10.0.0.2", 9092), 0)
    head = b"\xff\xff\xff\xff\0\0\0\1\0\0\0\1\0\1t\0\0\0\1\0\0\0\0"
    body = head + len(batch).to_bytes(4) + batch
    return Exchange(info, 0, 0, 3, 1, "client", Frame(body, len(body), 1, 1, 0, 0), 0)


def seconds(work: Callable[[], int]) -> float:
    """CPU seconds, the least of several rounds after one that warms up."""
    work()
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def aiokafka_is_installed() -> bool:
    """Return whether there is one to compare with."""
    from importlib.util import find_spec

    return find_spec("aiokafka") is not None


def ours(names: list[str]) -> list[str]:
    """Return those of the readers that are kdissect's."""
    return [name for name in names if name in ("objects", "compiled")]


def main() -> int:
    """Measure and print; 1 if two readers disagree on how many records there are."""
    warnings.simplefilter(
        "ignore", DeprecationWarning
    )  # kafka-python reads its definitions with old functions
    readers: dict[str, Read] = {"objects": objects, "kafka-python": kafka_python}
    if aiokafka_is_installed():
        readers["aiokafka"] = aiokafka
    names = list(readers)
    if native is not None:
        names.append("compiled")
    print(f"| batches | codec | {' | '.join(f'{name} ns' for name in names)} "
          f"| {' | '.join(f'kafka-python / {name}' for name in ours(names))} |")  # fmt: skip
    print("|---|---|" + "---:|" * (len(names) + len(ours(names))))
    for shape, sizes in SHAPES.items():
        for codec, number in CODECS.items():
            found = batches(*sizes, number)
            works: dict[str, Callable[[], int]] = {
                name: lambda read=read, found=found: sum(map(read, found)) for name, read in readers.items()
            }
            if native is not None:
                requests = [produce_request(batch) for batch in found]
                works["compiled"] = lambda requests=requests: compiled(requests)
            counts = {name: work() for name, work in works.items()}
            if len(set(counts.values())) > 1:
                print(f"readers disagree: {counts}", file=sys.stderr)
                return 1
            taken = {name: seconds(work) / counts[name] * 1e9 for name, work in works.items()}
            theirs = taken["kafka-python"]
            cells = [f"{taken[name]:.0f}" for name in names]
            cells += [f"{theirs / taken[name]:.1f}" for name in ours(names)]
            print(f"| {shape} | {codec} | {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
