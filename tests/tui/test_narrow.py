"""The screen in a terminal of 80 columns and 24 lines: nothing is cut inside a word, or without a sign."""

from typing import Any

import pytest

from kdissect.model.endpoint import Ports
from kdissect.tui.views import VIEWS
from kdissect.tui.widgets.styled_lines import Lines
from tests.support.console import CAPTURES
from tests.tui.driving import Driven, drive

GROUPS = CAPTURES / "kafka44_java_groups.pcapng"
REFUSED = CAPTURES / "kafka44_java_refused.pcapng"
TRANSACTIONS = CAPTURES / "kafka44_java_transactions.pcapng"
TABS, HEADS = 1, 3
TLS_PORT = 19317


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_views_and_keys_are_whole(monkeypatch: Any, size: tuple[int, int]) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        for spec in VIEWS:
            await driven.press(spec.key)
            await driven.until(lambda: driven.screen()[-1].rstrip().endswith("Quit"), "for the keys")
            tabs, keys = driven.screen()[TABS], driven.screen()[-1]
            words = [title for other in VIEWS for title in (other.title, other.short) if title]
            shown = [word for word in tabs.split() if not word.isdigit()]
            assert len(shown) == len(VIEWS)
            assert all(word in words for word in shown), tabs
            assert "? Help" in keys or "? All keys" in keys

    drive(play, GROUPS, size=size, monkeypatch=monkeypatch)


def test_fewer_views_than_fit_are_told_by_their_keys(monkeypatch: Any) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        assert driven.screen()[TABS].split() == ["0", "1", "Exchanges", *"2345678"]
        await driven.press("2")
        assert driven.screen()[TABS].split() == ["0", "1", "2", "Connections", *"345678"]

    drive(play, GROUPS, size=(50, 24), monkeypatch=monkeypatch)


def test_keys_are_chosen_anew_in_another_width(monkeypatch: Any) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        assert "All keys" in driven.screen()[-1]
        await driven.pilot.resize_terminal(140, 24)
        await driven.until(lambda: "? Help" in driven.screen()[-1])
        assert "/ Filter" in driven.screen()[-1]

    drive(play, GROUPS, size=(80, 24), monkeypatch=monkeypatch)


def test_what_every_java_client_does_is_no_finding_of_the_list(monkeypatch: Any) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        assert len(driven.session.log) == 180
        assert not any(driven.session.log.found)

    drive(play, GROUPS, size=(80, 24), monkeypatch=monkeypatch, studies=("findings",))


def test_a_table_below_without_rows_gives_way_to_the_next(monkeypatch: Any) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        await driven.press("5")
        await driven.until(lambda: "[partitions 1]" in "\n".join(driven.screen()), "for a table with rows")
        head = driven.screen()[HEADS + 1].split("  ")
        assert [title.strip() for title in head if title.strip()][-2:] == ["retries", "refused"]
        await driven.press("d")
        assert "[without an id" in "\n".join(driven.screen())
        await driven.press("d")
        assert "[transactions 0]" in "\n".join(driven.screen())

    drive(play, TRANSACTIONS, size=(80, 24), monkeypatch=monkeypatch)


def test_names_of_apis_are_whole_where_there_is_room(monkeypatch: Any) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        screen = driven.screen()
        assert screen[HEADS].split() == [
            "[Time",
            "(UTC)]",
            "Client",
            "id",
            "API",
            "Topic",
            "Latency",
            "Outcome",
        ]
        assert any("InitProducerId v5" in line for line in screen)

    drive(play, GROUPS, size=(80, 24), monkeypatch=monkeypatch)


def test_what_a_line_has_no_room_for_ends_with_a_sign(monkeypatch: Any) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        left = [line.partition("\u258f")[0] for line in driven.screen()[16:23]]
        assert left[0].rstrip().endswith("\u2026"), left
        await driven.press("s", "f", "f")
        await driven.until(lambda: "as titles" in driven.screen()[0])
        titles = [line.rstrip() for line in driven.screen() if "<<< broker" in line]
        assert titles
        assert all(line.endswith(("ms", "\u2026")) for line in titles), titles

    drive(play, GROUPS, size=(80, 24), monkeypatch=monkeypatch)


def test_few_rows_leave_their_room_to_the_table_below(monkeypatch: Any) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        await driven.press("4")
        view = driven.app.view
        assert view is not None
        await driven.until(lambda: "rebalances 3" in "\n".join(driven.screen()))
        main, below, more = (view.query_one(name).size.height for name in ("#main", "#below", "#more"))
        assert main == 4
        assert below == 4
        assert more >= 8
        await driven.until(lambda: "partitions 4" in "\n".join(driven.screen()[12:]), "for the other tables")
        chosen = [line for line in driven.screen() if line.startswith("> ")]
        assert len(chosen) == 2, "tables that no key reaches have no cursor"
        await driven.press("z")
        await driven.until(lambda: view.query_one("#main").size.height > 15, "for the zoom")

    drive(play, GROUPS, size=(80, 24), monkeypatch=monkeypatch)


def test_few_records_leave_their_room_to_the_chosen_one(monkeypatch: Any) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        await driven.press("6")
        view = driven.app.view
        assert view is not None
        await driven.until(lambda: "2 records" in "\n".join(driven.screen()))
        await driven.until(lambda: view.query_one("#main").size.height == 4, "for a table without empty rows")
        assert view.query_one("#below").size.height > 40

    drive(play, REFUSED, size=(160, 60), monkeypatch=monkeypatch)


def test_a_finding_is_folded_and_not_cut(monkeypatch: Any) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        await driven.press("7")
        await driven.until(lambda: "needs     the exchanges" in text(driven))
        assert "…" not in text(driven)
        whole = text(driven).replace("\n", "").replace(" ", "")
        assert "SaslHandshakeResponse.error_code" in whole, "the end of a long line"
        assert "security/authenticator/SaslServerAuthenticator.java" in whole, "the end of an address"
        width = driven.app.query_one("FindingsView Lines").size.width
        assert max(map(len, text(driven).splitlines())) <= width

    def text(driven: Driven) -> str:
        return driven.app.query_one("FindingsView Lines", Lines).text()

    drive(play, REFUSED, size=(80, 24), monkeypatch=monkeypatch)


def test_reasons_of_connections_are_whole(monkeypatch: Any) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        await driven.press("2", "p")
        await driven.until(lambda: "mechanism_refused" in "\n".join(driven.screen()))

    for size in ((80, 24), (160, 50)):
        drive(play, REFUSED, size=size, monkeypatch=monkeypatch)


def test_bytes_of_a_topic_that_nobody_reads_are_left_out(monkeypatch: Any) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        await driven.press("3")
        await driven.until(lambda: "secured" in "\n".join(driven.screen()))
        head = next(line for line in driven.screen() if "partitions" in line)
        assert head.split().count("bytes") == 1

    drive(play, REFUSED, size=(80, 24), monkeypatch=monkeypatch)


def test_a_record_is_told_in_whole_words(monkeypatch: Any) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        await driven.press("6")
        await driven.until(lambda: "timestamp type" in "\n".join(driven.screen()))

    drive(play, GROUPS, size=(80, 24), monkeypatch=monkeypatch)


def test_the_message_stays_where_the_form_changes(monkeypatch: Any) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        await driven.press("s")
        lines = driven.app.screen.query_one(Lines)
        await driven.until(lambda: len(lines) > 20)
        await driven.press("n", "n", "n")
        top = driven.screen()[1].split()[:5]
        assert top[1] != "#1" or top[0] != "client"
        for form in ("hex", "titles", "fields"):
            await driven.press("f")
            await driven.until(lambda form=form: f"as {form}" in driven.screen()[0] and len(lines) > 1)
            if form != "titles":  # these fit on the screen, from the first one
                await driven.until(lambda: driven.screen()[1].split()[:5] == top, form)

    drive(play, GROUPS, size=(80, 24), monkeypatch=monkeypatch)


def test_an_empty_list_says_why(monkeypatch: Any) -> None:
    async def filtered(driven: Driven) -> None:
        await driven.loaded()
        await driven.use_filter("latency > 1h")
        await driven.until(lambda: "matches no exchange (180 exchanges in all)" in driven.screen()[HEADS + 1])

    async def unread(driven: Driven) -> None:
        await driven.loaded()
        await driven.until(lambda: "no exchange was found: " in driven.screen()[HEADS + 1])
        assert "TLS without keys" in " ".join(driven.screen())

    drive(filtered, GROUPS, size=(80, 24), monkeypatch=monkeypatch)
    tls, ports = CAPTURES / "kafka44_java_tls13.pcapng", Ports([], [TLS_PORT])
    drive(unread, tls, size=(80, 24), monkeypatch=monkeypatch, ports=ports)
