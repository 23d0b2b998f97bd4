"""Epochs that KRaft controllers give brokers at registration, and those brokers name later (KIP-631).

Key: capture set, broker id. Order: that of completion. A broker registers and heartbeats on one connection at
a time, and does both again after a controller's failover.

Controllers that were formatted again have a new metadata log, whose offsets begin again, at the same
addresses. A registration in another cluster, or without any directory of the one before, is of another broker
(KIP-858: a directory has its id from its formatting).
"""

from enum import StrEnum
from typing import ClassVar

from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact, is_answered_before, is_of_connection
from kdissect.history.state_table import Table

BROKERS_KEPT = 10_000  # a state is 200 bytes, and clusters have hundreds


class BrokerFact(StrEnum):
    """Facts about registrations."""

    REGISTERED = "registered"  # epochs before and now
    WENT_BACK = "went_back"  # a registration with an epoch that is not higher
    OTHER_EPOCH = "other_epoch"  # a heartbeat with an older epoch than the registration gave


class Registration:
    """The last registration under a broker id. `has_moved`: several brokers may have the id."""

    __slots__ = (
        "cluster", "directories", "epoch", "given_by", "has_moved", "heartbeats", "incarnation_id",
        "registrations",
    )  # fmt: skip

    def __init__(self) -> None:
        self.cluster: str | None = None
        self.directories: frozenset[bytes] = frozenset()
        self.epoch: int | None = None
        self.given_by: Evidence | None = None
        self.has_moved = False
        self.incarnation_id: bytes | None = None
        self.registrations = 0
        self.heartbeats = 0

    def register(self, cluster: str, directories: frozenset[bytes]) -> None:
        """Take cluster and log directories of a registration, which may be of another broker."""
        before, known = self.cluster, self.directories
        if before is not None and (
            before != cluster or (known and directories and known.isdisjoint(directories))
        ):
            self.epoch, self.has_moved = None, True
        self.cluster, self.directories = cluster, directories


BrokerKey = tuple[str, int]


class BrokerEpochs:
    """Registrations by broker id."""

    api_keys: ClassVar[frozenset[int] | None] = frozenset({apis.BROKER_REGISTRATION, apis.BROKER_HEARTBEAT})

    def __init__(self) -> None:
        self.brokers: Table[BrokerKey, Registration] = Table(BROKERS_KEPT)

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next BrokerRegistration or BrokerHeartbeat."""
        request, answer = view.request, view.response
        if request is None:
            return []
        key: BrokerKey = view.info.scope, request.broker_id
        known = self.brokers.get_or(key, Registration)
        earlier = known.given_by
        if view.key == apis.BROKER_HEARTBEAT:
            return _heartbeat(view, key, known)
        if answer is None or answer.error_code:
            return []
        known.register(str(request.cluster_id), frozenset(getattr(request, "log_dirs", None) or ()))
        before, known.epoch = known.epoch, answer.broker_epoch
        named = getattr(request, "previous_broker_epoch", -1)  # of its last clean shutdown (KIP-966)
        if named > (-1 if before is None else before):
            before, earlier = named, None
        known.given_by, known.incarnation_id = view.evidence, request.incarnation_id
        known.registrations += 1
        back = before is not None and (answer.broker_epoch < before or answer.broker_epoch == named)
        kind = BrokerFact.WENT_BACK if back else BrokerFact.REGISTERED
        path, seen = "broker_epoch", answer.broker_epoch
        return [Fact(kind, key, view.evidence, "response", path, before, seen, earlier, view.all_whole)]


def _heartbeat(view: ExchangeView, key: BrokerKey, known: Registration) -> list[Fact]:
    known.heartbeats += 1
    earlier, seen = known.given_by, view.request.broker_epoch
    if known.epoch is None or seen == known.epoch or _under_way(view, earlier):
        return []
    if known.has_moved and not is_of_connection(earlier, view.info.id):
        return []
    if seen > known.epoch:  # epochs rise: the broker registered again on a connection that was not captured
        known.epoch, known.given_by = None, None
        return []
    kind, path = BrokerFact.OTHER_EPOCH, "broker_epoch"
    return [Fact(kind, key, view.evidence, "request", path, known.epoch, seen, earlier, view.all_whole)]


def _under_way(view: ExchangeView, given_by: Evidence | None) -> bool:
    return given_by is not None and not is_answered_before(given_by, view.evidence)
