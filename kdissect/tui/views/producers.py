"""Producers and transactions: what became of their batches, how each transaction ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kdissect.model.wording import plural
from kdissect.query.syntax.filter_tokens import quote
from kdissect.report.cells import TableColumn, number_column, text_column
from kdissect.report.columns.producers import (
    event_columns,
    event_rows,
    producer_columns,
    transaction_columns,
    transaction_rows,
    without_id_columns,
)
from kdissect.tui.views.quick_filters import of_producer, one_of, text_is
from kdissect.tui.views.tables import Detail, TablesView
from kdissect.tui.widgets.rows_table import Row


class ProducersView(TablesView):
    """The producers, and below the transactions and events of the chosen one."""

    study = "producers"
    nothing = "no producer with an id was seen"
    cell_filters = {  # noqa: RUF012  declared as a class variable above
        "producer": of_producer,
        "transactional id": text_is("transactional_id"),
        "client id": lambda row: one_of("client_id", row["client_ids"]),
    }

    def __init__(self, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._facts: dict[str, Any] = {}

    def key(self, row: Row) -> object:
        """Return the producer id, or the transactional id of a producer without one."""
        return row["producer_id"], row["transactional_id"]

    def main(self, facts: Any) -> tuple[Sequence[TableColumn], Sequence[Row]]:
        """Return the producers, and transactional ids without one."""
        self._facts = facts
        known = {row["transactional_id"] for row in facts["producers"]}
        bare = [row for row in facts["transactional_ids"] if row["transactional_id"] not in known]
        return producer_columns(), [*facts["producers"], *(_NO_BATCHES | row for row in bare)]

    def details(self, row: Row) -> list[Detail]:
        """Return the tables of the producer. Batches without an id have no producer and appear with each."""
        facts = self._facts
        mine = {
            "producers": [each for each in facts["producers"] if self.key(each) == self.key(row)],
            "transactional_ids": [each for each in facts["transactional_ids"] if _is_same(each, row)],
        }
        return [
            Detail("transactions", transaction_columns(), transaction_rows(mine)),
            Detail("events", event_columns(), event_rows(mine)),
            Detail("partitions", _partition_columns(), row["partitions"]),
            Detail("without an id", without_id_columns(), facts["without_id"]),
        ]

    def summary(self, facts: Any, count: int) -> str:
        """Return the numbers of producers and transactional ids."""
        transactions = sum(len(row["transactions"]) for row in facts["transactional_ids"])
        left_out = f"; {facts['forgotten']} more are left out" if facts["forgotten"] else ""
        return (
            f"{plural(len(facts['producers']), 'producer')}, {plural(transactions, 'transaction')}{left_out}"
        )

    def row_filter(self, row: Row) -> str | None:
        """Return batches with the producer's id, and requests that name it or its transactional id."""
        parts = [of_producer(row)]
        if row["transactional_id"]:
            parts.append(f"transactional_id == {quote(row['transactional_id'])}")
        known = [part for part in parts if part]
        return " or ".join(known) or None


_NO_BATCHES: dict[str, Any] = {
    "batches": None, "records": None, "partitions": [], "retries": 0, "duplicates": 0, "sequence_jumps": 0,
    "errors": {}, "given_in_capture": True,
}  # fmt: skip


def _is_same(transactional: Row, producer: Row) -> bool:
    if producer["transactional_id"]:
        return bool(transactional["transactional_id"] == producer["transactional_id"])
    return bool(transactional["producer_id"] == producer["producer_id"])


def _partition_columns() -> list[TableColumn]:
    return [
        text_column("partition", "partition"),
        number_column("epoch", "epoch"),
        number_column("next sequence", "next_sequence"),
    ]
