"""What views may ask for is worked out before they do, and is that of no filter."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar

import pytest

from kdissect.tui import session as sessions
from kdissect.tui.processes.worker_messages import Order, Progress, Result
from kdissect.tui.session import (
    AHEAD,
    ASKED_NICE,
    CAUSES_AHEAD,
    CAUSES_NICE,
    FINDINGS,
    STATISTICS_AHEAD,
    STATISTICS_NICE,
)
from kdissect.tui.views import VIEWS
from kdissect.tui.views.statistics import DIMENSIONS, StatisticsView, study_of
from tests.support.console import CAPTURES
from tests.tui.driving import Driven, drive
from tests.tui.inline import Sending, ThreadWorker

PRODUCE = CAPTURES / "tansu_rdk216_acks.pcap"
TRANSFERS_AHEAD = next(iter(STATISTICS_AHEAD))
ALL = {name for view in VIEWS for name in (*view.studies, *view.more)} - {FINDINGS}


def test_every_dimension_is_known_beforehand() -> None:
    assert {study_of(by) for by in DIMENSIONS} <= ALL
    assert set().union(*AHEAD.values()) == ALL


def test_a_view_shows_at_once_what_ran_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        session = driven.session
        await driven.loaded()
        await driven.until(lambda: session.final >= ALL, "for what runs ahead")
        asked: list[object] = []
        monkeypatch.setattr(session, "_study", asked.append)
        await driven.press("8")
        assert isinstance(driven.app.view, StatisticsView)
        by_api = list(driven.app.view.table.rows)
        assert by_api
        await driven.press("b")
        assert [row["client_id"] for row in driven.app.view.table.rows if "title" not in row]
        assert asked == []

    drive(play, PRODUCE, monkeypatch=monkeypatch, studies=(FINDINGS,))


def test_a_filter_forgets_what_ran_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        session = driven.session
        await driven.loaded()
        await driven.until(lambda: session.final >= ALL, "for what runs ahead")
        everything = session.results["traffic"]["total"]["exchanges"]
        await driven.use_filter("api == Produce")
        assert session.final.isdisjoint(ALL)
        assert set(session.results) <= {FINDINGS}
        await driven.press("8")
        await driven.until(lambda: "traffic" in session.final, "for the statistics of the filter")
        assert 0 < session.results["traffic"]["total"]["exchanges"] < everything

    drive(play, PRODUCE, monkeypatch=monkeypatch, studies=(FINDINGS,))


def test_nothing_runs_ahead_of_a_large_input(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        assert AHEAD.keys().isdisjoint(driven.session._workers)
        assert driven.session.final <= {FINDINGS}

    monkeypatch.setattr("kdissect.tui.session.AHEAD_BYTES", 100)
    drive(play, PRODUCE, monkeypatch=monkeypatch, studies=(FINDINGS,))


class Slow(ThreadWorker):
    """Passes ahead wait until they are told to go on."""

    begun: ClassVar[list[Order]]
    told: ClassVar[list[set[str]]]

    def listen(self, take: Callable[[Any], None], ended: Callable[[], None]) -> None:
        if self._order.wanted is None:
            super().listen(take, ended)
        else:
            self.begun.append(self._order)
            self.go_on = partial(super().listen, take, ended)

    def want(self, studies: Iterable[str]) -> None:
        self.told.append(set(studies))


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> type[Slow]:
    Slow.begun, Slow.told = [], []
    monkeypatch.setattr(sessions, "WorkerProcess", Slow)
    return Slow


def test_a_view_asked_for_meanwhile_waits_for_its_own_pass_alone(slow: type[Slow]) -> None:
    """It is told of the pass if that runs, else the pass begins now; it shows how far that is."""

    async def play(driven: Driven) -> None:
        session = driven.session
        await driven.loaded()
        assert set(session._workers) == {TRANSFERS_AHEAD, CAUSES_AHEAD}
        await driven.press("3")
        await driven.press("0")
        assert slow.told == [{"topics"}, {"causes"}]
        assert set(session._workers) == {TRANSFERS_AHEAD, CAUSES_AHEAD}
        assert [order.nice for order in slow.begun] == [STATISTICS_NICE, CAUSES_NICE]
        await driven.press("8")
        await driven.press("4")
        assert slow.told[2:] == [{"traffic"}, {"groups"}]
        assert [order.nice for order in slow.begun[2:]] == [ASKED_NICE, ASKED_NICE]
        assert set(session._workers) == AHEAD.keys()
        ahead = session._workers[TRANSFERS_AHEAD]
        session._take(TRANSFERS_AHEAD, ahead, Progress(3, 4))
        session._take(TRANSFERS_AHEAD, ahead, Result("topics", {"topics": [], "not_seen": {}}, False))
        await driven.press("3")
        await driven.until(
            lambda: "still counting, 75% read" in "".join(driven.screen()), "for how far it is"
        )
        assert "no topic was named" not in "".join(driven.screen())  # nobody knows yet

    drive(play, PRODUCE, studies=(FINDINGS,))


def test_statistics_nobody_asked_for_are_worked_out_one_pass_after_the_other(slow: type[Slow]) -> None:
    async def play(driven: Driven) -> None:
        session = driven.session
        await driven.loaded()
        for key, names in STATISTICS_AHEAD.items():
            assert session._workers.keys() & STATISTICS_AHEAD == {key}
            session._workers[key].go_on()
            await driven.until(lambda names=names: session.final >= names, "for the pass")
            await driven.until(lambda key=key: key not in session._workers, "for its end")
        assert len(slow.begun) == len(AHEAD)

    drive(play, PRODUCE, studies=(FINDINGS,))


def test_a_worker_tells_what_is_wanted_and_all_at_the_end() -> None:
    messages: list[Any] = []
    order = Order((str(PRODUCE),), studies=("topics", "traffic"), wanted=("traffic",))
    worker = Sending(order, messages.append)
    worker._next_result = 0
    worker._flush()
    assert [message.study for message in messages if isinstance(message, Result)] == ["traffic"]
    worker.want(("topics",))
    worker._flush()  # at once, and not a second later
    assert [m.study for m in messages if isinstance(m, Result)] == ["traffic", "topics", "traffic"]
    worker.run()
    assert {message.study for message in messages if isinstance(message, Result) and message.is_final} == {
        "topics",
        "traffic",
    }
