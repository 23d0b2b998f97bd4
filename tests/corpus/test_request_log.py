"""Every body that a broker logged is what kdissect decoded from the wire, field by field."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.engine.exchange_rows import ExchangeRows, Row
from tests.corpus.request_log import Logged, differences, read_log
from tests.support.console import CAPTURES

LOGS = sorted(CAPTURES.glob("*.requests.log.gz"))


def capture_of(log: Path) -> Path:
    return next(log.parent.glob(log.name.replace(".requests.log.gz", ".pcap*")))


def rows(capture: Path) -> Iterable[Row]:
    with_bodies = ExchangeRows([capture.name], bodies=True, show_secrets=True)
    return (with_bodies.row(exchange) for exchange in Dissection(str(capture)))


def key(row: Row) -> tuple[str, int, int, int]:
    return row["client"], row["api_key"], row["api_version"], row["correlation_id"]


def test_there_is_a_log_of_each_generation() -> None:
    assert {log.name[:7] for log in LOGS} >= {"kafka28", "kafka39", "kafka44"}


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name.partition(".")[0])
def test_bodies_are_what_the_broker_logged(log: Path) -> None:
    logged = {entry.key: entry for entry in read_log(log)}
    compared, found = 0, []
    for row in rows(capture_of(log)):
        entry = logged.get(key(row))
        if entry is None or row["state"] != "complete":
            continue
        compared += 1
        found += [f"{place(row)} {text}" for text in compare(entry, row)]
    assert not found, "\n".join(found[:40])
    assert compared >= 50, f"only {compared} of {len(logged)} logged requests stand in the capture"


def place(row: Row) -> str:
    return f"#{row['number']} {row['api']} v{row['api_version']}"


def compare(entry: Logged, row: Row) -> Iterable[str]:
    assert row["client_id"] == entry.client_id
    yield from differences(entry.request, row["request"]["body"], "request")
    if entry.response is not None:
        yield from differences(entry.response, row["response"]["body"], "response")
