"""The view of causes: the same answers as `kdissect why`, and where its keys lead."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from kdissect.api import Dissection
from kdissect.causes.diagnose import diagnose
from kdissect.causes.evidence.gathering import Gathering
from kdissect.model.cause import Diagnosis, FoundCause
from kdissect.report.causes.json import diagnosis_row
from kdissect.tui.processes.worker_messages import Order, Result
from kdissect.tui.session import CAUSES
from kdissect.tui.views.connections import ConnectionsView
from kdissect.tui.views.exchanges import ExchangesView
from kdissect.tui.views.why import WhyView
from tests.support.console import CAPTURES, run
from tests.tui.driving import Driven, drive
from tests.tui.inline import Sending

FAULTS = CAPTURES / "faults" / "recorded"
REFUSED = CAPTURES / "kafka44_java_refused.pcapng"
NOT_REACHED = FAULTS / "connection-refused-1.pcapng.gz"
HEALTHY = CAPTURES / "kafka44_rdkafka_groups.pcapng"
ALIKE = (
    FAULTS / "endless-rebalances-1.pcapng.gz",
    FAULTS / "capture-too-poor-1.pcapng.gz",
    FAULTS / "broker-restarted-2.pcapng.gz",
    CAPTURES / "kafka44_java_tls13.pcapng",
    FAULTS / "slow-broker-1.pcapng.gz",
    HEALTHY,
    FAULTS / "fenced-producer-1.pcapng.gz",
    NOT_REACHED,
    FAULTS / "lossy-network-2.pcapng.gz",
    CAPTURES / "kafka44_java_rejoins.pcapng",
)


def studied(path: Path, expression: str = "") -> Diagnosis:
    """Return what the view is given in the end."""
    found: list[Any] = []
    Sending(Order((str(path),), studies=(CAUSES,), filter=expression), found.append).run()
    (last,) = (one.value for one in found if isinstance(one, Result) and one.is_final)
    assert isinstance(last, Diagnosis)
    return last


def told(driven: Driven) -> str:
    """Return the text of the screen, as one line."""
    return " ".join(" ".join(driven.screen()).split())


def printed(*arguments: object) -> Any:
    return json.loads(run("why", "--json", "--all", *arguments).out)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("path", ALIKE, ids=lambda path: path.name.partition(".")[0])
def test_it_has_the_causes_of_the_command(path: Path) -> None:
    assert diagnosis_row(studied(path)) == printed(path)


@pytest.mark.parametrize(
    "expression",
    [
        "client_id == stranger",
        pytest.param("has finding HDR009 or api == Produce", marks=pytest.mark.exhaustive),
    ],
)
def test_with_a_filter_it_has_what_such_exchanges_show(expression: str) -> None:
    found = diagnosis_row(studied(REFUSED, expression))
    assert found == printed("-Y", expression, REFUSED)
    assert found != printed(REFUSED)


def test_looking_while_events_come_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = studied(FAULTS / "slow-poll-1.pcapng.gz")
    looks = 0
    take = Gathering._tell

    def looking(self: Gathering, *told: Any) -> None:
        nonlocal looks
        take(self, *told)
        looks += 1
        diagnose(self, [])

    monkeypatch.setattr(Gathering, "_tell", looking)
    assert studied(FAULTS / "slow-poll-1.pcapng.gz") == wanted
    assert looks > 10


def test_causes_lead_to_their_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        session, app = driven.session, driven.app
        await driven.loaded()
        await driven.press("0")
        view: Any = app.view
        assert isinstance(view, WhyView)
        await driven.until(lambda: "2 causes of trouble" in driven.screen()[3], "for the causes")
        assert "2 causes: see 0" in driven.screen()[0]
        screen = driven.screen()
        assert screen[4].split() == ["#", "does", "cause", "who", "times", "cost"]
        assert screen[5].split()[:3] == [">", "1", "stops"]
        await driven.until(lambda: "Check user and password" in view.about.text(), "for the text")
        await driven.until(lambda: all(len(line) <= 80 for line in view.about.text().splitlines()))
        page = " ".join(view.about.text().split())
        for part in (
            "The broker refuses the login [login-refused]",
            "then Broker 127.0.0.1:21013 closed connections 4 times",
            "> packets SaslAuthenticate v2, exchange 5f37ec8f550bfb0b/3",
            f"more kdissect logins {REFUSED}",
            "looked at 44 exchanges on 12 Kafka connections",
        ):
            assert part in page
        await driven.press("n")
        await driven.until(lambda: "> packets   SaslAuthenticate v2, exchange 676f9" in view.about.text())
        await driven.press("enter")
        await driven.until(lambda: isinstance(app.view, ExchangesView), "for the list")
        assert app.selected_row == session.log.row_of("676f9ac3c8754bcb", 3)
        await driven.press("0", "down", "x")
        await driven.until(lambda: session.filter_text, "for the filter")
        assert session.filter_text == "client_id == stranger"
        await driven.press("0")
        await driven.until(lambda: "1 cause of trouble" in driven.screen()[3], "for the causes of the filter")
        assert view.table.row["cause"].id == "mechanism-refused"

    drive(play, REFUSED, size=(80, 24), monkeypatch=monkeypatch, studies=("findings",))


def test_a_cause_without_an_exchange_leads_to_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        app = driven.app
        await driven.loaded()
        await driven.press("0")
        await driven.until(lambda: isinstance(app.view, WhyView) and app.view.table.row, "for the causes")
        assert isinstance(app.view, WhyView)
        row = app.view.table.row
        assert row is not None
        wanted = row["cause"].evidence[0]
        assert wanted.exchange < 0
        await driven.press("enter")
        await driven.until(lambda: isinstance(app.view, ConnectionsView), "for the connections")
        view: Any = app.view
        await driven.until(lambda: view.table.row and view.table.row["connection"] == wanted.connection)
        await driven.until(lambda: "problem the SYN was answered with RST" in told(driven), "for the reason")
        problems = json.loads(run("connections", "--problems", "--format", "json", NOT_REACHED).out)["rows"]
        known = {row["connection"]: (row["reason"], row["sentence"]) for row in problems}
        assert view.table.row["sentence"] == known[wanted.connection][1]
        await driven.press("p")
        await driven.until(lambda: len(view.table.rows) == len(known), "for problems alone")
        assert {row["connection"]: (row["reason"], row["sentence"]) for row in view.table.rows} == known
        assert f"{len(known)} failed" in driven.screen()[3]

    drive(play, NOT_REACHED, size=(80, 24), monkeypatch=monkeypatch, studies=("findings",))


def test_a_cause_is_saved_with_its_packets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        await driven.press("0")
        await driven.until(lambda: isinstance(driven.app.view, WhyView))
        view: Any = driven.app.view
        await driven.until(lambda: view.is_whole and view.table.row is not None)
        cause: FoundCause = view.table.row["cause"]
        await driven.press("w")
        line = driven.app.screen.query_one("#save-path", Input)
        line.value = str(tmp_path / "cause.pcapng")
        await driven.press("enter")
        await driven.until((tmp_path / "cause.pcapng").exists)
        await driven.until(lambda: not driven.app.screen.query("#save-path"))
        wanted = {(packets.connection, packets.exchange) for packets in cause.evidence}
        original = [one for one in Dissection(str(REFUSED)) if (one.connection.id, one.ordinal) in wanted]
        saved = list(Dissection(str(tmp_path / "cause.pcapng")))
        assert len(original) == len(wanted)
        assert {one.correlation_id for one in saved} >= {one.correlation_id for one in original}
        ends = {str(one.connection.client) for one in original}  # with the login that comes before them
        assert {str(one.connection.client) for one in saved} == ends

    drive(play, REFUSED, monkeypatch=monkeypatch)


def test_before_the_end_it_says_so_and_nothing_wrong_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        ask = driven.session.ask
        monkeypatch.setattr(driven.session, "ask", lambda studies: None)
        await driven.press("0")
        await driven.until(lambda: "looking for causes ..." in driven.screen()[5], "for the word")
        monkeypatch.setattr(driven.session, "ask", ask)
        await driven.press("1", "0")
        await driven.until(lambda: "nothing wrong was found" in driven.screen()[5], "for the answer")
        await driven.until(lambda: "538 exchanges on 31 Kafka connections" in "".join(driven.screen()[7:]))
        assert "nothing wrong" in driven.screen()[0]

    drive(play, HEALTHY, size=(80, 24), monkeypatch=monkeypatch)


def test_causes_of_a_stream_come_while_it_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pipe, goes_on = tmp_path / "pipe", threading.Event()
    os.mkfifo(pipe)
    data = REFUSED.read_bytes()

    def write() -> None:
        with pipe.open("wb") as out:
            out.write(data)
            out.flush()
            goes_on.wait()

    async def play(driven: Driven) -> None:
        try:
            await driven.press("0")
            await driven.until(lambda: "so far: 2 causes of trouble" in driven.screen()[3], "for causes")
            assert driven.session.is_loading
            assert "stops" in driven.screen()[5]
        finally:
            goes_on.set()
        await driven.until(lambda: CAUSES in driven.session.final, "for the end")
        assert diagnosis_row(driven.session.results[CAUSES])["causes"]

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    drive(play, pipe, size=(120, 30), monkeypatch=monkeypatch, studies=("findings",))
    writer.join()
