"""Rows of topics, as `kdissect topics` has them, and who reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]


def topic_row(topics: Iterable[Row], name: str) -> Row | None:
    """Return the row of a topic by its name, or by its id if the name is not known."""
    return next((row for row in topics if (row["topic"] or row["topic_id"]) == name), None)


def readers_of(row: Row, group: str) -> list[Row]:
    """Return the readers of a topic that are members of a group."""
    return [reader for reader in row["readers"] if group in reader["groups"]]
