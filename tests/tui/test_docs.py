"""docs/tui.md lists the keys there are, and the help shows them.

`python -m tests.regenerate keys` writes the table anew.
"""

from __future__ import annotations

import os

import pytest

from kdissect.tui.screens.help import HelpScreen, all_keys, keys_table
from tests.support.console import CAPTURES, CHECKOUT
from tests.tui.driving import Driven, drive

PAGE = CHECKOUT / "docs" / "tui.md"


def test_the_page_lists_every_key() -> None:
    page, table = PAGE.read_text(), keys_table().rstrip("\n")
    head = table.partition("\n")[0]
    before, _, rest = page.partition(head)
    _, _, after = rest.partition("\n\n")
    wanted = f"{before}{table}\n\n{after}"
    if os.environ.get("KDISSECT_UPDATE"):
        PAGE.write_text(wanted)
    assert PAGE.read_text() == wanted, "python -m tests.regenerate keys"


def test_the_help_lists_every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.press("question_mark")
        assert isinstance(driven.app.screen, HelpScreen)
        text = "\n".join(driven.screen())
        for key in all_keys():
            assert key.what in text, key
        await driven.press("q")
        assert not isinstance(driven.app.screen, HelpScreen)
        assert driven.app.is_running

    drive(play, CAPTURES / "kafka44_java_produce.pcapng", monkeypatch=monkeypatch, size=(120, 280))


def test_no_key_does_two_things() -> None:
    seen: dict[tuple[str, str], str] = {}
    for key in all_keys():
        for place in {key.scope, "Everywhere"}:
            assert seen.get((place, key.key), key.what) == key.what, key
        seen[key.scope, key.key] = key.what
