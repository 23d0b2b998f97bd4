"""API versions in use that Kafka 4.0 dropped (KIP-896), by client."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from kdissect.causes.evidence.seen import Seen
from kdissect.history.api_keys import API_VERSIONS
from kdissect.history.state_table import Table
from kdissect.model.cause import Packets
from kdissect.model.finding import Who
from kdissect.schema.acceptance import Fate, resolve, verdict
from kdissect.schema.protocol_messages import api_name
from kdissect.session.info import ConnectionInfo
from kdissect.stats.client import Client, client_named
from kdissect.stats.times.waited import bytes_are_missing

CLIENTS_KEPT = 2_000
_RELEASE = "4.0"
_SOON_NS = 10_000_000_000  # from the first packet to the close: less than clients and brokers let one be idle
# Sent by brokers and controllers alone (org.apache.kafka.message.ApiMessageTypeGenerator).
_BETWEEN_BROKERS = frozenset({4, 5, 6, 7, 27})


class Old(NamedTuple):
    """Old versions that a client uses, and the exchanges."""

    kinds: dict[tuple[int, int], None]
    seen: Seen


class CutOff(NamedTuple):
    """The last kind of request before a broker closes a connection without ApiVersions."""

    client: Client
    broker: str
    kind: tuple[int, int]


class OldVersions:
    """Takes connections that are over."""

    def __init__(self) -> None:
        self.clients: Table[Client, Old] = Table(CLIENTS_KEPT)
        self.cut_off: Table[CutOff, Seen] = Table(CLIENTS_KEPT)

    def add(self, info: ConnectionInfo) -> None:
        """Count a connection that is over."""
        kinds = [kind for kind in info.api_versions_seen if is_gone(*kind)]
        if not kinds:
            return
        self._cut_off(info)
        if not info.complete:
            return
        old = self.clients.get_or(client_named(info, info.client_id), lambda: Old({}, Seen()))
        old.kinds.update(dict.fromkeys(kinds))
        old.seen.add(Packets(info.id, -1, f"{info.client_text} > {info.broker_text}", info.start_ns))

    def _cut_off(self, info: ConnectionInfo) -> None:
        """Note a connection if the broker closed it soon after its last kind of request, unanswered."""
        close, kinds = info.close, list(info.api_versions_seen)
        is_closed = close is not None and close.by == Who.BROKER and close.time_ns - info.start_ns <= _SOON_NS
        lists_versions = any(key == API_VERSIONS for key, _ in kinds)
        if info.middle_start or bytes_are_missing(info, info.start_ns):
            return  # ApiVersions, or a response, may be among what was not captured
        if is_closed and info.unanswered == 1 and not lists_versions and is_gone(*kinds[-1]):
            key = CutOff(client_named(info, info.client_id), info.broker_text, kinds[-1])
            what = f"{api_name(kinds[-1][0]) or kinds[-1][0]} v{kinds[-1][1]}"
            self.cut_off.get_or(key, Seen).add(Packets(info.id, -1, what, info.start_ns))


@cache
def is_gone(api_key: int, version: int) -> bool:
    """Return True if Kafka 4.0 dropped a version of an API that clients use."""
    if api_key in _BETWEEN_BROKERS:
        return False
    return verdict(api_key, version, resolve(_RELEASE)).fate is Fate.GONE
