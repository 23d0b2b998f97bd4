"""The versions that a broker offered in ApiVersions and those that the client then used (KIP-35, KIP-511).

Key: the connection. Order: that of its requests. A client may know a broker's versions from an earlier
connection, so that not asking is a fact and no difference.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, ClassVar

from kdissect.history import api_keys as apis
from kdissect.history import error_codes as codes
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact, evidence_of
from kdissect.history.state_table import Table
from kdissect.model.same import of_same
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.info import ConnectionInfo

CONNECTIONS_KEPT = 20_000  # about 1 KB each, with a broker's 90 ranges (7 KB) shared
_RANGES_SHARED = 256  # of one answer; Kafka has 90 APIs
# A broker from 4.0 on offers Produce from version 0 for old clients' sake, but takes it from version 3 on
# (org.apache.kafka.common.protocol.ApiKeys, KIP-896): it offers version 12 or later.
_PRODUCE_SHAM_MIN, _PRODUCE_REAL_MIN, _PRODUCE_OF_40 = 0, 3, 12

Range = tuple[int, int]
# A module's own names are found faster than an enum's members, once an exchange.
_KAFKA, _ORPHAN_RESPONSE = ExchangeKind.KAFKA, State.ORPHAN_RESPONSE


_NO_FEATURES: Mapping[str, int] = {}
_NO_RANGE = 0, -1


class VersionFact(StrEnum):
    """Facts about a negotiation."""

    NOT_ASKED = "not_asked"  # the first request is neither ApiVersions nor SASL
    OFFERED = "offered"  # the broker named its versions
    FALLBACK = "fallback"  # it answered in version 0 with UNSUPPORTED_VERSION (KIP-511)
    RETRIED = "retried"  # the client asked again after a fallback (expected: the range, seen: the version)
    REFUSED = "refused"  # ApiVersions was answered with another error
    OUTSIDE = "outside"  # a request in a version outside the range offered
    NOT_OFFERED = "not_offered"  # a request of an API that was not offered


class Negotiation:
    """State of one connection.

    `offered` is None until the broker named its versions: then nothing is known of them. `fallback` is the
    range of ApiVersions named in a refusal.
    """

    __slots__ = ("asked_in", "fallback", "features", "offered", "offered_by", "refused", "software")

    def __init__(self) -> None:
        self.offered: dict[int, Range] | None = None
        self.offered_by: Evidence | None = None
        self.fallback: Range | None = None
        self.refused: Evidence | None = None
        self.asked_in: tuple[int, ...] = ()
        self.software: tuple[str, str] | None = None
        self.features: Mapping[str, int] = _NO_FEATURES
        """Finalized features and their levels, `transaction.version` among them (KIP-584)."""

    def allows(self, api_key: int, api_version: int) -> bool:
        """Return whether a request in a version is no difference from what the broker offered."""
        if self.offered is None:
            return True
        low, high = self.offered.get(api_key, _NO_RANGE)
        return low <= api_version <= high

    def copy(self) -> "Negotiation":
        """Return an equal one."""
        # Hot, once a connection: the module `copy` takes ten times as long.
        made = Negotiation()
        made.offered, made.offered_by, made.fallback = self.offered, self.offered_by, self.fallback
        made.refused, made.asked_in, made.software = self.refused, self.asked_in, self.software
        made.features = self.features
        return made

    def at_rest(self) -> "Negotiation":
        """Return what is stored for a silent connection, which must not be changed: one object for all
        connections that never asked for versions.
        """
        return self if self.asked_in else _NEVER_ASKED


_NEVER_ASKED = Negotiation()


class NegotiatedVersions:
    """Negotiations by connection."""

    api_keys: ClassVar[frozenset[int] | None] = None

    def __init__(self) -> None:
        self.connections: Table[str, Negotiation] = Table(CONNECTIONS_KEPT)

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next exchange of a connection."""
        exchange = view.exchange
        if exchange.kind is not _KAFKA or exchange.state is _ORPHAN_RESPONSE or view.key < 0:
            return []
        known = self.connections.get(view.info.id)
        facts: list[Fact] = []
        if known is None:
            known = self.connections.put(view.info.id, Negotiation())
            facts += self._first(view)
        return facts + (self._asked(view, known) if view.key == apis.API_VERSIONS else _used(view, known))

    def offer_again(self, exchange: Exchange) -> None:
        """Take the exchange whose response named the versions once more, as `feed` does."""
        known = self.connections.get(exchange.connection.id)
        if known is not None:
            known.asked_in = (*known.asked_in[-7:], exchange.api_version or 0)
            known.offered_by = evidence_of(exchange)

    def offered_first(self, exchange: Exchange) -> Negotiation | None:
        """Return what an exchange negotiated, if nothing else is known of its connection."""
        known = self.connections.peek(exchange.connection.id)
        if known is None or known.offered_by is None or known.refused is not None:
            return None
        is_only = len(known.asked_in) == 1 and known.offered_by.ordinal == exchange.ordinal
        return known.copy() if is_only else None

    def begin(
        self, info: ConnectionInfo, known: Negotiation, ranges: dict[int, Range], evidence: Evidence
    ) -> Fact:
        """Take the exchange with which a connection begins, whose bodies are those of the exchange that is
        `known`, and return its fact, as `feed` does. `ranges` are those of the response.
        """
        begun = self.connections.put(info.id, known.copy())
        begun.offered_by = evidence
        return _offered(info, evidence, ranges)

    def _first(self, view: ExchangeView) -> list[Fact]:
        asks = view.key in (apis.API_VERSIONS, apis.SASL_HANDSHAKE)
        if asks or view.exchange.ordinal or not view.is_whole:
            return []
        return [Fact(VersionFact.NOT_ASKED, (view.info.id,), view.evidence)]

    def _asked(self, view: ExchangeView, known: Negotiation) -> list[Fact]:
        facts = []
        key = (view.info.id,)
        if known.fallback is not None and known.refused is not None and known.offered is None:
            facts.append(
                Fact(
                    VersionFact.RETRIED, key, view.evidence, "request", "request_api_version",
                    known.fallback, view.version, known.refused, view.is_whole,
                )
            )  # fmt: skip
        known.asked_in = (*known.asked_in[-7:], view.version)  # a client asks once or twice
        request = view.request
        if hasattr(request, "client_software_name"):
            known.software = (str(request.client_software_name), str(request.client_software_version))
        answer = view.response
        if answer is None:
            return facts
        return [*facts, _answered(view, known, answer)]


def _answered(view: ExchangeView, known: Negotiation, answer: Any) -> Fact:
    ranges = ranges_of(answer)
    if answer.error_code == codes.NONE:
        known.offered = honest(ranges)
        known.offered_by = view.evidence
        known.features = {
            row.name: row.max_version_level for row in getattr(answer, "finalized_features", ())
        }
        return _offered(view.info, view.evidence, ranges)
    known.refused = view.evidence
    kind = VersionFact.REFUSED
    if answer.error_code == codes.UNSUPPORTED_VERSION:
        kind = VersionFact.FALLBACK
        # The refusal names ApiVersions alone. Brokers before 2.4 name no API (KIP-511).
        known.fallback = ranges.get(apis.API_VERSIONS)
    return Fact(
        kind, (view.info.id,), view.evidence, "response", "error_code", view.version, answer.error_code
    )


def _offered(info: ConnectionInfo, evidence: Evidence, ranges: dict[int, Range]) -> Fact:
    return Fact(VersionFact.OFFERED, (info.id,), evidence, "response", "api_keys", None, ranges)


@of_same
def ranges_of(answer: Any) -> dict[int, Range]:
    """Return the version ranges that an ApiVersions response names, by API key. It is not to be changed."""
    return _ranges((row.api_key, (row.min_version, row.max_version)) for row in answer.api_keys or ())


def _ranges(rows: Iterable[tuple[int, Range]]) -> dict[int, Range]:
    """Return one mapping for all equal responses, which thousands of connections share."""
    found = tuple(rows)
    return _shared_ranges(found) if len(found) <= _RANGES_SHARED else dict(found)


@lru_cache(maxsize=64)  # releases and their settings; 7 KB each with 90 ranges
def _shared_ranges(rows: tuple[tuple[int, Range], ...]) -> dict[int, Range]:
    return dict(rows)


@of_same
def honest(ranges: dict[int, Range]) -> dict[int, Range]:
    """Return the ranges without versions of Produce that Kafka 4.0 and later name and do not have
    (KIP-896).
    """
    low, high = ranges.get(apis.PRODUCE, (-1, -1))
    if low == _PRODUCE_SHAM_MIN and high >= _PRODUCE_OF_40:
        return _ranges((ranges | {apis.PRODUCE: (_PRODUCE_REAL_MIN, high)}).items())
    return ranges


def _used(view: ExchangeView, known: Negotiation) -> list[Fact]:
    if known.offered is None or known.allows(view.key, view.version):
        return []
    key = (view.info.id,)
    offered = known.offered.get(view.key)
    if offered is None:
        return [
            Fact(
                VersionFact.NOT_OFFERED, key, view.evidence, "request", "request_api_key", None, view.key,
                known.offered_by,
            )
        ]  # fmt: skip
    return [
        Fact(
            VersionFact.OUTSIDE, key, view.evidence, "request", "request_api_version", offered, view.version,
            known.offered_by,
        )
    ]  # fmt: skip
