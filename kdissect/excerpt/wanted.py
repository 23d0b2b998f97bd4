"""What an excerpt is to hold."""

from typing import NamedTuple

# Bytes of frames in one excerpt. A finding is understood from a few frames; a file of more is nobody's
# attachment to a bug report.
MAX_BYTES = 16 << 20
EVERY = "*"


class Wanted(NamedTuple):
    """Exchanges of one connection, by their ordinals, with what surrounds them.

    The negotiation (ApiVersions and SASL) before the exchanges always belongs to them. `before` and `after`
    ask for that many exchanges around them. `whole` asks for everything up to the last of them, also bytes
    that are in no frame; without any `exchanges`, for all of the connection. `until_ns` asks for every
    exchange that began until then but those of the APIs in `without`; only so `connection` may be `EVERY`:
    each that carries Kafka.
    """

    connection: str
    exchanges: frozenset[int] = frozenset()
    before: int = 0
    after: int = 0
    whole: bool = False
    until_ns: int = 0
    without: frozenset[int] = frozenset()
