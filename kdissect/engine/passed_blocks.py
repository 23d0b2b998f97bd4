"""Blocks of exchanges for those who watch few APIs: exchanges of all other APIs are skipped."""

from __future__ import annotations

from collections.abc import Callable

from kdissect.model.native import native
from kdissect.session.info import ConnectionInfo

PASSED, LEFT = -1, -2  # of native.KindCounts
IsWatched = Callable[[ConnectionInfo, int, str | None], bool]
"""Whether exchanges of a connection with an API key and a client id are watched. Called for the first one."""


class PassedBlocks:
    """The exchanges of blocks for which `is_watched` holds. Without `copies`, not those of a connection that
    was captured a second time.
    """

    def __init__(self, is_watched: IsWatched, *, copies: bool = False) -> None:
        self._is_watched = is_watched
        self._takes_copies = copies
        self._kinds: native.KindCounts | None = None

    def count(self, block: native.ExchangeBlock, start: int) -> int:
        """Skip exchanges from `start`. Return the next one of a watched API, or the block's length."""
        if self._kinds is None:
            self._kinds = native.KindCounts(self._kind_of)
        return self._kinds.count(block, start)

    def forget(self, info: ConnectionInfo) -> None:
        """Read the exchanges of a connection again."""
        if self._kinds is not None:
            self._kinds.forget(info)

    def _kind_of(self, info: ConnectionInfo, api_key: int, _version: int, client_id: str | None) -> int:
        is_taken = self._takes_copies or info.same_as is None
        return LEFT if is_taken and self._is_watched(info, api_key, client_id) else PASSED
