"""Records drawn runs: `SEED.pcapng.gz` with the truth next to it, and for TLS the secrets."""

from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

from captures.faults.clients import JAVA, family
from captures.faults.drawn.clusters import CLUSTERS
from captures.faults.drawn.kind import Kind
from captures.faults.drawn.kinds import DAYS, FAULTS
from captures.faults.drawn.plan import Drawn, Pair, Plan, draw, is_aside, setting_of
from captures.faults.fault import Fault
from captures.faults.record import captured, cluster_of, interfaces_of, packed
from captures.faults.room import Room, write
from captures.record import workshop
from captures.record.broker import Cluster
from captures.record.certificates import NAMED, trust
from captures.record.lab import Lab
from captures.record.scrub import with_secrets
from captures.record.sniffer import Sniffer
from captures.record.truth import Truth

_SETTLES_S = 6.0  # after the last thing that happened: what follows from it is to be seen
_SEEN_S = 90
_GOOD_WRITER = {"linger.ms": 100, "compression.type": "gzip", "acks": "all"}
_GOOD_READER = {"session.timeout.ms": 45000, "heartbeat.interval.ms": 3000}
_GOOD_READER |= {"enable.auto.commit": True, "auto.commit.interval.ms": 5000}


def plan_of(seed: int) -> Plan:
    """Return the plan of a seed."""
    setting = setting_of(seed)
    needs = (
        {
            name: kind.needs
            for name, kind in kinds.items()
            if kind.edition <= setting.edition.number and setting.cluster in kind.clusters
        }
        for kinds in (FAULTS, DAYS)
    )
    return draw(seed, setting, *needs)


def record_drawn(seeds: Iterable[int], base: int, output: Path) -> int:
    """Record the run of each seed into `output`; return how many failed. A failure replaces the cluster."""
    plans, failed = [plan_of(seed) for seed in seeds], 0
    for name, spec in CLUSTERS.items():
        left = [plan for plan in plans if plan.setting.cluster == name]
        while left:
            with cluster_of(spec, base) as cluster:
                while left:
                    plan = left.pop(0)
                    try:
                        packets, size = _recorded(cluster, plan, output)
                    except Exception as problem:  # of one run; the others can be recorded
                        print(f"{plan.seed}: failed: {str(problem)[-1500:]}", flush=True)
                        failed += 1
                        break
                    print(f"{plan.seed}: {packets} packets, {size / 1000:.0f} kB", flush=True)
    return failed


def _recorded(cluster: Cluster, plan: Plan, output: Path) -> tuple[int, int]:
    raw = workshop.folder("run", f"raw{cluster.base}") / "raw.pcapng"
    target = output / f"{plan.seed}.pcapng"
    kinds = [(DAYS if plan.is_healthy else FAULTS)[one.kind] for one in plan.happens]
    faults = [_fault(cluster, plan, kind) for kind in kinds]
    far = next((fault for fault in faults if fault.way), faults[0])
    topics = {f"sales-{number}": _copied("3:1", cluster) for number, _ in enumerate(plan.pairs)}
    with interfaces_of(cluster, far, plan.seed) as interfaces:
        sniffer = Sniffer(cluster.ports(cluster.spec.sniff), raw, interfaces)
        lab = Lab(cluster, sniffer, Truth("drawn", "", cluster.spec.version), output)
        rooms = [_room(lab, plan, *each) for each in zip(faults, plan.happens, strict=True)]

        def happen() -> None:
            _background(rooms[0], plan.pairs)
            _happen(plan, kinds, rooms)

        before = _secrets(cluster)
        packets = captured(lab, rooms, happen, topics, target)
    keys = _secrets(cluster)[len(before) :]
    inside, beside = plan.setting.secrets_inside, output / f"{plan.seed}.keys"
    beside.unlink(missing_ok=True)
    if keys and not inside:
        beside.write_bytes(keys)
    size = packed(target, (lambda content: with_secrets(content, keys)) if keys and inside else None)
    write(_truth(plan, kinds, rooms), output / f"{plan.seed}.fault.json")
    return packets, size


def _secrets(cluster: Cluster) -> bytes:
    return cluster.key_log.read_bytes() if cluster.key_log.exists() else b""


def _fault(cluster: Cluster, plan: Plan, kind: Kind) -> Fault:
    topics = {name: _copied(how, cluster) for name, how in kind.topics.items()}
    way = {plan.seed: kind.way(Random(f"way {plan.seed}"))} if kind.way else None
    return Fault("drawn", kind.causes, lambda room: None, kind.story, cluster.spec, topics, kind.also, way)


def _copied(how: str, cluster: Cluster) -> str:
    """Return the topic's settings with a copy on each broker in place of one copy of each partition."""
    partitions, _, *more = how.split(":")
    return ":".join([partitions, str(len(cluster.nodes)), *more])


def _room(lab: Lab, plan: Plan, fault: Fault, one: Drawn) -> Room:
    certificate = trust(*NAMED) if plan.setting.is_encrypted else None
    return Room(lab, fault, plan.seed, one.library, number=plan.seed, certificate=certificate)


def _background(room: Room, pairs: Iterable[Pair]) -> None:
    started = []
    for number, pair in enumerate(pairs):
        topic, pace = f"sales-{number}", pair.pace_ms
        if family(pair.writes_with) == JAVA:  # its driver has no bursts
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
        {"kind": kind.name, "causes": list(kind.causes), "also": list(kind.also), "library": one.library}
        | (room.said[0] if room.said else {"what": kind.story, "who": {}})
        for kind, room, one in zip(kinds, rooms, plan.happens, strict=True)
    ]
    return rooms[0].truth() | {
        "is_aside": is_aside(plan.seed),
        "edition": plan.setting.edition.number,
        "cluster": plan.setting.cluster,
        "is_encrypted": plan.setting.is_encrypted,
        "causes": sorted({cause for kind in kinds for cause in kind.causes}),
        "also": sorted({cause for kind in kinds for cause in kind.also}),
        "story": " And: ".join(kind.story for kind in kinds),
        "injected": each,
        "beside": [name for pair in plan.pairs for name in (pair.writer, pair.reader)],
    }
