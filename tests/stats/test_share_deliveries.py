"""Deliveries of share groups: how each ends, from exchanges made by hand and from recordings."""

from collections import Counter

import pytest

from kdissect.history.sessions import share_deliveries
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.packets.stream import CloseKind
from kdissect.session.exchange import Exchange, State
from kdissect.session.info import Close
from kdissect.stats.by_group.group_rows import group_facts
from kdissect.stats.by_group.group_traffic import GroupTraffic
from tests.history.talk import MS, START_NS, Talk
from tests.stats.truth import Facts, told, truth

SHARE_FETCH, SHARE_ACKNOWLEDGE = 78, 79
UUID = bytes(range(16))
LOCK_MS = 5_000
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
ENDS = ("accepted", "released", "rejected", "gaps", "expired", "returned", "held", "unclear")
Range = tuple[int, int, int]
"""First and last offset, and the delivery count or the type of acknowledgement."""


def rows(acknowledged: tuple[Range, ...]) -> list[Facts]:
    batches = [
        {"first_offset": first, "last_offset": last, "acknowledge_types": [kind]}
        for first, last, kind in acknowledged
    ]
    return [{"topic_id": UUID, "partitions": [{"partition_index": 0, "acknowledgement_batches": batches}]}]


def fetches(
    talk: Talk, member: str, at: int, *acquired: Range, acks: tuple[Range, ...] = (), epoch: int = 1,
    refused: int = 0, took: int = 1, lock_ms: int = LOCK_MS, error: int = 0,
) -> Exchange:  # fmt: skip
    """Return a ShareFetch that acknowledges and acquires, at a time in milliseconds."""
    row = {
        "partition_index": 0, "acknowledge_error_code": refused,
        "acquired_records": [
            {"first_offset": first, "last_offset": last, "delivery_count": count}
            for first, last, count in acquired
        ],
    }  # fmt: skip
    answer = {
        "error_code": error, "acquisition_lock_timeout_ms": lock_ms,
        "responses": [{"topic_id": UUID, "partitions": [row]}],
    }  # fmt: skip
    body = {
        "group_id": "g", "member_id": member, "share_session_epoch": epoch,
        "topics": rows(acks) if acks else [],
    }  # fmt: skip
    return talk.ask(SHARE_FETCH, 2, body, answer, at=at, took=took, client_id=f"client-{member}")


def acknowledges(
    talk: Talk, member: str, at: int, *acks: Range, epoch: int = 2, error: int = 0, took: int = 1
) -> Exchange:
    """Return a ShareAcknowledge."""
    row = {"partition_index": 0, "error_code": error}
    answer = {
        "error_code": 0, "acquisition_lock_timeout_ms": LOCK_MS,
        "responses": [{"topic_id": UUID, "partitions": [row]}],
    }  # fmt: skip
    body = {
        "group_id": "g", "member_id": member, "share_session_epoch": epoch,
        "topics": rows(acks) if acks else [],
    }  # fmt: skip
    return talk.ask(SHARE_ACKNOWLEDGE, 2, body, answer, at=at, took=took, client_id=f"client-{member}")


def deliveries(*exchanges: Exchange) -> dict[str, Facts]:
    """Return the row of each member, of one topic."""
    traffic = GroupTraffic(TopicNames())
    for exchange in exchanges:
        traffic.add(exchange)
    (group,) = group_facts(traffic)
    return {row["member_id"]: row for row in group["deliveries"]}


def ends(row: Facts) -> dict[str, int]:
    """Return the ends that any delivery had, and check that each delivery has one."""
    assert sum(row[name] for name in ENDS) == row["acquired"]
    return {name: row[name] for name in (*ENDS, "given_up", "renewed", "late", "refused") if row[name]}


ONE, TWO = "10.0.0.1", "10.0.0.3"


def test_each_acknowledgement_ends_its_offsets() -> None:
    talk = Talk()
    acks = ((0, 3, ACCEPT), (4, 4, REJECT), (5, 6, RELEASE), (7, 7, GAP))
    found = deliveries(fetches(talk, "a", 0, (0, 9, 1)), acknowledges(talk, "a", 10, *acks))["a"]
    assert ends(found) == {"accepted": 4, "rejected": 1, "released": 2, "gaps": 1, "held": 2}
    assert found["never_acknowledged"] == 2
    assert found["delivery_counts"] == {"1": 10}


def test_types_by_record_and_acknowledgements_in_a_fetch() -> None:
    talk = Talk()
    first = fetches(talk, "a", 0, (0, 4, 1))
    second = fetches(talk, "a", 10, (2, 3, 2), acks=((0, 4, ACCEPT),))
    request = {
        "group_id": "g", "member_id": "a", "share_session_epoch": 2,
        "topics": [{"topic_id": UUID, "partitions": [{"partition_index": 0, "acknowledgement_batches": [
            {"first_offset": 0, "last_offset": 4,
             "acknowledge_types": [ACCEPT, ACCEPT, RELEASE, RELEASE, REJECT]},
        ]}]}],
    }  # fmt: skip
    answer = {"error_code": 0, "acquisition_lock_timeout_ms": LOCK_MS, "responses": []}
    mixed = talk.ask(SHARE_ACKNOWLEDGE, 2, request, answer, at=5, client_id="client-a")
    found = deliveries(first, mixed, fetches(talk, "a", 8, (2, 3, 2)))["a"]
    assert ends(found) == {"accepted": 2, "released": 2, "rejected": 1, "held": 2}
    assert found["redelivered"] == 2
    assert ends(deliveries(first, second)["a"]) == {"accepted": 5, "held": 2}


def test_a_lock_expires_if_its_time_is_over_at_the_end() -> None:
    talk = Talk()
    early, late = (fetches(talk, "a", at, epoch=2) for at in (LOCK_MS - 100, LOCK_MS + 2))
    assert ends(deliveries(fetches(talk, "a", 0, (0, 9, 1)), early)["a"]) == {"held": 10}
    assert ends(deliveries(fetches(talk, "a", 0, (0, 9, 1)), late)["a"]) == {"expired": 10}


def test_a_lock_expires_if_another_member_receives_the_records_after_its_time() -> None:
    one, two = Talk(ONE), Talk(TWO)
    first = fetches(one, "a", 0, (0, 9, 1), took=400)
    # The broker may have handed the records out before the response of the first member came.
    found = deliveries(first, fetches(two, "b", LOCK_MS - 300, (0, 9, 2), took=310))
    assert ends(found["a"]) == {"expired": 10}
    assert ends(found["b"]) == {"held": 10}
    sooner = deliveries(first, fetches(two, "b", LOCK_MS - 300, (0, 9, 2), took=200))
    assert ends(sooner["a"]) == {"unclear": 10}


def test_without_a_time_of_locks_no_lock_is_known_to_expire() -> None:
    talk = Talk()
    first = fetches(talk, "a", 0, (0, 9, 1), lock_ms=0)
    assert ends(deliveries(first, fetches(talk, "a", 60_000, epoch=2))["a"]) == {"held": 10}


def test_a_renewed_lock_lasts_longer() -> None:
    talk = Talk()
    exchanges = [
        fetches(talk, "a", 0, (0, 9, 1)),
        acknowledges(talk, "a", LOCK_MS - 1_000, (0, 4, RENEW)),
        fetches(talk, "a", LOCK_MS + 100, epoch=3),
    ]
    assert ends(deliveries(*exchanges)["a"]) == {"renewed": 5, "held": 5, "expired": 5}


def test_a_session_that_ends_returns_what_it_holds() -> None:
    talk = Talk()
    closes = acknowledges(talk, "a", 100, (0, 1, ACCEPT), epoch=-1)
    found = deliveries(fetches(talk, "a", 0, (0, 9, 1)), closes)["a"]
    assert ends(found) == {"accepted": 2, "returned": 8}


@pytest.mark.parametrize(
    ("how", "ended_ms", "expected"),
    [
        (CloseKind.RST, 1_000, "returned"),
        (CloseKind.FIN, LOCK_MS + 500, "expired"),
        (CloseKind.CAPTURE_END, 1_000, "expired"),
    ],
)
def test_a_connection_that_ends_first_returns_what_it_holds(
    how: CloseKind, ended_ms: int, expected: str
) -> None:
    one, two = Talk(ONE), Talk(TWO)
    first = fetches(one, "a", 0, (0, 9, 1))
    one.info.close = Close("client", how, START_NS + ended_ms * MS)
    later = fetches(two, "b", LOCK_MS + 1_000, (0, 9, 2))
    assert ends(deliveries(first, later)["a"]) == {expected: 10}
    assert ends(deliveries(first, fetches(two, "b", LOCK_MS + 1_000))["a"]) == {expected: 10}


def test_a_refused_acknowledgement_ends_no_delivery() -> None:
    talk = Talk()
    late = acknowledges(talk, "a", LOCK_MS + 100, (0, 9, ACCEPT), error=121)
    assert ends(deliveries(fetches(talk, "a", 0, (0, 9, 1)), late)["a"]) == {"expired": 10, "refused": 10}
    gone = fetches(talk, "a", 10, acks=((0, 9, ACCEPT),), refused=121)
    assert ends(deliveries(fetches(talk, "a", 0, (0, 9, 1)), gone)["a"]) == {"held": 10, "refused": 10}
    no_session = fetches(talk, "a", 10, acks=((0, 9, ACCEPT),), error=122)
    assert ends(deliveries(fetches(talk, "a", 0, (0, 9, 1)), no_session)["a"]) == {"held": 10, "refused": 10}


def test_acknowledgements_without_a_response_are_unclear() -> None:
    talk = Talk()
    body = {"group_id": "g", "member_id": "a", "share_session_epoch": 2, "topics": rows(((0, 9, ACCEPT),))}
    lost = talk.ask(SHARE_ACKNOWLEDGE, 2, body, None, at=10, client_id="client-a")
    lost.state = State.UNANSWERED
    assert ends(deliveries(fetches(talk, "a", 0, (0, 9, 1)), lost)["a"]) == {"unclear": 10}


def test_a_release_may_be_answered_after_the_next_delivery() -> None:
    one, two = Talk(ONE), Talk(TWO)
    release = acknowledges(one, "a", 10, (3, 5, RELEASE), took=50)
    found = deliveries(
        fetches(one, "a", 0, (0, 9, 1)), fetches(two, "b", 5, (3, 5, 2), took=30), release,
        acknowledges(one, "a", 70, (0, 2, ACCEPT), (6, 9, ACCEPT), epoch=3),
    )  # fmt: skip
    assert ends(found["a"]) == {"accepted": 7, "released": 3}
    assert ends(found["b"]) == {"held": 3}


def test_an_acknowledgement_of_done_records_is_late_although_the_broker_reports_no_error() -> None:
    one, two = Talk(ONE), Talk(TWO)
    first = fetches(one, "a", 0, (0, 9, 1))
    other = fetches(two, "b", LOCK_MS + 100, (0, 9, 2))
    done = acknowledges(two, "b", LOCK_MS + 200, (0, 9, ACCEPT))
    found = deliveries(first, other, done, acknowledges(one, "a", LOCK_MS + 300, (0, 9, ACCEPT)))
    assert ends(found["a"]) == {"expired": 10, "late": 10}
    assert ends(found["b"]) == {"accepted": 10}
    alone = deliveries(first, acknowledges(one, "a", LOCK_MS + 1_100, (0, 9, ACCEPT)))
    assert ends(alone["a"]) == {"expired": 10, "late": 10}
    over = [first, fetches(two, "b", LOCK_MS + 1_100, (10, 19, 1))]  # 0 to 9 are archived
    found = deliveries(*over, acknowledges(one, "a", LOCK_MS + 1_200, (0, 9, ACCEPT)))
    assert ends(found["a"]) == {"expired": 10, "given_up": 10, "late": 10}


def test_offsets_that_later_deliveries_skip_are_given_up() -> None:
    talk = Talk()
    begin = [
        fetches(talk, "a", 0, (0, 4, 3)),
        acknowledges(talk, "a", 10, (0, 1, RELEASE), (2, 2, ACCEPT), epoch=2),
    ]
    # Released offsets come first: 0 and 1 do not, after three deliveries. The locks of 3 and 4 expire.
    found = deliveries(*begin, fetches(talk, "a", 20, (5, 9, 1), epoch=3))["a"]
    assert ends(found) == {"accepted": 1, "released": 2, "given_up": 2, "held": 7}
    found = deliveries(*begin, fetches(talk, "a", LOCK_MS + 3_000, (5, 9, 1), epoch=3))["a"]
    assert ends(found) == {"accepted": 1, "released": 2, "expired": 2, "given_up": 4, "held": 5}
    # A request that was sent before the release proves nothing.
    waits = fetches(talk, "a", 5, (5, 9, 1), epoch=3, took=20)
    assert ends(deliveries(*begin, waits)["a"]) == {"accepted": 1, "released": 2, "held": 7}
    again = fetches(talk, "a", 20, (0, 1, 4), (5, 9, 1), epoch=3)
    assert "given_up" not in ends(deliveries(*begin, again)["a"])


def test_ranges_that_no_records_have_are_left_out() -> None:
    talk = Talk()
    wrong = ((-5, 4, 1), (9, 3, 1), (0, (1 << 63) - 1, 1), (-1, -1, 1))
    acks = tuple((first, last, ACCEPT) for first, last, _ in wrong)
    found = deliveries(
        fetches(talk, "a", 0, *wrong, (20, 29, 1), (25, 34, 1)), acknowledges(talk, "a", 10, *acks)
    )["a"]
    assert ends(found) == {"held": 15, "unclear": 5}  # ranges that overlap count twice


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_deliveries, "SPANS_KEPT", 10)
    monkeypatch.setattr(share_deliveries, "PARTITIONS_KEPT", 1)
    talk, traffic = Talk(), GroupTraffic(TopicNames())
    for number in range(30):
        traffic.add(fetches(talk, "a", 2 * number, (2 * number, 2 * number, 1)))
    (group,) = group_facts(traffic)
    (row,) = group["deliveries"]
    assert ends(row) == {"unclear": 22, "held": 8}


def test_a_filter_leaves_out_groups_and_counts_all_of_a_group() -> None:
    talk, traffic = Talk(), GroupTraffic(TopicNames())
    traffic.add(fetches(talk, "a", 0, (0, 9, 1)), wanted=False)
    assert group_facts(traffic) == []
    traffic.add(acknowledges(talk, "a", 10, (0, 9, ACCEPT)), wanted=True)
    (group,) = group_facts(traffic)
    assert [row["accepted"] for row in group["deliveries"]] == [10]


def test_the_account_of_recorded_members(capfd: pytest.CaptureFixture[str]) -> None:
    (group,) = told(capfd, "groups", "kafka44_java_redelivery")["groups"]
    found = {row["client_id"]: row for row in group["deliveries"]}
    # The story: the first member takes eight and hangs; the second accepts, releases, rejects and releases in
    # turn. Of what it releases, two come a third time and are archived then.
    assert ends(found["hangs"]) == {"expired": 8}
    assert found["works"]["delivery_counts"] == {"1": 1, "2": 8, "3": 4}
    assert ends(found["works"]) == {"accepted": 4, "released": 6, "rejected": 3, "given_up": 2}


@pytest.mark.parametrize("name", ["kafka40_java_share", "kafka41_java_share", "kafka44_java_share"])
def test_each_record_that_drivers_received(capfd: pytest.CaptureFixture[str], name: str) -> None:
    (group,) = told(capfd, "groups", name)["groups"]
    received = Counter(record["client_id"] for record in truth(name)["records"]["read"])
    # An application receives a record that it renews a second time without another delivery.
    found = {row["client_id"]: row["acquired"] + row["renewed"] for row in group["deliveries"]}
    assert received == {client: count for client, count in found.items() if count}
    for row in group["deliveries"]:
        assert set(ends(row)) <= {"accepted", "released", "rejected", "renewed"}
