"""What is counted of the connections of a client to a broker, at the limits of what counts."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from kdissect.causes.evidence.links import Ended, Link, LinkKey, Links, is_broken_off
from kdissect.net.streams.round_trips import Part
from kdissect.session.info import ConnectionKind
from kdissect.tls.tls_info import NO_RECORD

SECOND = 1_000_000_000


def tcp(**changed: Any) -> SimpleNamespace:
    """Return counters of a connection: 300 bytes from the client, 700 from the broker."""
    counted = {
        "packets": 10, "client_bytes": 300, "broker_bytes": 700, "retransmissions": 2, "zero_windows": 3,
        "client_zero_windows": 2,
        "resets": 1, "gap_bytes": 50, "times": None,
    }  # fmt: skip
    return SimpleNamespace(**counted | changed)


def tls(why: str | None, *alerts: tuple[str, str]) -> SimpleNamespace:
    return SimpleNamespace(why=why, alerts=Counter(alerts))


def closed(by: str | None = "broker", at: float = 1) -> SimpleNamespace:
    return SimpleNamespace(by=by, how="fin", time_ns=int(at * SECOND))


def connection(**changed: Any) -> Any:
    """Return a connection from second 0 to second 1."""
    facts = {
        "id": "c1", "start_ns": 0, "end_ns": SECOND, "middle_start": False, "exchanges": 4, "unanswered": 1,
        "kind": ConnectionKind.KAFKA, "close": closed(), "tcp": tcp(), "tls": None,
    }  # fmt: skip
    return SimpleNamespace(**facts | changed)


def link(*connections: Any) -> Link:
    found = Link()
    for each in connections:
        found.add(each)
    return found


def test_sums() -> None:
    found = link(
        connection(), connection(id="c2", middle_start=True, kind=ConnectionKind.NO_DATA, close=None)
    )
    assert (found.opened, found.begun_before, found.exchanges, found.silent) == (1, 1, 8, 1)
    assert (found.packets, found.bytes, found.retransmissions) == (20, 2000, 4)
    assert (found.zero_windows, found.zero_windows_of_broker) == (4, 2)
    assert (found.resets, found.gap_bytes) == (2, 100)
    assert (found.first_id, found.last_ns, found.starts) == ("c1", SECOND, [(0, "c1")])
    assert found.trip_ns is None


@pytest.mark.parametrize(
    ("changed", "short"),
    [
        ({"end_ns": 10 * SECOND - 1}, 1),
        ({"end_ns": 10 * SECOND}, 0),
        ({"close": closed("client")}, 1),
        ({"close": closed(None)}, 0),
        ({"close": None}, 0),
        ({"middle_start": True}, 0),
    ],
)
def test_short_ones_were_opened_and_ended_within_ten_seconds(changed: dict[str, Any], short: int) -> None:
    assert link(connection(**changed)).short == short


@pytest.mark.parametrize(("by", "count"), [("broker", 1), ("client", 0), (None, 0)])
def test_what_the_broker_ended(by: str | None, count: int) -> None:
    found = link(connection(close=closed(by, at=3))).ended
    assert found == [Ended(3 * SECOND, "c1", 1, "fin")] * count


def test_the_round_trip_is_the_median_of_those_known() -> None:
    def timed(trip_ns: int | None, is_whole: bool = True) -> Any:
        trips = SimpleNamespace(round_trip_ns=trip_ns, client=Part(trip_ns, True), broker=Part(0, is_whole))
        return connection(tcp=tcp(times=SimpleNamespace(delayed_ns=5, trips=trips)))

    found = link(timed(30), timed(None), timed(10, is_whole=False), timed(0))
    assert found.trips == [(30, "c1"), (10, "c1"), (0, "c1")]
    assert found.trip_ns == 10
    assert found.trips_by_handshake == [30, 0]
    assert found.delayed_ns == 20


@pytest.mark.parametrize(
    ("changed", "is_broken"),
    [
        ({}, True),
        ({"kind": ConnectionKind.KAFKA}, False),
        ({"middle_start": True}, False),
        ({"tcp": None}, False),
        ({"close": None}, False),
        ({"close": closed(None)}, False),
        ({"close": closed("client")}, True),
        ({"close": closed(at=1.999)}, True),
        ({"close": closed(at=2)}, False),
        ({"tcp": tcp(client_bytes=1699)}, True),
        ({"tcp": tcp(client_bytes=1700)}, False),
        ({"tcp": tcp(broker_bytes=1)}, True),
        ({"tcp": tcp(broker_bytes=0)}, False),
        ({"tcp": tcp(broker_bytes=499), "close": closed("client")}, False),  # it has no certificate yet
        ({"tcp": tcp(broker_bytes=500), "close": closed("client")}, True),
        ({"tls": tls("no key log")}, True),
        ({"tls": tls(None)}, False),
        ({"tls": tls("no key log", ("client", "close_notify"))}, True),
        ({"tls": tls("no key log", ("client", "close_notify")), "close": closed("client")}, False),
        ({"tls": tls("no key log", ("client", "bad_certificate")), "close": closed("client")}, True),
        ({"tls": tls(NO_RECORD), "tcp": tcp(client_bytes=17195)}, True),
        (
            {"tls": tls(NO_RECORD), "tcp": tcp(client_bytes=17195), "close": closed(at=2)},
            False,
        ),
    ],
)
def test_tls_that_ended_within_its_handshake(changed: dict[str, Any], is_broken: bool) -> None:
    one = connection(**{"kind": ConnectionKind.TLS, **changed})
    assert is_broken_off(one) is is_broken
    assert link(one).broken_off == [(0, "c1")] * is_broken


def test_a_broker_that_sends_bytes_on_tls_speaks_tls() -> None:
    decrypted = SimpleNamespace(why=None)
    assert (
        link(
            connection(tls=decrypted), connection(tls=decrypted, tcp=tcp(broker_bytes=0)), connection()
        ).tls_answers
        == 1
    )


def test_how_many_connections_are_open_at_a_time() -> None:
    found = link(
        connection(start_ns=5, end_ns=9, close=None),
        connection(start_ns=6, close=closed(at=8 / SECOND)),
        connection(middle_start=True, end_ns=20, close=None),
    )
    assert [found.open_at(at) for at in (4, 5, 6, 7, 8, 9, 20)] == [1, 2, 3, 3, 2, 1, 0]


def test_the_last_time_that_the_client_ended_a_connection() -> None:
    assert (
        link(connection(close=closed("client", 3)), connection(close=closed("client", 2))).left_ns
        == 3 * SECOND
    )
    assert link(connection(close=closed("broker", 3)), connection(close=None)).left_ns == 0


def test_so_many_times_are_kept() -> None:
    one = connection(kind=ConnectionKind.TLS)
    found = link(*[one] * 2001)
    kept = (found.starts, found.ends, found.ended, found.broken_off)
    assert [len(times) for times in kept] == [2000] * 4
    assert (found.opened, found.first_id) == (2001, "c1")


def test_links_are_kept_by_client_and_broker() -> None:
    facts = {"capture_set": "a", "client_text": "[fe80::1]:4000", "broker_text": "b:1", "client_id": "app"}
    links = Links()
    for changed in ({}, {}, {"broker_text": "b:2"}, {"client_id": None}, {"capture_set": "b"}):
        links.add(connection(**facts | changed))
    assert [(key, found.opened) for key, found in links.of_broker("a", "b:1")] == [
        (LinkKey("a", "fe80::1", "app", "b:1"), 2),
        (LinkKey("a", "fe80::1", None, "b:1"), 1),
    ]
    assert len(links.items()) == 4


def test_when_a_client_began() -> None:
    links = Links()
    for number, (client, client_id, broker) in enumerate(
        [("a:1", "x", "b1"), ("a:2", "x", "b2"), ("a:3", None, "b1"), ("c:4", "x", "b1")]
    ):
        links.add(
            connection(
                start_ns=number, client_text=client, client_id=client_id, broker_text=broker, capture_set="s"
            )
        )
    assert links.starts_of("x", "a") == [0, 1]
    assert links.starts_of("x", "a", "b1") == [0]
    assert links.starts_of("", "a") == [2]
