"""Text from the wire is inert in every view: no control sequences, tricks of direction or width, markup."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.model.endpoint import Ports
from kdissect.report.cells import Cell, TableColumn
from kdissect.tui.screens.copy_screen import CopyScreen
from kdissect.tui.screens.follow import FollowScreen
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import write_pcap
from tests.tui.screens import screen, text_of, until

HOSTILE = (
    "\x1b[2J\x1b]0;pwned\x07[bold red]x[/] [@click=app.quit]y[/]\u202eevil\u2066\u200b\u0301\u0085\n\t\x00$t"
)
FORBIDDEN = frozenset("\x1b\x07\x00\n\t\u0085\u202e\u2066\u200b\u0301\x9b")
PRODUCE, FETCH, METADATA, FIND, JOIN, INIT = 0, 1, 3, 10, 11, 22


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every name that views show is hostile."""
    value = HOSTILE.encode()
    header = [(HOSTILE, value)]
    batch = batch_bytes(record_bytes(0, 0, value, value, header), producer_id=7, epoch=1, sequence=0)
    partition = {"index": 0, "records": batch}
    topic = {"name": HOSTILE, "partition_data": [partition]}
    answered = {"name": HOSTILE, "partition_responses": [{"index": 0, "error_code": 29, "base_offset": 1}]}
    member = {"member_id": HOSTILE, "metadata": value}
    asked: list[tuple[int, int, dict[str, Any], dict[str, Any]]] = [
        (18, 3, {"client_software_name": "evil", "client_software_version": "1"}, {"error_code": 0}),
        (METADATA, 5, {"topics": [{"name": HOSTILE}]}, {"topics": [{"name": HOSTILE, "error_code": 29}]}),
        (PRODUCE, 7, {"transactional_id": HOSTILE, "acks": -1, "topic_data": [topic]},
         {"responses": [answered]}),
        (INIT, 1, {"transactional_id": HOSTILE}, {"producer_id": 7, "producer_epoch": 1}),
        (FIND, 1, {"key": HOSTILE, "key_type": 0}, {"error_code": 0, "host": HOSTILE, "port": 9092}),
        (JOIN, 5, {"group_id": HOSTILE, "member_id": "", "group_instance_id": HOSTILE,
                   "protocol_type": HOSTILE, "protocols": [{"name": HOSTILE, "metadata": value}]},
         {"generation_id": 1, "protocol_name": HOSTILE, "leader": HOSTILE, "member_id": HOSTILE,
          "members": [member]}),
    ]  # fmt: skip
    talk = Conversation().handshake()
    for number, (key, version, request, response) in enumerate(asked):
        talk.client(encode_request(key, version, number, HOSTILE, request))
        talk.broker(encode_response(key, version, number, response))
    # What a rule has to say something about, with the name in it: bytes behind the body.
    odd = encode_request(METADATA, 5, 90, HOSTILE, {"topics": [{"name": HOSTILE}]})
    talk.client((len(odd) - 4 + 3).to_bytes(4) + odd[4:] + b"abc")
    return Path(write_pcap(tmp_path_factory.mktemp("hostile") / "hostile.pcap", talk.packets))


_ROW = {"text": HOSTILE, "topic": None, "topic_id": None, "writers": [], "readers": [], "denied": []}


def check(app: Any) -> str:
    """Nothing on screen but what moves nothing; gives the text."""
    text = text_of(app)
    for line in text.split("\n"):
        assert not FORBIDDEN & set(line), repr(line)
        assert all(letter.isprintable() and cell_len(letter) for letter in line), repr(line)
    return text


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", [(200, 60)])
def test_no_view_lets_it_through(
    size: tuple[int, int], capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look() -> None:
        seen = []
        async with screen(monkeypatch, capture, size=size, ports=Ports((9092,))) as (app, pilot):
            assert len(app.session.log) == 7
            for key in "12345678":
                await pilot.press(key)
                await until(pilot, lambda: not any(app.workers))
                await pilot.pause(0.3)
                seen.append(check(app))
                for inner in ("d", "d", "right", "equals_sign"):
                    if key != "1":
                        await pilot.press(inner)
                        await pilot.pause(0.05)
                        check(app)
            await pilot.press("1", "s")
            assert isinstance(app.screen, FollowScreen)
            await until(pilot, lambda: not any(app.workers))
            for _ in range(3):
                await pilot.pause(0.1)
                seen.append(check(app))
                await pilot.press("f")
            await pilot.press("escape", "y")
            assert isinstance(app.screen, CopyScreen)
            await pilot.pause(0.1)
            check(app)
        shown = sum("[bold red]x[/]" in text for text in seen)
        assert shown >= 5, "markup is shown as it was written"
        assert sum("\\x1b[2J" in text for text in seen) >= 5, "escapes are shown as escapes"

    asyncio.run(look())


def test_what_is_said_in_a_corner_is_inert(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kdissect.tui.view import Notice

    async def look() -> None:
        async with screen(monkeypatch, capture, ports=Ports((9092,))) as (app, pilot):
            app.post_message(Notice(HOSTILE))
            await until(pilot, lambda: "pwned" in text_of(app))
            check(app)

    asyncio.run(look())


def test_tables_do_not_rely_on_their_columns(monkeypatch: pytest.MonkeyPatch, capture: Path) -> None:
    """A column that forgets to make its text printable does no harm."""

    async def look() -> None:
        async with screen(monkeypatch, capture, ports=Ports((9092,))) as (app, pilot):
            await pilot.press("3")
            view: Any = app.view
            raw = TableColumn("raw", lambda row: Cell(row["text"]))
            view.table.show([raw, raw], [_ROW])
            view.below.show([raw], [{"text": HOSTILE}])
            await pilot.pause(0.1)
            check(app)
            await pilot.press("8")
            await until(pilot, lambda: not any(app.workers))
            lines: Any = app.view
            lines.about.show([((HOSTILE, ""), (HOSTILE, "bad"))])
            await pilot.pause(0.1)
            check(app)

    asyncio.run(look())
