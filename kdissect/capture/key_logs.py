"""Key logs: files that may grow while they are read, and the secrets inside pcapng files."""

import os
from collections.abc import Sequence
from typing import Any, Protocol

from kdissect.model.key_log import KeyLog

CHUNK = 1 << 20
# Secrets type of a Decryption Secrets Block that holds an NSS key log: draft-ietf-opsawg-pcapng section 4.7.
TLS_KEY_LOG = 0x544C534B


class KeyLogFile:
    """One file. Appended lines are read when a session is not found."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.log = KeyLog()
        self.is_used = False
        """Whether any requested session is in it."""
        self._offset = 0

    def find(self, client_random: bytes, session_id: bytes) -> dict[str, bytes] | None:
        """Return the secrets of a session by label, or None if it is unknown."""
        found = self.log.find(client_random, session_id)
        if found is None or not is_complete(found):
            self.read()
            found = self.log.find(client_random, session_id)
        self.is_used = self.is_used or found is not None
        return found

    def read(self) -> None:
        """Read on. A file that was removed, or cannot be read any more, adds no lines."""
        try:
            size = os.stat(self.path).st_size  # noqa: PTH116  paths stay strings here
            if size == self._offset:
                return
            with open(self.path, "rb") as file:  # noqa: PTH123
                file.seek(self._offset)
                while data := file.read(CHUNK):
                    self._offset += len(data)
                    self.log.feed(data)
        except OSError:
            return


class HasSecrets(Protocol):
    """A capture that may hold secrets."""

    @property
    def secrets(self) -> list[tuple[int, bytes]]:
        """Pairs of type and data, as far as it was read."""


class KeyLogs:
    """All secrets of an input."""

    def __init__(
        self, paths: tuple[str, ...] = (), may_grow: bool = False, captures: Sequence[HasSecrets] = ()
    ) -> None:
        self._captures = captures
        self.may_grow = may_grow
        """Whether the logs are written while they are read: asking again later can help."""
        self.files = [KeyLogFile(path) for path in paths]
        for file in self.files:
            file.read()
            if not may_grow:
                file.log.close()
        self._blocks = KeyLog()
        self._blocks_taken: dict[int, int] = {}

    def __getstate__(self) -> dict[str, Any]:
        # secrets that the captures contained so far, as open files stay at their position
        self._take_blocks()
        return self.__dict__ | {"_captures": ()}

    @property
    def is_given(self) -> bool:
        """Whether there is any log."""
        return bool(self.files or self._blocks_taken)

    @property
    def dropped(self) -> int:
        """Sessions that were dropped, because there were too many (`key_log.MAX_SESSIONS`)."""
        return self._blocks.dropped + sum(file.log.dropped for file in self.files)

    def find(self, client_random: bytes, session_id: bytes) -> dict[str, bytes] | None:
        """Return the secrets of a session by label, from the log with the most labels."""
        self._take_blocks()
        found = self._blocks.find(client_random, session_id)
        for file in self.files:
            if found is not None and is_complete(found):
                file.is_used = file.is_used or file.log.find(client_random, session_id) is not None
            else:
                found = file.find(client_random, session_id) or found
        return found

    def lines(self, client_random: bytes, session_id: bytes) -> list[str]:
        """Return the secrets of one session as lines of a key log."""
        found = self.find(client_random, session_id) or {}
        return [f"{label} {client_random.hex()} {secret.hex()}" for label, secret in found.items()]

    def _take_blocks(self) -> None:
        """Take the captures' secrets since the last call. Called at a handshake, so that packets cost no
        time.
        """
        for index, capture in enumerate(self._captures):
            blocks = capture.secrets
            for kind, data in blocks[self._blocks_taken.get(index, 0) :]:
                if kind == TLS_KEY_LOG:
                    self._blocks.feed(data)
                    self._blocks.close()
            if blocks:
                self._blocks_taken[index] = len(blocks)


def is_complete(session: dict[str, bytes]) -> bool:
    """Return whether a log has all secrets for decryption: lines of a session are written one after the
    other.
    """
    return (
        "CLIENT_RANDOM" in session or {"CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"} <= session.keys()
    )
