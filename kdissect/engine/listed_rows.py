"""Rows of exchanges in lists and tables: the engine's columns, the client's software and principal, and
groups, throttle time, rack.
"""

from kdissect.decoders.generated.summary import Summary
from kdissect.engine.exchange_rows import (
    EXCHANGE_FIELDS,
    ExchangeRows,
    Row,
    RowField,
    listed_summaries,
    more_of,
)
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
_MORE = (
    RowField("group", "list<string>", "group ids in request and response"),
    RowField(
        "throttle",
        "int32",
        "milliseconds the broker says it throttled the client for. Null if the response has no such time",
    ),
    RowField("rack", "string", "rack that the requester names as its own. Null if the request has none"),
)
_FIRST_BEHIND_WHO, _LAST_BEFORE_MORE = "client_id", "topic_ids"
_NAMES = [field.name for field in EXCHANGE_FIELDS]
_AT, _MORE_AT = _NAMES.index(_FIRST_BEHIND_WHO), _NAMES.index(_LAST_BEFORE_MORE) + 1
LISTED_FIELDS = (
    *EXCHANGE_FIELDS[:_AT], *_WHO, *EXCHANGE_FIELDS[_AT:_MORE_AT], *_MORE, *EXCHANGE_FIELDS[_MORE_AT:]
)  # fmt: skip


class ListedRows(ExchangeRows):
    """Turns exchanges into rows of `LISTED_FIELDS`."""

    def numbered(self, exchange: Exchange, number: int) -> Row:
        """Return the row of this number."""
        row: Row = {}
        for name, value in super().numbered(exchange, number).items():
            if name == _FIRST_BEHIND_WHO:
                row.update(who_row(exchange.connection))
            row[name] = value
        return row

    def summaries(self, exchange: Exchange) -> tuple[Summary, Summary]:
        """Return the summaries of request and response, with groups, throttle time and rack."""
        return listed_summaries(exchange)

    def names(self, exchange: Exchange, asked: Summary, answered: Summary) -> Row:
        """Return errors, topics, topic ids, groups, throttle time and rack."""
        more = more_of(asked, answered)
        row = super().names(exchange, asked, answered)
        return row | {"group": list(more.groups), "throttle": more.throttle_ms, "rack": more.rack}


def who_row(info: ConnectionInfo) -> Row:
    """Return the client's software and principal, as part of a row."""
    return {"software": info.software, "principal": info.principal}
