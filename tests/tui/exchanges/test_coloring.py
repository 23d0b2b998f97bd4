"""Coloring rules in the list of exchanges."""

from pathlib import Path
from typing import Any

from kdissect.config.read import read_config
from kdissect.query.exchange_colors import compile_rules
from kdissect.tui.panes.shown_exchanges import RowColors
from tests.support.console import CAPTURES
from tests.tui.driving import Driven, drive

API_VERSIONS = 18
RULES = """
[[coloring]]
name = "failed"
filter = "error"
color = "bold red"

[[coloring]]
name = "inside bodies"
filter = 'request.client_software_name == "apache-kafka-java"'
color = "cyan"
"""


def test_lines_have_the_colour_of_their_rule(monkeypatch: Any, tmp_path: Path) -> None:
    path = tmp_path / "kdissect.toml"
    path.write_text(RULES)

    async def play(driven: Driven) -> None:
        await driven.loaded()
        log = driven.session.log
        driven.rows.row_colors = colors = RowColors(log, compile_rules(read_config(str(path))))
        expected = [
            "bold red" if log.errors(row) else "cyan" if log.api_key(row) == 18 else ""
            for row in range(len(log))
        ]
        assert [colors.color(row) for row in range(len(log))] == expected
        assert set(expected) == {"bold red", "cyan", ""}
        driven.rows.refresh()
        await driven.pilot.pause()
        for y in range(2, 12):  # the first one has the cursor
            style = list(driven.rows.render_line(y))[2].style
            color = "" if style is None or style.color is None else style.color.name
            assert (expected[y - 1] or "?").endswith(color) or not expected[y - 1]
            assert (color in ("red", "cyan")) is bool(expected[y - 1])

    drive(play, CAPTURES / "kafka44_java_groups.pcapng", monkeypatch=monkeypatch)
