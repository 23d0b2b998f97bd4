"""The kinds of rules: their subjects, and when they receive them.

A rule is a class with one of these kinds as its base. `rule` says what all have in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from kdissect.decoders.trees.node import Node
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.history.fact import Fact
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.errors import DecodeError, FaultKind
from kdissect.model.finding import Level
from kdissect.model.record_batch import RecordFault
from kdissect.rules.guards import BatchFact, ExchangeFact, Guard, OutOfDomain
from kdissect.rules.rule import BOTH_FRAMES, REQUEST, Once, Rule, Violation
from kdissect.rules.views.batch_view import Batch
from kdissect.rules.views.body_view import Body
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.rules.views.pieces import NUMBER
from kdissect.schema.domains import domain
from kdissect.schema.types import NO_UPPER_BOUND, Versions
from kdissect.session.exchange import Exchange
from kdissect.session.problem import Reason

if TYPE_CHECKING:
    from kdissect.engine.records.value_faults import ValueFaults, ValuePlace


class ConnectionRule(Rule):
    """Judges a connection when it is over."""

    def check(self, view: ConnectionView) -> Iterable[Violation]:
        """Return the faults of the connection."""
        raise NotImplementedError


class ExchangeRule(Rule):
    """Judges an exchange by its headers, times and order: bodies need not decode.

    It receives the exchanges that it `concerns` and that its `guard` marks, or all that it concerns without a
    guard.
    """

    guard: ClassVar[ExchangeFact | None] = None

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """Return whether exchanges of this API and version can break the rule at all."""
        return True

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterable[Violation]:
        """Return the faults of the exchange."""
        raise NotImplementedError

    def finds(self, exchange: Exchange, view: ConnectionView) -> bool:
        """Return whether the judge must look closely at an exchange because of this rule."""
        for _ in self.check(exchange, view):  # `any` would make a generator for each call
            return True
        return False

    def only_marks(self, api_key: int) -> bool:
        """Return whether the rule has no findings about an API: the judge notes exchanges that it receives.

        The rule then reads nothing of their connection.
        """
        return False


class UndecodableRule(Rule):
    """Judges a body that does not fit the schema. `kinds` are the faults it owns.

    `expected` is the expected value. After a hole, frames begin where they seem to: bytes that do not fit may
    not be a frame.
    """

    needs_whole = True
    kinds: ClassVar[frozenset[FaultKind]] = frozenset()
    expected: ClassVar[str] = ""

    def check(self, body: Body, error: DecodeError) -> Iterable[Violation]:
        """Yield the faults, or none if another cause explains the bytes."""
        yield body.undecodable(error, self.expected)


class NodeRule(Rule):
    """Judges pieces of any body that fits. `nodes` are the sorts of pieces (`rules.pieces`) it looks at.

    It receives the pieces of every body that its `guard` marks, or of every body without a guard. `requests`
    are the APIs whose requests alone it speaks of, and from which version on; None: it speaks of all bodies.
    """

    nodes: ClassVar[tuple[str, ...]] = ()
    guard: ClassVar[Guard | None] = None
    requests: ClassVar[Mapping[str, int] | None] = None

    def speaks_of(self, api: str, side: str, version: int) -> bool:
        """Return whether it could judge bodies of a kind."""
        requests = self.requests
        return requests is None or (side == REQUEST and requests.get(api, version + 1) <= version)

    def check(self, node: Node, body: Body) -> Iterable[Violation]:
        """Return the faults of the piece."""
        raise NotImplementedError


class DomainRule(NodeRule):
    """Judges numbers that are outside the domain of their meaning (`schema.domains`).

    `meanings` are the ones that it judges, on one `side` or, if that is empty, on both. A broker that repeats
    a number of the request is not at fault.
    """

    nodes = (NUMBER,)
    meanings: ClassVar[frozenset[str]] = frozenset()
    side: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        cls.guard = (OutOfDomain(cls.meanings),)

    def speaks_of(self, api: str, side: str, version: int) -> bool:
        """Return whether the body is on its side."""
        return self.side in ("", side)

    def check(self, node: Node, body: Body) -> Iterable[Violation]:
        """Yield the number against its domain."""
        if node.field is None or self.side not in ("", body.side):
            return
        known = domain(body.message.name, node.field)
        if known is None or known.meaning not in self.meanings or node.value in known:
            return
        if body.request is None or node.value not in body.request.numbers(known.meaning):
            yield Violation(str(known), str(node.value))


class BodyRule(Rule):
    """Judges the values of a body that fits. `on` are the APIs and sides it looks at, in `versions`.

    `refusable`: the fault is the application's, and Apache Kafka refuses it. Only a broker that accepts it is
    at fault. Such a rule judges the broker, and only where the answer carries no error. `guard` marks the
    bodies that it could judge (`rules.guards`). Without a guard it receives all. `exact`: each response that
    the guard marks has one fault, of the broker, without a path. Repeated ones are counted without a look.
    """

    on: ClassVar[tuple[tuple[str, str], ...]] = ()
    versions: ClassVar[Versions] = Versions(0, NO_UPPER_BOUND)
    refusable: ClassVar[bool] = False
    guard: ClassVar[Guard | None] = None
    exact: ClassVar[bool] = False

    @property
    def vantage(self) -> str:
        """Of what is refusable, the answer too."""
        return BOTH_FRAMES if self.refusable else super().vantage

    def check(self, body: Body) -> Iterable[Violation]:
        """Return the faults of the body."""
        raise NotImplementedError

    def needs_judge(self, body: Body) -> bool:
        """Return whether the judge must look closely at a body that the rule receives, faults or not."""
        return False


class BatchSubject(Rule):
    """Base of rules about record batches, and messages of old message sets.

    `produced`: True for rules about what clients send to be stored, False for those about what brokers give
    out, None for both. `magics` are the formats they are about. A rule reports the first fault of each batch.
    """

    produced: ClassVar[bool | None] = None
    magics: ClassVar[tuple[int, ...]] = (0, 1, 2)


class RecordFaultRule(BatchSubject):
    """Judges bytes in a records field that fit no batch or no record. `kinds` are the faults it owns.

    `expected` is the expected value.
    """

    kinds: ClassVar[frozenset[AnomalyKind]] = frozenset()
    expected: ClassVar[str] = ""

    def check(self, fault: RecordFault, batch: Batch) -> Iterable[Violation]:
        """Yield the faults within a batch, or none if another cause explains the bytes."""
        yield batch.malformed(fault, self.expected)


class BatchRule(BatchSubject):
    """Judges a batch whose checksum is right by its header.

    It receives the batches that its `guard` marks, or all without a guard.
    """

    guard: ClassVar[BatchFact | None] = None

    def check(self, batch: Batch) -> Iterable[Violation]:
        """Return the faults of the batch."""
        raise NotImplementedError


class RecordRule(BatchSubject):
    """Judges the records of a batch, all of which fit.

    It receives the batches that its `guard` marks, or all without a guard.
    """

    guard: ClassVar[BatchFact | None] = None

    def check(self, batch: Batch) -> Iterable[Violation]:
        """Return the faults of the records."""
        raise NotImplementedError


class FactRule(Rule):
    """Judges what a state machine of `history` found. `facts` are the kinds that break the rule.

    The machines know what the capture lacks: a fact that is not sure is inconclusive. `expects` and `sees`
    put its two values into words. `ids_from`: of a rule that speaks of one topic, the first version that
    names topics by id. A name may be that of a new topic by now.
    """

    needs = "the exchanges before it, without a lost one"
    facts: ClassVar[tuple[StrEnum, ...]] = ()
    expects: ClassVar[str] = "{}"
    sees: ClassVar[str] = "{}"
    ids_from: ClassVar[int] = 0
    awaits_end: ClassVar[bool] = False
    """Whether the connection of the exchange that a fact goes back to may explain it, by what came after that
    and was lost: a hole is not known until the next bytes come.
    """

    def check(self, fact: Fact) -> Iterable[Violation]:
        """Yield the fault a fact stands for."""
        if not fact.sure:
            yield Violation(inconclusive="bytes are missing from the capture, or it began too late")
            return
        if (fact.evidence.api_version or 0) < self.ids_from:
            yield Violation(inconclusive="the topic may have been created again under its name")
            return
        expected, seen = self.expects.format(_shown(fact.expected)), self.sees.format(_seen(fact))
        earlier = None if fact.earlier is None else (fact.earlier.connection, fact.earlier.ordinal)
        yield Violation(expected, seen, _path(fact.path), side=fact.side, earlier=earlier)


class ProblemRule(Rule):
    """Judges a failed connection, for one of `reasons`, if its end is known to speak Kafka.

    `expects` says what the connection would have come to.
    """

    needs = "the connection from its first byte, and what shows that its end speaks Kafka"
    level = Level.INFO
    once = Once.PARTY
    reasons: ClassVar[tuple[Reason, ...]] = ()
    expects: ClassVar[str] = ""

    def check(self, found: ConnectionProblem) -> Iterable[Violation]:
        """Yield the fault that the reason is."""
        yield Violation(self.expects, found.problem.fact)


class ValueViolation(NamedTuple):
    """Keys or values that break a rule, in the order of the sentence, and the place of the first."""

    place: ValuePlace
    expected: str
    seen: str
    consequence: str = ""
    times: int = 1


class SchemaRule(Rule):
    """Judges keys and values by the user's schemas (`--schemas`), when the input is over."""

    needs = "the records, and their schemas (`--schemas`)"

    def check(self, values: ValueFaults) -> Iterable[ValueViolation]:
        """Return the faults of keys and values."""
        raise NotImplementedError


def _shown(value: object) -> str:
    if value is None:
        return "what the rule says"
    if isinstance(value, (set, frozenset, tuple, list)):
        return ", ".join(sorted(map(str, value)))
    return str(value)


def _seen(fact: Fact) -> str:
    shown = str(fact.kind).replace("_", " ") if fact.seen is None else _shown(fact.seen)
    return f"{shown}: {fact.detail}" if fact.detail else shown


def _path(path: str) -> str:
    """Return a path that leads to one field of a body: paths of headers and record batches do not."""
    return "" if path.startswith(("records.", "request_api_")) or ("." in path and "[" not in path) else path
