"""A fault: what is injected, into which cluster, and which cause an analysis must name."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from captures.record.spec import Spec

Inject = Callable[[Any], None]
"""Takes a `captures.faults.room.Room`, which knows this module."""
VARIANTS = (1, 2, 3)
ASIDE = 3
"""The variant nobody looks into while the engine is built."""

ORDINARY = Spec(
    "4.4.0",
    properties={
        "auto.create.topics.enable": "false",
        "quota.window.num": "2",
        "controller.quota.window.num": "2",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    },
)
"""The broker of every fault that needs none of its own."""

_THREE = {
    "auto.create.topics.enable": "false",
    "default.replication.factor": "3",
    "min.insync.replicas": "1",
    "replica.lag.time.max.ms": "3000",
    "broker.session.timeout.ms": "4000",
    "controller.quorum.election.timeout.ms": "1000",
    "controller.quorum.fetch.timeout.ms": "2000",
}
TRIO = Spec("4.4.0", nodes=3, racks=True, properties=_THREE)
"""Three nodes in racks of their own."""


@dataclass(frozen=True)
class Way:
    """A way between some clients and the broker, which loses one of `loses` packets with data."""

    round_trip_ms: float
    loses: int = 0


@dataclass(frozen=True)
class Fault:
    """One fault.

    `causes` must all be named; `also` are true as well (they follow from the same injection) and count
    neither way. `topics` are made before the capture begins, as `NAME: "PARTITIONS:COPIES[:key=value...]"`.
    """

    name: str
    causes: tuple[str, ...]
    inject: Inject
    story: str
    broker: Spec
    topics: dict[str, str]
    also: tuple[str, ...] = ()
    way: dict[int, Way] | None = None
    snaplen: dict[int, int] | None = None
    mangle: "Callable[[bytes, int], bytes] | None" = None


_FAULTS: dict[str, Fault] = {}


def fault(
    name: str,
    *causes: str,
    broker: Spec = ORDINARY,
    topics: dict[str, str] | None = None,
    also: tuple[str, ...] = (),
    way: dict[int, Way] | None = None,
    snaplen: dict[int, int] | None = None,
    mangle: "Callable[[bytes, int], bytes] | None" = None,
) -> Callable[[Inject], Inject]:
    """Register a function as the fault `name`, whose cause is of the same name unless it is told."""

    def register(inject: Inject) -> Inject:
        story = " ".join((inject.__doc__ or "").split())
        _FAULTS[name] = Fault(
            name, causes or (name,), inject, story, broker, topics or {}, also, way, snaplen, mangle
        )
        return inject

    return register


def two(first: str, second: str) -> None:
    """Register two faults of one cluster as one run: both causes at once."""
    one, other = _FAULTS[first], _FAULTS[second]
    if one.broker != other.broker:
        raise ValueError(f"{first} and {second} want different clusters")

    def inject(room: Any) -> None:
        room.together(one.inject, other.inject)

    name = f"{first}+{second}"
    _FAULTS[name] = Fault(
        name,
        one.causes + other.causes,
        inject,
        f"{one.story} And: {other.story}",
        one.broker,
        one.topics | other.topics,
        one.also + other.also,
    )


def catalogue() -> dict[str, Fault]:
    """Return the faults by name, grouped by cluster."""
    from captures.faults import rooms  # here: the rooms import this module

    for entry in sorted(pkgutil.iter_modules(rooms.__path__), key=lambda entry: entry.name == "pairs"):
        importlib.import_module(f"{rooms.__name__}.{entry.name}")
    clusters = [each.broker for each in _FAULTS.values()]
    return dict(sorted(_FAULTS.items(), key=lambda item: clusters.index(item[1].broker)))
