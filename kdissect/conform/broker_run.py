"""State of a run against a broker: its connections, advertised versions, and what was found so far.

A broker that stops to respond ends the run early, with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from kdissect.conform.broker_connection import (
    CLIENT_ID,
    MAX_RUN,
    Body,
    Connection,
    Dialer,
    LoginError,
    Outcome,
    Response,
)
from kdissect.conform.request_bodies import Subject
from kdissect.conform.statement_results import Observation
from kdissect.decoders.generated.values import Value, present
from kdissect.model.endpoint import Endpoint
from kdissect.model.wording import plural
from kdissect.schema import protocol_messages
from kdissect.schema.error_codes import error_name
from kdissect.schema.protocol_messages import API_VERSIONS, api_by_name, api_name
from kdissect.schema.releases import history

TOPIC_IDS_FROM = {"Produce": 13, "Fetch": 13, "OffsetCommit": 10, "OffsetFetch": 10}
"""Versions from which on requests name topics by id alone (KIP-516, KIP-848)."""
MAX_SILENT = 20
"""Requests without a response after which a run ends."""
MAX_SILENT_OF_API = 2
_PATIENCE_S = 30.0  # in a run, for each API whose response does not have what it will have
_PAUSE_S = 0.1
NONE = 0
# COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, CONCURRENT_TRANSACTIONS
_LATER = frozenset({14, 15, 16, 51})
PRODUCE, METADATA = 0, 3
_KAFKA_4_PRODUCE = 12


class RunOverError(Exception):
    """The broker does not respond any more. The message is the reason."""


class NoBrokerError(RunOverError):
    """No response of Kafka came from the address: there is nothing to report about a broker."""


class NoResponseError(Exception):
    """A request of a sequence has no response, or one without an expected part, or its broker cannot be
    reached: the sequence ends. Without a request `response` is None.
    """

    def __init__(self, response: Response | None, why: str) -> None:
        super().__init__(why)
        self.response = response


class BrokerRun:
    """One run. `advertised` are the versions of each API that the broker and kdissect know, by key."""

    def __init__(self, address: Endpoint, dialer: Dialer, subject: Subject, *, may_change: bool) -> None:
        self.address = address
        self.subject = subject
        self.may_change = may_change
        """Whether requests may change what is not of the suite."""
        self.advertised: dict[int, tuple[int, int]] = {}
        self.unknown: list[int] = []
        """Keys that the broker advertises and the schema does not have."""
        self.wanted: Collection[int] | None = None
        self.release_versions: Mapping[int, tuple[int, int] | None] | None = None
        self.observations: list[Observation] = []
        self.exercised: set[tuple[int, int]] = set()
        self.requests: dict[tuple[int, int], int] = {}
        self.why_not: dict[tuple[int, int], str] = {}
        self.skipped: dict[str, str] = {}
        """Sequences that ended early, with the reason."""
        self.brokers: dict[int, Endpoint] = {}
        """Brokers of the cluster at a host that the user named, by node id."""
        self.controller = -1
        self.leader = address
        """The leader of the first partition of the topic."""
        self.partitions = 0
        """Partitions of the topic."""
        self.created: list[str] = []
        """Topics to delete at the end."""
        self.groups: list[str] = []
        self.over = ""
        """The reason why the run ended early."""
        self._dialer = dialer
        self._open: dict[Endpoint, Connection] = {}
        self._undecodable: set[tuple[int, int]] = set()
        self._silent = 0
        self._waited: dict[int, float] = {}
        self._silent_of: dict[int, int] = {}

    # connections

    def connection(self, address: Endpoint | None = None) -> Connection:
        """Return an open connection to an address. Raises as `fresh` does."""
        where = address or self.address
        known = self._open.get(where)
        if known is None or not known.is_open:
            known = self._open[where] = self.fresh(where)
        return known

    def fresh(self, address: Endpoint | None = None) -> Connection:
        """Return a new connection. Raises RunOverError, and NoResponseError for an address that the user did
        not name.
        """
        if self._dialer.received > MAX_RUN:
            raise RunOverError(f"the broker sent more than {MAX_RUN >> 20} MiB")
        try:
            return self._dialer.connect(address or self.address)
        except LoginError as error:
            if address in (None, self.address):
                raise RunOverError(str(error)) from None
            raise NoResponseError(None, str(error)) from None

    @property
    def logs_in(self) -> bool:
        """Whether connections log in with SASL."""
        return self._dialer.logs_in

    def ask_alone(self, api_key: int, version: int, body: Body | None = None) -> Response:
        """Send a request on a connection of its own. Raises RunOverError."""
        connection = self.fresh()
        response = connection.ask(api_key, version, body or {})
        connection.close()
        return response

    def close(self) -> None:
        """Close all connections."""
        for connection in self._open.values():
            connection.close()

    # requests

    def ask(
        self,
        api_key: int,
        version: int,
        body: Body,
        *,
        to: Endpoint | None = None,
        client_id: str | None = CLIENT_ID,
        tags: Mapping[int, bytes] | None = None,
        waits: bool = True,
    ) -> Response:
        """Send a request and return its result. Raises RunOverError, and with `to` NoResponseError."""
        response = self.connection(to).ask(
            api_key, version, body, client_id=client_id, tags=tags, waits=waits
        )
        self.note(response)
        return response

    def note(self, response: Response) -> None:
        """Count a request. Raises RunOverError if the broker does not respond to any request."""
        of = response.api_key, response.version
        self.requests[of] = self.requests.get(of, 0) + 1
        if response.is_answered:
            self.exercised.add(of)
        elif response.outcome is Outcome.UNDECODABLE:
            self._undecodable.add(of)
        if response.outcome is not Outcome.SILENT:
            return
        self._silent += 1
        self._silent_of[response.api_key] = self._silent_of.get(response.api_key, 0) + 1
        if self._silent >= MAX_SILENT:
            why = f"{plural(self._silent, 'request')} without a response"
        else:
            probe = self.ask_alone(API_VERSIONS, 0)
            if probe.is_answered:
                return
            any_more = " any more" if self.exercised else ""
            why = f"the broker does not respond{any_more}: ApiVersions v0 has {probe.text}"
        self.observe("CNF001", response, passed=False, expected="a response", seen=response.text)
        raise RunOverError(why)

    def is_given_up(self, api_key: int) -> bool:
        """Whether requests of an API cost the time to wait too often."""
        return self._silent_of.get(api_key, 0) >= MAX_SILENT_OF_API

    def call(self, name: str, body: Body, version: int | None = None, to: Endpoint | None = None) -> Response:
        """Send a request of a sequence, again while a coordinator is not ready. Without `version` it is the
        highest whose responses decode.

        Raises NoResponseError without a decoded response.
        """
        return self.until(
            lambda: self._called(name, body, version, to), lambda found: _LATER.isdisjoint(errors_of(found))
        )

    def _called(self, name: str, body: Body, version: int | None, to: Endpoint | None) -> Response:
        key = key_of(name)
        while True:
            response = self.ask(key, self.highest(name) if version is None else version, body, to=to)
            if response.is_answered:
                return response
            self.observe("CNF001", response, passed=False, expected="a response", seen=response.text)
            is_last = version is not None or self.highest(name) >= response.version
            if response.outcome is not Outcome.UNDECODABLE or is_last:
                raise NoResponseError(response, f"{name} v{response.version}: {response.text}")

    def has(self, *names: str) -> bool:
        """Whether the broker advertises these APIs, and they are wanted."""
        return all(key_of(name) in self.advertised for name in names)

    def highest(self, name: str) -> int:
        """Return the highest version of an API that both sides know, and whose responses decode as far as
        there are any. Raises KeyError.
        """
        key, versions = key_of(name), self.versions(name)
        low, high = versions[0], versions[-1]
        return next((one for one in range(high, low, -1) if (key, one) not in self._undecodable), low)

    @property
    def refused_produce(self) -> Collection[int]:
        """Versions of Produce that Apache Kafka 4 advertises for old clients, and refuses (KAFKA-18659)."""
        known = history(PRODUCE)
        is_kafka_4 = self.advertised.get(PRODUCE, (0, 0))[1] >= _KAFKA_4_PRODUCE
        return known.gone if known is not None and is_kafka_4 else ()

    def versions(self, name: str) -> range:
        """Return the versions of an API, empty if it is not advertised. Without a topic id they end before
        those that need it.
        """
        low, high = self.advertised.get(key_of(name), (0, -1))
        by_id = TOPIC_IDS_FROM.get(name)
        if by_id is not None and not any(self.subject.topic_id):
            high = max(low, min(high, by_id - 1)) if high >= low else high
        return range(low, high + 1)

    # results

    def observe(self, code: str, response: Response, *, passed: bool, expected: str, seen: str) -> bool:
        """Note the result of a statement, and return whether it passed."""
        is_undecodable = response.outcome is Outcome.UNDECODABLE
        undecodable = (response.api_key, response.version) if is_undecodable else None
        self.observations.append(
            Observation(code, response.place, passed, expected, seen, undecodable=undecodable)
        )
        return passed

    def errs(self, code: str, response: Response, found: int, *wanted: int) -> bool:
        """Note a statement about an error code: it is one of these."""
        expected = " or ".join(error_name(one) for one in wanted)
        return self.observe(code, response, passed=found in wanted, expected=expected, seen=error_name(found))

    def until(self, ask: Callable[[], Response], holds: Callable[[Any], bool]) -> Response:
        """Repeat a request until its body holds, for some time in all. Returns the last response."""
        start = time.monotonic()
        while True:
            response = ask()
            waited = self._waited.get(response.api_key, 0.0) + time.monotonic() - start
            if holds(response.body) or waited >= _PATIENCE_S:
                self._waited[response.api_key] = waited
                return response
            time.sleep(_PAUSE_S)


def errors_of(value: Any) -> set[int]:
    """Return all error codes of a body but 0."""
    if isinstance(value, (list, tuple)):
        return {code for item in value for code in errors_of(item)}
    if not isinstance(value, Value):
        return set()
    found: set[int] = set()
    for field, _, item in present(value):
        found |= {item} - {NONE} if field.is_error else errors_of(item)
    return found


def key_of(name: str) -> int:
    """Return the key of an API. Raises KeyError."""
    found = api_by_name(name)
    if found is None:
        raise KeyError(name)
    return found.key


def label_of(api_key: int, version: int) -> str:
    """`Fetch v11`."""
    return f"{api_name(api_key) or api_key} v{version}"


def first(response: Response, *path: str) -> Any:
    """Return the first entry of lists within each other. Raises NoResponseError if a list is empty."""
    found = entry(response.body, *path)
    if found is None:
        where = label_of(response.api_key, response.version)
        raise NoResponseError(response, f"{where}: no entry in {'.'.join(path)}")
    return found


def entry(body: Any, *path: str) -> Any:
    """Return the first entry of lists within each other, None if a list is empty."""
    for name in path:
        items = getattr(body, name, None)
        if not items:
            return None
        body = items[0]
    return body


def is_flexible(api_key: int, version: int) -> bool:
    """Whether a version has tagged fields."""
    message = protocol_messages.request_message(api_key)
    return message is not None and message.is_flexible(version)
