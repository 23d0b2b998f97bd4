"""Fetch sessions that the compiled part goes on with (native/src/transfers/sessions.rs)."""

from __future__ import annotations

from kdissect.history import api_keys as apis
from kdissect.history.fact import Evidence
from kdissect.history.lent_connections import LentConnections
from kdissect.history.machine import nothing_lent
from kdissect.history.sessions.fetch_parts import EPOCHS_FROM
from kdissect.history.sessions.fetch_sessions import TOPIC_IDS_FROM, FetchSessions, SessionKey
from kdissect.model.native import native
from kdissect.session.info import ConnectionInfo


class LentSessions:
    """Session state that the native engine owns. The machine reclaims it before it reads it. Compiled only.

    `rows` takes Fetches that pass the machine by (`FetchSessions.passes`), and leaves all others as they are.
    """

    def __init__(self, machine: FetchSessions, connections: LentConnections) -> None:
        self._machine = machine
        self._connections = connections
        self._numbers: dict[SessionKey, int] = {}
        self._keys: list[SessionKey] = []
        self.rows = native.Sessions(
            (EPOCHS_FROM, TOPIC_IDS_FROM), self.number_of, self._session_of, self._offsets_of
        )

    def number_of(self, info: ConnectionInfo) -> int:
        """Return the number of a connection."""
        self._machine.have_back = self.take
        return self._connections.of(info)

    def _session_of(self, connection: int, session_id: int) -> native.SessionRow | None:
        info, numbers = self._connections.infos[connection], self._numbers
        key = info.capture_set, info.broker_address, session_id
        session = None if self._machine.tells_increments else self._machine.sessions.peek(key)
        if session is None or session.next_epoch is None:
            return None
        number = numbers.setdefault(key, len(numbers))
        if number == len(self._keys):
            self._keys.append(key)
        return number, session.next_epoch, session.with_ids, session.partitions is not None

    def _offsets_of(self, number: int, topic: str | bytes, partition: int) -> tuple[int, int, int] | None:
        session = self._machine.sessions.peek(self._keys[number])
        if session is None or session.partitions is None:
            return None
        offsets = session.partitions.get((topic, partition))
        return None if offsets is None else (*offsets[:2], session.epoch_of((topic, partition)))

    def take(self) -> None:
        """Hand the machine all that passed, and forget the numbers."""
        self._machine.have_back = nothing_lent
        counts, stated, without_session = self.rows.take()
        self._machine.without_session += without_session
        sessions = self._machine.sessions
        for number, fetches, empty, next_epoch, last in counts:
            session = sessions.get(self._keys[number])
            assert session is not None  # no code removed it meanwhile
            session.count_all(fetches, empty, next_epoch, self._connections.evidence(apis.FETCH, last))
        made: dict[tuple[int, int], Evidence] = {}
        for number, partition, offsets, row in stated:
            by = made.get(row[:2]) or made.setdefault(row[:2], self._connections.evidence(apis.FETCH, row))
            session = sessions.peek(self._keys[number])
            assert session is not None and session.partitions is not None
            session.partitions[partition] = *offsets, by
        self._connections.clear()
        self._numbers.clear()
        self._keys.clear()
