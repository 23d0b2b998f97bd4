"""Request logs against the packets of the same time, of six clients and of TLS (`captures.logged`).

The environment variable `KDISSECT_LOGGED` names a folder with other recordings.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.history import api_keys as apis
from tests.capture.log_rows import NOT_LOGGED, USES, Key, Row, by_key, differences, rows
from tests.support.console import CAPTURES

RECORDED = Path(os.environ.get("KDISSECT_LOGGED") or CAPTURES / "logged" / "recorded")
SECURE = "kafka44-sasl-ssl"
NAMES = ("kafka28", "kafka39", "kafka44", SECURE)
TEXTS = ("kafka24", "kafka27")
# APIs with bytes in their bodies, Produce, whose text is a summary, and versions that the broker refuses.
LOST = frozenset({apis.PRODUCE, apis.JOIN_GROUP, apis.SYNC_GROUP, apis.API_VERSIONS})
SOFTWARE = ("apache-kafka-java", "confluent-kafka-python", "franz-go", "kafka-python", "sarama")
# A request of ApiVersions in a version that the broker does not have: it is `{}` in the log.
OF_REFUSED = frozenset({"software", "request.error", "request.body", "anomalies"})


def files(name: str) -> tuple[Path, Path, list[Path]]:
    """Return the log, the packets and their keys."""
    (packets,) = RECORDED.glob(f"{name}.pcapng*")
    return RECORDED / f"{name}.requests.log.gz", packets, list(RECORDED.glob(f"{name}.keys"))


def both(name: str) -> tuple[dict[Key, Row], dict[Key, Row]]:
    log, packets, keys = files(name)
    return by_key(rows(packets, keys=keys)), by_key(rows(log))


def has_left(captured: Row) -> bool:
    """Return whether the client closed the connection before it had the response."""
    return captured["state"] in ("incomplete", "unanswered") and captured["closed"]["by"] == "client"


def expected(captured: Row, logged: Row) -> set[str]:
    """Return the fields that may differ: those that docs/request-logs.md lists."""
    found = {"closed"}  # how a connection ends
    if captured["api_key"] == apis.API_VERSIONS and captured["errors"] == ["UNSUPPORTED_VERSION"]:
        found |= OF_REFUSED
    if captured["state"] != "complete" and logged["state"] == "complete":  # the client was gone
        assert has_left(captured)
        found |= set(differences(captured, logged))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_exchange_is_equal_field_by_field(name: str) -> None:
    captured, logged = both(name)
    common = captured.keys() & logged.keys()
    assert len(common) > (30 if name == SECURE else 800)
    missing = {key for key in captured.keys() - common if not has_left(captured[key])}
    assert {key[1] for key in missing} <= NOT_LOGGED | {apis.API_VERSIONS}
    brokers = {row["broker"] for row in captured.values()}
    assert all(logged[key]["broker"] not in brokers for key in logged.keys() - common)  # of other listeners
    found = {key: set(differences(captured[key], logged[key])) for key in common}
    assert {key: names for key, names in found.items() if names - expected(captured[key], logged[key])} == {}
    assert sum(map(has_left, captured.values())) <= len(captured) // 100


@pytest.mark.parametrize("name", NAMES[:3])
def test_six_clients_are_in_it(name: str) -> None:
    captured, logged = both(name)
    software = {str(row["software"]).split()[0] for row in logged.values()}
    assert software > set(SOFTWARE)
    assert {row["client_id"] for row in logged.values()} >= {"aiokafka-transactor", "p-of-aiokafka"}
    assert sum(len(row["errors"]) for row in captured.values()) > 20


def uses(path: Path, *words: str) -> Iterator[tuple[Any, ...]]:
    out = path.parent / "uses.json"
    main(["upgrade", *words, "--target", "4.4", "--allow-unread", "--json", "-o", str(out)])
    for use in json.loads(out.read_text())["uses"]:
        if use["api_key"] not in NOT_LOGGED:
            yield tuple(use[name] for name in USES)


@pytest.mark.parametrize("name", NAMES)
def test_upgrade_judges_equally(name: str, tmp_path: Path) -> None:
    log, packets, keys = files(name)
    ports = sorted({row["broker"].rpartition(":")[2] for row in rows(packets, keys=keys)})
    only = [word for port in ports for word in ("--only-port", port)]
    more = [word for path in keys for word in ("--keylog", str(path))]
    of_packets = set(uses(tmp_path / "packets", str(packets), *only, *more))
    of_log = set(uses(tmp_path / "log", str(log), *only))
    assert len(of_log) > (10 if name == SECURE else 100)
    # Before SASL, or in a version that the broker does not have, a log has less of an ApiVersions.
    apart = {(use[2], use[3]) for use in of_packets ^ of_log}
    assert {key for _, key in apart} <= {apis.API_VERSIONS}


@pytest.mark.parametrize("name", NAMES)
def test_requests_without_a_response_have_the_line_of_theirs(name: str) -> None:
    """A Produce with acks=0 is completed by later requests: it has its own line, size and times."""
    captured, logged = both(name)
    silent = [row for row in logged.values() if row["state"] == "no_response_expected"]
    assert bool(silent) is (name != SECURE)
    lines = [row["request"]["packets"]["first"] for row in logged.values()]
    assert len(set(lines)) == len(lines)
    for row in silent:
        key = next(iter(by_key([row])))
        assert row["request"]["body"] == captured[key]["request"]["body"]
        assert row["request"]["bytes"] is None


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_form_is_read_where_nothing_is_lost(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    captured, logged = both(name)
    common = captured.keys() & logged.keys()
    assert len(common) > 850
    missing = captured.keys() - common
    assert {captured[key]["request"]["body"]["acks"] for key in missing} == {0}
    equal, lost = 0, set()
    for key in common:
        mine, theirs = logged[key], captured[key]
        has_left = theirs["state"] != "complete"
        for side in ("request", "response"):
            if mine[side]["body"] is None:
                lost.add(key[1])
            elif not (has_left and side == "response"):
                assert mine[side]["body"] == theirs[side]["body"]
                equal += 1
        if not has_left:
            assert mine["errors"] == theirs["errors"]
    assert equal > 1500
    assert lost <= LOST
    assert main(["stats", str(files(name)[0])]) == 0
    assert "a body that the text form of Kafka 2.7 and earlier lacks a part of" in capfd.readouterr().err
