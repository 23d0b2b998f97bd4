"""A symptom: one kind of trouble that one client has with one broker."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple

from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Party
from kdissect.schema.error_codes import error_name
from kdissect.schema.protocol_messages import api_name
from kdissect.stats.client import Client

ADMINISTRATION = "administration"
"""`Symptom.detail` of an error: of a client that neither produces nor consumes, or of such an API."""
ALL_CLIENTS = "all clients"
"""`Symptom.detail` of late responses: the broker served no other client meanwhile."""
CLIENT, BROKER, NOBODY = "client", "broker", "nobody"
"""The end that closed the connection of a request without a response (`Symptom.detail`)."""


# What members of a group receive when it rebalances, or when the coordinator forgot them
# (org.apache.kafka.common.protocol.Errors).
GROUP_ERRORS = frozenset({22, 25, 27, 82, 110, 111, 113})
# Errors that clients receive while a broker is away or leaders move.
MOVING_ERRORS = frozenset({3, 5, 6, 7, 8, 9, 13, 14, 15, 16, 19, 20, 41, 56, 74, 75, 78, 80, 83, 100, 103})


class SymptomKind(StrEnum):
    """Kind of a symptom. Names are output."""

    ERROR = "error"  # a response has an error code
    TROUBLE = "trouble"  # a response reports trouble in words, without an error code
    UNANSWERED = "unanswered"  # no response came (detail: which end closed the connection)
    CONNECTION = "connection"  # a connection failed (detail: the reason, `session.problem.Reason`)
    BROKEN = "broken"  # bytes that the other end cannot read (detail: the rule of `check`)
    LATE = "late"  # a response came late
    REFETCHED = "refetched"  # an offset is fetched again although records came (detail: where)


class Symptom(NamedTuple):
    """Trouble of one kind. `seen` has how often, since when, the cost in time, and the first packets.

    `code` is an error code or the number of a status. `message` is the broker's message, or a fact in the
    packets. `total` counts the requests of the API that the client sent, of records that are fetched again
    their bytes; 0: not known. `goes_on`: the client received other responses after the last occurrence.
    `scope`: of the cluster (`session.identities`), where names are concerned, or the capture set. `cluster`
    is empty if it is not known, or if no other one was captured.
    """

    kind: SymptomKind
    scope: str
    client: Client
    broker: str
    seen: Seen
    api_key: int | None = None
    code: int | None = None
    detail: str = ""
    message: str = ""
    topic: str | None = None
    group: str | None = None
    txn: str | None = None
    total: int = 0
    goes_on: bool = False
    cluster: str = ""

    @property
    def api(self) -> str:
        """The name of the API; empty for a connection."""
        return "" if self.api_key is None else api_name(self.api_key) or f"API key {self.api_key}"

    @property
    def error(self) -> str:
        """The name of the error code."""
        return "" if self.code is None else error_name(self.code)

    @property
    def parties(self) -> frozenset[Party]:
        """Everybody that the symptom concerns."""
        named = {
            "client": self.client.client_id,
            "host": self.client.address,
            "broker": self.broker,
            "topic": self.topic,
            "group": self.group,
            "id": self.txn,
            "cluster": self.cluster,
        }
        return frozenset(Party(kind, name) for kind, name in named.items() if name)


class Claim(NamedTuple):
    """Which symptoms a cause explains, as data. None: whatever it is."""

    kind: SymptomKind
    codes: Collection[int] | None = None
    apis: Collection[int] | None = None
    details: Collection[str] | None = None

    def covers(self, symptom: Symptom) -> bool:
        """Return whether the claim is about a symptom."""
        return (
            symptom.kind is self.kind
            and (self.codes is None or symptom.code in self.codes)
            and (self.apis is None or symptom.api_key in self.apis)
            and (self.details is None or symptom.detail in self.details)
        )


def errors(codes: Collection[int], apis: Collection[int] | None = None) -> Claim:
    """Return a claim about error codes."""
    return Claim(SymptomKind.ERROR, codes, apis)
