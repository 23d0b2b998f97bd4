"""Additions of member requests to logs of groups, in the native engine
(native/src/transfers/group_logs.rs).
"""

from __future__ import annotations

from kdissect.history import api_keys as apis
from kdissect.history.fact import GroupKey
from kdissect.history.groups.classic_groups import ClassicGroups
from kdissect.history.groups.lent_members import LentMembers, MemberKey
from kdissect.history.state_table import Table
from kdissect.model.native import native
from kdissect.schema.protocol_messages import api_name
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_group.group_links import ClientKey, GroupLinks, client_key_of
from kdissect.stats.by_group.group_log import GroupLog

MOST_LENT = 1 << 14  # bound of the connections, members and heartbeats stored after a block: some MB


class LentLogs:
    """Native-owned logs of groups, which Python reclaims before it reads them. Native builds only.

    `rows` takes Heartbeats and OffsetCommits that were answered without an error, of groups that the client
    is known to act for, and heartbeats of known members. It skips every request from which `classic` or the
    logs may have more facts.
    """

    def __init__(self, logs: Table[GroupKey, GroupLog], links: GroupLinks, classic: ClassicGroups) -> None:
        self._logs = logs
        self._links = links
        self._members = LentMembers(classic)
        self._clients: dict[ClientKey, int] = {}
        self._client_keys: list[ClientKey] = []
        self._groups: dict[GroupKey, int] = {}
        self._naming: dict[tuple[GroupKey, str | None, int], int] = {}
        """Groups with the client ids and APIs that named them."""
        self._beating: dict[MemberKey, int] = {}
        self.rows = native.GroupLogs(self._members.rows, self._client_of, self._log_of)

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
        if log is None or group_id not in self._links.of_client(client_key):
            return None
        beats = None
        if api_key == apis.HEARTBEAT:
            member = log.members.peek(member_id)
            if member is None or member.client is None:
                return None
            number = self._beating.setdefault((key, member_id), len(self._beating))
            beats = number, member.last_heartbeat_ns
        return (
            self._groups.setdefault(key, len(self._groups)),
            self._naming.setdefault((key, client_id, api_key), len(self._naming)),
            beats,
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
