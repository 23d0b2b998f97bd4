"""Markdown tables of what `compare.py` measured, and the places of them in the docs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median_low
from typing import Any, NamedTuple

from measure import MB, Run, median

OURS, TSHARK, GO, OTHER = "kdissect", "tshark", "go", "against"
HEADS = {
    "list": "`inspect`",
    "stats": "`stats`",
    "extract": "`extract`",
    "tsv": "`records` TSV",
    "parquet": "`records` Parquet",
    "tables": "`tables`",
    "check": "`check`",
    "why": "`why`",
    "tree": "`inspect` tree",
}
README_COMMANDS = ("list", "stats", "tables", "check", "why")
_MARKS = "<!-- speed: {name} begin -->\n", "<!-- speed: {name} end -->"
_DIGITS = 2

Content = dict[str, Any]
"""What compare.py keeps: facts of the run, and by capture the runs of each command and side."""


class Measured(NamedTuple):
    """A command on a capture: the runs of each side."""

    capture: str
    command: str
    sides: dict[str, list[Run]]

    @classmethod
    def of(cls, content: Content, key: str, command: str) -> Measured:
        """Return one that the results of a run contain."""
        sides = content["captures"][key]["commands"][command]
        return cls(key, command, {name: [Run(*run) for run in runs] for name, runs in sides.items()})

    def ratio(self, side: str) -> float | None:
        """CPU time as a part of that of another side; None where either is missing or failed."""
        if OURS not in self.sides or side not in self.sides:
            return None
        ours, theirs = median(self.sides[OURS]), median(self.sides[side])
        return None if ours.status or theirs.status or not theirs.cpu else ours.cpu / theirs.cpu


def _rows(content: Content, commands: Iterable[str]) -> dict[str, dict[str, Measured]]:
    return {
        key: {name: Measured.of(content, key, name) for name in commands if name in one["commands"]}
        for key, one in content["captures"].items()
    }


def _used(content: Content) -> list[str]:
    """Return the commands that any capture has, in the order of the columns."""
    found = {name: None for one in content["captures"].values() for name in one["commands"]}
    return [name for name in HEADS if name in found] + [name for name in found if name not in HEADS]


def _matrix(
    content: Content,
    commands: list[str],
    heads: list[str],
    cells: Callable[[dict[str, Measured]], list[float | None]],
) -> str:
    """Return a row for each capture; the largest value of each column is bold."""
    lines = [
        f"| traffic | MB | exchanges | {' | '.join(heads)} |",
        f"|---|--:|--:|{'--:|' * len(heads)}",
    ]
    values = {key: cells(row) for key, row in _rows(content, commands).items()}
    worst = [
        max((value for value in column if value is not None), default=None)
        for column in zip(*values.values(), strict=True)
    ]
    for key, row in values.items():
        one = content["captures"][key]
        shown = [_cell(value, most, len(values)) for value, most in zip(row, worst, strict=True)]
        lines.append(
            f"| {one['title']} | {one['bytes'] / MB:.0f} | {one['exchanges'] or ''} | {' | '.join(shown)} |"
        )
    return "\n".join(lines)


def _cell(value: float | None, worst: float | None, rows: int) -> str:
    if value is None:
        return ""
    text = f"{value:.{_DIGITS}f}" if value < 100 else f"{value:.0f}"
    return f"**{text}**" if value == worst and rows > 1 else text


def ratios(content: Content, commands: list[str]) -> str:
    """CPU time as a part of tshark's, and that of the list as a part of the Go reader's."""
    heads, cells = _ratio_columns(content, commands)
    return _matrix(content, commands, heads, cells)


def spread(content: Content, commands: list[str]) -> str:
    """Return the lowest, the median and the highest ratio of each column over all shapes."""
    heads, cells = _ratio_columns(content, commands)
    rows = [cells(row) for row in _rows(content, commands).values()]
    columns = [sorted(value for value in column if value is not None) for column in zip(*rows, strict=True)]
    lines = [
        f"| {len(rows)} shapes of traffic | {' | '.join(heads)} |",
        f"|---|{'--:|' * len(heads)}",
    ]
    for name, choose in (("lowest", min), ("median", median_low), ("highest", max)):
        shown = [_cell(choose(column) if column else None, None, 1) for column in columns]
        lines.append(f"| {name} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _ratio_columns(
    content: Content, commands: list[str]
) -> tuple[list[str], Callable[[dict[str, Measured]], list[float | None]]]:
    heads = [HEADS.get(name, f"`{name}`") for name in commands]
    has_go = any(GO in one["commands"].get("list", {}) for one in content["captures"].values())

    def cells(row: dict[str, Measured]) -> list[float | None]:
        found = [row[name].ratio(TSHARK) if name in row else None for name in commands]
        if has_go:
            found.append(row["list"].ratio(GO) if "list" in row else None)
        return found

    return [*heads, "`inspect` / Go"] if has_go else heads, cells


def changes(content: Content, commands: list[str]) -> str:
    """CPU time as a part of that of the other build."""

    def cells(row: dict[str, Measured]) -> list[float | None]:
        return [row[name].ratio(OTHER) if name in row else None for name in commands]

    return _matrix(content, commands, [HEADS.get(name, f"`{name}`") for name in commands], cells)


def detail(rows: list[Measured]) -> str:
    """Return a line for each side: medians, with exit codes other than 0, and the ratio to the first side."""
    lines = ["| work | command | CPU s | of it | wall s | peak MB |", "|---|---|---:|---:|---:|---:|"]
    for row in rows:
        name = f"{row.capture} {row.command}".strip()
        first = median(next(iter(row.sides.values())))
        for side, runs in row.sides.items():
            run = median(runs)
            failed = f" (exit {run.status})" if run.status else ""
            part = f"{run.cpu / first.cpu:.3f}" if first.cpu else "-"
            lines.append(
                f"| {name} | {side}{failed} | {run.cpu:.3f} | {part} | {run.wall:.3f} | {run.rss / MB:.0f} |"
            )
    return "\n".join(lines)


def footer(content: Content) -> str:
    """Return where and how it was measured."""
    rounds = f"Medians of {content['rounds']} interleaved rounds"
    found = f"{rounds}, {content['date']}, commit {content['build']}; {content['machine']}."
    return f"{found} {content['note']}".strip()


def tables(content: Content) -> str:
    """Return all tables of a run."""
    commands = _used(content)
    parts = [f"CPU time as a part of tshark's:\n\n{ratios(content, commands)}"]
    if content["against"]:
        parts.append(f"CPU time as a part of that of {content['against']}:\n\n{changes(content, commands)}")
    if len(content["captures"]) == 1:
        (row,) = _rows(content, commands).values()
        parts.append(detail(list(row.values())))
    return "\n\n".join([*parts, footer(content)])


def update_docs(content: Content, root: Path) -> None:
    """Write the tables of the docs, between their marks."""
    for path, name, table in docs_tables(content):
        place = root / path
        place.write_text(replaced(place.read_text(encoding="utf-8"), name, table), encoding="utf-8")


def docs_tables(content: Content) -> list[tuple[str, str, str]]:
    """File, name of the mark and text of each table."""
    every = _used(content)
    page = "docs/performance.md"
    chosen = [name for name in README_COMMANDS if name in every]
    found = [
        ("README.md", "ratios", f"{spread(content, chosen)}\n\n{footer(content)}"),
        (page, "ratios", f"{ratios(content, every)}\n\n{footer(content)}"),
        (page, "memory", peaks(content, every)),
    ]
    if content["against"]:
        found.append((page, "changes", changes(content, every)))
    return found


def peaks(content: Content, commands: list[str]) -> str:
    """Peak memory in MB."""

    def cells(row: dict[str, Measured]) -> list[float | None]:
        return [median(row[name].sides[OURS]).rss / MB if name in row else None for name in commands]

    return _matrix(content, commands, [HEADS.get(name, f"`{name}`") for name in commands], cells)


def replaced(text: str, name: str, table: str) -> str:
    """Return a page with the table of a mark replaced. ValueError where the page has no such mark."""
    begin, end = (mark.format(name=name) for mark in _MARKS)
    found = re.subn(
        f"(?s){re.escape(begin)}.*?{re.escape(end)}", lambda _: f"{begin}\n{table}\n\n{end}", text
    )
    if found[1] != 1:
        raise ValueError(f"the page needs the mark {begin.strip()} once")
    return found[0]
