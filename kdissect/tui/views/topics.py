"""Topics: who writes, who reads, how much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kdissect.model.wording import plural
from kdissect.query.syntax.filter_tokens import quote
from kdissect.report.cells import TableColumn
from kdissect.report.columns.topics import topic_columns, user_columns, user_rows
from kdissect.report.quantities import byte_count
from kdissect.tui.views.quick_filters import text_is
from kdissect.tui.views.tables import Detail, TablesView
from kdissect.tui.widgets.rows_table import Row


class TopicsView(TablesView):
    """The topics, and below who uses the chosen one."""

    study = "topics"
    nothing = "no topic was named"
    cell_filters = {  # noqa: RUF012  declared as a class variable above
        "topic": lambda row: _topic_filter(row.get("of", row)),
        "principal": text_is("principal"),
        "client id": text_is("client_id"),
        "software": text_is("software"),
    }

    def key(self, row: Row) -> object:
        """Name and id."""
        return row["topic"], row["topic_id"]

    def main(self, facts: Any) -> tuple[Sequence[TableColumn], Sequence[Row]]:
        """Return the topics by name."""
        return topic_columns(facts["topics"]), facts["topics"]

    def details(self, row: Row) -> list[Detail]:
        """Return the users of the topic."""
        return [Detail("users", user_columns([row])[1:], list(user_rows([row])))]

    def summary(self, facts: Any, count: int) -> str:
        """Return the number of topics, and their volume."""
        written = sum(row["written"]["bytes"] or 0 for row in facts["topics"])
        read = sum(row["read"]["bytes"] or 0 for row in facts["topics"])
        return f"{plural(count, 'topic')}, {byte_count(written)} written, {byte_count(read)} read"

    def row_filter(self, row: Row) -> str | None:
        """Return exchanges with the topic."""
        return _topic_filter(row)


def _topic_filter(row: Any) -> str | None:
    if row["topic"]:
        return f"topic == {quote(row['topic'])}"
    return f"topic_id == {quote(row['topic_id'])}" if row["topic_id"] else None
