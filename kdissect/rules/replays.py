"""Reactions of real software to faults that rules report: evidence, from `replays.table`, read at first use.

`python -m captures.replay` plays the faults and writes the table.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kdissect.schema.fact_tables import parse_rows

TABLE = Path(__file__).with_name("replays.table")
_BETWEEN = " | "
_HEAD = """# What real software did with faults that rules report. Written by `python -m captures.replay`.
# CODE | SOFTWARE | FAULT | WHAT IT DID

"""


class Replay(NamedTuple):
    """A fault of the rule `code` that was played to `software`, and what that `did`."""

    code: str
    software: str
    fault: str
    did: str


def read_replays() -> list[Replay]:
    """Return the rows of the table, in its order."""
    rows = parse_rows(TABLE.read_text(encoding="utf-8"), TABLE.name)
    return [Replay(*" ".join(words).split(_BETWEEN)) for _, words in rows]


def replays_text(replays: Iterable[Replay]) -> str:
    """Return the table: by code, and of one code in the order given."""
    rows = sorted(replays, key=lambda replay: replay.code)
    return _HEAD + "".join(_BETWEEN.join(row) + "\n" for row in rows)


def replays_of(code: str) -> Sequence[Replay]:
    """Return the replays for one rule."""
    return _by_code().get(code, ())


@cache
def _by_code() -> dict[str, list[Replay]]:
    found: dict[str, list[Replay]] = {}
    for replay in read_replays():
        found.setdefault(replay.code, []).append(replay)
    return found
