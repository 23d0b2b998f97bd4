"""What views may ask for is worked out before they do, and is that of no filter."""

import pytest

from kdissect.tui.session import AHEAD, FINDINGS
from kdissect.tui.views import VIEWS
from kdissect.tui.views.statistics import DIMENSIONS, StatisticsView, study_of
from tests.support.console import CAPTURES
from tests.tui.driving import Driven, drive

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
        assert AHEAD not in driven.session._workers
        assert driven.session.final <= {FINDINGS}

    monkeypatch.setattr("kdissect.tui.session.AHEAD_BYTES", 100)
    drive(play, PRODUCE, monkeypatch=monkeypatch, studies=(FINDINGS,))
