"""`kdissect logins` against what the recording scripts knew, and logins made by hand."""

import json
import struct
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.model.packets.stream import CloseKind
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange
from kdissect.session.info import Close
from kdissect.stats.by_login.login_rows import login_facts
from kdissect.stats.by_login.login_traffic import LoginTraffic
from tests.history.connections.test_sasl import PLAIN, authenticate, handshake, other
from tests.history.talk import MS, START_NS, Talk
from tests.stats.truth import capture, shown, told, truth
from tests.support.messages.traffic import Conversation, request, response
from tests.support.packets.pcaps import write_pcap

Facts = dict[str, Any]
# What the Java client makes of a refused login (`errors` of a truth).
REFUSALS = {
    "SaslAuthenticationException": "refused",
    "UnsupportedSaslMechanismException": "mechanism refused",
}
WITH_LOGINS = [
    "kafka28_java_generations_early", "kafka39_franz_raw", "kafka44_connect_plain", "kafka44_franz_sasl",
    "kafka44_java_errors", "kafka44_java_refused", "kafka44_java_sasl", "kafka44_kp3_admin",
    "kafka44_rdkafka_admin", "kafka44_sarama_admin", "kafka44_segmentio_admin",
]  # fmt: skip


def told_of(*exchanges: Exchange, close: Close | None = None, ends: bool = True) -> list[Facts]:
    traffic = LoginTraffic()
    for exchange in exchanges:
        traffic.add(exchange)
    info = exchanges[0].connection
    info.close = close
    if ends:
        traffic.add(ConnectionClosed(info))
    traffic.finish()
    logins: list[Facts] = login_facts(traffic)["logins"]
    return logins


def outcomes(logins: Sequence[Facts]) -> list[str]:
    return [login["outcome"] for login in logins]


@pytest.mark.parametrize("name", ["kafka44_java_sasl", "kafka44_java_refused"])
def test_refusals_are_those_that_clients_met(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    met = Counter(
        (row["client_id"], REFUSALS[row["code"]]) for row in truth(name)["errors"] if row["code"] in REFUSALS
    )
    assert met
    logins = told(capfd, "logins", name)["logins"]
    refused = Counter((row["client_id"], row["outcome"]) for row in logins if row["outcome"] != "accepted")
    assert refused == met


@pytest.mark.parametrize("name", ["kafka44_java_sasl", "kafka44_franz_sasl", "kafka44_java_refused"])
def test_the_accepted_are_the_users(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    wanted = {(row["name"].removeprefix("User:"), row["mechanism"]) for row in truth(name)["principals"]}
    wanted = {pair for pair in wanted if not pair[0].endswith("by delegation token")}
    logins = told(capfd, "logins", name)["logins"]
    accepted = {(row["principal"], row["mechanism"]) for row in logins if row["outcome"] == "accepted"}
    assert wanted
    assert wanted <= accepted


def test_who_lives_longer_than_its_credentials_logs_in_again(capfd: pytest.CaptureFixture[str]) -> None:
    facts = told(capfd, "logins", "kafka44_java_sasl")
    assert {row["client_id"]: row["again"] for row in facts["who"] if row["again"]} == {"long-lived": 3}
    lifetimes = {row["lifetime_ms"] for row in facts["logins"] if row["outcome"] == "accepted"}
    assert lifetimes <= set(range(2500, 3001))  # connections.max.reauth.ms is 3 s, a token may end before


def test_clients_of_each_kind_are_refused_as_they_say(capfd: pytest.CaptureFixture[str]) -> None:
    """Four clients each ask for a mechanism that is not offered, and come with a wrong password."""
    seen = {
        (row["client_id"], *row["outcomes"]) for row in told(capfd, "logins", "kafka44_connect_plain")["who"]
    }
    assert seen == {(f"mechanism-{kind}", "mechanism refused") for kind in "jkra"} | {
        (f"password-{kind}", "refused") for kind in "jkra"
    }


@pytest.mark.parametrize("name", WITH_LOGINS)
def test_sums_are_those_of_the_list(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    facts = told(capfd, "logins", name)
    who = ("client_id", "address", "broker", "mechanism", "principal")
    alike: dict[tuple[Any, ...], list[Facts]] = {}
    for login in facts["logins"]:
        alike.setdefault(tuple(login[part] for part in who), []).append(login)
        assert login["took_ns"] is None or login["took_ns"] >= login["broker_ns"] > 0
    assert len(facts["who"]) == len(alike) > 0
    for row in facts["who"]:
        logins = alike[tuple(row[part] for part in who)]
        assert row["count"] == len(logins) == sum(row["outcomes"].values())
        assert row["outcomes"] == Counter(outcomes(logins))
        assert row["again"] == sum(login["again"] for login in logins)
        took = [login["took_ns"] for login in logins if login["took_ns"] is not None]
        assert (row["took_ns"] or {"sum": 0})["sum"] == sum(took)


@pytest.mark.parametrize("name", WITH_LOGINS)
def test_nobody_is_accepted_and_unknown_to_the_list_of_connections(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    accepted = {
        (row["exchange"].partition("/")[0], row["principal"])
        for row in told(capfd, "logins", name)["logins"]
        if row["outcome"] == "accepted"
    }
    assert main(["connections", capture(name), "--format", "jsonl"]) == 0
    rows = map(json.loads, capfd.readouterr().out.splitlines())
    assert accepted == {(row["connection"], row["principal"]) for row in rows if row["principal"]}


def test_passwords_stay_out(capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("kafka44_java_sasl", "kafka44_java_refused"):
        shown_text = shown(capfd, "logins", name, "--format", "json")
        assert not any(secret in shown_text for secret in truth(name)["secrets"] if secret)


def test_a_login_takes_from_its_handshake_to_the_last_answer() -> None:
    talk = Talk()
    first = handshake(talk, "SCRAM-SHA-256")
    talk.now = 100
    tokens = (
        authenticate(talk, b"n,,n=bob,r=x", reply=b"r=xy,s=c2E=,i=4096"),
        authenticate(talk, b"c=biws,r=xy,p=p", reply=b"v=1", lifetime=5000),
    )
    (login,) = told_of(first, *tokens, other(talk))
    assert login["time_ns"] == START_NS + 2 * MS
    assert login["took_ns"] == 103 * MS  # 104 + 1 - 2
    assert login["broker_ns"] == 3 * MS
    assert (login["principal"], login["tokens"], login["lifetime_ms"]) == ("bob", 2, 5000)


def test_ends_without_an_answer() -> None:
    by_broker = Close("broker", CloseKind.FIN, START_NS + 50 * MS)
    by_client = Close("client", CloseKind.FIN, START_NS + 50 * MS)
    for close, expected, took in (
        (by_broker, "broker closed", 48 * MS), (by_client, "client closed", 48 * MS), (None, "unknown", None),
    ):  # fmt: skip
        talk = Talk()
        steps = handshake(talk, version=0), talk.token(b"\0alice\0wrong", None)
        (login,) = told_of(*steps, close=close)
        assert (login["outcome"], login["took_ns"], login["principal"]) == (expected, took, "alice")
    talk = Talk()
    assert outcomes(told_of(handshake(talk), ends=False)) == ["unknown"]


def test_what_began_before_the_capture_is_not_guessed() -> None:
    talk = Talk()
    talk.info.middle_start = True
    closed = Close("broker", CloseKind.FIN, START_NS + 50 * MS)
    logins = told_of(authenticate(talk), handshake(talk), authenticate(talk), close=closed)
    assert [(login["mechanism"], login["outcome"]) for login in logins] == [
        (None, "unknown"), ("PLAIN", "accepted"),
    ]  # fmt: skip


def test_a_mechanism_of_unknown_rounds_is_accepted_by_what_follows() -> None:
    talk = Talk()
    steps = handshake(talk, "GSSAPI"), authenticate(talk), authenticate(talk)
    (login,) = told_of(*steps, other(talk))
    assert (login["outcome"], login["tokens"], login["took_ns"]) == ("accepted", 2, 5 * MS)
    talk = Talk()
    steps = handshake(talk, "GSSAPI"), authenticate(talk), authenticate(talk)
    assert outcomes(told_of(*steps)) == ["unknown"]


def test_no_sasl_and_a_second_try_on_one_connection() -> None:
    talk = Talk()
    refused = handshake(talk, "GSSAPI", error=33), handshake(talk), authenticate(talk, PLAIN)
    assert outcomes(told_of(*refused)) == ["mechanism refused", "accepted"]
    talk = Talk()
    assert outcomes(told_of(handshake(talk, error=34), other(talk))) == ["no SASL"]
    talk = Talk()
    again = handshake(talk), handshake(talk), authenticate(talk), handshake(talk), authenticate(talk)
    logins = told_of(*again)
    assert outcomes(logins) == ["given up", "accepted", "accepted"]
    assert [login["again"] for login in logins] == [False, False, True]


def test_a_request_of_a_block_ends_a_login_of_unknown_rounds(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What follows comes from the compiled part, as far as there is one."""
    mechanism = struct.pack(">h", 6) + b"GSSAPI"
    token = struct.pack(">i", 3) + b"abc"
    agreed = bytes(2) + struct.pack(">i", 1) + mechanism
    accepted = bytes(2) + struct.pack(">h", -1) + token
    talk = Conversation().handshake()
    steps = [(17, 1, mechanism, agreed), (36, 0, token, accepted), (36, 0, token, accepted)]
    steps += [(3, 0, bytes(4), bytes(8))] * 20
    for number, (key, version, asked, answered) in enumerate(steps):
        talk.client(request(key, version, number, asked)).broker(response(number, answered))
    path = write_pcap(tmp_path / "gssapi.pcap", talk.packets)
    assert main(["logins", str(path), "--format", "json"]) == 0
    (login,) = json.loads(capfd.readouterr().out)["logins"]
    assert (login["mechanism"], login["tokens"], login["outcome"]) == ("GSSAPI", 2, "accepted")
