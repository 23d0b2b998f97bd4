"""Evidence: what is asked for, wider and wider, and what its files say of themselves."""

from types import SimpleNamespace
from typing import Any

import pytest

from kdissect.excerpt.excerpts import EVERY, Wanted
from kdissect.model.finding import Finding, Who
from kdissect.report import evidence_files
from kdissect.report.evidence_files import (
    Evidence,
    collect_evidence,
    file_comment,
    packet_comment,
    shows_again,
)
from kdissect.rules.judge import Judge
from tests.report.exchange_packets import packets_of
from tests.report.hand_made_verdict import PLACE, START, found
from tests.rules.test_rules import CASES

WITH_RECORDS = frozenset({0, 1, 59, 78})
OPENED: Any = lambda: SimpleNamespace(ports=None)  # noqa: E731
JUDGE: Any = lambda: None  # noqa: E731


def item(
    exchange: int = 0, is_request: bool = True, connection: str = "c0ffee", was_tls: bool = False
) -> Any:
    return SimpleNamespace(exchange=exchange, is_request=is_request, connection=connection, was_tls=was_tls)


class Asked:
    """Instead of excerpts: notes what is asked for; gives these packets from a width on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, packets: Any = (), shown_at: int = 9) -> None:
        self.passes: list[list[list[Wanted]]] = []
        self._packets, self._shown_at = packets, shown_at
        monkeypatch.setattr(evidence_files, "excerpts", self.excerpts)
        monkeypatch.setattr(evidence_files, "shows_again", self.shows)

    def excerpts(self, wanted: Any, opened: Any, show_secrets: bool) -> Any:
        self.passes.append([*wanted])
        return [self._packets for _ in wanted]

    def shows(self, *_: Any) -> bool:
        return len(self.passes) > self._shown_at


def asked(monkeypatch: pytest.MonkeyPatch, finding: Finding) -> list[list[Wanted]]:
    noted = Asked(monkeypatch)
    assert collect_evidence([finding], OPENED, JUDGE) == []
    return [wanted for (wanted,) in noted.passes]


def test_an_exchange_then_those_around_it_then_all(monkeypatch: pytest.MonkeyPatch) -> None:
    own = frozenset({0})
    assert asked(monkeypatch, found("PRD001")) == [
        [Wanted("c0ffee", own)],
        [Wanted("c0ffee", own, 16, 8)],
        [Wanted("c0ffee", own, 16, 8, whole=True)],
        [Wanted(EVERY, until_ns=START, without=WITH_RECORDS)],
        [Wanted(EVERY, until_ns=START)],
    ]


def test_what_an_expectation_comes_from_belongs_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    same, other = ("c0ffee", 4), ("beef", 5)
    assert asked(monkeypatch, found("PRD001", earlier=same))[0] == [Wanted("c0ffee", frozenset({0, 4}))]
    assert asked(monkeypatch, found("PRD001", earlier=other))[0] == [
        Wanted("c0ffee", frozenset({0})), Wanted("beef", frozenset({5})),
    ]  # fmt: skip


@pytest.mark.parametrize("place", [PLACE._replace(exchange=-1), PLACE._replace(time_ns=0)])
def test_without_an_exchange_or_a_time_the_connection_is_all(
    place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = frozenset({0}) if place.exchange >= 0 else frozenset()
    (narrowest, *_, widest) = asked(monkeypatch, found("PRD001", place=place))
    assert narrowest == [Wanted("c0ffee", own, whole=not own)]
    assert widest == [Wanted("c0ffee", own, 16, 8, whole=True)]


def test_the_first_that_shows_it_is_taken_and_the_narrowest_where_none_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    finding = found("PRD001")
    noted = Asked(monkeypatch, [item()], shown_at=2)
    assert collect_evidence([finding], OPENED, JUDGE) == [Evidence(finding, [item()], shows_again=True)]
    assert len(noted.passes) == 3
    noted = Asked(monkeypatch, [item()])
    assert collect_evidence([finding], OPENED, JUDGE) == [Evidence(finding, [item()], shows_again=False)]
    assert len(noted.passes) == 5


@pytest.mark.parametrize(("exchange", "place", "count"), [(0, 0, 1), (-1, 0, 0), (-1, -1, 1)])
def test_packets_without_the_exchange_are_no_evidence(
    exchange: int, place: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = found("PRD001", place=PLACE._replace(exchange=place))
    Asked(monkeypatch, [item(exchange)], shown_at=0)
    assert len(collect_evidence([finding], OPENED, JUDGE)) == count


def test_so_many_findings_are_looked_for_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = Asked(monkeypatch, [item()], shown_at=0)
    made = collect_evidence([found("PRD001") for _ in range(1001)], OPENED, JUDGE)
    assert len(made) == 1000
    assert [len(wanted) for wanted in noted.passes] == [32] * 31 + [8]


@pytest.mark.parametrize(
    ("packet", "place", "path"),
    [
        (item(), PLACE, " at topics[0].name"),
        (item(), PLACE._replace(path=""), ""),
        (item(is_request=False), PLACE._replace(side="response"), " at topics[0].name"),
        (item(is_request=False), PLACE, None),
        (item(1), PLACE, None),
        (item(connection="beef"), PLACE, None),
        (item(-1), PLACE._replace(exchange=-1), None),
    ],
)
def test_packets_that_begin_the_bytes_say_why(packet: Any, place: Any, path: str | None) -> None:
    evidence = Evidence(found("PRD001", place=place), [packet], shows_again=True)
    text = f"PRD001 invalid-acks{path}: expected one [1](x); seen two [2](y)"
    assert packet_comment(evidence, packet) == ("" if path is None else text)


@pytest.mark.parametrize(
    ("was_tls", "shows", "show_secrets", "said"),
    [
        (False, True, True, []),
        (True, True, False, ["TLS data is", "Secrets are"]),
        (False, False, True, ["By itself"]),
    ],
)
def test_files_say_what_they_are(was_tls: bool, shows: bool, show_secrets: bool, said: list[str]) -> None:
    evidence = Evidence(found("PRD001"), [item(), item(was_tls=was_tls)], shows)
    lines = file_comment(evidence, ["a.pcap", "b.pcap"], show_secrets).splitlines()
    assert lines[0].startswith("PRD001 invalid-acks")
    at = next(number for number, line in enumerate(lines) if line.startswith("Packets that belong"))
    rest = lines[at + 1 :]
    assert [line.startswith(start) for line, start in zip(rest, said, strict=True)] == [True] * len(said)


@pytest.mark.parametrize(
    ("changes", "is_shown"),
    [
        ({}, True),
        ({"code": "PRD002"}, False),
        ({"api_version": 99}, False),
        ({"api_key": 1}, False),
        ({"role": Who.BROKER}, False),
    ],
)
def test_the_same_is_found_again(changes: dict[str, Any], is_shown: bool) -> None:
    """A finding of the same rule about the same end, API and version."""
    packets = [SimpleNamespace(packet=packet) for packet in packets_of(CASES["PRD001"].violating())]
    judge = Judge()
    assert not shows_again(found("FRM006"), packets, judge)  # judges them
    (finding,) = (one for one in judge.findings.all() if one.code == "PRD001")
    place = {name: value for name, value in changes.items() if name.startswith("api")}
    finding.place = finding.place._replace(**place)
    finding.code = changes.get("code", finding.code)
    finding.party = finding.party._replace(role=changes.get("role", finding.party.role))
    assert shows_again(finding, packets, Judge()) is is_shown


@pytest.mark.parametrize("code", ["FRM002", "MET007"])
def test_what_is_found_when_the_packets_end(code: str) -> None:
    """FRM002 at the end of its connection, MET007 at the end of the input."""
    packets = [SimpleNamespace(packet=packet) for packet in packets_of(CASES[code].violating())]
    judge = Judge()
    assert not shows_again(found("PRD001"), packets, judge)  # judges them
    (finding,) = (one for one in judge.findings.all() if one.code == code)
    assert shows_again(finding, packets, Judge())
