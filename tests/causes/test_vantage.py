"""What a page says of the capture: how much was analyzed, and what could not be."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from kdissect.causes.evidence.clock import Clock
from kdissect.causes.evidence.vantage import looked_at, not_seen, nothing_judged, partly_judged
from kdissect.session.info import ConnectionKind
from kdissect.tls.tls_info import NO_KEY_LOG

SECOND = 1_000_000_000


def seen(
    exchanges: int = 1, groups: int = 0, producers: int = 0, ids: int = 0, topics: int = 0,
    kafka: int = 1, kinds: dict[ConnectionKind, int] | None = None, tls: dict[str, int] | None = None,
    is_filtered: bool = False, undecided: int = 0, **blind: Any,
) -> Any:  # fmt: skip
    """Evidence with so many of each."""
    facts = {
        "opaque_connections": {}, "connections_begun_before": 0, "connections_in_one_direction": 0,
        "bytes_not_captured": 0, "bytes_cut_off": 0, "cut_frames": 0, "exchanges_of_unknown_version": 0,
    }  # fmt: skip
    gathering = SimpleNamespace(
        clock=Clock(),
        is_filtered=is_filtered,
        traffic=SimpleNamespace(total=SimpleNamespace(exchanges=exchanges)),
        kafka_connections=kafka,
        log=SimpleNamespace(dropped=SimpleNamespace(undecided=lambda _: undecided)),
        kinds=Counter(kinds or {}),
        blind=SimpleNamespace(facts=lambda: facts | blind, tls=Counter(tls or {})),
    )
    rows = {"producers": [0] * producers, "transactional_ids": [0] * ids}
    return SimpleNamespace(
        gathering=gathering,
        groups=[0] * groups,
        producers=rows,
        topics=[0] * topics,
        is_doubled=False,
        last_ns=0,
        lost_bytes=((facts | blind)["bytes_not_captured"], 0),
        span_ns=2 * SECOND,
    )


def test_what_was_looked_at() -> None:
    assert list(looked_at(seen(1200, kafka=2))) == ["1,200 exchanges on 2 Kafka connections in 2.00 s"]
    assert list(looked_at(seen(1, 1, 2, 3, 4)))[1:] == [
        "1 group, 2 idempotent producers, 3 transactional ids, 4 topics"
    ]
    assert list(looked_at(seen(topics=1)))[1:] == ["1 topic"]


@pytest.mark.parametrize(
    ("blind", "line"),
    [
        ({"opaque_connections": {"http": 2}}, "2 connections not read: http"),
        (
            {"connections_begun_before": 1},
            "1 connection began before the capture: their first messages are not known",
        ),
        ({"connections_in_one_direction": 2}, "2 connections captured in one direction only"),
        (
            {"opaque_connections": {"cut": 2}},
            "2 connections not read: the snapshot length cut off their data",
        ),
        ({"bytes_not_captured": 1}, "1 B of connections were not captured: exchanges are missing"),
        ({"bytes_cut_off": 1500}, "1.5 kB of connections were cut off by the snapshot length"),
        (
            {"cut_frames": 2},
            "2 frames captured in part, by a snapshot length or for lost packets",
        ),
        ({"exchanges_of_unknown_version": 1}, "1 exchange of an API or version that is not known"),
        (
            {"undecided": 2},
            "2 batches refused shortly before the end of the capture: whether the client sent the records"
            " again is not known",
        ),
        ({"exchanges": 0}, "no Kafka exchange was found"),
        (
            {"opaque_connections": {"tls": 3}, "tls": {NO_KEY_LOG: 3}},
            "3 connections not read: tls: without keys (--keylog) kdissect cannot decode it",
        ),
        (
            {"opaque_connections": {"tls": 3}, "tls": {"for a reason": 2}},
            "2 connections not read: tls: for a reason",
        ),
    ],
)
def test_what_could_not_be_read(blind: dict[str, Any], line: str) -> None:
    assert list(not_seen(seen(**blind))) == [line]


def test_nothing_hides_a_cause() -> None:
    assert list(not_seen(seen())) == []


@pytest.mark.parametrize(
    ("exchanges", "kinds", "words"),
    [
        (1, {}, ""),
        (0, {ConnectionKind.KAFKA: 1, ConnectionKind.HTTP: 1}, ""),
        (0, {}, "kdissect could not judge anything: no TCP connection can be read in the capture"),
        (
            0,
            {ConnectionKind.NO_DATA: 2},
            "kdissect could not judge anything: 2 connections, all without data",
        ),
        (
            0,
            {ConnectionKind.CUT: 2},
            "kdissect could not judge anything: the snapshot length cut off the data of 2 connections",
        ),
        (
            0,
            {ConnectionKind.CUT: 2, ConnectionKind.NO_DATA: 1},
            "kdissect could not judge anything: the snapshot length cut off the data of 2 of 3 connections",
        ),
        (
            0,
            {ConnectionKind.NO_DATA: 2, ConnectionKind.HTTP: 1},
            "kdissect could not judge anything: no Kafka was found in 3 connections (1 http, 2 no_data)",
        ),
    ],
)
def test_why_nothing_was_judged(exchanges: int, kinds: dict[ConnectionKind, int], words: str) -> None:
    assert nothing_judged(seen(exchanges, kinds=kinds)) == words


def test_missing_data_are_no_connections_without_data() -> None:
    evidence = seen(0, kinds={ConnectionKind.NO_DATA: 1}, bytes_not_captured=1)
    assert (
        nothing_judged(evidence) == "kdissect could not judge anything: the data of 1 connection are missing"
    )


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ({ConnectionKind.KAFKA: 1, ConnectionKind.HTTP: 2}, ""),
        ({ConnectionKind.KAFKA: 1, ConnectionKind.TLS: 2}, "2 of 3 connections could not be decrypted"),
        (
            {ConnectionKind.KAFKA: 1, ConnectionKind.CUT: 1},
            "the snapshot length cut off the data of 1 of 2 connections",
        ),
        (
            {ConnectionKind.TLS: 1, ConnectionKind.CUT: 1},
            "1 of 2 connections could not be decrypted and the snapshot length cut off the data of 1 of 2"
            " connections",
        ),
    ],
)
def test_connections_that_may_be_kafka(kinds: dict[ConnectionKind, int], words: str) -> None:
    assert partly_judged(seen(kinds=kinds)) == words
