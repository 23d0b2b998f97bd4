"""The facts of histories that causes read. Other facts are not stored, and their machines are not fed."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from kdissect.history.connections.negotiated_versions import VersionFact
from kdissect.history.connections.refused_requests import RefusalFact
from kdissect.history.connections.sasl_login import SaslFact
from kdissect.history.connections.throttling import ThrottleFact
from kdissect.history.epochs.leader_epochs import LeaderFact
from kdissect.history.groups.classic_steps import ClassicFact
from kdissect.history.groups.modern_groups import ModernFact
from kdissect.history.producing.producers import ProducerFact
from kdissect.history.producing.transaction_steps import TransactionFact
from kdissect.history.sessions.fetch_sessions import FetchFact

MACHINES = (
    "versions", "sasl", "fetch_sessions", "throttling", "producers", "transactions", "classic_groups",
    "modern_groups", "leader_epochs", "refused_requests", "connection_problems",
)  # fmt: skip
"""Machines that find these facts (`history.history`), and the one that finds failed connections."""
_READ: tuple[Iterable[StrEnum], ...] = (
    (VersionFact.OFFERED, VersionFact.OUTSIDE, VersionFact.NOT_OFFERED),
    (SaslFact.HANDSHAKE, SaslFact.NO_SASL, SaslFact.MECHANISM_REFUSED, SaslFact.AUTHENTICATED),
    (SaslFact.SESSION_EXPIRED,),
    (FetchFact.CREATED, FetchFact.NOT_CREATED, FetchFact.EVICTED, FetchFact.EPOCH_REFUSED),
    (FetchFact.TOPIC_IDS_REFUSED,),
    (ThrottleFact.THROTTLED, ProducerFact.REFUSED),
    (TransactionFact.TAKEN, TransactionFact.OLD_EPOCH, TransactionFact.EPOCH_NOT_TAKEN),
    (ClassicFact.GENERATION_BEGAN, ClassicFact.JOINED, ClassicFact.LEFT, ClassicFact.REJOIN_REQUESTED),
    (ClassicFact.FENCED, ClassicFact.REFUSED),
    (ModernFact.GROUP_EPOCH, ModernFact.JOINED, ModernFact.LEFT, ModernFact.FENCED, ModernFact.REFUSED),
    (ModernFact.ASSIGNED,),
    (LeaderFact.LEARNED, LeaderFact.CHANGED),
    (RefusalFact.CLOSED_BEFORE_LOGIN, RefusalFact.CLOSED_AGAIN),
)


def name_of(kind: StrEnum) -> str:
    """Return the name of a kind of fact, with its machine: `ThrottleFact.throttled`."""
    return f"{type(kind).__name__}.{kind}"


FACTS = {(type(kind), kind): name_of(kind) for kinds in _READ for kind in kinds}
"""Names by kind. Kinds of different machines may have one name, and are equal then."""
FACT_NAMES = frozenset(FACTS.values())
