"""Tables of the results of `why`: causes, and the intervals in which brokers stood still."""

from kdissect.engine.exchange_rows import RowField
from kdissect.engine.tables.shared_columns import CAPTURE_SET, CLIENT, CONNECTION, DAY, EXCHANGE
from kdissect.engine.tables.table import Table, within

CAUSES = Table(
    "causes",
    "One row for each cause of trouble that `why` reports for a capture set. Made when named: it looks "
    "at every "
    "exchange as `why` does.",
    (
        CAPTURE_SET,
        RowField("rank", "int32", "1 is the worst of its capture set"),
        RowField("id", "string", "id of the cause, as the documentation of `why` lists them"),
        RowField("title", "string", "the cause in a few words"),
        RowField("severity", "string", "what it does: `stops`, `data`, `delays` or `wastes`"),
        RowField("sentence", "string", "what happened"),
        RowField("who", "string", "whom it costs, in words"),
        *within(
            "parties",
            "list<struct>",
            "whom and what it concerns",
            (
                RowField("kind", "string", "`client`, `host`, `group`, `broker`, `topic`, `id` or `cluster`"),
                RowField("name", "string", "its name"),
            ),
        ),
        RowField("since", "timestamp", "when it was first seen"),
        RowField("since_ns", "int64", "this time in nanoseconds since 1970 UTC"),
        DAY,
        RowField("until", "timestamp", "when it, or what follows from it, was last seen"),
        RowField("until_ns", "int64", "this time in nanoseconds since 1970 UTC"),
        RowField("times", "int64", "how often"),
        *within(
            "cost",
            "struct",
            "what it cost, with what follows from it",
            (
                RowField(
                    "time_ns", "int64", "waits added up, of members, clients or requests; they may overlap"
                ),
                RowField("errors", "int64", "errors"),
                RowField("retries", "int64", "requests sent again"),
                RowField("bytes", "int64", "bytes"),
                RowField("records", "int64", "records"),
            ),
        ),
        RowField("certainty", "string", "`sure`, `likely` or `possible`"),
        RowField("why_not_surer", "string", "what else it could be. Null if it is sure"),
        *within(
            "evidence",
            "list<struct>",
            "where to look",
            (
                RowField("what", "string", "API and version, or what it is"),
                RowField("connection", "string", "connection"),
                RowField("exchange", "int64", "ordinal of the exchange. Null: the connection as a whole"),
                RowField("time", "timestamp", "when"),
                RowField("time_ns", "int64", "this time in nanoseconds since 1970 UTC"),
                RowField("file", "string", "capture file. Null if packets cannot be named"),
                RowField("first_packet", "int64", "first packet, 1-based within its file"),
                RowField("last_packet", "int64", "last packet"),
            ),
        ),
        RowField("command", "string", "the command that shows more"),
        RowField("help", "string", "what usually helps"),
        RowField("cites", "list<string>", "the sources of that"),
        *within(
            "effects",
            "list<struct>",
            "what follows from it",
            (
                RowField("id", "string", "id of the cause that this would be by itself"),
                RowField("sentence", "string", "what happened"),
                RowField("times", "int64", "how often"),
            ),
        ),
    ),
    ("capture_set", "rank"),
    ("capture_set", "rank"),
)

STALLS = Table(
    "stalls",
    "One row for each interval in which a broker, or several brokers of a capture set at one time, sent no "
    "response while requests waited: the intervals of `stats --table stalls`. Made when named.",
    (
        CAPTURE_SET,
        RowField("since", "timestamp", "when the first of the requests was at the broker"),
        RowField("since_ns", "int64", "the same in nanoseconds since 1970 UTC"),
        DAY,
        RowField("until", "timestamp", "time of the next response"),
        RowField("until_ns", "int64", "the same in nanoseconds since 1970 UTC"),
        RowField("took_ns", "int64", "length of the interval"),
        RowField("share", "double", "of the time from the first response of the brokers to the last"),
        RowField("brokers", "list<string>", "addresses and ports of the brokers"),
        RowField("waited_by", "string", "`several brokers`, `all clients`, `one client` or `one connection`"),
        *within("clients", "list<struct>", "clients whose requests waited", CLIENT),
        RowField("requests", "int64", "requests that waited"),
        RowField("apis", "map<string,int64>", "these requests by API"),
        RowField("waited_ns", "int64", "time that they waited, added up"),
        RowField("others_sent", "bool", "whether another end sent packets meanwhile"),
        CONNECTION._replace(doc="connection of the first request that waited"),
        EXCHANGE._replace(doc="ordinal of that request within its connection"),
    ),
    ("connection", "exchange"),
    ("capture_set", "since_ns", "connection", "exchange"),
)
