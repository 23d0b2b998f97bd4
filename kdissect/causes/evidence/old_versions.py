"""API versions in use that Kafka 4.0 dropped (KIP-896), by client."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from kdissect.causes.evidence.seen import Seen
from kdissect.history.state_table import Table
from kdissect.model.cause import Packets
from kdissect.schema.acceptance import Fate, resolve, verdict
from kdissect.session.info import ConnectionInfo
from kdissect.stats.client import Client, client_named

CLIENTS_KEPT = 2_000
_RELEASE = "4.0"
# Sent by brokers and controllers alone (org.apache.kafka.message.ApiMessageTypeGenerator).
_BETWEEN_BROKERS = frozenset({4, 5, 6, 7, 27})


class Old(NamedTuple):
    """What a client uses, and where."""

    kinds: dict[tuple[int, int], None]
    seen: Seen


class OldVersions:
    """Takes connections that are over."""

    def __init__(self) -> None:
        self.clients: Table[Client, Old] = Table(CLIENTS_KEPT)

    def add(self, info: ConnectionInfo) -> None:
        """A connection is over."""
        kinds = [kind for kind in info.api_versions_seen if _is_gone(*kind)]
        if not kinds or not info.complete:
            return
        old = self.clients.get_or(client_named(info, info.client_id), lambda: Old({}, Seen()))
        old.kinds.update(dict.fromkeys(kinds))
        old.seen.add(Packets(info.id, -1, f"{info.client_text} > {info.broker_text}", info.start_ns))


@cache
def _is_gone(api_key: int, version: int) -> bool:
    if api_key in _BETWEEN_BROKERS:
        return False
    return verdict(api_key, version, resolve(_RELEASE)).fate is Fate.GONE
