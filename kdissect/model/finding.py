"""A rule's judgement about the wire, with its evidence."""

from enum import StrEnum
from typing import NamedTuple


class Level(StrEnum):
    """How strongly the cited source speaks."""

    MUST = "must"
    SHOULD = "should"
    INFO = "info"


class Claim(StrEnum):
    """Claim of a finding about the bytes."""

    MALFORMED = "malformed"  # they break the schema or a KIP
    REFUSED = "refused"  # Apache Kafka answers them with an error or a close
    DIFFERS = "differs"  # legal, unlike Apache Kafka


class Severity(StrEnum):
    """How loud a finding is."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Who(StrEnum):
    """Whose bytes are judged."""

    CLIENT = "client"
    BROKER = "broker"


class Party(NamedTuple):
    """The end of a connection that a finding is about.

    `software` and `version` are the client's own, from ApiVersions; `label` is the user's name for it.
    """

    role: Who
    address: str
    software: str | None = None
    version: str | None = None
    client_id: str | None = None
    label: str | None = None


class Location(NamedTuple):
    """Where a finding stands.

    `exchange` is the ordinal within the connection (-1: the connection as a whole), `side` `request`,
    `response` or empty. `first_ref` and `last_ref` are packet references, `start` and `end` offsets after the
    frame's 4-byte size (-1: the whole frame), `bytes_seen` the bytes between them (at most `EVIDENCE_BYTES`;
    empty if they may contain a secret), `path` the field as decoders name it.
    """

    connection: str
    exchange: int
    api: str | None = None
    api_key: int | None = None
    api_version: int | None = None
    side: str = ""
    first_ref: int = 0
    last_ref: int = 0
    time_ns: int = 0
    start: int = -1
    end: int = -1
    bytes_seen: bytes = b""
    path: str = ""


EVIDENCE_BYTES = 32  # enough to recognise the place. A command shows the frame itself


class Finding:
    """One judgement.

    `count` is the number of equal findings that were folded into it; `place` is the first one's place.
    """

    __slots__ = (
        "capture_set",
        "claim",
        "code",
        "consequence",
        "count",
        "earlier",
        "evidence",
        "expected",
        "known",
        "last_time_ns",
        "level",
        "name",
        "party",
        "place",
        "seen",
        "severity",
    )  # fmt: skip

    def __init__(
        self,
        code: str,
        name: str,
        level: Level,
        claim: Claim,
        severity: Severity,
        party: Party,
        place: Location,
        expected: str,
        seen: str,
        consequence: str = "",
    ) -> None:
        self.code = code
        self.name = name
        self.level = level
        self.claim = claim
        self.severity = severity
        self.party = party
        self.place = place
        self.expected = expected
        self.seen = seen
        self.consequence = consequence
        self.count = 1
        self.known = False  # recorded in a baseline: fails nothing
        self.earlier: tuple[str, int] | None = None  # exchange that the expectation comes from
        self.evidence: str | None = None  # path of the file that shows it
        self.capture_set = ""
        self.last_time_ns = place.time_ns

    def __repr__(self) -> str:
        where = f"{self.place.connection}/{self.place.exchange}"
        return f"Finding({self.code} {self.party.role} {where} {self.place.path}: {self.seen})"
