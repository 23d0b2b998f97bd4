"""Which quota a client had: by cluster, time and precedence, whatever the filter selects."""

import json
from typing import Any

import pytest

from kdissect.causes.evidence.quotas_set import ALTER_CLIENT_QUOTAS, QuotasSet
from kdissect.cli import main
from kdissect.cli.diagnostics import OK
from kdissect.history.exchange_view import ExchangeView
from kdissect.stats.client import Client, client_of
from tests.history.talk import MS, START_NS, Talk
from tests.support.console import CAPTURES

RATE = "producer_byte_rate"
WHO = Client("User:eve", "import", None, "10.0.0.1")


def _altered(
    talk: Talk,
    at: int,
    value: float | None,
    error: int = 0,
    validate_only: bool = False,
    **entity: str | None,
) -> ExchangeView:
    parts = [{"entity_type": kind.replace("_", "-"), "entity_name": name} for kind, name in entity.items()]
    op = {"key": RATE, "value": value or 0.0, "remove": value is None}
    request = {"entries": [{"entity": parts, "ops": [op]}], "validate_only": validate_only}
    row = {"error_code": error, "error_message": None, "entity": parts}
    answer = {"throttle_time_ms": 0, "entries": [row]}
    return ExchangeView(talk.ask(ALTER_CLIENT_QUOTAS, 0, request, answer, at=at))


def _value(quotas: QuotasSet, at: int, scope: str = "set") -> float | None:
    found = quotas.of(WHO, RATE, lambda one: one == scope, START_NS + at * MS)
    return None if found is None else found.value


def _quotas(*changes: tuple[int, float | None, dict[str, Any]]) -> QuotasSet:
    talk, quotas = Talk(), QuotasSet()
    for at, value, how in changes:
        view = _altered(talk, at, value, **how)
        quotas.add(view, client_of(view))
    return quotas


MINE = {"client_id": "import"}


def test_a_quota_holds_from_when_it_is_set_until_it_is_removed() -> None:
    quotas = _quotas((10, 5.0, MINE), (20, 7.0, MINE), (30, None, MINE))
    assert [_value(quotas, at) for at in (9, 10, 19, 20, 29, 30)] == [None, 5.0, 5.0, 7.0, 7.0, None]


def test_a_quota_of_another_cluster_is_another() -> None:
    assert _value(_quotas((10, 5.0, MINE)), 20, "another") is None


@pytest.mark.parametrize("how", [{"error": 42}, {"validate_only": True}, {"client_id": "other"}])
def test_what_sets_no_quota_of_the_client(how: dict[str, Any]) -> None:
    assert _value(_quotas((10, 5.0, MINE | how)), 20) is None


def test_the_closest_quota_has_precedence() -> None:
    quotas = _quotas(
        (10, 1.0, {"client_id": None}), (11, 2.0, {"client_id": "import"}), (12, 3.0, {"user": None})
    )
    assert [_value(quotas, at) for at in (10, 11, 12)] == [1.0, 2.0, 3.0]


def test_a_filter_does_not_hide_who_set_a_quota(capfd: pytest.CaptureFixture[str]) -> None:
    path = CAPTURES / "faults" / "recorded" / "throttled-produce-1.pcapng.gz"
    assert main(["why", str(path), "-Y", 'client_id == "import-193"', "--format", "json"]) == OK
    (cause,) = (
        one for one in json.loads(capfd.readouterr().out)["causes"] if one["id"] == "throttled-produce"
    )
    assert "The quota producer_byte_rate=1500 of client-id 'import-193' was set by" in cause["sentence"]
