"""Connections through HAProxy, which sends PROXY protocol headers: what each command says of them.

Recorded on loopback with dumpcap: HAProxy 2.6.12 of Debian 12 (`send-proxy`, `send-proxy-v2`), librdkafka
2.16.0 and Apache Kafka 4.4.0, which takes no header. HAProxy wrote down for whom it connected.
"""

import json
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.session.exchange import Exchange

FOLDER = Path(__file__).parent / "proxied"
ACCEPTED, REFUSED = FOLDER / "x_proxy_header_real.pcapng", FOLDER / "x_proxy_v1_refused_real.pcapng"


def said(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    main([*map(str, arguments)])
    return capfd.readouterr().out


def test_what_follows_a_header_is_read() -> None:
    found = [event for event in Dissection(str(ACCEPTED)).events() if isinstance(event, Exchange)]
    told = [(one.api_key, one.api_version, str(one.state)) for one in found]
    assert sorted(told) == [(3, 13, "complete")] * 4 + [(18, 3, "complete")] * 2
    assert len({one.connection.proxied_text for one in found}) == 2
    assert not any(one.all_anomalies() for one in found)


def test_a_filter_and_a_column_name_the_client(capfd: pytest.CaptureFixture[str]) -> None:
    lines = [
        json.loads(line) for line in said(capfd, "connections", ACCEPTED, "--format", "jsonl").splitlines()
    ]
    proxied = [line["client_proxied"] for line in lines]
    assert len(set(proxied)) == 2 and all(one.startswith("127.0.0.1:") for one in proxied)
    only = said(capfd, "inspect", ACCEPTED, "-Y", f"client.proxied == {proxied[0]}", "--format", "jsonl")
    assert {json.loads(line)["client_proxied"] for line in only.splitlines()} == {proxied[0]}
    assert len(only.splitlines()) == 3
    column = said(capfd, "inspect", ACCEPTED, "-e", "client.proxied", "--format", "csv").splitlines()
    assert sorted(column[1:]) == sorted(proxied * 3)
    text = said(capfd, "connections", ACCEPTED, "--format", "table")
    assert all(f"for {one}" in text for one in proxied)


def test_a_header_that_a_broker_refused(capfd: pytest.CaptureFixture[str]) -> None:
    problems = json.loads(said(capfd, "connections", REFUSED, "--problems", "--format", "json"))["rows"]
    assert {one["reason"] for one in problems} == {"proxy_refused"}
    assert all(one["sentence"].startswith("PROXY header refused: ") for one in problems)
    assert "no findings" in said(capfd, "check", REFUSED)
    why = json.loads(said(capfd, "why", REFUSED, "--format", "json"))
    assert [one["id"] for one in why["causes"]] == ["proxy-header-refused"]
