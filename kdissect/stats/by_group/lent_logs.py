"""Additions of requests that name groups to the logs of these, in the native engine
(native/src/transfers/group_logs.rs).
"""

from __future__ import annotations

from kdissect.history import api_keys as apis
from kdissect.history.fact import GroupKey
from kdissect.history.groups.classic_groups import ClassicGroups
from kdissect.history.groups.lent_members import LentMembers, MemberKey
from kdissect.history.groups.modern_groups import ModernGroups
from kdissect.history.groups.repeated_heartbeats import RepeatedHeartbeats
from kdissect.history.member_rows import MEMBER_FIELDS
from kdissect.history.sessions.share_deliveries import ShareDeliveries
from kdissect.history.state_table import Table
from kdissect.model.native import native
from kdissect.schema.protocol_messages import api_name
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_group.group_links import ClientKey, GroupLinks, client_key_of
from kdissect.stats.by_group.group_log import GroupLog
from kdissect.stats.by_offset.deleted_commits import DELETING

# Machines that learn from a request, as native/src/transfers/group_logs.rs.
CLASSIC, MODERN, SHARES = 1, 2, 3
_MODERN = ModernGroups.api_keys or frozenset()
BEATS = frozenset({apis.HEARTBEAT}) | _MODERN
_WATCHED = _MODERN | (ClassicGroups.api_keys or frozenset())
MOST_LENT = 1 << 14  # bound of the connections, members and heartbeats stored after a block: some MB


def are_lent(api_key: int) -> bool:
    """Return whether the native engine takes requests of an API that names groups: heartbeats and commits of
    members, share sessions, and requests of which the logs alone learn, that they name a group.

    Of OffsetFetch, and of requests that delete offsets, others learn more.
    """
    if api_key in BEATS or api_key in MEMBER_FIELDS:
        return True
    return api_key not in _WATCHED | DELETING | {apis.OFFSET_FETCH, apis.TXN_OFFSET_COMMIT}


class LentLogs:
    """Native-owned logs of groups, which Python reclaims before it reads them. Native builds only.

    `rows` takes heartbeats of known members, OffsetCommits, share sessions, and requests that no machine
    watches (`are_lent`), answered without an error, of groups that the client is known to act for. It skips
    every request from which the machines or the logs may have more facts.
    """

    def __init__(
        self,
        logs: Table[GroupKey, GroupLog],
        links: GroupLinks,
        classic: ClassicGroups,
        modern: ModernGroups,
        shares: ShareDeliveries,
    ) -> None:
        self._logs = logs
        self._links = links
        self._members = LentMembers(classic)
        heartbeats = RepeatedHeartbeats(modern)
        self.note = heartbeats.note
        self._clients: dict[ClientKey, int] = {}
        self._client_keys: list[ClientKey] = []
        self._groups: dict[GroupKey, int] = {}
        self._naming: dict[tuple[GroupKey, str | None, int], int] = {}
        """Groups with the client ids and APIs that named them."""
        self._beating: dict[MemberKey, int] = {}
        self.rows = native.GroupLogs(
            self._members.rows, heartbeats.take, shares.take, self._client_of, self._log_of
        )

    def _client_of(self, info: ConnectionInfo, client_id: str | None) -> int | None:
        if info.anomaly_counts:
            return None
        key = client_key_of(info, client_id)
        number = self._clients.setdefault(key, len(self._client_keys))
        if number == len(self._client_keys):
            self._client_keys.append(key)
        return number

    def _log_of(self, client: int, api_key: int, group_id: str, member_id: str) -> native.LogRow | None:
        client_key = self._client_keys[client]
        capture_set, _, client_id = client_key
        key: GroupKey = capture_set, group_id
        log = self._logs.peek(key)
        is_linked = api_key not in GroupLinks.api_keys or group_id in self._links.of_client(client_key)
        if log is None or not group_id or not is_linked:
            return None
        beats = None
        if api_key in BEATS:
            member = log.members.peek(member_id)
            if member is None or member.client is None:
                return None
            number = self._beating.setdefault((key, member_id), len(self._beating))
            beats = number, member.last_heartbeat_ns
        return (
            self._groups.setdefault(key, len(self._groups)),
            self._naming.setdefault((key, client_id, api_key), len(self._naming)),
            beats,
            _machine(api_key),
        )

    def take(self) -> None:
        """Add everything that the engine took to the logs and `classic`, and forget the numbers."""
        if not len(self.rows):
            return
        groups, named, beats = self.rows.take()
        self._members.take()
        keys, naming, beating = [*self._groups], [*self._naming], [*self._beating]
        for number in groups:
            self._log(keys[number]).is_wanted = True
        for number, count in named:
            key, client_id, api_key = naming[number]
            self._log(key, is_used=False).named(client_id, api_name(api_key) or str(api_key), count)
        for number, count, gaps, last_ns, info in beats:
            key, member_id = beating[number]
            member = self._log(key, is_used=False).members.get(member_id)
            assert member is not None  # no other code removed it meanwhile
            member.beats(count, gaps, last_ns)
            member.connection = info.id
            member.accept()
        for known in (self._clients, self._client_keys, self._groups, self._naming, self._beating):
            known.clear()

    def _log(self, key: GroupKey, is_used: bool = True) -> GroupLog:
        log = self._logs.get(key) if is_used else self._logs.peek(key)
        assert log is not None
        return log


def _machine(api_key: int) -> int:
    if api_key in ShareDeliveries.api_keys:
        return SHARES
    return CLASSIC if api_key in MEMBER_FIELDS else MODERN if api_key in BEATS else 0
