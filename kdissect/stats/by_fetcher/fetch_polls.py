"""Fetches that the native engine counts (native/src/transfers/fetch_polls.rs), until Python takes them."""

from __future__ import annotations

from collections.abc import Callable

from kdissect.engine.transfer_rows import transfer_rows
from kdissect.history import api_keys as apis
from kdissect.history.history import History
from kdissect.history.sessions.fetch_sessions import SESSIONS_FROM
from kdissect.history.sessions.lent_sessions import LentSessions
from kdissect.history.state_table import Table
from kdissect.model.native import native
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_fetcher.fetcher import Fetcher, FetcherKey
from kdissect.stats.transfers import COUNTED, ENOUGH, LEFT, Connections, Way

_NOBODY = 0xFFFFFFFF  # of native/src/transfers/fetch_polls.rs: whose Fetches are Python's


class FetchPolls:
    """Counter for `FetchSessionTraffic` of Fetches without facts for a session.

    Fetchers and sessions are entries of its tables. Python code adds new ones.
    """

    def __init__(
        self,
        history: History,
        fetchers: Table[FetcherKey, Fetcher],
        of_connection: Table[str, FetcherKey],
        key_of: Callable[[ConnectionInfo, str | None], FetcherKey],
    ) -> None:
        self._fetchers = fetchers
        self._of_connection = of_connection
        self._key_of = key_of
        self._connections = Connections(history)
        self._fetcher_numbers: dict[FetcherKey, int] = {}
        self._sessions = LentSessions(history.fetch_sessions, self._connections)
        self._polls = native.FetchPolls(SESSIONS_FROM, self._sessions.rows)
        self._asked = _way_of, self._numbers_of, self._connections.due_of
        self._is_counting = False

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Count exchanges of a block from `start`. Return the next one that is for Python, or the block's
        length.
        """
        self._is_counting = True
        done = ENOUGH
        while done not in (LEFT, COUNTED) and start < len(block):
            start, done = self._polls.count_block(block, start, self._asked)
            if done & ENOUGH:
                self.take()
        return start

    def _numbers_of(self, info: ConnectionInfo, client_id: str | None) -> tuple[int, int] | None:
        if info.same_as is not None:
            return None
        key, numbers = self._key_of(info, client_id), self._fetcher_numbers
        number = numbers.setdefault(key, len(numbers)) if key in self._fetchers else _NOBODY
        return number, self._sessions.number_of(info)

    def take(self) -> None:
        """Put everything that was counted into the tables."""
        if not self._is_counting:
            return
        self._is_counting = False
        due, asking, fetchers = self._polls.take()
        fetcher_keys = [*self._fetcher_numbers]
        self._connections.pass_to(due)
        for connection, number in asking:
            self._of_connection.put(self._connections.infos[connection].id, fetcher_keys[number])
        for number, requests, empty, empty_early in fetchers:
            fetcher = self._fetchers.get_or(fetcher_keys[number], Fetcher)
            fetcher.requests += requests
            fetcher.empty += empty
            fetcher.empty_early += empty_early
            fetcher.is_wanted = True
        self._sessions.take()
        self._fetcher_numbers.clear()


def _way_of(api_key: int, version: int) -> Way:
    """Return the way to count Fetches, if the version is known. Skip all other exchanges."""
    return api_key != apis.FETCH or transfer_rows(api_key, version) or False
