"""Quotas that somebody sets in the capture (AlterClientQuotas)."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.stats.client import Client, text_of

ALTER_CLIENT_QUOTAS = 49
QUOTAS_KEPT = 2_000
_CLIENT_ID, _USER = "client-id", "user"

Entity = tuple[tuple[str, str | None], ...]
"""Type and name of each part of what a quota is for; None: the default."""


class QuotaSet(NamedTuple):
    """A quota, its value, and who set it."""

    entity: Entity
    name: str
    value: float
    by: Client

    @property
    def text(self) -> str:
        """For people: `producer_byte_rate=2000 of client-id 'import'`."""
        parts = [f"{kind} '{name}'" if name is not None else f"any {kind}" for kind, name in self.entity]
        return f"{self.name}={self.value:.10g} of {' and '.join(parts)}"

    def holds_for(self, client: Client) -> bool:
        """Whether a quota is for a client; one for users only if the user is known."""
        own = {_CLIENT_ID: client.client_id, _USER: client.principal}
        return all(own.get(kind) is not None and name in (None, own[kind]) for kind, name in self.entity)

    @property
    def rank(self) -> tuple[int, ...]:
        """Low for quotas with precedence: a name before the default, a user before a client id."""
        kinds = {kind: name is None for kind, name in self.entity}
        return tuple(kinds.get(kind, 2) for kind in (_USER, _CLIENT_ID))


class QuotasSet:
    """Takes exchanges of AlterClientQuotas."""

    def __init__(self) -> None:
        self._quotas: Table[tuple[str, Entity, str], QuotaSet] = Table(QUOTAS_KEPT)

    def add(self, view: ExchangeView, client: Client) -> None:
        """Take what a request sets, if the broker took it."""
        if view.key != ALTER_CLIENT_QUOTAS:
            return
        request, response = view.request, view.response
        if request is None or response is None or request.validate_only:
            return
        refused = {_entity(row) for row in response.entries or () if row.error_code}
        for row in request.entries or ():
            entity = _entity(row)
            for op in row.ops or () if entity not in refused else ():
                key = view.info.scope, entity, text_of(op.key)
                if op.remove:
                    self._quotas.pop(key)
                else:
                    self._quotas.put(key, QuotaSet(entity, key[2], op.value, client))

    def of(self, client: Client, name: str) -> QuotaSet | None:
        """The quota of a name that holds for a client, as far as the capture shows."""
        found = [one for one in self._quotas if one.name == name and one.holds_for(client)]
        return min(found, key=lambda one: one.rank, default=None)


def _entity(row: object) -> Entity:
    parts = getattr(row, "entity", None) or ()
    return tuple(
        sorted(
            (text_of(one.entity_type), None if one.entity_name is None else text_of(one.entity_name))
            for one in parts
        )
    )
