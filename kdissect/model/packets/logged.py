"""Facts that a broker's request log has of an exchange and its connection, as comments of packets.

The format `request log` (`capture.formats.request_log`) makes packets of each line. Facts without a place in
their bytes are a comment, so that they accompany the packets: to other processes, to Spark.
"""

from sys import intern
from typing import NamedTuple, Self

COMMENT_PREFIX = "kdissect request log "


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
        times = [time for time in found if time is not None]
        return Phases(*times) if len(times) == len(found) else None

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
        from json import loads  # start-up: of request logs alone

        try:
            connection, line, *values = loads(comment[len(COMMENT_PREFIX) :])
            times, texts = values[:_TIMES], values[_TIMES:]
        except (ValueError, TypeError):
            return None
        is_sound = isinstance(connection, str) and type(line) is int and len(values) == len(cls._fields) - 2
        is_sound = is_sound and all(time is None or type(time) is int for time in times)
        if not is_sound or not all(text is None or isinstance(text, str) for text in texts):
            return None
        # Thousands of open connections have the same texts.
        return cls(connection, line, *times, *(None if text is None else intern(text) for text in texts))


_TIMES = 6  # of the fields, behind the first two
