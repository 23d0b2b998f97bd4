"""Check `kdissect mirror` with MirrorMaker: `python -m captures.record.planted_mirror`.

MirrorMaker copies a topic to a second cluster. A filter of Connect drops records with a header (lost).
It is killed before it commits its offsets, and started again (copied twice). After it has stopped, a producer
copies some records itself, in another order. A consumer of both topics then says what is lost, twice and out
of order, record by record, and kdissect says it of the capture. Needs what recordings need (README.md).
"""

import argparse
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from captures.record import workshop
from captures.record.broker import Cluster
from captures.record.java import extensions
from captures.record.mirror import Mirror
from captures.record.scenarios._clusters import SECOND
from captures.record.sniffer import Sniffer, stored
from captures.record.spec import Spec

_TOPIC, _COPY = "orders", "first.orders"
_PARTITIONS = 2
_RECORDS, _DROPPED_EVERY = 2_000, 97
_OWN = 40
"""Records that the producer copies itself: these numbers it leaves out, copies twice, and exchanges with the
one after it.
"""
_LEFT_OUT, _TWICE, _EXCHANGED = (7, 25), (12,), (3, 20)
_DROP = "drop-me"
_SETTINGS = {
    "second->first.enabled": "false",
    "first->second.topics": _TOPIC,
    "offset.flush.interval.ms": "600000",
    "first->second.transforms": "leave",
    "first->second.transforms.leave.type": "org.apache.kafka.connect.transforms.Filter",
    "first->second.transforms.leave.predicate": "marked",
    "first->second.predicates": "marked",
    "first->second.predicates.marked.type": "org.apache.kafka.connect.transforms.predicates.HasHeaderKey",
    "first->second.predicates.marked.name": _DROP,
}
_Places = dict[str, list[tuple[int, int]]]
"""Partition and offset, by what happened: offsets of the source for what is missing, else of the copy."""


def _plant(first: Cluster, second: Cluster) -> None:
    places = {"first": first.bootstrap, "second": second.bootstrap}
    writer = KafkaProducer(bootstrap_servers=first.bootstrap, client_id="writer", linger_ms=5)
    mirror = Mirror(first.base, places, _SETTINGS)
    try:
        for number in range(_RECORDS):
            headers = [(_DROP, b"")] if number % _DROPPED_EVERY == 50 else []
            writer.send(_TOPIC, value=b"order %d" % number, headers=headers, partition=number % _PARTITIONS)
        writer.flush()
        copied = _RECORDS - sum(number % _DROPPED_EVERY == 50 for number in range(_RECORDS))
        mirror.wait_copied(second.bootstrap, _COPY, copied)
        mirror.kill()
        mirror = Mirror(first.base, places, _SETTINGS)
        mirror.wait_copied(second.bootstrap, _COPY, 2 * copied)
    finally:
        mirror.stop()
    stamp = int(time.time() * 1000)  # which a copy keeps
    for number in range(_OWN):
        writer.send(_TOPIC, value=b"own %d" % number, partition=0, timestamp_ms=stamp + number)
    writer.close()
    order = [number for number in range(_OWN) if number not in _LEFT_OUT]
    for number in _EXCHANGED:
        at = order.index(number)
        order[at], order[at + 1] = order[at + 1], order[at]
    copier = KafkaProducer(
        bootstrap_servers=second.bootstrap,
        client_id="copier",
        linger_ms=0,
        max_in_flight_requests_per_connection=1,
    )
    for number in order:
        for _ in range(1 + (number in _TWICE)):
            made = copier.send(_COPY, value=b"own %d" % number, partition=0, timestamp_ms=stamp + number)
            made.get(30)
    copier.close()


def _log(cluster: Cluster, topic: str) -> dict[int, list[tuple[int, bytes]]]:
    """Return offsets and values of a topic by partition, as a consumer gets them."""
    reader = KafkaConsumer(bootstrap_servers=cluster.bootstrap, client_id="auditor", enable_auto_commit=False)
    partitions = [TopicPartition(topic, number) for number in range(_PARTITIONS)]
    reader.assign(partitions)
    reader.seek_to_beginning(*partitions)
    ends = reader.end_offsets(partitions)
    found: dict[int, list[tuple[int, bytes]]] = {number: [] for number in range(_PARTITIONS)}
    while any(reader.position(place) < ends[place] for place in partitions):
        for place, records in reader.poll(1_000).items():
            found[place.partition] += [(record.offset, record.value) for record in records]
    reader.close()
    return found


def truth(first: Cluster, second: Cluster) -> _Places:
    """Return what both logs show; each value is written once at the source."""
    source, copy = _log(first, _TOPIC), _log(second, _COPY)
    found: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for number in range(_PARTITIONS):
        offsets = {value: offset for offset, value in source[number]}
        seen: set[bytes] = set()
        highest = -1
        for offset, value in copy[number]:
            if value in seen:
                found["duplicate"].append((number, offset))
            elif offsets[value] < highest:
                found["reordered"].append((number, offset))
            seen.add(value)
            highest = max(highest, offsets[value])
        found["missing"] += [(number, offset) for value, offset in offsets.items() if value not in seen]
    return {what: sorted(places) for what, places in found.items()}


def _said(capture: Path) -> tuple[_Places, dict[str, Any]]:
    command = [
        sys.executable,
        "-m",
        "kdissect",
        "mirror",
        str(capture),
        "--topic",
        _TOPIC,
        "--format",
        "json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    facts = json.loads(done.stdout)
    found: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in facts["places"]:
        offsets: Iterable[int] = range(row["first_offset"], row["last_offset"] + 1)
        found[row["what"]] += [(row["partition"], offset) for offset in offsets]
    (mirror,) = facts["mirrors"]
    return {what: sorted(places) for what, places in found.items()}, mirror


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it, and print both sides; 0 if they agree."""
    parser = argparse.ArgumentParser(prog="python -m captures.record.planted_mirror", description=__doc__)
    parser.add_argument("--output", type=Path, default=workshop.folder("run", "planted-mirror"))
    parser.add_argument("--port-base", type=int, default=19200, help="first of 200 ports to use")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    target = options.output / "planted.pcapng"
    spec = Spec("4.4.0", properties={"num.partitions": str(_PARTITIONS)})
    first = Cluster(spec, options.port_base, extensions())
    second = Cluster(spec, options.port_base + 100, extensions(), SECOND)
    try:
        first.start()
        second.start()
        ports = {*first.ports("clients"), *second.ports("clients")}
        sniffer = Sniffer(ports, options.output / "raw.pcapng")
        sniffer.start()
        try:
            _plant(first, second)
            time.sleep(1)
        finally:
            sniffer.stop(target)
        expected = truth(first, second)
    finally:
        first.close()
        second.close()
    captured = stored(target)
    found, mirror = _said(captured)
    for what in sorted(expected.keys() | found.keys()):
        own, said = expected.get(what, []), found.get(what, [])
        print(f"{what}: {len(own)} in the logs, {len(said)} by kdissect{'' if own == said else '  DIFFER'}")
    print(f"passed over: {mirror['passed_over']}; arrived: {mirror['arrived']}")
    return int(found != expected)


if __name__ == "__main__":
    sys.exit(main())
