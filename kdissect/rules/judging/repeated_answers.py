"""Repeated responses with locations of brokers and leaders: clients ask for the same every few seconds.

Their rules only read the two bodies: bodies that were judged before without a finding need no rule again, as
long as the machines of the histories agree.
"""

from __future__ import annotations

from typing import Any

from kdissect.history.connections.connection_problems import ANNOUNCING
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import evidence_of_row
from kdissect.history.machine import Again
from kdissect.model.native import native
from kdissect.rules.judging.batch_judge import tells_own_topics
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

Kind = tuple[int, int]
"""API key and version."""
_Bodies = tuple[int, int, str, str, bytes, bytes]
"""API key and version, scope and address of the broker, both bodies."""

# Bytes of stored bodies: the response about a cluster of 5000 partitions has 128 KB, and each broker sends
# one. Their stored statements are some ten times larger.
MOST_BYTES = 1 << 19


class ToldAgain:
    """Bodies without a finding, with their statements for the machines of their kind (`watch`).

    Compiled only.
    """

    def __init__(self) -> None:
        self._machines: dict[Kind, tuple[Again, ...]] = {}
        self._stated: dict[_Bodies, tuple[Any, ...]] = {}
        self._bytes = 0

    def watch(self, kind: Kind, machines: tuple[Again, ...]) -> bool:
        """Return whether bodies of a kind are noted, of which these machines learn."""
        if kind[0] in ANNOUNCING:
            self._machines[kind] = machines
        return kind in self._machines

    def note(self, exchange: Exchange) -> None:
        """Note an exchange of which no rule spoke."""
        kind = exchange.api_key or 0, exchange.api_version or 0
        machines = self._machines.get(kind)
        asked, answered = exchange.bodies()
        request, response = exchange.request, exchange.response
        if machines is None or asked is None or answered is None or request is None or response is None:
            return
        if not (asked.fits and answered.fits):
            return
        if tells_own_topics(request.data) or tells_own_topics(response.data):
            return
        bodies = (
            *kind, *_place(exchange.connection), request.data[exchange.request_body_offset :],
            response.data[exchange.response_body_offset :],
        )  # fmt: skip
        if bodies in self._stated:
            return
        size = len(bodies[-2]) + len(bodies[-1])
        if self._bytes + size > MOST_BYTES:
            self._stated.clear()
            self._bytes = 0
        if size <= MOST_BYTES:
            view = ExchangeView(exchange)
            self._stated[bodies] = tuple(machine.stated(view) for machine in machines)
            self._bytes += size

    def take(
        self,
        info: ConnectionInfo,
        kind: Kind,
        bodies: tuple[bytes, bytes],
        row: native.EvidenceRow,
        _client_id: str | None = None,
    ) -> bool:
        """Take an exchange with such bodies, as a row has it.

        False, without a change, for another kind.
        """
        stated = self._stated.get((*kind, *_place(info), *bodies))
        machines = self._machines[kind]
        if stated is None or not all(
            machine.stands(info, one) for machine, one in zip(machines, stated, strict=True)
        ):
            return False
        evidence = evidence_of_row(info.id, kind[0], row)
        for machine, one in zip(machines, stated, strict=True):
            machine.repeat(info, one, evidence)
        return True


def _place(info: ConnectionInfo) -> tuple[str, str]:
    """Return the broker of a connection: a response may give its address to a cluster
    (`session.identities`).
    """
    return info.scope, info.broker_address
