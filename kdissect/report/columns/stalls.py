"""The table of times in which brokers stood still: of `stats`, `diff` and the screen."""

from collections.abc import Sequence
from typing import Any

from kdissect.report.cells import Cell, TableColumn, number_column, text_column
from kdissect.report.printable import printable
from kdissect.report.quantities import duration

Facts = dict[str, Any]
STALLS_TITLE = "brokers that stood still: no response, and requests waited"
_NAMED = 3


def stall_columns() -> list[TableColumn]:
    """Return the columns of brokers, durations and waiting clients. The callers put the time before them."""
    return [
        TableColumn("brokers", lambda row: Cell(_named(row["brokers"]))),
        TableColumn("for", lambda row: Cell(duration(row["took_ns"]), "bad"), right=True),
        TableColumn("of its time", lambda row: Cell(_share(row["share"])), rank=1, right=True),
        text_column("waited", "waited_by"),
        TableColumn("clients", lambda row: Cell(_named([_client(one) for one in row["clients"]])), rank=1),
        number_column("requests", "requests"),
        TableColumn("waits in all", lambda row: Cell(duration(row["waited_ns"])), rank=2, right=True),
    ]


def stall_line(row: Facts) -> str:
    """Return one of them in words."""
    brokers, share = _named(row["brokers"]), _share(row["share"])
    of_time = f" ({share} of its time)" if share else ""
    return f"{brokers} sent nothing for {duration(row['took_ns'])}{of_time}: {row['waited_by']} waited"


def _named(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    text = ", ".join(names[:_NAMED])
    return printable(f"{text} and {more} more" if more > 0 else text)


def _client(client: Facts) -> str:
    return str(client["client_id"] or client["address"])


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"
