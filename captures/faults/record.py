"""Records faults: one cluster for those that share it, one capture for each."""

import contextlib
import gzip
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from captures.faults.fault import Fault
from captures.faults.room import Room, write
from captures.record import java, workshop
from captures.record.broker import Cluster
from captures.record.far import BROKER_END, Way, far_away
from captures.record.lab import Lab
from captures.record.pythons import librdkafka
from captures.record.sniffer import Sniffer
from captures.record.spec import Spec
from captures.record.truth import Truth

_CROWD = {"sales": "3:1"}
_LOST_OF = 4000  # packets with data that a way may lose some of


def able() -> str:
    """Why nothing can be recorded here; empty when it can."""
    if os.geteuid():
        return "only root may capture the loopback interface and set up network namespaces"
    for name, purpose in (
        ("java", "run Apache Kafka (JDK 17 or newer)"),
        ("mvn", "fetch Apache Kafka"),
        ("dumpcap", "capture the loopback interface"),
    ):
        try:
            workshop.program(name, purpose)
        except workshop.MissingProgramError as missing:
            return str(missing)
    return ""


def record(faults: Iterable[Fault], variants: Iterable[int], base: int, output: Path) -> int:
    """Record each variant of each fault into `output`, and say how large it is; the number that failed."""
    failed = 0
    alike: list[tuple[Spec, list[Fault]]] = []
    for fault in faults:
        same = next((each for spec, each in alike if spec == fault.broker), None)
        if same is None:
            alike.append((fault.broker, same := []))
        same.append(fault)
    for spec, several in alike:
        with cluster_of(spec, base) as cluster:
            for fault in several:
                for variant in variants:
                    failed += not _tried(cluster, fault, variant, output)
    return failed


@contextlib.contextmanager
def cluster_of(spec: Spec, base: int) -> Iterator[Cluster]:
    """Run a cluster on 100 ports from `base` on."""
    cluster = Cluster(spec, base, java.extensions() if spec.modern else None)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


def _tried(cluster: Cluster, fault: Fault, variant: int, output: Path) -> bool:
    begin = time.monotonic()
    try:
        packets, size = _recorded(cluster, fault, variant, output)
    except Exception as problem:  # of one fault; the others can be recorded
        print(f"{fault.name}-{variant}: failed: {str(problem)[-1500:]}", flush=True)
        return False
    seconds = time.monotonic() - begin
    print(f"{fault.name}-{variant}: {packets} packets, {size / 1000:.0f} kB in {seconds:.0f} s", flush=True)
    return True


def _recorded(cluster: Cluster, fault: Fault, variant: int, output: Path) -> tuple[int, int]:
    raw = workshop.folder("run", f"raw{cluster.base}") / "raw.pcapng"
    target = output / f"{fault.name}-{variant}.pcapng"
    with interfaces_of(cluster, fault, variant) as interfaces:
        snaplen = (fault.snaplen or {}).get(variant, 0)
        sniffer = Sniffer(cluster.ports(fault.broker.sniff), raw, interfaces, snaplen)
        lab = Lab(cluster, sniffer, Truth(fault.name, fault.story, fault.broker.version), output)
        room = Room(lab, fault, variant)
        packets = captured(lab, [room], lambda: fault.inject(room), _CROWD, target)
    mangle = fault.mangle
    size = packed(target, None if mangle is None else lambda content: mangle(content, variant))
    write(room.truth(), output / f"{fault.name}-{variant}.fault.json")
    return packets, size


def captured(
    lab: Lab, rooms: Sequence[Room], happen: Callable[[], None], topics: dict[str, str], target: Path
) -> int:
    """Make the topics of the rooms and more, capture to `target` while it happens, and put all right again.

    Return the number of packets.
    """
    try:
        _make_topics(rooms, topics)
        lab.sniffer.start()
        happen()
        packets = lab.sniffer.stop(target)
        for problem in lab.problems:
            print(f"{target.stem}: a client failed: {problem}", flush=True)
        return packets
    finally:
        lab.close()
        lab.sniffer.abandon()
        for room in rooms:
            for repairs in room.afterwards:
                repairs()


@contextlib.contextmanager
def interfaces_of(cluster: Cluster, fault: Fault, variant: int) -> Iterator[tuple[str, ...]]:
    """Yield the interfaces to capture, including the way of a fault while it exists."""
    way = (fault.way or {}).get(variant)
    if way is None:
        yield ("lo",)
        return
    lost = range(15, _LOST_OF, way.loses) if way.loses else ()
    half = way.round_trip_ms / 2
    port = int(cluster.bootstrap.partition(",")[0].rpartition(":")[2])
    folder = workshop.folder("run", f"far{cluster.base}", fresh=True)
    with far_away(Way(half, half, tuple(lost)), port, folder, tapped=False):
        yield "lo", BROKER_END


def _make_topics(rooms: Sequence[Room], more: dict[str, str]) -> None:
    """Make the topics before the capture begins: who makes them is not in it."""
    wanted = dict(more)
    for room in rooms:
        wanted |= room.fault.topics
    room = rooms[0]  # the names of all are those of one run
    topics = ";".join(f"{room.name(name)}:{how}" for name, how in wanted.items())
    kept = list(room.lab.truth.content["clients"])
    room.lab.run_driver(librdkafka(), "makes", client_id="ops", topics=topics)
    room.lab.truth.content["clients"] = kept


def packed(target: Path, mangle: Callable[[bytes], bytes] | None = None) -> int:
    """Keep the capture compressed; its size."""
    compressed = target.with_name(f"{target.name}.gz")
    content = target.read_bytes() if target.exists() else gzip.decompress(compressed.read_bytes())
    if mangle is not None:
        content = mangle(content)
    compressed.write_bytes(gzip.compress(content, 9, mtime=0))
    target.unlink(missing_ok=True)
    return compressed.stat().st_size
