"""`kdissect stats` against the rows of `kdissect inspect`, counted here from nothing but JSON."""

import json
from collections import defaultdict
from math import ceil
from pathlib import Path
from typing import Any

import pytest

import kdissect
from kdissect.cli import main
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model import limits
from kdissect.sketches.distribution import PERCENTILES, RELATIVE_ERROR
from kdissect.stats.by_group.group_links import GroupLinks
from kdissect.stats.dimensions import Context, key_maker
from kdissect.stats.traffic import Traffic
from kdissect.stats.traffic_rows import ORDERS, traffic_facts
from tests.support.console import CAPTURES

NAMES = ["kafka44_java_groups.pcapng", "kafka44_java_errors.pcapng", "kafka28_java_generations_early.pcapng"]
Rows = list[dict[str, Any]]


def out(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capfd.readouterr().out


def inspected(capfd: pytest.CaptureFixture[str], name: str) -> Rows:
    lines = out(capfd, "inspect", str(CAPTURES / name), "--format", "jsonl", "--bodies")
    return [json.loads(line) for line in lines.splitlines()]


def stats(capfd: pytest.CaptureFixture[str], name: str, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        out(capfd, "stats", str(CAPTURES / name), "--format", "json", *options)
    )
    return found


@pytest.mark.parametrize("name", NAMES)
def test_counts_are_those_of_inspect(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    rows = inspected(capfd, name)
    by_api: dict[str, Rows] = defaultdict(list)
    for row in rows:
        by_api[row["api"] or row["kind"]].append(row)
    found = {row["api"]: row for row in stats(capfd, name)["rows"]}
    assert found.keys() == by_api.keys()
    for api, held in by_api.items():
        assert found[api]["exchanges"] == len(held)
        for side in ("request", "response"):
            assert found[api][f"{side}_bytes"] == sum(row[side]["bytes"] for row in held if row[side])
        codes = [code for row in held for code in row["errors"]]
        assert found[api]["errors"] == {code: codes.count(code) for code in codes}


@pytest.mark.parametrize("name", NAMES)
def test_percentiles_are_within_the_error_of_exact_ones(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    rows = inspected(capfd, name)
    facts = stats(capfd, name)
    for found in [*facts["rows"], facts["total"]]:
        exact = sorted(
            row["latency_ns"]
            for row in rows
            if row["latency_ns"] is not None and found.get("api") in (None, row["api"] or row["kind"])
        )
        for part, share in PERCENTILES:
            if exact:
                truth = exact[max(ceil(share * len(exact)) - 1, 0)]
                assert abs(found["latency_ns"][part] - truth) <= RELATIVE_ERROR * truth + 1


def has_records(body: dict[str, Any]) -> bool:
    return any(
        (partition.get("records") or {}).get("bytes")
        for topic in body["responses"]
        for partition in topic["partitions"]
    )


@pytest.mark.parametrize("name", NAMES)
def test_waits_of_fetches_are_told_apart(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    waits = []
    for row in inspected(capfd, name):
        if row["api"] == "Fetch" and row["response"]:
            asked, answered = row["request"]["body"], row["response"]["body"]
            longest = asked["max_wait_ms"] * 1_000_000
            if not has_records(answered) and longest and row["latency_ns"] >= longest - 5_000_000:
                waits.append(min(longest, row["latency_ns"]))
    (fetch,) = (row for row in stats(capfd, name)["rows"] if row["api"] == "Fetch")
    assert (fetch["wait_ns"]["count"], fetch["wait_ns"]["sum"]) == (len(waits), sum(waits))
    assert fetch["broker_ns"]["max"] < 300_000_000
    assert fetch["broker_ns"]["count"] + fetch["unclear"] == fetch["latency_ns"]["count"]


def counted(*names: str, by: tuple[str, ...] = ("api", "client_id")) -> Traffic:
    found = Traffic(key_maker(by, Context(TopicNames(), GroupLinks())))
    for exchange in kdissect.open([CAPTURES / name for name in names]):
        found.add(ExchangeView(exchange))
    return found


def test_merged_captures_are_the_same_as_counted_at_once() -> None:
    first, second = counted(NAMES[0]), counted(NAMES[1])
    first.merge(second)
    whole = counted(NAMES[0], NAMES[1])
    by = ("api", "client_id")
    assert traffic_facts(first, by, None, 100) == traffic_facts(whole, by, None, 100)


def test_rows_are_bounded_and_the_rest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_in_force", [limits.Limits(statistic_rows=3)])
    found = counted(NAMES[0])
    facts = traffic_facts(found, ("api", "client_id"), 2, 100)
    assert (len(found.rows), len(facts["rows"])) == (3, 2)
    total = sum(row["exchanges"] for row in facts["rows"]) + facts["other"]["exchanges"]
    assert total == facts["total"]["exchanges"] == 180


def test_who_is_told_apart(capfd: pytest.CaptureFixture[str]) -> None:
    name = "kafka44_java_sasl.pcapng"
    truth = json.loads(Path(CAPTURES / "kafka44_java_sasl.truth.json").read_text())
    found = {row["principal"] for row in stats(capfd, name, "--by", "principal")["rows"]}
    names = {principal["name"].removeprefix("User:") for principal in truth["principals"]}
    assert {
        name for name in names if " by " not in name
    } <= found  # by a delegation token: the wire has its id


def test_fetches_are_those_of_a_group(capfd: pytest.CaptureFixture[str]) -> None:
    found = stats(capfd, NAMES[0], "--by", "api,group")["rows"]
    groups = {row["group"] for row in found if row["api"] == "Fetch"}
    assert groups == {"eager", "cooperative", "static"}


@pytest.mark.parametrize("sort", sorted(ORDERS))
def test_rows_come_in_the_order_asked_for(sort: str, capfd: pytest.CaptureFixture[str]) -> None:
    rows = stats(capfd, NAMES[0], "--by", "client_id", "--sort", sort)["rows"]
    ranks = {
        "exchanges": lambda row: row["exchanges"], "failed": lambda row: row["failed"],
        "bytes": lambda row: row["request_bytes"] + row["response_bytes"],
        "broker": lambda row: row["broker_ns"]["p99"], "throttle": lambda row: 0,
    } | {name: lambda row, name=name: row["latency_ns"][name] for name in ("p50", "p99", "max")}  # fmt: skip
    found = [ranks[sort](row) for row in rows]
    assert found == sorted(found, reverse=True)


def test_table(capfd: pytest.CaptureFixture[str]) -> None:
    text = out(capfd, "stats", str(CAPTURES / NAMES[0]), "--by", "client-id", "--top", "2", "--over-time")
    lines = text.splitlines()
    assert lines[0].split()[:2] == ["client_id", "exchanges"]
    assert lines[3].startswith("other") and lines[4].startswith("all ")
    assert any(line.startswith("over time, in intervals of 1.00 s") for line in lines)


def test_unknown_names_are_a_usage_error(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", str(CAPTURES / NAMES[0]), "--by", "topics"]) == 2
    assert "did you mean topic?" in capfd.readouterr().err
