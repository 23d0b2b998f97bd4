"""When a silence of a broker is a stall: evidence made by hand, at the limits of each condition.

`tests/causes/test_stalled_broker.py` has captures.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.history.fact import Evidence
from kdissect.stats.client import Client
from kdissect.stats.times.silences import Place, Silence
from kdissect.stats.times.stalls import Stall, Stalls, Wait, are_together

SECOND = 1_000_000_000
WHO, OTHER = Client(None, "app", None, "10.0.0.1"), Client(None, "other", None, "10.0.0.3")
HERE, THERE, ELSEWHERE = ("a", "10.0.0.2:9092"), ("a", "10.0.0.4:9092"), ("b", "10.0.0.4:9092")
PROMPT = {0, 1, 2, 3, 8, 9, 12, 18, 68, 76, 88}


def ns(seconds: float) -> int:
    return round(seconds * SECOND)


def wait(
    since_s: float = 10,
    until_s: float = 20,
    who: Client = WHO,
    connection: str = "c1",
    api: int = 12,
    replicas: bool = False,
    at_s: float | None = None,
    place: tuple[str, str] = HERE,
) -> Wait:
    evidence = Evidence(connection, 3, api, 4, None, None, ns(since_s if at_s is None else at_s), 0)
    return Wait(place, who, api, evidence, ns(since_s), ns(until_s), replicas)


def made(
    *waits: Wait,
    silences: Iterable[tuple[float, float]] = ((10, 20),),
    there: Iterable[tuple[float, float]] = (),
    before: dict[str, float | None] | None = None,
    awake: Any = False,
    away: Iterable[tuple[Place, float]] = (),
) -> Stalls:
    """`before`: when a connection had the response before, or that it is not known."""
    seen = Stalls()
    seen.waits.extend(waits)
    seen.away.extend((place, ns(at_s)) for place, at_s in away)
    of = {
        HERE: [Silence(ns(first), ns(last)) for first, last in silences],
        THERE: [Silence(ns(first), ns(last)) for first, last in there],
    }

    def known(connection: str, until_ns: int) -> int | None:
        before_s = (before or {}).get(connection, 1)
        return None if before_s is None else ns(before_s)

    seen.silences = SimpleNamespace(  # type: ignore[assignment]
        of=lambda place: of[place],
        before=known,
        responds_within=awake if callable(awake) else lambda *_: awake,
        span_ns=lambda place: ns(100),
    )
    return seen


def found(*waits: Wait, throttled: Iterable[Client] = (), **how: Any) -> dict[Place, list[Stall]]:
    return made(*waits, **how).found(list(throttled))


def test_each_interval_is_a_row() -> None:
    late = (wait(30, 33, connection="c3", api=0), wait(30.5, 33, connection="c3", at_s=30.5))
    seen = made(*TWO, *late, *OTHERS, silences=((10, 20), (30, 33)), there=((10, 20),))
    together, alone = seen.facts()
    assert (together["brokers"], together["waited_by"]) == (
        ["10.0.0.2:9092", "10.0.0.4:9092"],
        "several brokers",
    )
    assert alone["waited_by"] == "one connection"
    assert (alone["from"], alone["took_ns"], alone["share"]) == (
        "1970-01-01T00:00:30.000000000Z",
        ns(3),
        0.03,
    )
    assert (alone["requests"], alone["apis"], alone["waited_ns"]) == (
        2,
        {"Produce": 1, "Heartbeat": 1},
        ns(5.5),
    )
    assert [one["client_id"] for one in alone["clients"]] == ["app"]
    assert (alone["others_sent"], alone["connection"]) == (True, "c3")
    assert seen.facts([WHO])[0]["waited_by"] == "several brokers"
    assert [row["waited_by"] for row in made(*TWO).facts()] == ["all clients"]
    same = made(wait(), wait(connection="c2")).facts()
    assert [row["waited_by"] for row in same] == ["one client"]


def times(*waits: Wait, **how: Any) -> list[tuple[float, float]]:
    return [(one.from_ns / SECOND, one.until_ns / SECOND) for one in found(*waits, **how).get(HERE, ())]


TWO = (wait(), wait(connection="c2", who=OTHER))


def test_a_silence_with_open_requests_is_a_stall() -> None:
    (one,) = found(*reversed((*TWO, wait(9.5, 20, connection="c3", api=10))))[HERE]
    assert (one.place, one.took_ns, one.is_seen) == (HERE, ns(10), False)
    assert [wait.connection for wait in one.waits] == ["c3", "c2", "c1"]
    assert [wait.connection for wait in one.heads] == ["c2", "c1"]
    assert one.clients == [WHO, OTHER]
    assert not one.is_alone
    assert found() == found(*TWO, silences=()) == {}


@pytest.mark.parametrize("api", range(95))
def test_which_requests_a_broker_answers_at_once(api: int) -> None:
    assert bool(times(wait(api=api), wait(api=api, connection="c2"))) is (api in PROMPT)


@pytest.mark.parametrize(
    ("waits", "how", "expected"),
    [
        # On one connection two seconds are needed, on two one second.
        ((wait(18, 20),), {}, [(18, 20)]),
        ((wait(18.001, 20),), {}, []),
        ((wait(19, 20), wait(19, 20, connection="c2")), {}, [(19, 20)]),
        ((wait(19.001, 20), wait(19.001, 20, connection="c2")), {}, []),
        ((wait(19, 20), wait(18.5, 20, connection="c2")), {}, [(18.5, 20)]),
        # The wait begins behind the response before, and not before the silence.
        ((wait(12, 20),), {"before": {"c1": 15}}, [(15, 20)]),
        ((wait(5, 20),), {"before": {"c1": 7}}, [(10, 20)]),
        ((wait(12, 20),), {"before": {"c1": None}}, []),
        # The request waits until the silence ends.
        ((wait(10, 19.999),), {}, []),
        ((wait(10, 25),), {}, [(10, 20)]),
        # It waits for a second of the silence.
        ((wait(10, 20), wait(5, 11, connection="c2")), {}, [(10, 20)]),
    ],
)
def test_how_long_a_broker_stood_still(
    waits: tuple[Wait, ...], how: dict[str, Any], expected: list[tuple[float, float]]
) -> None:
    assert times(*waits, **how) == expected


@pytest.mark.parametrize(("until_s", "is_open"), [(11, True), (10.999, False)])
def test_a_request_is_open_for_a_second(until_s: float, is_open: bool) -> None:
    (one,) = found(*TWO, wait(5, until_s, connection="c9"))[HERE]
    assert ("c9" in {each.connection for each in one.waits}) is is_open


@pytest.mark.parametrize(
    ("until_s", "awake", "at_s", "is_told"),
    [
        (50, False, None, True),
        (50.001, False, None, False),
        (50.001, True, None, True),
        # Somebody sends within all but the first and the last tenth.
        (60, False, 15, True),
        (60, False, 14.999, False),
        (60, False, 55, True),
        (60, False, 55.001, False),
    ],
)
def test_a_long_silence_of_everybody_is_a_step_of_the_clock(
    until_s: float, awake: bool, at_s: float | None, is_told: bool
) -> None:
    """Clients give up before that."""
    waits = [wait(10, until_s), wait(10, until_s, connection="c2")]
    if at_s is not None:
        waits.append(wait(20, until_s, connection="c3", at_s=at_s))
    told = found(*waits, silences=((10, until_s),), awake=awake)
    assert bool(told) is is_told
    if is_told:
        assert told[HERE][0].is_seen is (awake or at_s is not None)


def test_others_are_looked_for_between_the_first_and_the_last_tenth() -> None:
    asked: list[tuple[Any, ...]] = []

    def awake(*within: Any) -> bool:
        asked.append(within)
        return True

    found(*TWO, awake=awake)
    assert asked == [("a", ns(11), ns(19))]


@pytest.mark.parametrize(("count", "is_told"), [(3, True), (4, False)])
def test_one_connection_alone_proves_little_if_it_waits_often(count: int, is_told: bool) -> None:
    silences = [(10 * number, 10 * number + 5) for number in range(1, count + 1)]
    waits = [wait(first, last) for first, last in silences]
    assert len(times(*waits, silences=silences)) == count * is_told
    together = wait(100, 105), wait(100, 105, connection="c2")
    assert times(*waits, *together, silences=[*silences, (100, 105)])[-1] == (100, 105)


def test_a_client_that_is_throttled_waits_for_its_quota() -> None:
    (one,) = found(*TWO, throttled=[OTHER])[HERE]
    assert one.clients == [WHO]
    assert found(TWO[1], throttled=[OTHER]) == {}


PRODUCES = tuple(one._replace(needs_replicas=True, api_key=0) for one in TWO)
OTHERS = tuple(one._replace(place=THERE) for one in TWO)


@pytest.mark.parametrize(
    ("waits", "there", "away", "is_told"),
    [
        (PRODUCES, (), (), True),
        (PRODUCES, ((10, 20),), (), False),
        (TWO, ((10, 20),), (), True),
        ((TWO[0], PRODUCES[1]), ((10, 20),), (), True),
        (PRODUCES, ((30, 40),), (), True),
        # Another broker was away, within half a minute before the stall or in it.
        (PRODUCES, (), ((THERE, 20),), False),
        (PRODUCES, (), ((THERE, 20.001),), True),
        (PRODUCES, (), ((HERE, 20),), True),
        (PRODUCES, (), ((ELSEWHERE, 20),), True),
        (TWO, (), ((THERE, 20),), True),
    ],
)
def test_a_broker_that_waits_for_replicas_is_not_blamed(
    waits: tuple[Wait, ...], there: Any, away: Any, is_told: bool
) -> None:
    others = [one._replace(since_ns=ns(first), until_ns=ns(last)) for first, last in there for one in OTHERS]
    assert (HERE in found(*waits, *others, there=there, away=away)) is is_told


@pytest.mark.parametrize(("at_s", "is_told"), [(10, False), (9.999, True)])
def test_a_broker_that_was_away_long_before_explains_nothing(at_s: float, is_told: bool) -> None:
    produces = [one._replace(since_ns=ns(40), until_ns=ns(50)) for one in PRODUCES]
    assert bool(found(*produces, silences=((40, 50),), away=((THERE, at_s),))) is is_told


@pytest.mark.parametrize(
    ("before_s", "away", "is_told"),
    [
        (0, ((HERE, 15),), False),
        (0, ((HERE, 20.001),), True),
        (0, ((HERE, 9.999),), True),
        (0, ((THERE, 15),), True),
        (0, (), True),
        (1, ((HERE, 15),), True),
    ],
)
def test_a_broker_that_starts_does_not_read_yet(before_s: float, away: Any, is_told: bool) -> None:
    """Its connections have no response, and it was away within the silence."""
    before: dict[str, float | None] = {"c1": 0, "c2": before_s}
    assert bool(found(*TWO, away=away, before=before)) is is_told


@pytest.mark.parametrize(("api", "is_told"), [(4, False), (5, False), (6, True)])
def test_one_connection_may_wait_for_an_order_of_the_controller(api: int, is_told: bool) -> None:
    order = wait(connection="c2", who=OTHER, api=api)
    assert bool(found(wait(), order)) is is_told
    assert found(wait(), order, wait(connection="c3"))


def test_two_that_wait_for_replicas_are_both_reported() -> None:
    others = [one._replace(place=THERE) for one in PRODUCES]
    assert set(found(*PRODUCES, *others, there=((10, 20),))) == {HERE, THERE}


@pytest.mark.parametrize(
    ("other", "is_one_time"),
    [
        ((10, 20), True),
        ((15, 25), True),
        ((15.001, 25), False),
        ((10, 30), True),
        ((10, 30.001), False),
        ((30, 40), False),
        ((5, 15), True),
        ((5, 14.999), False),
        ((13, 18), True),
        ((13, 17.999), False),
    ],
)
def test_two_stalls_at_one_time(other: tuple[float, float], is_one_time: bool) -> None:
    """More than half of the longer one."""
    one, two = (Stall(HERE, ns(first), ns(last), (), (), False) for first, last in ((10, 20), other))
    assert are_together(one, two) is are_together(two, one) is is_one_time


CASES = Path(__file__).parents[1] / "causes" / "cases"
HANG, FROZEN = (str(CASES / f"{name}.pcap.gz") for name in ("hang_8s_real", "broker_frozen_15_clients_real"))


def shown(capfd: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--format", "json"]) == 0
    found = json.loads(capfd.readouterr().out)
    return found["rows" if "--table" in arguments else "stalls"]


ALONE, WITH_SPLIT = ("--table", "stalls"), ("--split",)


def test_stats_lists_them(capfd: pytest.CaptureFixture[str]) -> None:
    (found,) = shown(capfd, "stats", HANG, *ALONE)
    assert (found["brokers"], found["waited_by"]) == (["127.0.0.1:25092"], "one connection")
    assert (found["took_ns"], found["requests"], found["apis"]) == (7_999_498_000, 5, {"Produce": 5})
    by_other_ways = [("--by", "topic"), ("--by", "partition"), ("-Y", "api == Produce")]
    assert all(shown(capfd, "stats", HANG, *ALONE, *options) == [found] for options in by_other_ways)
    assert shown(capfd, "stats", HANG, *WITH_SPLIT) == [found]
    (many,) = shown(capfd, "stats", FROZEN, *ALONE)
    assert (many["waited_by"], many["requests"], len(many["clients"])) == ("all clients", 15, 15)


def test_requests_wait_that_the_filter_takes(capfd: pytest.CaptureFixture[str]) -> None:
    """Responses of all others show that a broker works."""
    assert shown(capfd, "stats", HANG, *ALONE, "-Y", "api == Metadata") == []
    (few,) = shown(capfd, "stats", FROZEN, *ALONE, "-Y", 'client_id in ("app-00", "app-01")')
    assert (few["requests"], few["waited_by"]) == (2, "all clients")


def test_diff_lists_those_of_both_sides(capfd: pytest.CaptureFixture[str]) -> None:
    good, bad = shown(capfd, "diff", FROZEN, HANG)
    assert (good["side"], bad["side"]) == ("good", "bad")
    assert ({"side": "bad"} | shown(capfd, "stats", HANG, *ALONE)[0]) == bad
    main(["diff", HANG, FROZEN])
    assert "stood still" in capfd.readouterr().out


def test_stats_shows_a_table_of_them(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", HANG, "--split"]) == 0
    lines = capfd.readouterr().out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("brokers that stood still"))
    title, head, row = lines[at : at + 3]
    assert title.startswith("brokers that stood still")
    assert head.split()[:2] == ["since", "(UTC)"]
    assert row.split()[1:5] == ["127.0.0.1:25092", "8.00", "s", "38.4%"]
    assert main(["stats", HANG, "--table", "stalls", "-e", "took_ns", "--no-header"]) == 0
    assert capfd.readouterr().out.split() == ["7999498000"]
