"""From how much on a cause is told: at each threshold it is, just below it is not."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import pytest

from kdissect.causes.compared import compared
from kdissect.causes.consumers.partition_ends import Reading, unread
from kdissect.causes.diagnose import diagnose
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.registry import ALL_CAUSES
from kdissect.causes.time.throttle import Throttled
from kdissect.model.cause import Cost, FoundCause, Severity
from kdissect.session.problem import Reason
from tests.causes.fixtures import CASES
from tests.causes.fixtures.case import NOTHING, SECOND, Case, Change, Made, told
from tests.causes.fixtures.consumers import _ends
from tests.causes.fixtures.general import _sends
from tests.causes.fixtures.time import _late

MS = 1_000_000
Values = Mapping[str, Any]


class Threshold(NamedTuple):
    """`at` are the values at which a cause is told. With one of `below` instead it is not."""

    put: Callable[[Made, Values], None]
    at: Values
    below: tuple[Values, ...]


def _links(seen: Made, values: Values) -> None:
    """Attributes of every connection."""
    for link in seen.links():
        for name, value in values.items():
            if name == "trip_ns":
                link.trips = [] if value is None else [(value, "a")]
            else:
                setattr(link, name, value)


def _one_link(seen: Made, values: Values) -> None:
    """Set the values on one connection alone."""
    _links(seen, {"opened": 0, "short": 0, "starts": []})
    first = seen.links()[0]
    first.opened, first.short = values["opened"], values["short"]
    span_ns = values["span_ns"]
    first.starts = [(SECOND + at_ns, "a") for at_ns in range(0, span_ns, SECOND)] + [(SECOND + span_ns, "b")]


def _ended(seen: Made, values: Values) -> None:
    """Have a broker end connections at these times after the first one."""
    ends = sorted(one for link in seen.links() for one in link.ended)
    for link in seen.links():
        link.ended = []
    owner = next(link for key, link in seen.gathering.links.items() if key.broker == _restarted(seen))
    owner.ended = [ends[0]._replace(time_ns=ends[0].time_ns + after_ns) for after_ns in values["after_ns"]]


def _restarted(seen: Made) -> str:
    """Return the broker that refuses connections."""
    return next(one.connection.broker_text for one in seen.problems(Reason.REFUSED))


def _errors(code: int, api: int) -> Callable[[Made, Values], None]:
    """Return errors of one client: `times` within `span_ns`."""

    def put(seen: Made, values: Values) -> None:
        errors = seen.gathering.log.errors
        for key, _ in list(errors.items()):
            errors.pop(key)
        seen.gathering.facts.clear()
        seen.put_error(code, api, values["times"])
        for found in errors:
            found.last_ns = found.first_ns + values.get("span_ns", SECOND)

    return put


def _tally(api: str) -> Callable[[Made, Values], None]:
    """Return one client's exchanges with one broker; other rows of evidence by `rows.name`."""

    def put(seen: Made, values: Values) -> None:
        seen.tallies = [(key, tally) for key, tally in seen.tallies if key[0] == api][:1]
        ((key, tally),) = seen.tallies
        tally.exchanges = values["exchanges"]
        assert tally.first_ns is not None
        tally.last_ns = tally.first_ns + values["span_ns"]
        seen.fetchers = [
            row for row in seen.fetchers if (row["client_id"] or "", row["address"], row["broker"]) == key[1:]
        ]
        for row in seen.fetchers:
            row |= {"requests": values["exchanges"], "empty_early": 0, "empty": values.get("empty", 0)}
        for topic in seen.topics:
            topic["writers"] = topic["writers"][:1]
            for writer in topic["writers"]:
                writer |= {name: values[name] for name in ("batches", "records", "bytes") if name in values}

    return put


def _written(seen: Made, values: Values) -> None:
    seen.topics = seen.topics[:1]
    seen.topics[0]["codecs"] = values["codecs"]
    seen.topics[0]["written"] |= {name: values[name] for name in ("bytes", "batches")}


def _partitions(seen: Made, values: Values) -> None:
    seen.topics = seen.topics[:1]
    seen.topics[0]["written"]["records"] = values["written"]
    _ends(*values["ends"])(seen)


def _answers(seen: Made, values: Values) -> None:
    seen.tallies = []
    _late(values["times"], values["took_ns"], values["every_ns"])(seen)


THRESHOLDS: dict[str, Threshold] = {
    "lossy-network": Threshold(
        _links,
        {"retransmissions": 10, "packets": 2000, "delayed_ns": 500 * MS},
        ({"retransmissions": 9, "packets": 9}, {"packets": 2001}, {"delayed_ns": 500 * MS - 1}),
    ),
    "slow-network": Threshold(
        _links,
        {"trip_ns": 20 * MS, "exchanges": 20},
        ({"trip_ns": 20 * MS - 1}, {"exchanges": 19}, {"trip_ns": None}),
    ),
    "coordinator-unavailable": Threshold(
        _errors(15, 10),
        {"times": 10, "span_ns": 10 * SECOND},
        ({"times": 9}, {"span_ns": 10 * SECOND - 1}),
    ),
    "leader-moved": Threshold(_errors(6, 0), {"times": 3}, ({"times": 2},)),
    "metadata-storm": Threshold(
        _tally("Metadata"),
        {"exchanges": 50, "span_ns": 10 * SECOND},
        ({"exchanges": 49, "span_ns": 1}, {"span_ns": 10 * SECOND + 1}),
    ),
    "spinning-consumer": Threshold(
        _tally("Fetch"),
        {"exchanges": 150, "span_ns": 7 * SECOND, "empty": 105},
        (
            {"exchanges": 99, "span_ns": 1, "empty": 99},
            {"empty": 104, "span_ns": 1},
            {"span_ns": 7 * SECOND + 1},
        ),
    ),
    "tiny-batches": Threshold(
        _tally("Produce"),
        {"exchanges": 300, "span_ns": 5 * SECOND, "batches": 100, "records": 200, "bytes": 200_000},
        (
            {"exchanges": 199, "span_ns": 1},
            {"span_ns": 5 * SECOND + 1},
            {"records": 201},
            {"bytes": 200_001},
            {"batches": 0, "records": 0, "bytes": 0},
        ),
    ),
    "uncompressed": Threshold(
        _written,
        {"codecs": {"none": 1}, "bytes": 400_000, "batches": 200},
        ({"bytes": 399_999, "batches": 1}, {"batches": 201}, {"codecs": {"none": 1, "lz4": 1}}),
    ),
    "hot-partition": Threshold(
        _partitions,
        {"written": 200, "ends": (140, 30, 30)},
        ({"written": 199}, {"ends": (139, 31, 30)}, {"ends": (199, 0, 0)}, {"ends": (200, 0)}),
    ),
    "connection-churn": Threshold(
        _one_link,
        {"opened": 20, "short": 16, "span_ns": 20 * SECOND},
        ({"opened": 19, "span_ns": 1}, {"short": 15}, {"span_ns": 20 * SECOND + 1}),
    ),
    "broker-restarted": Threshold(
        _ended,
        {"after_ns": (0, 8 * SECOND)},
        ({"after_ns": (0, 8 * SECOND + 1)}, {"after_ns": (0,)}),
    ),
    "slow-broker": Threshold(
        _answers,
        {"times": 5, "took_ns": 400 * MS, "every_ns": 400 * MS},
        (
            {"times": 4, "took_ns": SECOND, "every_ns": SECOND},
            {"took_ns": 400 * MS - 1},
            {"every_ns": 400 * MS - 1},
        ),
    ),
}  # fmt: skip
BELOW = [(cause_id, number) for cause_id, row in THRESHOLDS.items() for number in range(len(row.below))]


def found(cause_id: str, values: Values) -> list[FoundCause]:
    """Return what the cause says of its fixture with these values."""
    put = THRESHOLDS[cause_id].put
    change: Change = lambda seen: put(seen, values)  # noqa: E731
    return told([cause for cause in ALL_CAUSES if cause.id == cause_id], CASES[cause_id].evidence(change))


@pytest.mark.parametrize("cause_id", THRESHOLDS)
def test_at_its_threshold_a_cause_is_told(cause_id: str) -> None:
    assert found(cause_id, THRESHOLDS[cause_id].at)


# At the thresholds.
COSTS = {
    "lossy-network": Cost(time_ns=500 * MS, retries=10),
    "slow-network": Cost(time_ns=20 * 20 * MS),  # each exchange waits for the way
    "coordinator-unavailable": Cost(time_ns=10 * SECOND, errors=10),
    "leader-moved": Cost(retries=3),
    "metadata-storm": Cost(bytes=228),
    "spinning-consumer": Cost(bytes=9214),
    "tiny-batches": Cost(bytes=300 * 120),
    "uncompressed": Cost(bytes=400_000),
    "hot-partition": Cost(records=140),
    "connection-churn": Cost(retries=20),
    "broker-restarted": Cost(time_ns=4 * 13_035_240_760, errors=1),  # of four clients, from close to return
    "slow-broker": Cost(time_ns=5 * 400 * MS),
}


@pytest.mark.parametrize("cause_id", COSTS)
def test_what_it_costs(cause_id: str) -> None:
    assert COSTS.keys() == THRESHOLDS.keys()
    assert found(cause_id, THRESHOLDS[cause_id].at)[0].cost == COSTS[cause_id]


@pytest.mark.parametrize(("cause_id", "number"), BELOW)
def test_just_below_it_is_not(cause_id: str, number: int) -> None:
    row = THRESHOLDS[cause_id]
    assert found(cause_id, {**row.at, **row.below[number]}) == []


@pytest.mark.parametrize(
    ("failed", "of", "is_worked_on", "severity"),
    [
        (3, 6, True, Severity.STOPS),
        (3, 7, True, Severity.DELAYS),
        (2, 2, True, Severity.WASTES),
        (2, 4, False, Severity.STOPS),
        (2, 5, False, Severity.DELAYS),
    ],
)
def test_what_failures_do(failed: int, of: int, is_worked_on: bool, severity: Severity) -> None:
    """By their share, their number, and whether the client goes on."""

    def change(seen: Made) -> None:
        seen.put_error(42, 0, failed, topic="orders")
        _sends(of, 100 * SECOND if is_worked_on else SECOND, failed=of - is_worked_on)(seen)
        seen.last_ns = 200 * SECOND

    causes = [cause for cause in ALL_CAUSES if cause.id == "requests-fail"]
    (one,) = told(causes, Case(NOTHING, {}).evidence(change))
    assert one.severity is severity


@pytest.mark.parametrize(
    ("of", "end_ns", "goes_on"),
    [
        (9, 5 * SECOND - 1, True),
        (8, 5 * SECOND - 1, False),
        (9, 5 * SECOND, False),
    ],
)
def test_nobody_knows_how_it_went_on_where_the_capture_ends_soon(of: int, end_ns: int, goes_on: bool) -> None:
    """Less than a second after the last of four failures, which are less than half of the requests."""

    def change(seen: Made) -> None:
        seen.put_error(42, 0, 4, topic="orders")  # the last one at 4 s
        _sends(of, SECOND, failed=of)(seen)
        seen.last_ns = end_ns

    causes = [cause for cause in ALL_CAUSES if cause.id == "requests-fail"]
    (one,) = told(causes, Case(NOTHING, {}).evidence(change))
    assert ("No later request" in one.sentence) is not goes_on


def cause(times: int, **cost: int) -> FoundCause:
    """Return one that happened so often."""
    return found("lossy-network", THRESHOLDS["lossy-network"].at)[0]._replace(times=times, cost=Cost(**cost))


@pytest.mark.parametrize(
    ("before", "now", "state"),
    [
        ({"errors": 4}, {"errors": 8}, "worse"),
        ({"errors": 4}, {"errors": 7}, "same"),
        ({"errors": 4}, {"errors": 3}, "same"),
        ({"errors": 4}, {"errors": 2}, "better"),
    ],
)
def test_from_twice_on_a_cause_is_worse(before: Any, now: Any, state: str) -> None:
    empty = diagnose(Case(NOTHING, {}).evidence().gathering, [])
    good, bad = (empty._replace(causes=(cause(1, **cost),)) for cost in (before, now))
    assert [str(one.state) for one in compared(good, bad)] == [state]


@pytest.mark.parametrize(
    ("position", "committed", "end", "lag", "undone"),
    [
        (70, 60, 100, 30, 40), (70, None, 100, 30, 30), (None, 60, 100, 0, 40), (None, None, 100, 0, 0),
        (70, 60, None, 0, 0), (101, 101, 100, 0, 0), (100, 99, 100, 0, 1),
    ],
)  # fmt: skip
def test_how_far_a_member_is(
    position: int | None, committed: int | None, end: int | None, lag: int, undone: int
) -> None:
    one = Reading("g", "app", "h", "t", 0, position, committed, end, 0, 0, "c", 0, 0, 0, 0, None, None, 0)
    assert (one.lag, one.undone) == (lag, undone)


@pytest.mark.parametrize(("errors", "count"), [({}, 70), ({"OFFSET_OUT_OF_RANGE": 1}, 0)])
def test_records_that_a_reader_skipped_do_not_wait_for_it(errors: dict[str, int], count: int) -> None:
    readers = [
        {"groups": ["g"], "records": 30, "errors": errors},
        {"groups": ["other"], "records": 50, "errors": {"OFFSET_OUT_OF_RANGE": 1}},
    ]
    row = {"topic": "t", "topic_id": None, "written": {"records": 100}, "readers": readers}
    assert unread(cast(Evidence, SimpleNamespace(topics=[row])), "g", "t") == count


# Produce, Fetch; CreateTopics, DeleteTopics and CreatePartitions; all others.
QUOTAS = {"throttled-produce": {0}, "throttled-fetch": {1}, "throttled-controller": {19, 20, 37}}


def test_which_responses_have_the_throttle_of_a_quota() -> None:
    found = {cause.id: cause for cause in ALL_CAUSES if isinstance(cause, Throttled)}
    others = set(range(95)).difference(*QUOTAS.values())
    for cause_id, keys in (QUOTAS | {"throttled-requests": others}).items():
        assert {key for key in range(95) if found[cause_id].concerns(key)} == keys


def test_a_fenced_producer_is_told_so_in_a_transaction() -> None:
    """AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, TxnOffsetCommit; a Produce has a transactional id, too."""
    (one,) = (cause for cause in ALL_CAUSES if cause.id == "fenced-producer")
    shown = {
        api
        for api in range(95)
        if told([one], Case(NOTHING, {}).evidence(lambda seen, api=api: seen.put_error(47, api)))  # type: ignore[misc]
    }
    assert shown == {24, 25, 26, 28}
