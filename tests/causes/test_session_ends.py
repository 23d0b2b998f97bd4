"""Sessions whose lifetime no login carries: connections that end at one age, and what looks like them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kdissect.causes.evidence.session_ends import Answered, InferredLifetime, SessionEnds
from kdissect.history.connections.sasl_login import SaslFact
from kdissect.history.fact import Evidence, Fact
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.session.exchange import Exchange, State
from kdissect.session.info import Close, CloseKind
from tests.history.talk import MS, START_NS, Talk

_HEARTBEAT, _LEAVE_GROUP = 12, 13
_ASKED = {"group_id": "g", "generation_id": 1, "member_id": "m"}


def _login(connection: str, at_ms: int, **changed: Any) -> Fact:
    """Return a login with SaslAuthenticate v0."""
    known = Evidence(connection, 1, 36, 0, None, None, 0, START_NS + at_ms * MS)._replace(**changed)
    return Fact(SaslFact.AUTHENTICATED, (connection,), known)


def _lifetimes(
    times: int = 3,
    every_ms: int = 6000,
    served_ms: int = 4800,
    asked_ms: int = 5010,
    open_ms: int = 1,
    mechanism: str | None = "PLAIN",
    longest_ms: int = 0,
    gap: bool = False,
    how: CloseKind = CloseKind.FIN,
    by: str = "broker",
    change: str = "",
    early: tuple[int, int, int] | None = None,
    offered: dict[int, tuple[int, int]] | None = None,
    answered: int = _HEARTBEAT,
    **login: Any,
) -> list[InferredLifetime]:
    """Return the lifetimes that are found in connections that log in one after another, and end so.

    `longest_ms`: age of the last response on a further connection. `early`: API and times of the last
    response and of a request on another connection that the broker closes. `answered`: the API that the
    broker answers to the clients.
    """
    last: dict[str, int] = {}
    ends = SessionEnds(SimpleNamespace(last=last.get))  # type: ignore[arg-type]
    logins = []
    for number in range(times + bool(longest_ms)):
        talk, begins_ms = Talk(f"10.0.1.{number}"), number * every_ms
        talk.info.mechanism = mechanism
        logins.append(_login(talk.info.id, begins_ms, **login))
        last[talk.info.id] = START_NS + (begins_ms + (served_ms if number < times else longest_ms)) * MS
        if number < times:
            exchange = talk.ask(_HEARTBEAT, 0, _ASKED, at=begins_ms + asked_ms)
            exchange.close = Close(by, how, START_NS + (begins_ms + asked_ms + open_ms) * MS)
            if gap:
                talk.info.note(Anomaly(AnomalyKind.GAP, "", 0, last[talk.info.id]))
            if change:
                _CHANGES[change](exchange)
            ends.add(exchange)
        ends.close(talk.info)
    if early is not None:
        api, answered_ms, sent_ms = early
        talk = Talk("10.0.1.99")
        talk.info.mechanism = mechanism
        logins.append(_login(talk.info.id, 0, **login))
        last[talk.info.id] = START_NS + answered_ms * MS
        exchange = talk.ask(api, 0, _ASKED, at=sent_ms)
        exchange.close = Close("broker", CloseKind.FIN, START_NS + (sent_ms + 1) * MS)
        ends.add(exchange)
        ends.close(talk.info)
    offers = [] if offered is None else [("10.0.0.2:9092", offered), ("10.0.0.9:9092", {})]
    served = {
        Answered("10.0.0.2:9092", answered, "client", f"10.0.1.{number}") for number in (*range(times), 99)
    }
    return ends.inferred(logins, offers, served)


def _without_acks(exchange: Exchange) -> None:
    exchange.state = State.NO_RESPONSE_EXPECTED


def _unfit(exchange: Exchange) -> None:
    assert exchange.request is not None
    exchange.request.data = exchange.request.data[:-1]


def _unknown_version(exchange: Exchange) -> None:
    exchange.api_version = 99


_CHANGES: dict[str, Callable[[Exchange], None]] = {
    "no acks": _without_acks,
    "cut": _unfit,
    "version 99": _unknown_version,
}


def test_connections_that_end_at_one_age_show_the_lifetime() -> None:
    (found,) = _lifetimes()
    assert (found.served_ns, found.asked_ns) == (4800 * MS, 5010 * MS)
    assert [one.closed_ns - one.asked_ns for one in found.ends] == [MS] * 3
    assert [one.packets.exchange for one in found.ends] == [0] * 3


@pytest.mark.parametrize(
    ("changed", "count"),
    [
        ({"times": 2}, 0),
        ({"every_ms": 0}, 0),  # they end together: their broker may have stopped
        ({"every_ms": 5011}, 1),
        ({"every_ms": 5010}, 0),
        ({"open_ms": 21}, 1),
        ({"open_ms": 22}, 0),  # a close at any time may come as late after a request
        ({"served_ms": 4008}, 1),
        ({"served_ms": 4007}, 0),  # it may end for being idle
        ({"mechanism": None}, 0),
        ({"longest_ms": 5009}, 1),
        ({"longest_ms": 5010}, 0),  # a request is answered at that age
        ({"gap": True}, 0),
        ({"how": CloseKind.RST}, 0),
        ({"by": "client"}, 0),
        ({"api_version": 1}, 0),  # this version carries the lifetime
        ({"api_key": None, "api_version": None}, 1),  # SaslHandshake v0
        ({"api_key": 3}, 0),  # GSSAPI, whose login shows by what follows
        ({"answered_ns": 0}, 0),
        ({"change": "no acks"}, 0),
        ({"change": "cut"}, 0),  # as of a frame that is too large, too
        ({"change": "version 99"}, 0),
        ({"offered": {_HEARTBEAT: (0, 4)}}, 1),
        ({"offered": {_HEARTBEAT: (1, 4)}}, 0),
        ({"offered": {3: (0, 4)}}, 0),
        ({"answered": _LEAVE_GROUP}, 0),  # the broker may not know the version
        ({"answered": _LEAVE_GROUP, "offered": {_HEARTBEAT: (0, 4)}}, 1),
        ({"early": (_HEARTBEAT, 1000, 2000)}, 0),  # that request is refused at another age, too
        ({"early": (_HEARTBEAT, 1000, 4800)}, 0),
        ({"early": (_HEARTBEAT, 1000, 4801)}, 1),
        ({"early": (_LEAVE_GROUP, 1000, 2000)}, 1),
    ],
    ids=str,
)
def test_what_shows_the_end_of_a_session(changed: dict[str, Any], count: int) -> None:
    assert len(_lifetimes(**changed)) == count


def test_only_logins_of_a_connection_count() -> None:
    ends = SessionEnds(SimpleNamespace(last=lambda _: None))  # type: ignore[arg-type]
    talk = Talk()
    talk.info.mechanism = "PLAIN"
    exchange = talk.ask(_HEARTBEAT, 0, _ASKED, at=5010)
    ends.add(exchange)
    exchange.close = Close("broker", CloseKind.FIN, START_NS + 5011 * MS)
    ends.add(exchange)
    ends.close(talk.info)
    assert ends.inferred([_login(talk.info.id, 0)], [], set()) == []
