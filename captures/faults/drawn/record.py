"""Records drawn runs: `SEED.pcapng.gz` with the truth next to it."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from captures.faults.clients import JAVA
from captures.faults.drawn.kinds import BROKER, DAYS, FAULTS, Kind
from captures.faults.drawn.plan import Drawn, Pair, Plan, draw, is_aside
from captures.faults.fault import Fault
from captures.faults.record import cluster_of, make_topics, packed
from captures.faults.room import Room, write
from captures.record import workshop
from captures.record.broker import Cluster
from captures.record.lab import Lab
from captures.record.pythons import librdkafka
from captures.record.sniffer import Sniffer
from captures.record.truth import Truth

_SETTLES_S = 6.0  # after the last thing that happened: what follows from it is to be seen
_SEEN_S = 90
_GOOD_WRITER = {"linger.ms": 100, "compression.type": "gzip", "acks": "all"}
_GOOD_READER = {"session.timeout.ms": 45000, "heartbeat.interval.ms": 3000}
_GOOD_READER |= {"enable.auto.commit": True, "auto.commit.interval.ms": 5000}


def plan_of(seed: int) -> Plan:
    """The plan that a seed draws."""
    needs = ({name: kind.needs for name, kind in kinds.items()} for kinds in (FAULTS, DAYS))
    return draw(seed, *needs)


def record_drawn(seeds: Iterable[int], base: int, output: Path) -> int:
    """Record the run of each seed into `output`; return how many failed. A failure replaces the cluster."""
    left, failed = list(seeds), 0
    while left:
        with cluster_of(BROKER, base) as cluster:
            while left:
                seed = left.pop(0)
                try:
                    packets, size = _recorded(cluster, plan_of(seed), output)
                except Exception as problem:  # of one run; the others can be recorded
                    print(f"{seed}: failed: {str(problem)[-1500:]}", flush=True)
                    failed += 1
                    break
                print(f"{seed}: {packets} packets, {size / 1000:.0f} kB", flush=True)
    return failed


def _recorded(cluster: Cluster, plan: Plan, output: Path) -> tuple[int, int]:
    raw = workshop.folder("run", f"raw{cluster.base}") / "raw.pcapng"
    target = output / f"{plan.seed}.pcapng"
    sniffer = Sniffer(cluster.ports(BROKER.sniff), raw)
    lab = Lab(cluster, sniffer, Truth("drawn", "", BROKER.version), output)
    kinds = [(DAYS if plan.is_healthy else FAULTS)[one.kind] for one in plan.happens]
    rooms = [_room(lab, plan, one, kind) for one, kind in zip(plan.happens, kinds, strict=True)]
    try:
        more = {f"sales-{number}": "3:1" for number, _ in enumerate(plan.pairs)}
        for room in rooms:
            if more or room.fault.topics:
                make_topics(room, librdkafka(), more)
            more = {}
        sniffer.start()
        _background(rooms[0], plan.pairs)
        _happen(plan, kinds, rooms)
        packets = sniffer.stop(target)
        for problem in lab.problems:
            print(f"{plan.seed}: a client failed: {problem}", flush=True)
    finally:
        lab.close()
        sniffer.abandon()
        for repairs in (each for room in rooms for each in room.afterwards):
            repairs()
    write(_truth(plan, kinds, rooms), output / f"{plan.seed}.fault.json")
    return packets, packed(target)


def _room(lab: Lab, plan: Plan, one: Drawn, kind: Kind) -> Room:
    fault = Fault("drawn", kind.causes, lambda room: None, kind.story, BROKER, kind.topics, kind.also)
    return Room(lab, fault, plan.seed, one.library)


def _background(room: Room, pairs: Iterable[Pair]) -> None:
    started = []
    for number, pair in enumerate(pairs):
        topic, pace = f"sales-{number}", pair.pace_ms
        if pair.writes_with == JAVA:  # its driver has no bursts
            pace //= pair.burst
        flow = {"burst": pair.burst, "pace": pace, "size": pair.size, "keys": 400}
        room.writes(pair.writer, topic, _GOOD_WRITER, library=pair.writes_with, **flow)
        group = f"{pair.reader}s"
        started.append(room.reads(pair.reader, topic, group, _GOOD_READER, library=pair.reads_with))
    for reader in started:
        room.either(reader, "seen", "read", seconds=_SEEN_S)


def _happen(plan: Plan, kinds: list[Kind], rooms: list[Room]) -> None:
    """Let each thing happen at its time; the run ends when all of them are over."""
    settled = rooms[0].until(plan.lasts_s)

    def happening(number: int) -> Callable[[Room], None]:
        def run(room: Room) -> None:
            room.lasts(plan.happens[number].at_s)
            kinds[number].run(rooms[number], plan.chance(number))

        return run

    rooms[0].together(*map(happening, range(len(kinds))))
    rooms[0].lasts(_SETTLES_S)
    while not settled():
        rooms[0].lasts(0.2)


def _truth(plan: Plan, kinds: list[Kind], rooms: list[Room]) -> dict[str, Any]:
    """As of a fault (`Room.truth`), with the kind and the causes of each injection."""
    each = [
        {"kind": kind.name, "causes": list(kind.causes), "also": list(kind.also), "library": room.library}
        | (room.said[0] if room.said else {"what": kind.story, "who": {}})
        for kind, room in zip(kinds, rooms, strict=True)
    ]
    return rooms[0].truth() | {
        "is_aside": is_aside(plan.seed),
        "causes": sorted({cause for kind in kinds for cause in kind.causes}),
        "also": sorted({cause for kind in kinds for cause in kind.also}),
        "story": " And: ".join(kind.story for kind in kinds),
        "injected": each,
        "beside": [name for pair in plan.pairs for name in (pair.writer, pair.reader)],
    }
