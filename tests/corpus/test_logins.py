"""A principal stands only behind a login that the broker accepted, in every capture of the corpus."""

import json
from collections import Counter
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.history.exchange_view import ExchangeView
from kdissect.session.exchange import Exchange, ExchangeKind
from kdissect.session.info import ConnectionInfo
from tests.stats.truth import capture, told, truth
from tests.support.console import CAPTURES

AUTHENTICATE = 36
EVERY = sorted(path for path in CAPTURES.iterdir() if ".pcap" in path.name)
REFUSED = "kafka44_java_refused"


def last_word(exchange: Exchange) -> bytes | None:
    """Return what the broker says to a token, None for a refusal or silence."""
    if exchange.kind is ExchangeKind.SASL_TOKEN:
        return None if exchange.response is None else bytes(exchange.response.data)
    answer = ExchangeView(exchange).response
    return None if answer is None or answer.error_code else bytes(answer.auth_bytes)


def accepts(mechanism: str | None, word: bytes | None) -> bool:
    """Return whether it ends a login: SCRAM's last word is a verifier (RFC 5802), the others' is empty."""
    if word is None:
        return False
    return word.startswith(b"v=") if (mechanism or "").startswith("SCRAM") else not word


@pytest.mark.sampled(8)
@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.name)
def test_a_principal_is_who_was_accepted(path: Path) -> None:
    accepted: set[str] = set()
    connections: dict[str, ConnectionInfo] = {}
    for exchange in Dissection(str(path)):
        info = exchange.connection
        connections[info.id] = info
        is_token = exchange.api_key == AUTHENTICATE or exchange.kind is ExchangeKind.SASL_TOKEN
        if is_token and accepts(info.mechanism, last_word(exchange)):
            accepted.add(info.id)
    named = {name for name, info in connections.items() if info.principal is not None}
    assert named <= accepted
    # All mechanisms of the corpus show who it is.
    assert accepted <= named


def test_a_refused_user_is_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    """Two logins with a wrong password, then one with the right one, by the same client id."""
    errors = Counter(row["client_id"] for row in truth(REFUSED)["errors"])
    assert set(errors) == {"orders", "stranger"}
    assert main(["connections", capture(REFUSED), "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    refused = [row for row in rows if row["closed"]["by"] == "broker"]
    assert {row["client_id"] for row in refused} == set(errors)
    assert {row["principal"] for row in refused} == {None}
    right = [row for row in rows if row["client_id"] == "orders" and row not in refused]
    assert {row["principal"] for row in right} == {"bob"}
    assert main(["inspect", capture(REFUSED), "-Y", "principal == bob", "-e", "errors", "--no-header"]) == 0
    assert "SASL" not in capfd.readouterr().out
    by = {row["principal"]: row for row in told(capfd, "stats", REFUSED, "--by", "principal")["rows"]}
    assert "SASL_AUTHENTICATION_FAILED" not in by["bob"]["errors"]
    assert {name for name in by[None]["errors"] if "SASL" in name} == {
        "SASL_AUTHENTICATION_FAILED", "UNSUPPORTED_SASL_MECHANISM",
    }  # fmt: skip
    for command in ("topics", "groups", "producers"):
        facts = str(told(capfd, command, REFUSED))
        assert "stranger" not in facts
        assert "'principal': 'alice'" not in facts
