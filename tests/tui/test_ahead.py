"""What views may ask for is worked out before they do, and is that of no filter."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from kdissect.tui import session as sessions
from kdissect.tui.processes.worker_messages import Order, Progress, Result
from kdissect.tui.session import AHEAD, FINDINGS, STATISTICS_AHEAD
from kdissect.tui.views import VIEWS
from kdissect.tui.views.statistics import DIMENSIONS, StatisticsView, study_of
from tests.support.console import CAPTURES
from tests.tui.driving import Driven, drive
from tests.tui.inline import Sending, ThreadWorker

PRODUCE = CAPTURES / "tansu_rdk216_acks.pcap"
ALL = {name for view in VIEWS for name in (*view.studies, *view.more)} - {FINDINGS}


def test_every_dimension_is_known_beforehand() -> None:
    assert {study_of(by) for by in DIMENSIONS} <= ALL


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


def test_a_view_asked_for_meanwhile_waits_for_no_pass_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told of the pass that runs, and shows how far that is."""

    class Slow(ThreadWorker):
        """Those ahead wait until they are told to go on."""

        def listen(self, take: Callable[[Any], None], ended: Callable[[], None]) -> None:
            if self._order.wanted is None:
                super().listen(take, ended)
            else:
                slow.append(self)

        def want(self, studies: Iterable[str]) -> None:
            told.append(set(studies))

    slow: list[Slow] = []
    told: list[set[str]] = []

    async def play(driven: Driven) -> None:
        session = driven.session
        await driven.loaded()
        workers = set(session._workers)
        assert workers == AHEAD.keys()
        await driven.press("8")
        await driven.press("3")
        await driven.press("0")
        assert told == [{"traffic"}, {"topics"}, {"causes"}]
        assert set(session._workers) == workers
        ahead = session._workers[STATISTICS_AHEAD]
        session._take(STATISTICS_AHEAD, ahead, Progress(3, 4))
        session._take(STATISTICS_AHEAD, ahead, Result("topics", {"topics": [], "not_seen": {}}, False))
        await driven.press("3")
        await driven.until(
            lambda: "still counting, 75% read" in "".join(driven.screen()), "for how far it is"
        )
        assert "no topic was named" not in "".join(driven.screen())  # nobody knows yet
        assert len(slow) == 2

    monkeypatch.setattr(sessions, "WorkerProcess", Slow)
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
