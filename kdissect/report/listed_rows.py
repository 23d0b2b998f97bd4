"""Rows of the list of exchanges: those of the engine, and who asked.

Tables at rest have that in the row of the connection; a line has to say it by itself.
"""

from kdissect.engine.exchange_rows import EXCHANGE_FIELDS, ExchangeRows, Row, RowField
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

_WHO = (
    RowField("software", "string", "name and version that the client gave in ApiVersions, once it did"),
    RowField(
        "principal",
        "string",
        "user the client authenticated as, once it did and where the mechanism shows it",
    ),
)
_FIRST_BEHIND = "client_id"  # what a row has behind them
_AT = [field.name for field in EXCHANGE_FIELDS].index(_FIRST_BEHIND)
LISTED_FIELDS = (*EXCHANGE_FIELDS[:_AT], *_WHO, *EXCHANGE_FIELDS[_AT:])


class ListedRows(ExchangeRows):
    """Turns exchanges into rows of `LISTED_FIELDS`."""

    def numbered(self, exchange: Exchange, number: int) -> Row:
        """The row of this number."""
        row: Row = {}
        for name, value in super().numbered(exchange, number).items():
            if name == _FIRST_BEHIND:
                row.update(who_row(exchange.connection))
            row[name] = value
        return row


def who_row(info: ConnectionInfo) -> Row:
    """Who asks on a connection, as part of a row."""
    return {"software": info.software, "principal": info.principal}
