"""Large exchanges are kept one a connection, in bounded bytes for all."""

import pytest

from kdissect.model.endpoint import Endpoint
from kdissect.model.frame import Frame
from kdissect.rules.views import kept_exchanges
from kdissect.rules.views.connection_view import RECENT_BYTES, ConnectionView
from kdissect.rules.views.kept_exchanges import LargeExchanges
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo


def connection(name: str) -> ConnectionInfo:
    return ConnectionInfo(name, "set", Endpoint("1.1.1.1", 1), Endpoint("2.2.2.2", 9092), 0)


def exchange(info: ConnectionInfo, ordinal: int, size: int = RECENT_BYTES) -> Exchange:
    frame = Frame(bytes(size), size, 1, 1, ordinal, ordinal)
    found = Exchange(info, ordinal, 1, 4, ordinal, "me", frame)
    found.response = Frame(bytes(8), 8, 2, 2, ordinal + 1, ordinal + 1)
    return found


def test_the_last_of_each_connection() -> None:
    kept = LargeExchanges()
    info = connection("a")
    first, second = exchange(info, 0), exchange(info, 1)
    kept.put(first, 10)
    kept.put(second, 10)
    assert (kept.get("a", 0), kept.get("a", 1), kept.get("b", 1)) == (None, second, None)
    kept.forget("a")
    kept.forget("a")
    assert kept.get("a", 1) is None


def test_bytes_are_bounded_over_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_exchanges, "MOST_BYTES", 100)
    kept = LargeExchanges()
    for name in "abc":
        kept.put(exchange(connection(name), 0), 45)
    assert [kept.get(name, 0) is None for name in "abc"] == [True, False, False]
    kept.put(exchange(connection("d"), 0), 1000)  # the last one is kept whatever it takes
    assert [kept.get(name, 0) is None for name in "bcd"] == [True, True, False]
    kept.put(exchange(connection("e"), 0), 45)
    assert kept.get("e", 0) is not None
    assert kept.get("d", 0) is None


def test_views_hold_no_bytes_of_large_exchanges() -> None:
    """What goes by stands in `previous` and `in_flight` for as long as the connection is open."""
    info = connection("a")
    large = LargeExchanges()
    view = ConnectionView(info, large)
    for ordinal in (0, 1):
        now = exchange(info, ordinal)
        view.begin(now)
        assert view.first == 0
        view.end(now, set())
    assert view.recent(1) is now
    assert view.previous is not None
    assert view.previous.correlation_id == 1
    view.begin(exchange(info, 1))
    held = [view.previous, *view.in_flight]
    assert len(held) == 2
    assert not any(each and each.request and each.request.data for each in held)
    assert large.get("a", 1) is now
