"""Clients that quotas hold to a rate, as recorded: who was throttled, and that they obeyed (KIP-219)."""

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.history.exchange_view import ExchangeView
from tests.stats.truth import capture, told

NAME = "kafka44_java_throttled"
HASTY = {"hasty-producer", "hasty-consumer"}
MS = 1_000_000
GRACE_NS = 50 * MS


def test_only_those_above_their_quota_are_throttled(capfd: pytest.CaptureFixture[str]) -> None:
    rows = told(capfd, "stats", NAME, "--by", "client-id")["rows"]
    counts = {row["client_id"]: row["throttle_ns"]["count"] for row in rows if row["throttle_ns"]}
    assert {client for client, count in counts.items() if count} == HASTY
    assert {row["client_id"] for row in rows} > HASTY | {"calm-producer", "calm-consumer"}
    assert main(["inspect", capture(NAME), "-Y", "throttle > 0", "-e", "client_id", "--no-header"]) == 0
    listed = capfd.readouterr().out.split()
    assert {client: listed.count(client) for client in HASTY} == {client: counts[client] for client in HASTY}


def test_they_were_silent_for_so_long(capfd: pytest.CaptureFixture[str]) -> None:
    until: dict[str, int] = {}
    for exchange in sorted(Dissection(capture(NAME)), key=lambda e: e.request.time_ns if e.request else 0):
        assert exchange.request is not None
        name = exchange.connection.id
        assert exchange.request.time_ns >= until.get(name, 0) - GRACE_NS
        throttle_ms = getattr(ExchangeView(exchange).response, "throttle_time_ms", 0) or 0
        if throttle_ms and exchange.response is not None:
            until[name] = exchange.response.end_time_ns + throttle_ms * MS
    assert until
    assert main(["check", capture(NAME)]) == 0
    assert "PAI010" not in capfd.readouterr().out.split("not exercised")[0]


def test_who_is_throttled_does_not_spin(capfd: pytest.CaptureFixture[str]) -> None:
    """A throttled Fetch is answered empty at once; its client asks again when it may."""
    rows = {row["client_id"]: row for row in told(capfd, "fetch-sessions", NAME)["clients"]}
    assert rows["hasty-consumer"]["empty"] > rows["calm-consumer"]["empty"]
    assert rows["hasty-consumer"]["empty_early"] == 0
    assert told(capfd, "stats", NAME)["total"]["empty_early"] == 0
