"""Rows of the table `stalls`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kdissect.engine.exchange_rows import Row
from kdissect.stages.rows.table_rows import counts, when


def stall_rows(stalls: Iterable[Row]) -> Iterator[Row]:
    """Yield rows of `stalls` from `stats.times.stalls.Stalls.facts`."""
    for facts in stalls:
        row = {**facts, "apis": counts(facts["apis"]), "since_ns": facts["from_ns"]}
        yield when(row, row["since_ns"])
