"""Facts that a broker's request log has of an exchange and its connection, as comments of packets.

The format `request log` (`capture.formats.request_log`) makes packets of each line. Facts without a place in
their bytes are a comment, so that they accompany the packets: to other processes, to Spark.
"""

import re
from functools import lru_cache
from sys import intern
from typing import Any, NamedTuple, Self

COMMENT_PREFIX = "kdissect request log "
_TIMES = 6  # of the fields, behind the first two
_TEXTS_KEPT = 64  # that thousands of connections share, up to 65 KB each
_TIME = r", (null|0|[1-9]\d{0,17})"
# Mostly a comment has a name without escapes, and numbers, before the texts.
_PLAIN = re.compile(r'\["([^"\\\x00-\x1f]*)", ([1-9]\d{0,17})' + _TIME * _TIMES + r", (.*)\]", re.ASCII)


class Phases(NamedTuple):
    """Times of a request at the broker, in nanoseconds and in their order. The sum is `totalTimeMs`.

    `queue`: until a thread takes the request. `local`: its own work. `remote`: until followers, group members
    or new records are there. `response_queue`: until a thread takes the response. `send`: until it is sent.
    """

    queue: int
    local: int
    remote: int
    response_queue: int
    send: int


class Logged(NamedTuple):
    """One line of a request log, without its bodies. Times are in nanoseconds, and None if the line has none.

    `connection` is the broker's name of the connection, `line` the 1-based number of the line in its file.
    `principal`, `listener`, `security_protocol` and the client's software are None if they are not known.
    """

    connection: str
    line: int
    queue_ns: int | None = None
    local_ns: int | None = None
    remote_ns: int | None = None
    throttle_ns: int | None = None
    response_queue_ns: int | None = None
    send_ns: int | None = None
    principal: str | None = None
    listener: str | None = None
    security_protocol: str | None = None
    software_name: str | None = None
    software_version: str | None = None

    @property
    def phases(self) -> Phases | None:
        """The phases; None if the line lacks one of them."""
        found = self.queue_ns, self.local_ns, self.remote_ns, self.response_queue_ns, self.send_ns
        return None if None in found else Phases._make(found)

    @property
    def of_connection(self) -> Self:
        """The facts that all lines of the connection have: thousands of connections store them."""
        return type(self)(self.connection, 0, *(None,) * _TIMES, *self[2 + _TIMES :])

    def comment(self) -> bytes:
        """Return the comment of a packet. Characters are UTF-8, so that the longest texts fit into an option
        of pcapng. Half a surrogate pair has no UTF-8 and is escaped, as in JSON.
        """
        from json import dumps  # start-up: of request logs alone

        return (COMMENT_PREFIX + dumps(self, ensure_ascii=False)).encode(errors="backslashreplace")

    @classmethod
    def of_comment(cls, comment: str) -> Self | None:
        """Return the line that a comment is of; None for any other comment."""
        if not comment.startswith(COMMENT_PREFIX):
            return None
        plain = _PLAIN.fullmatch(comment, len(COMMENT_PREFIX))
        if plain is not None:
            connection, line, *times, texts = plain.groups()
            sound = _texts_of(texts)
            if sound is not None:
                found: list[Any] = [None if time == "null" else int(time) for time in times]
                return cls(connection, int(line), *found, *sound)
        return cls._of_json(comment[len(COMMENT_PREFIX) :])

    @classmethod
    def _of_json(cls, row: str) -> Self | None:
        from json import loads  # start-up: of request logs alone

        try:
            connection, line, *values = loads(row)
            times, texts = values[:_TIMES], _sound(values[_TIMES:])
        except (ValueError, TypeError):
            return None
        is_sound = isinstance(connection, str) and type(line) is int
        is_sound = is_sound and all(time is None or type(time) is int for time in times)
        if not is_sound or texts is None:
            return None
        return cls(connection, line, *times, *texts)


_Texts = tuple[str | None, ...]


@lru_cache(maxsize=_TEXTS_KEPT)
def _texts_of(row: str) -> _Texts | None:
    """Return the texts of a comment, as they are in it behind the times; None if they are none."""
    from json import loads  # start-up: of request logs alone

    try:
        return _sound(loads(f"[{row}]"))
    except ValueError:
        return None


def _sound(texts: list[Any]) -> _Texts | None:
    """Return the texts behind the times, if they are that. Thousands of open connections have the same."""
    if len(texts) != _TEXTS or not all(text is None or isinstance(text, str) for text in texts):
        return None
    return tuple(None if text is None else intern(text) for text in texts)


_TEXTS = len(Logged._fields) - 2 - _TIMES
