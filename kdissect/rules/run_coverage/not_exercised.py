"""Reasons why a rule had no subject to judge, from the traffic."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum

from kdissect.history.api_keys import SASL_AUTHENTICATE, SASL_HANDSHAKE
from kdissect.history.connections.refused_requests import RefusalFact, RefusedRequests
from kdissect.history.connections.sasl_login import SaslFact
from kdissect.history.epochs.broker_epochs import BrokerEpochs, BrokerFact
from kdissect.history.epochs.leader_epochs import LeaderEpochs, LeaderFact
from kdissect.history.epochs.own_counters import CounterFact, OwnCounters
from kdissect.history.epochs.quorum_choices import ChoiceFact, QuorumChoices
from kdissect.history.epochs.quorum_epochs import QuorumEpochs, QuorumFact
from kdissect.history.groups.classic_groups import ClassicGroups
from kdissect.history.groups.classic_steps import ClassicFact
from kdissect.history.groups.modern_groups import ModernFact, ModernGroups
from kdissect.history.machine import Machine
from kdissect.history.producing.producers import ProducerFact, Producers
from kdissect.history.producing.transaction_steps import TransactionFact
from kdissect.history.producing.transactions import Transactions
from kdissect.history.sessions.fetch_sessions import FetchFact, FetchSessions
from kdissect.history.sessions.share_sessions import ShareFact, ShareSessions
from kdissect.history.sessions.snapshot_fetches import SnapshotFact, SnapshotFetches
from kdissect.history.sessions.telemetry_pushes import Telemetry, TelemetryFact
from kdissect.history.topics.topic_ids import TopicIdFact, TopicIds
from kdissect.rules.kinds import BatchSubject, BodyRule, FactRule, NodeRule, ProblemRule
from kdissect.rules.rule import Rule
from kdissect.rules.run_coverage.coverage import Coverage
from kdissect.schema.protocol_messages import api_name

_SASL = frozenset({SASL_HANDSHAKE, SASL_AUTHENTICATE})
# Machines that watch some APIs only, by the facts they find.
_MACHINES: dict[type[StrEnum], type[Machine]] = {
    BrokerFact: BrokerEpochs,
    ChoiceFact: QuorumChoices,
    ClassicFact: ClassicGroups,
    CounterFact: OwnCounters,
    FetchFact: FetchSessions,
    LeaderFact: LeaderEpochs,
    ModernFact: ModernGroups,
    ProducerFact: Producers,
    QuorumFact: QuorumEpochs,
    RefusalFact: RefusedRequests,
    ShareFact: ShareSessions,
    SnapshotFact: SnapshotFetches,
    TelemetryFact: Telemetry,
    TopicIdFact: TopicIds,
    TransactionFact: Transactions,
}
_PIECES = {
    "bool": "boolean",
    "enum": "enumerated field",
    "error": "error code",
    "marker": "nullable struct",
    "string": "string",
    "tags": "tag section",
    "throttle": "throttle time",
    "uuid": "topic id",
    "varint": "varint",
}


def why_not_exercised(rule: Rule, coverage: Coverage) -> str:
    """Return the reason, in some words. `rule` is one that looked at nothing."""
    if not coverage.exchanges:
        return "no exchange"
    seen = {api_name(key) or "" for key, _ in coverage.apis if key is not None}
    if isinstance(rule, BodyRule):
        return _no_body(rule, coverage, seen)
    if isinstance(rule, FactRule):
        return _no_fact(rule, seen)
    if isinstance(rule, BatchSubject):
        return _no_batch(rule)
    if isinstance(rule, NodeRule):
        return f"no {_any(_PIECES.get(sort, sort) for sort in rule.nodes)} in a body"
    if isinstance(rule, ProblemRule):
        return "no failed connection"
    return "no traffic of this kind"


def _no_body(rule: BodyRule, coverage: Coverage, seen: Collection[str]) -> str:
    names = {name for name, _ in rule.on}
    if not names & set(seen):
        return f"no {_any(names)}"
    versions = {
        version for key, version in coverage.apis if key is not None and (api_name(key) or "") in names
    }
    if not any(version in rule.versions for version in versions):
        return f"no {_any(names & set(seen))} v{rule.versions}"
    sides = {side for _, side in rule.on}
    accepted = " that was accepted" if rule.refusable else " that could be read"
    return f"no {_any(sides)} of {_any(names & set(seen))}{accepted}"


def _no_fact(rule: FactRule, seen: Collection[str]) -> str:
    kinds = set(map(type, rule.facts))
    keys = {key for kind in kinds & _MACHINES.keys() for key in _MACHINES[kind].api_keys or ()}
    names = {api_name(key) or "" for key in (_SASL if SaslFact in kinds else keys)}
    if names and not names & set(seen):
        return f"no {_any(names)}"
    within = f" in {_any(names & set(seen))}" if names else ""
    return f"watched, and nothing came up{within}"


def _no_batch(rule: BatchSubject) -> str:
    magics = "" if set(rule.magics) == {0, 1, 2} else f" of magic {_any(map(str, rule.magics))}"
    way = {True: "produced ", False: "fetched ", None: ""}[rule.produced]
    return f"no {way}batch{magics}"


def _any(names: Iterable[str]) -> str:
    """`Fetch, JoinGroup or SyncGroup`."""
    *most, last = sorted(names)
    return f"{', '.join(most)} or {last}" if most else last
