"""Connections that begin with an ApiVersions exchange whose bodies were judged before.

Each connection of a client asks for the versions, and a broker offers the same versions to all of them. The
epoch of its features counts up with the metadata log. No rule or machine reads an epoch that is not negative.

Native builds only: rows of blocks are recognized by their bodies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kdissect.decoders.body_schemas import body_message
from kdissect.decoders.trees.node import Node
from kdissect.decoders.trees.tree_decoder import dissect
from kdissect.history.connections.negotiated_versions import Negotiation, ranges_of
from kdissect.history.fact import Fact, evidence_of_row
from kdissect.history.history import History
from kdissect.model.native import native
from kdissect.rules.judging.judged_connection import JudgedConnection
from kdissect.rules.judging.repeated_answers import Kind
from kdissect.rules.judging.rule_index import Subjects
from kdissect.rules.views.connection_view import API_VERSIONS, ConnectionView
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

OFFERS_KEPT = 64  # of clients and brokers by their releases, with 20 KB each
_EPOCH, _EPOCH_BYTES = "finalized_features_epoch", 8
_Asked = tuple[int, int, bytes, int]
"""Version, facts of the exchange (`ExchangeFact`), body of the request, length of the response's body."""


class Offer(NamedTuple):
    """An exchange in which a broker offered versions, of which no rule spoke.

    `marks` are those of rules that never speak of such bodies.
    """

    negotiation: Negotiation
    answer: Any
    marks: int


class RepeatedOffers:
    """Offers by their bodies. `knows` returns whether the judge learns nothing from the values of a response,
    and `report` receives the facts of a connection that begins.
    """

    def __init__(
        self,
        history: History,
        subjects: Subjects,
        new_view: Callable[[ConnectionInfo], JudgedConnection],
        knows: Callable[[ConnectionInfo, Any], bool],
        report: Callable[[list[Fact], Exchange | None], None],
    ) -> None:
        self._history = history
        self._subjects = subjects
        self._new_view = new_view
        self._knows = knows
        self._report = report
        self._epoch_at: dict[_Asked, int | None] = {}
        """Where the last such response has the epoch, None without one."""
        self._offers: dict[tuple[_Asked, bytes], Offer] = {}
        """By the response without the epoch."""

    def note(self, exchange: Exchange) -> None:
        """Note an exchange of which no rule spoke, if a connection began with it alone."""
        request, response = exchange.request, exchange.response
        answered, shown = exchange.bodies()[1], self._subjects.shown(exchange)
        if request is None or response is None or answered is None or shown is None or exchange.anomalies:
            return
        known = self._history.offered_first(exchange)
        marks = shown.guards.marks(exchange)
        if known is None or marks & ~shown.silent:
            return
        view = ConnectionView(exchange.connection)
        view.begin(exchange)
        body = response.data[exchange.response_body_offset :]
        asked = request.data[exchange.request_body_offset :]
        key = exchange.api_version or 0, view.facts(exchange), asked, len(body)
        if self._known(key, body) is not None:
            return
        if len(self._offers) >= OFFERS_KEPT:
            self._offers.clear()
            self._epoch_at.clear()
        message = body_message(API_VERSIONS, answered.version, True, exchange.response_body_offset)
        at = _place_of(_EPOCH, dissect(message, answered.version, body))
        stated = _without_epoch(body, at)
        if stated is not None:
            self._epoch_at[key] = at
            self._offers[key, stated] = Offer(known, answered.value, marks)

    def _known(self, asked: _Asked, body: bytes) -> Offer | None:
        if asked not in self._epoch_at:
            return None
        stated = _without_epoch(body, self._epoch_at[asked])
        return None if stated is None else self._offers.get((asked, stated))

    def find(self, info: ConnectionInfo, kind: Kind, facts: int, bodies: tuple[bytes, bytes]) -> Offer | None:
        """Return the offer with such bodies; None if the exchange must be added."""
        offer = self._known((kind[1], facts, bodies[0], len(bodies[1])), bodies[1])
        if offer is None or not self._history.can_begin(info) or not self._knows(info, offer.answer):
            return None
        return offer

    def begin(self, info: ConnectionInfo, offer: Offer, row: native.EvidenceRow) -> JudgedConnection:
        """Begin a connection with an exchange with such bodies, as a row has it."""
        evidence = evidence_of_row(info.id, API_VERSIONS, row)
        ranges = ranges_of(offer.answer)
        fact = self._history.begin(info, offer.negotiation, ranges, evidence)
        view = self._new_view(info)
        view.first = evidence.ordinal
        view.advertised = ranges
        view.advertised_at = 0 if evidence.response is None else evidence.response[1], row[-1]
        self._report([fact], None)
        return view


def _place_of(field: str, node: Node) -> int | None:
    """Return where a field begins, or None if a body does not have it."""
    if node.field is not None and node.field.name == field:
        return node.start
    found = (_place_of(field, child) for child in node.children)
    return next((at for at in found if at is not None), None)


def _without_epoch(body: bytes, at: int | None) -> bytes | None:
    """Return a body without the epoch that it has at a place; None if the epoch is negative."""
    if at is None:
        return body
    end = at + _EPOCH_BYTES
    return None if int.from_bytes(body[at:end], signed=True) < 0 else body[:at] + body[end:]
