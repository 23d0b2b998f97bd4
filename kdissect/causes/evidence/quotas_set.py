"""Quotas that somebody sets in the capture (AlterClientQuotas)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kdissect.history.exchange_view import ExchangeView
from kdissect.stats.client import Client, text_of

ALTER_CLIENT_QUOTAS = 49
CHANGES_KEPT = 2_000  # 500 bytes each
_CLIENT_ID, _USER = "client-id", "user"

Entity = tuple[tuple[str, str | None], ...]
"""Type and name of a quota's entity, part by part. None: the default."""


class QuotaSet(NamedTuple):
    """A quota from a time on: its value, None once it is removed, and who set it. `scope`: of its cluster."""

    entity: Entity
    name: str
    value: float | None
    by: Client
    scope: str
    since_ns: int

    @property
    def text(self) -> str:
        """For people: `producer_byte_rate=2000 of client-id 'import'`."""
        value = 0 if self.value is None else self.value
        parts = [f"{kind} '{name}'" if name is not None else f"any {kind}" for kind, name in self.entity]
        return f"{self.name}={value:.10g} of {' and '.join(parts)}"

    def holds_for(self, client: Client) -> bool:
        """Return whether a quota is for a client. A quota for users requires a known user."""
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
        self._changes: list[QuotaSet] = []

    def add(self, view: ExchangeView, client: Client) -> None:
        """Take what a request sets, if the broker took it."""
        request, response = view.request, view.response
        if request is None or response is None or request.validate_only:
            return
        refused = {_entity(row) for row in response.entries or () if row.error_code}
        for row in request.entries or ():
            entity = _entity(row)
            for op in row.ops or () if entity not in refused else ():
                if len(self._changes) < CHANGES_KEPT:
                    value, scope = None if op.remove else op.value, view.info.scope
                    self._changes.append(
                        QuotaSet(entity, text_of(op.key), value, client, scope, view.sent_ns)
                    )

    def of(self, client: Client, name: str, is_in: Callable[[str], bool], at_ns: int) -> QuotaSet | None:
        """Return the quota of a name that a client had at a time, in clusters whose scope `is_in` takes.

        As far as the capture shows: None if no request set one before that time.
        """
        last: dict[tuple[str, Entity], QuotaSet] = {}
        for one in self._changes:
            if one.name == name and one.since_ns <= at_ns and is_in(one.scope) and one.holds_for(client):
                last[one.scope, one.entity] = one
        found = [one for one in last.values() if one.value is not None]
        return min(found, key=lambda one: one.rank, default=None)


def _entity(row: object) -> Entity:
    parts = getattr(row, "entity", None) or ()
    return tuple(
        sorted(
            (text_of(one.entity_type), None if one.entity_name is None else text_of(one.entity_name))
            for one in parts
        )
    )
