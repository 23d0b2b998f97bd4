"""Which exchanges a command takes: `--api`, `--topic`, `--host`, `--client-id`, `--exchange` ..."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator
from fnmatch import translate
from typing import TYPE_CHECKING

from kdissect.cli.options.wanted_names import WantedNames, watch_for
from kdissect.engine.exchange_rows import TopicsOf, wire_topics
from kdissect.model.endpoint import Endpoint
from kdissect.model.errors import DecodeError
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange, ExchangeKind, State

if TYPE_CHECKING:
    from kdissect.query.values.points_in_time import Moment

Test = Callable[[Exchange], bool]


def add_selection(parser: ArgumentParser) -> None:
    """Add the options. Several options must all hold, and several values of one are alternatives."""
    group = parser.add_argument_group("which exchanges")
    add = group.add_argument
    add("--api", metavar="NAME,...", type=_api_keys, action="extend", help="names or keys of APIs")
    add("--topic", metavar="GLOB", action="append", help="a topic of request or response")
    add("--host", metavar="IP[:PORT]", type=_host, action="append", help="client or broker")
    add("--client-id", metavar="GLOB", action="append", help="client id of the request")
    add(
        "--exchange",
        metavar="ID/N",
        type=_place,
        action="append",
        help="connection and number, as findings name them",
    )
    add(
        "--errors",
        action="store_true",
        help="only error codes, unanswered requests, orphan responses, and bodies that cannot be decoded",
    )
    add_times(add)


def add_times(add: Callable[..., object]) -> None:
    """Add `--since` and `--until` to a parser or group."""
    add(
        "--since",
        metavar="TIME",
        type=_moment,
        help="RFC 3339 (2024-05-01T10:00:00Z), time of day, epoch seconds, or since the first packet (+10s)",
    )
    add(
        "--until",
        metavar="TIME",
        type=_moment,
        help="exchanges before this time. A request's time is the time of its first byte",
    )


def selection_of(
    options: Namespace, start_ns: Callable[[], int], topics_of: TopicsOf = wire_topics
) -> Test | None:
    """Return one test for all options given; None if there is none.

    `start_ns` returns the time of the first packet, `topics_of` the topics of an exchange.
    """
    tests: list[Test] = []
    watches = list(_watches(options, topics_of))
    if options.api:
        tests.append(_by_api(frozenset(options.api)))
    if options.client_id:
        tests.append(_by_client_id(globs(options.client_id)))
    if options.exchange:
        places = frozenset(options.exchange)
        tests.append(lambda exchange: (exchange.connection.id, exchange.ordinal) in places)
    if options.host:
        tests.append(_by_host(options.host))
    if options.since or options.until:
        tests.append(_by_time(options.since, options.until, start_ns))
    if options.topic:
        tests.append(_by_topic(globs(options.topic), topics_of))
    if options.errors:
        tests.append(_went_wrong)
    if watches:
        return _watching(watches, tests)
    if len(tests) < 2:
        return tests[0] if tests else None
    return lambda exchange: all(test(exchange) for test in tests)


def is_selection_by_kind(options: Namespace) -> bool:
    """Return whether the test answers the same for exchanges of one connection, API, version and client
    id.
    """
    return not (options.exchange or options.since or options.until or options.topic or options.errors)


_Watch = Callable[[Exchange], None]


def _watching(watches: list[_Watch], tests: list[Test]) -> Test:
    """Return all tests, after the watches for names in every exchange."""

    def test(exchange: Exchange) -> bool:
        for watch in watches:
            watch(exchange)
        return all(test(exchange) for test in tests)

    return test


def _watches(options: Namespace, topics_of: TopicsOf) -> Iterator[_Watch]:
    """Yield the watches for names in the options: at its end the command reports names that do not occur."""
    if not (options.api or options.client_id or options.topic or options.host or options.exchange):
        return
    if options.api:
        wanted = [api_name(key) or str(key) for key in dict.fromkeys(options.api)]
        apis = watch_for(options, "--api", "API", wanted)
        yield lambda exchange: None if apis.is_met else apis.see(_api_of(exchange))
    if options.client_id:
        ids = watch_for(options, "--client-id", "client id", options.client_id)
        yield lambda exchange: None if ids.is_met else ids.see(exchange.client_id)
    if options.topic:
        topics = watch_for(options, "--topic", "topic", options.topic)
        yield lambda exchange: None if topics.is_met else _see_topics(topics, exchange, topics_of)
    if options.host:
        hosts = watch_for(options, "--host", "address", list(map(_host_name, options.host)), exact=True)
        yield lambda exchange: None if hosts.is_met else _see_ends(hosts, exchange)
    if options.exchange:
        places = [f"{connection}/{number}" for connection, number in options.exchange]
        found = watch_for(options, "--exchange", "exchange", places, exact=True)
        yield (
            lambda exchange: (
                None if found.is_met else found.see(f"{exchange.connection.id}/{exchange.ordinal}")
            )
        )


def _api_of(exchange: Exchange) -> str | None:
    return None if exchange.api_key is None else api_name(exchange.api_key) or str(exchange.api_key)


def _host_name(host: Endpoint) -> str:
    return str(host) if host.port else host.host


def _see_ends(hosts: WantedNames, exchange: Exchange) -> None:
    """Both ends, with their ports and without."""
    for end in (exchange.connection.client, exchange.connection.broker):
        hosts.see(str(end))
        hosts.see(end.host)


def _see_topics(topics: WantedNames, exchange: Exchange, topics_of: TopicsOf) -> None:
    for name in topics_of(exchange, exchange.request_summary(), exchange.response_summary()):
        topics.see(name)


def _went_wrong(exchange: Exchange) -> bool:
    """Return True for an error code, no response, no request, or a body or header that does not decode."""
    if exchange.state in (State.UNANSWERED, State.INCOMPLETE, State.ORPHAN_RESPONSE):
        return True
    return bool(exchange.response_summary().errors) or not is_decodable(exchange)


def is_decodable(exchange: Exchange) -> bool:
    """Return whether both bodies fit the schema.

    SASL tokens have none. A frame that was captured in part is not judged.
    """
    if exchange.kind != ExchangeKind.KAFKA:
        return True
    if exchange.api_key is None or exchange.api_version is None:
        return False
    try:
        if exchange.request is not None and not exchange.request.is_cut:
            exchange.request_body()
        if exchange.response is not None and not exchange.response.is_cut:
            exchange.response_body()
    except DecodeError:
        return False
    return True


def _api_keys(text: str) -> list[int]:
    from kdissect.cli.options.api_names import api_key_of  # start-up, as in the other types below

    try:
        return [api_key_of(name) for name in text.split(",") if name]
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def _place(text: str) -> tuple[str, int]:
    connection, _, number = text.partition("/")
    if not connection or not number.isdigit():
        raise ArgumentTypeError(f"{text!r} is no CONNECTION/NUMBER")
    return connection, int(number)


def globs(patterns: list[str]) -> Callable[[str], object]:
    """Return a test that is true of texts that match one of the patterns."""
    return re.compile("|".join(map(translate, patterns))).match


def name_test(
    options: Namespace, option: str, what: str, patterns: list[str] | None
) -> Callable[[str], object] | None:
    """Return `globs` of an option that chooses rows by name. At its end the command reports patterns without
    a matching row.

    None without patterns. With a filter, rows may be missing because of it: the command does not report that.
    """
    if not patterns:
        return None
    matches = globs(patterns)
    if options.filter is not None:
        return matches
    asked = watch_for(options, option, what, patterns)

    def wanted(name: str) -> object:
        asked.see(name)
        return matches(name)

    return wanted


def _host(text: str) -> Endpoint:
    """`ip`, `ip:port`, `[ip6]:port`; port 0 stands for any."""
    from ipaddress import ip_address  # only if the user named a host: it costs a millisecond or two

    host, port = text, "0"
    if text.startswith("["):
        host, _, port = text[1:].partition("]")
        port = port.removeprefix(":") or "0"
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    try:
        endpoint = Endpoint(str(ip_address(host)), int(port))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no IP address, and no IP:PORT") from None
    if not 0 <= endpoint.port < 65536:
        raise ArgumentTypeError(f"{port} is no port")
    return endpoint


def _moment(text: str) -> Moment:
    from kdissect.cli.options.time_options import parse_moment  # start-up: the filter language

    try:
        return parse_moment(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def _by_api(keys: frozenset[int]) -> Test:
    return lambda exchange: exchange.api_key in keys


def _by_client_id(matches: Callable[[str], object]) -> Test:
    return lambda exchange: exchange.client_id is not None and bool(matches(exchange.client_id))


def _by_host(hosts: list[Endpoint]) -> Test:
    wanted = frozenset(hosts)

    def test(exchange: Exchange) -> bool:
        for end in (exchange.connection.client, exchange.connection.broker):
            if end in wanted or Endpoint(end.host, 0) in wanted:
                return True
        return False

    return test


def _by_topic(matches: Callable[[str], object], topics_of: TopicsOf) -> Test:
    def test(exchange: Exchange) -> bool:
        topics = topics_of(exchange, exchange.request_summary(), exchange.response_summary())
        return any(map(matches, topics))

    return test


def _by_time(since: Moment | None, until: Moment | None, start_ns: Callable[[], int]) -> Test:
    bounds: list[int] = []

    def test(exchange: Exchange) -> bool:
        if not bounds:  # the first packet is read by now
            start = start_ns()
            bounds.append(since.absolute(start) if since else -(1 << 63))
            bounds.append(until.absolute(start) if until else 1 << 63)
        frame = exchange.request or exchange.response
        return frame is not None and bounds[0] <= frame.time_ns <= bounds[1]

    return test
