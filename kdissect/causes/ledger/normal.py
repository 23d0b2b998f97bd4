"""Symptoms that are normal: one table, each row with its reason and the source of it.

`why` reports the absence of trouble only if this table covers every remaining symptom.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from kdissect.causes.evidence.seen import Seen
from kdissect.causes.ledger.symptom import ADMINISTRATION, BROKER, CLIENT, NOBODY, Symptom, SymptomKind
from kdissect.model.wording import plural
from kdissect.schema.error_codes import error_name
from kdissect.schema.logs import METADATA_TOPIC
from kdissect.schema.protocol_messages import api_keys, api_name
from kdissect.session.problem import Reason
from kdissect.stats.times.waited import FETCHES, WAITING

_SECOND_NS = 1_000_000_000
_CONSUMER_GROUP_DESCRIBE = 69  # org.apache.kafka.common.protocol.ApiKeys
_ALL = 1.0
_RETRY_NS = 100_000_000  # org.apache.kafka.clients.CommonClientConfigs#RETRY_BACKOFF_MS_CONFIG


class Normal(NamedTuple):
    """Symptoms of one kind that are normal. None: whatever it is.

    `most` limits the occurrences for one client, `share` their part in the client's requests for that API.
    `span_ns` limits the time from the first to the last, `longest_ns` the longest wait, `sum_ns` all waits.
    `goes_on`: only if the client received other responses later, or it happened `few` times at most: a client
    that a broker asks to try again once, and that does not, has ended.
    """

    kind: SymptomKind
    reason: str
    cites: tuple[str, ...]
    codes: Collection[int] | None = None
    apis: Collection[int] | None = None
    details: Collection[str] | None = None
    most: int | None = None
    share: float = _ALL
    span_ns: int | None = None
    longest_ns: int | None = None
    sum_ns: int | None = None
    goes_on: bool = False
    few: int = 0
    topic: str | None = None

    def covers(self, symptom: Symptom, *, is_poor: bool = False, is_timed: bool = True) -> bool:
        """Return whether the entry covers a symptom, or may cover it in a poor capture.

        `is_timed`: the times of the capture can be trusted. If not, the number of retries limits a symptom.
        """
        seen = symptom.seen
        return (
            symptom.kind is self.kind
            and (self.codes is None or symptom.code in self.codes)
            and (self.apis is None or symptom.api_key in self.apis)
            and (self.details is None or symptom.detail in self.details)
            and (self.topic is None or symptom.topic == self.topic)
            and (self.most is None or seen.times <= self.most)
            and (is_poor or self.share >= _ALL or seen.times <= self.share * symptom.total)
            and (self._lasts(symptom.seen) if is_timed else self._is_repeated(symptom.seen))
            and (is_poor or symptom.goes_on or not self.goes_on or seen.times <= self.few)
        )

    def _lasts(self, seen: Seen) -> bool:
        return (
            (self.span_ns is None or seen.span_ns <= self.span_ns)
            and (self.longest_ns is None or seen.longest_ns <= self.longest_ns)
            and (self.sum_ns is None or seen.time_ns <= self.sum_ns)
        )

    def _is_repeated(self, seen: Seen) -> bool:
        return self.span_ns is None or seen.times <= self.span_ns // _RETRY_NS


_ERRORS = "org.apache.kafka.common.protocol.Errors#"
_ERROR, _CONNECTION, _UNANSWERED = SymptomKind.ERROR, SymptomKind.CONNECTION, SymptomKind.UNANSWERED

# NON_EMPTY_GROUP, ELECTION_NOT_NEEDED, RESOURCE_NOT_FOUND and further errors: the subject of a request is
# missing, exists already, or needs no change (Errors).
_NOTHING_TO_DO = frozenset(
    {3, 25, 36, 57, 61, 62, 64, 66, 68, 69, 84, 85, 86, 91, 92, 95, 96, 100, 102, 105, 116, 136}
)

# Requests of administrators, and requests before a client works, without requests whose wait delays records.
BEFORE_WORK = api_keys() - frozenset({0, 1, 2, 8, 9, 11, 12, 14, 24, 25, 26, 28, 68, 76, 78, 79, 88})

# Metadata, FindCoordinator, ApiVersions, and heartbeats by which members join: brokers answer them at once.
_PROMPT = frozenset({3, 10, 18, 68, 76, 88})
# max.poll.interval.ms as it is unless configured: as long as members may take to join.
_REBALANCE_NS = 300 * _SECOND_NS

NORMAL: tuple[Normal, ...] = (
    Normal(
        _ERROR, "the broker assigns a new member its id, and the member joins again",
        ("KIP-394 Motivation",), codes={79}, apis={11}, share=0.7,
    ),
    Normal(
        _ERROR, "the broker assigns a new member its id, and the member has ended",
        ("KIP-394 Motivation",), codes={79}, apis={11}, most=2,
    ),
    Normal(
        _ERROR, "a rebalance is in progress: the member joins again",
        (f"{_ERRORS}REBALANCE_IN_PROGRESS",), codes={27}, goes_on=True, few=2,
    ),
    Normal(
        _ERROR, "a rebalance or a leave ended the generation: the member joins again",
        (f"{_ERRORS}ILLEGAL_GENERATION", f"{_ERRORS}UNKNOWN_MEMBER_ID"),
        codes={22, 25}, most=3, goes_on=True,
    ),
    Normal(
        _ERROR, "the member receives the new epoch of its group with its next heartbeat",
        ("KIP-848 Motivation",), codes={113}, most=3, goes_on=True,
    ),
    Normal(
        _ERROR, "the client asks the coordinator that it knew before it looks for the new one",
        (f"{_ERRORS}NOT_COORDINATOR", f"{_ERRORS}COORDINATOR_NOT_AVAILABLE"),
        codes={14, 15, 16}, span_ns=10 * _SECOND_NS, goes_on=True, few=2,
    ),
    Normal(
        _ERROR, "the topic is being created: the client asks again",
        (f"{_ERRORS}LEADER_NOT_AVAILABLE", f"{_ERRORS}UNKNOWN_TOPIC_OR_PARTITION"),
        codes={3, 5, 100}, apis={3}, span_ns=5 * _SECOND_NS, goes_on=True,
    ),
    Normal(
        _ERROR, "leaders or their epochs changed: the client asks for metadata and goes on",
        (f"{_ERRORS}NOT_LEADER_OR_FOLLOWER", "KIP-320 Motivation"),
        codes={6, 74, 75, 100}, most=10, share=0.5, goes_on=True,
    ),
    Normal(
        _ERROR, "the leader of a partition does not lead it yet: the client asks again",
        (f"{_ERRORS}NOT_LEADER_OR_FOLLOWER",), codes={6}, most=10, span_ns=5 * _SECOND_NS, goes_on=True,
    ),
    Normal(
        _ERROR, "a node looks for the leader of the quorum: this node does not lead it",
        ("KIP-595 Proposed Changes",), codes={6}, apis={1}, topic=METADATA_TOPIC, most=10,
        span_ns=5 * _SECOND_NS,
    ),
    Normal(
        _ERROR, "the controller changed: the client looks for the new one",
        (f"{_ERRORS}NOT_CONTROLLER",), codes={41}, most=5, goes_on=True,
    ),
    Normal(
        _ERROR, "the broker names its versions of ApiVersions, and the client asks again",
        ("KIP-511 Proposed Changes",), codes={35}, apis={18}, goes_on=True,
    ),
    Normal(
        _ERROR, "the client asked again in a version of ApiVersions that the broker has",
        ("KIP-511 Proposed Changes",), codes={35}, apis={18}, share=0.5,
    ),
    Normal(
        _ERROR, "the broker dropped the session, and the client begins another one",
        (f"{_ERRORS}FETCH_SESSION_ID_NOT_FOUND", "KIP-227 Motivation", "KIP-932 Motivation"),
        codes={70, 71, 106, 122, 123}, share=0.5,
    ),
    Normal(
        _ERROR, "the transaction before is still being completed: the client tries again",
        (f"{_ERRORS}CONCURRENT_TRANSACTIONS",), codes={51}, share=0.9, goes_on=True, few=2,
    ),
    Normal(
        _ERROR, "a batch before it was refused, too, and the client sent both again",
        (f"{_ERRORS}OUT_OF_ORDER_SEQUENCE_NUMBER", "KIP-98 Motivation"), codes={45}, apis={0}, share=0.5,
        goes_on=True,
    ),
    Normal(
        _ERROR, "the broker has the batch already: the retry succeeded",
        (f"{_ERRORS}DUPLICATE_SEQUENCE_NUMBER",), codes={46},
    ),
    Normal(
        _ERROR, "offsets of an open transaction are being completed: the client asks again",
        (f"{_ERRORS}UNSTABLE_OFFSET_COMMIT",), codes={88}, most=20, goes_on=True,
    ),
    Normal(
        _ERROR, "an administrator asks for, creates or removes what is (not) there: the program reports it",
        (f"{_ERRORS}forCode",), codes=_NOTHING_TO_DO, details={ADMINISTRATION}, most=5,
    ),
    Normal(
        _ERROR, "the group is a classic one: the program asks for it as such next",
        (f"{_ERRORS}GROUP_ID_NOT_FOUND", "KIP-848 Motivation"),
        codes={69}, apis={_CONSUMER_GROUP_DESCRIBE}, details={ADMINISTRATION}, goes_on=True,
    ),
    Normal(
        _ERROR, "the broker does not have a feature: the program reports it",
        ("KIP-584 Motivation",), codes={42}, apis={57}, details={ADMINISTRATION}, most=3,
    ),
    Normal(
        _ERROR, "a request of an administrator is refused: the program reports it and goes on",
        (f"{_ERRORS}forCode",), details={ADMINISTRATION}, most=3, goes_on=True,
    ),
    Normal(
        SymptomKind.TROUBLE, "the group forms: the broker waits for members or creates internal topics",
        ("KIP-1071 Motivation",), codes={0, 3, 5}, apis={88}, most=20, goes_on=True,
    ),
    Normal(
        _UNANSWERED, "the request was open when the capture ended",
        ("spec/000 Network",), details={NOBODY}, longest_ns=5 * _SECOND_NS,
    ),
    Normal(
        _UNANSWERED, "the broker serves other clients: the remaining packets of the connection may not "
        "be captured",
        ("spec/000 Network",), apis=BEFORE_WORK, details={NOBODY}, most=1, goes_on=True,
    ),
    Normal(
        _UNANSWERED, "the broker holds such a request by design: other members of the group have to join",
        ("KIP-62 Motivation",), apis=WAITING - FETCHES, details={CLIENT, NOBODY}, longest_ns=_REBALANCE_NS,
    ),
    Normal(
        _UNANSWERED, "members and consumers have nearly always such a request open when a broker stops",
        ("org.apache.kafka.clients.consumer.ConsumerConfig#FETCH_MAX_WAIT_MS_CONFIG", "KIP-62 Motivation"),
        apis=WAITING, details={BROKER}, goes_on=True, few=2,
    ),
    Normal(
        _UNANSWERED, "the client ended, and left a request open",
        ("spec/000 Network",), details={CLIENT}, most=2, longest_ns=_SECOND_NS,
    ),
    Normal(
        _UNANSWERED, "the client ended connections that it had used, and left requests open",
        ("spec/000 Network",), details={CLIENT}, share=0.5, longest_ns=_SECOND_NS,
    ),
    Normal(
        _CONNECTION, "the client was started before its broker",
        ("spec/000 Network",), details={Reason.REFUSED, Reason.NO_ANSWER}, most=3, goes_on=True,
    ),
    Normal(
        _CONNECTION, "a health check, or a client that ended",
        ("spec/000 Network",), details={Reason.PROBE, Reason.TLS_LEFT}, most=4,
    ),
    Normal(
        SymptomKind.BROKEN, "the other end skips bytes behind the fields that it knows",
        ("spec/000 Versioning and Compatibility",), details={"FRM006"},
    ),
    Normal(
        SymptomKind.BROKEN, "the client guesses the version of a response that refuses ApiVersions",
        ("KIP-511 Proposed Changes",), details={"VER004", "VER005"}, goes_on=True,
    ),
    Normal(
        SymptomKind.LATE, "the broker holds such a request by design",
        ("org.apache.kafka.clients.consumer.ConsumerConfig#FETCH_MAX_WAIT_MS_CONFIG",), apis=WAITING - {1},
    ),
    Normal(
        SymptomKind.LATE, "a short pause",
        ("org.apache.kafka.clients.CommonClientConfigs#REQUEST_TIMEOUT_MS_CONFIG",), longest_ns=_SECOND_NS,
    ),
    Normal(
        SymptomKind.LATE, "few pauses of some seconds in all",
        ("org.apache.kafka.clients.CommonClientConfigs#REQUEST_TIMEOUT_MS_CONFIG",), sum_ns=2 * _SECOND_NS,
    ),
    Normal(
        SymptomKind.LATE, "to create topics, to log in and to complete transactions takes time",
        ("org.apache.kafka.clients.CommonClientConfigs#REQUEST_TIMEOUT_MS_CONFIG",),
        apis=api_keys() - {0, 1, 2, 8, 9, 12} - _PROMPT, longest_ns=10 * _SECOND_NS,
    ),
    Normal(
        SymptomKind.LATE, "a broker that starts, or that elects leaders, takes time",
        ("org.apache.kafka.clients.CommonClientConfigs#REQUEST_TIMEOUT_MS_CONFIG",), apis=_PROMPT, most=10,
        longest_ns=10 * _SECOND_NS,
    ),
)  # fmt: skip


def reason_why_normal(symptom: Symptom, *, is_poor: bool = False, is_timed: bool = True) -> str | None:
    """Return why a symptom is normal; None if it is not."""
    return next(
        (row.reason for row in NORMAL if row.covers(symptom, is_poor=is_poor, is_timed=is_timed)), None
    )


def normal_list() -> str:
    """Return the table as Markdown, for docs/why.md."""
    rows = [
        f"| {row.kind} | {_which(row)} | {_limits(row)} | {row.reason} | {'; '.join(row.cites)} |"
        for row in NORMAL
    ]
    return "\n".join(["| symptom | which | as long as | reason | source |", "|---|---|---|---|---|", *rows])


def _which(row: Normal) -> str:
    parts = []
    if row.codes is not None:
        named = row.kind is SymptomKind.ERROR
        parts.append(", ".join(error_name(code) if named else f"status {code}" for code in sorted(row.codes)))
    if row.apis is not None:
        parts.append("of " + _apis(row.apis))
    if row.topic is not None:
        parts.append(f"for {row.topic}")
    if row.details is not None:
        closed = row.kind is SymptomKind.UNANSWERED
        parts.append(", ".join(f"closed by {one}" if closed else one for one in sorted(row.details)))
    return " ".join(parts) or "all"


def _apis(keys: Collection[int]) -> str:
    """Return APIs by name, or the missing APIs if they are fewer."""
    all_but = api_keys() - set(keys)
    is_most = len(all_but) < len(keys)
    names = ", ".join(api_name(key) or str(key) for key in sorted(all_but if is_most else keys))
    return f"all APIs but {names}" if is_most else names


def _limits(row: Normal) -> str:
    parts = []
    if row.most is not None:
        parts.append(f"{plural(row.most, 'time')} at most for one client")
    if row.share < _ALL:
        parts.append(f"{100 * row.share:.0f} % of the requests at most")
    if row.span_ns is not None:
        parts.append(f"within {row.span_ns // _SECOND_NS} s")
    if row.longest_ns is not None:
        parts.append(f"{row.longest_ns // _SECOND_NS} s at most")
    if row.sum_ns is not None:
        parts.append(f"{row.sum_ns // _SECOND_NS} s in all at most")
    if row.goes_on:
        parts.append("the client goes on" + (f", or {plural(row.few, 'time')} at most" if row.few else ""))
    return ", ".join(parts) or "always"
