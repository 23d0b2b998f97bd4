"""Dimensions for counts of exchanges: the names that `--by` takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from operator import attrgetter
from typing import NamedTuple

from kdissect.engine.records.record_sets import record_sets
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from kdissect.schema.error_codes import error_name
from kdissect.schema.protocol_messages import api_name
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_group.group_links import GroupLinks
from kdissect.stats.client import host_of
from kdissect.stats.racks import (
    BROKER_RACK,
    CLIENT_RACK,
    CLUSTER,
    RACKS,
    Racks,
    broker_token,
    client_token,
    cluster_token,
)

# A Metadata request may name all topics of a cluster: an exchange with more values than this counts under
# `MANY`, so that one exchange does not become thousands of rows.
_VALUES_OF_EXCHANGE = 100
MANY = "(many)"

Value = str | None
Key = tuple[Value, ...]


class Context(NamedTuple):
    """Facts that dimensions need. `racks` are there for counts by racks."""

    topics: TopicNames
    groups: GroupLinks
    racks: Racks | None = None

    @classmethod
    def of(cls, topics: TopicNames, by: Sequence[str]) -> Context:
        """Return the facts that these dimensions need."""
        return cls(topics, GroupLinks(), None if RACKS.isdisjoint(by) else Racks())

    def learn(self, view: ExchangeView, by: Sequence[str]) -> None:
        """Learn from the next exchange, counted or not, what these dimensions look up."""
        if "group" in by:
            self.groups.learn(view)
        if self.racks is not None:
            self.racks.learn(view)


Values = Callable[[ExchangeView, Context], Sequence[Value]]
"""The values of one exchange, which counts once under each."""

ConnectionValues = Callable[[ConnectionInfo], Sequence[Value]]
"""The values of all exchanges on a connection."""


def _api(view: ExchangeView, _context: Context) -> Sequence[Value]:
    if view.exchange.api_key is None:
        return (str(view.exchange.kind),)
    return (api_name(view.key) or f"key {view.key}",)


def _version(view: ExchangeView, _context: Context) -> Sequence[Value]:
    version = view.exchange.api_version
    return (None if version is None else str(version),)


def _client_id(view: ExchangeView, _context: Context) -> Sequence[Value]:
    return (view.exchange.client_id,)


def _software(info: ConnectionInfo) -> Sequence[Value]:
    return (info.software,)


def _client(info: ConnectionInfo) -> Sequence[Value]:
    return (host_of(info),)


def _connection(info: ConnectionInfo) -> Sequence[Value]:
    return (info.id,)


def _broker(info: ConnectionInfo) -> Sequence[Value]:
    return (info.broker_text,)


def _broker_rack(info: ConnectionInfo) -> Sequence[Value]:
    return (broker_token(info),)


def _cluster(info: ConnectionInfo) -> Sequence[Value]:
    return (cluster_token(info),)


def _principal(info: ConnectionInfo) -> Sequence[Value]:
    return (info.principal,)


def _topic(view: ExchangeView, context: Context) -> Sequence[Value]:
    exchange = view.exchange
    asked, answered = exchange.request_summary(), exchange.response_summary()
    return context.topics.topics_of(exchange, asked, answered) or (None,)


def _partition(view: ExchangeView, context: Context) -> Sequence[Value]:
    """Return partitions whose records the exchange carries."""
    found: dict[str, None] = {}
    for records in record_sets(view.exchange):
        field = records.records_field
        topic = field.topic or context.topics.name(view.info, field.topic_id or b"") or "?"
        found[f"{topic}-{field.partition}"] = None
    return tuple(found) or (None,)


def _group(view: ExchangeView, context: Context) -> Sequence[Value]:
    return context.groups.of_exchange(view) or (None,)


def _client_rack(view: ExchangeView, _context: Context) -> Sequence[Value]:
    return (client_token(view),)


def _error(view: ExchangeView, _context: Context) -> Sequence[Value]:
    return tuple(error_name(code) for code in view.exchange.response_summary().errors) or (None,)


def _state(view: ExchangeView, _context: Context) -> Sequence[Value]:
    return (str(view.exchange.state),)


def _of_processes(part: str) -> ConnectionValues:
    """Return the values of either end's processes, if the capture names them."""
    get = attrgetter(part)

    def values(info: ConnectionInfo) -> Sequence[Value]:
        found = [get(process) for _, process in info.processes_of()]
        return tuple(dict.fromkeys(str(value) for value in found if value is not None)) or (None,)

    return values


OF_CONNECTION: dict[str, ConnectionValues] = {
    "software": _software,
    "client": _client,
    "connection": _connection,
    "broker": _broker,
    BROKER_RACK: _broker_rack,
    CLUSTER: _cluster,
    "principal": _principal,
    **{part: _of_processes(part) for part in ("process", "pid", "pod", "namespace", "container")},
}
"""Dimensions that depend on the connection alone."""


def _of_connection(name: str) -> Values:
    values_of = OF_CONNECTION[name]
    return lambda view, _context: values_of(view.info)


DIMENSIONS: dict[str, tuple[Values, str]] = {
    "api": (_api, "the API"),
    "api_version": (_version, "its version"),
    "client_id": (_client_id, "client id of the request"),
    "software": (_of_connection("software"), "name and version the client gave"),
    "client": (_of_connection("client"), "the client's address without its port"),
    "connection": (_of_connection("connection"), "the TCP connection"),
    "broker": (_of_connection("broker"), "the broker's address"),
    CLIENT_RACK: (_client_rack, "the rack the client gave"),
    BROKER_RACK: (_of_connection(BROKER_RACK), "the rack of its broker"),
    CLUSTER: (_of_connection(CLUSTER), "the id of the broker's cluster"),
    "principal": (_of_connection("principal"), "the user, where the mechanism shows it"),
    "topic": (_topic, "each topic of request and response"),
    "partition": (_partition, "each partition whose records the exchange carries"),
    "group": (_group, "the group the request names, or its client speaks for"),
    "error": (_error, "each error code of the response"),
    "state": (_state, "complete, unanswered ..."),
    "process": (
        _of_connection("process"),
        "each process at an end of the connection, where the capture says it",
    ),
    "pid": (_of_connection("pid"), "its id"),
    "pod": (_of_connection("pod"), "its pod"),
    "namespace": (_of_connection("namespace"), "its namespace"),
    "container": (_of_connection("container"), "its container"),
}


def key_maker(names: Sequence[str], context: Context) -> Callable[[ExchangeView], Sequence[Key]]:
    """Return a function for the keys of an exchange by the named dimensions. Raises KeyError for an unknown
    name.
    """
    makers = [DIMENSIONS[name][0] for name in names]

    def keys(view: ExchangeView) -> Sequence[Key]:
        values = [_bounded(make(view, context)) for make in makers]
        return [tuple(key) for key in product(*values)]

    return keys


def _bounded(values: Sequence[Value]) -> Sequence[Value]:
    return values if len(values) <= _VALUES_OF_EXCHANGE else (MANY,)
