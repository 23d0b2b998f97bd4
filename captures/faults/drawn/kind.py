"""What may happen in a drawn run: a kind of fault that operators meet, or of an event of healthy days."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import NamedTuple

from captures.faults.drawn.clusters import CLUSTERS
from captures.faults.fault import Way
from captures.faults.room import Room

Happening = Callable[[Room, Random], None]
# What follows from a broker that is away or silent, for clients that give up after some time.
AWAY = (
    "broker-restarted", "connection-refused", "coordinator-unavailable", "leader-moved", "broker-closes",
    "slow-broker", "unanswered-requests", "member-crashed", "endless-rebalances", "duplicate-writes",
    "session-timeout-too-short", "connection-churn", "metadata-storm", "lag-slow-consumer",
)  # fmt: skip
ALONE = frozenset({"broker"})
GROUP = ("endless-rebalances", "flapping-member", "member-crashed")


class Kind(NamedTuple):
    """`causes` are true, any of them; `also` follow from it. `needs`: what no other may use in that run.

    It happens in runs with one of the `clusters`, from the `edition` on. With a `way`, drawn for each run,
    clients that are `away` are at its far end.
    """

    name: str
    causes: tuple[str, ...]
    also: tuple[str, ...]
    needs: frozenset[str]
    topics: dict[str, str]
    run: Happening
    story: str
    edition: int
    clusters: frozenset[str]
    way: Callable[[Random], Way] | None


FAULTS: dict[str, Kind] = {}
DAYS: dict[str, Kind] = {}


def _kind(
    edition: int,
    name: str,
    *causes: str,
    also: tuple[str, ...] = (),
    needs: frozenset[str] = frozenset(),
    topics: dict[str, str] | None = None,
    clusters: frozenset[str] = frozenset(CLUSTERS),
    way: Callable[[Random], Way] | None = None,
) -> Callable[[Happening], Happening]:
    def register(run: Happening) -> Happening:
        story = " ".join((run.__doc__ or "").split())
        (FAULTS if causes else DAYS)[name] = Kind(
            name, causes, also, needs, topics or {}, run, story, edition, clusters, way
        )
        return run

    return register


first_kind = partial(_kind, 1)
"""Register a function as a kind of that name, which the seeds of every edition draw from."""
later_kind = partial(_kind, 2)
"""The same, for the seeds after the first edition."""


def some_node(room: Room, chance: Random) -> int:
    """One of the brokers."""
    nodes = len(room.lab.cluster.nodes)
    return chance.randint(1, nodes) if nodes > 1 else 1  # the first edition draws nothing here


def tries(
    room: Room, chance: Random, client_id: str, topic: str, settings: dict[str, object], bootstrap: str
) -> None:
    """Start a producer again and again while it comes to nothing."""
    patience = {"max.block.ms": 3000, "reconnect.backoff.ms": 400, "reconnect.backoff.max.ms": 1500}
    end = room.until(chance.uniform(8, 12))
    while not end():
        attempt = room.writes(client_id, topic, patience | settings, bootstrap=bootstrap, pace=300, keys=20)
        room.lasts(chance.uniform(4, 6))
        attempt.kill()
