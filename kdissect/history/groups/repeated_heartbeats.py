"""Heartbeats that continue: members of modern groups send equal bodies every few seconds.

Native builds only: rows of blocks are recognized by their bodies.
"""

from __future__ import annotations

from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import evidence_of_row
from kdissect.history.groups.modern_groups import Heartbeat, ModernGroups, continuing
from kdissect.model.native import native
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

HEARTBEATS_KEPT = 4096  # of members, with 600 bytes each
_Bodies = tuple[int, int, bytes, bytes]
"""API key and version, both bodies."""


class RepeatedHeartbeats:
    """Heartbeats that `groups` received, by their bodies."""

    def __init__(self, groups: ModernGroups) -> None:
        self._groups = groups
        self._known: dict[_Bodies, Heartbeat] = {}

    def note(self, exchange: Exchange) -> None:
        """Note a heartbeat without a fact, if a member continues with it."""
        request, response = exchange.request, exchange.response
        heartbeat = continuing(ExchangeView(exchange))
        if heartbeat is None or request is None or response is None:
            return
        if len(self._known) >= HEARTBEATS_KEPT:
            self._known.clear()
        kind = exchange.api_key or 0, exchange.api_version or 0
        asked = request.data[exchange.request_body_offset :]
        self._known[*kind, asked, response.data[exchange.response_body_offset :]] = heartbeat

    def take(
        self,
        info: ConnectionInfo,
        kind: tuple[int, int],
        bodies: tuple[bytes, bytes],
        row: native.EvidenceRow,
        client_id: str | None,
    ) -> bool:
        """Take a heartbeat with such bodies, as a row has it.

        False, without a change, if it is not known, or if the machine must see it.
        """
        heartbeat = self._known.get((*kind, *bodies))
        if heartbeat is None:
            return False
        return self._groups.repeat(info, heartbeat, client_id, evidence_of_row(info.id, kind[0], row))
