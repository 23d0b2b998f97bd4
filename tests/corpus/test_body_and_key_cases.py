"""Small captures with half a key log, a HelloRetryRequest, bodies with tags: each with its right answer."""

import json
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.session.exchange import Exchange
from tests.support.console import run

CLIENT, SERVER = "CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"


@pytest.fixture(scope="module")
def cases(reference: Path) -> Path:
    folder = reference / "cases"
    if not folder.is_dir():
        pytest.skip("no cases in the reference material")
    return folder


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("tls13_half_key_log_client_missing_real", CLIENT),
        ("tls13_half_key_log_server_missing_real", SERVER),
    ],
)
def test_half_a_key_log_judges_nobody(cases: Path, name: str, lacks: str) -> None:
    path = cases / f"{name}.pcapng"
    assert run("check", path).code == 4
    rows = [json.loads(line) for line in run("connections", "--format", "jsonl", path).out.splitlines()]
    assert {row["kind"] for row in rows} == {"tls"} and {row["exchanges"] for row in rows} == {0}
    assert all(lacks in row["tls"]["why"] for row in rows)
    why = json.loads(run("why", "--format", "json", path).out)
    assert [cause["id"] for cause in why["causes"]] == ["capture-too-poor"]


@pytest.mark.parametrize(
    ("name", "connections", "exchanges"),
    [("tls13_hello_retry", 4, 20), ("tls13_hello_retry_kafka_real", 5, 105)],
)
def test_a_hello_retry_request_is_decrypted(cases: Path, name: str, connections: int, exchanges: int) -> None:
    found = [one for one in Dissection(str(cases / f"{name}.pcapng")).events() if isinstance(one, Exchange)]
    assert len(found) == exchanges and all(str(one.state) == "complete" for one in found)
    assert len({one.connection.id for one in found}) == connections


@pytest.mark.parametrize(
    ("name", "exchanges"),
    [
        ("h6_follower_replica_state", 601),
        ("h6_churn_apiversions_tags", 255),
        ("h6_empty_partitions_read_committed", 3),
    ],
)
def test_bodies_with_tags_go_the_fast_way(cases: Path, name: str, exchanges: int) -> None:
    """Canonical bodies alone are judged and listed without being decoded in Python."""
    found = [one for one in Dissection(str(cases / f"{name}.pcap")).events() if isinstance(one, Exchange)]
    assert len(found) == exchanges
    for one in found:
        assert all(body is not None and body.fits and body.is_canonical for body in one.bodies())
        assert not one.is_near_secrets and not one.is_of_metadata
