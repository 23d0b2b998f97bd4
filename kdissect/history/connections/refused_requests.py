"""Requests that a broker refuses again and again: by closing, or ApiVersions with UNSUPPORTED_VERSION.

Key: capture set, broker, host of the client. Order: that of completion. One close proves little: brokers shut
down, and lose the requests they received last. A client that comes back, asks the same and is refused again
meets a broker that is there. A refusal counts if it follows another one: on a connection that began soon
after the last refusal. Each refusal is the first request with its API and version on its connection. A
connection that answered such a request before is closed for another reason, such as an expired session or a
proxy in between. A connection between on which it was answered ends the row.
"""

from enum import StrEnum
from typing import ClassVar, NamedTuple

from kdissect.decoders.quirks import UNSUPPORTED_VERSION
from kdissect.history import api_keys as apis
from kdissect.history.connections.negotiated_versions import ranges_of
from kdissect.history.error_codes import NONE
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact
from kdissect.history.state_table import Table
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.wording import plural
from kdissect.session.exchange import Exchange, State
from kdissect.session.info import ConnectionInfo
from kdissect.session.sasl import ROUNDS

PROMPT_NS = 1_000_000_000  # a later close has causes of its own: shutdown, idle connections
SOON_NS = 60_000_000_000  # clients wait some seconds at most before they connect again
# A broker that shuts down leaves waiting requests unanswered, and also those that its shutdown causes. It is
# back after seconds at the earliest.
AT_ONCE_NS = 2_000_000_000
LEFT_AT_SHUTDOWN = frozenset(
    {
        apis.FETCH, apis.LEADER_AND_ISR, apis.STOP_REPLICA, apis.UPDATE_METADATA, apis.CONTROLLED_SHUTDOWN,
        apis.JOIN_GROUP, apis.SYNC_GROUP, apis.FETCH_SNAPSHOT, apis.SHARE_FETCH,
    }
)  # fmt: skip
AGAIN = 3  # refusals in a row that are reported
# Every listener answers these before a login.
PRELIMINARY = frozenset({apis.SASL_HANDSHAKE, apis.API_VERSIONS})
# A login fails by design. The others wait on purpose: a broker that shuts down leaves them. What an Envelope
# carries may be what the broker could not read.
WAITING = frozenset(
    {
        apis.SASL_AUTHENTICATE, apis.FETCH, apis.JOIN_GROUP, apis.SYNC_GROUP, apis.SHARE_FETCH,
        apis.FETCH_SNAPSHOT, apis.ENVELOPE,
    }
)  # fmt: skip
CONNECTIONS_KEPT = 20_000  # with the versions advertised on them, whose ranges are shared
CLIENTS_KEPT = 20_000  # hosts with a broker that refused one of their requests, with 500 bytes of state each
KINDS_KEPT = 16  # refused requests of such a host. A hostile one can name 2^32
_BROKER = "broker"
_FOREIGN = (AnomalyKind.FOREIGN_BYTES, AnomalyKind.TLS_ALERT)


class RefusalFact(StrEnum):
    """Facts about refused requests."""

    CLOSED_AGAIN = "closed_again"  # behind the same request as the last times
    # CLOSED_AGAIN, for an advertised request alone, after ApiVersions only
    CLOSED_BEFORE_LOGIN = "closed_before_login"
    # CLOSED_AGAIN, for an advertised request alone, and not for lack of a login
    ADVERTISED_CLOSED = "advertised_closed"
    VERSION_REFUSED_AGAIN = (
        "version_refused_again"  # ApiVersions in a version that was refused the last times
    )


class Refusals(NamedTuple):
    """How often one request was refused in a row, and when and where that was last.

    `alike` counts the last refusals in a row that happened in the same manner.
    """

    times: int
    last_ns: int
    by: Evidence
    how: RefusalFact
    alike: int


class RefusedRequests:
    """Refusals by broker and client, and there by API and version."""

    api_keys: ClassVar[frozenset[int] | None] = frozenset({apis.API_VERSIONS})

    def __init__(self) -> None:
        self._refused: Table[tuple[str, str, str], dict[tuple[int, int], Refusals]] = Table(CLIENTS_KEPT)
        self._advertised: Table[str, dict[int, tuple[int, int]]] = Table(CONNECTIONS_KEPT)
        """Ranges by API, as the last successful ApiVersions response of a connection has them."""

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next answer to ApiVersions."""
        error = getattr(view.response, "error_code", None)
        if error == NONE:
            self._advertised.put(view.info.id, ranges_of(view.response))
        if error == UNSUPPORTED_VERSION and view.version > 0:
            what = RefusalFact.VERSION_REFUSED_AGAIN
            return self._refuse(view, what, view.evidence.answered_ns, "UNSUPPORTED_VERSION")
        if len(self._refused):  # it asked in another version, or was answered
            for kind in [k for k in self._refused.peek(_key(view)) or () if k[0] == apis.API_VERSIONS]:
                del self._refused.get_or(_key(view), dict)[kind]
        return []

    def counts(self, info: ConnectionInfo) -> bool:
        """Return whether requests of the client were refused by the broker."""
        return bool(len(self._refused) and self._refused.peek(_key_of(info)))

    def begin(self, info: ConnectionInfo, ranges: dict[int, tuple[int, int]]) -> None:
        """Take the first offer on a connection, if no requests `counts`."""
        self._advertised.put(info.id, ranges)

    def close(self, view: ExchangeView) -> list[Fact]:
        """Take a request that waited, or was not to be answered, when its connection ended."""
        exchange = view.exchange
        if not is_refused_by_close(exchange) or (view.request is None and not exchange.is_unknown):
            return []  # bytes that do not fit are refused for that
        if any(view.info.anomaly_counts[kind] for kind in _FOREIGN):
            return []  # the broker answered in another protocol than the client speaks
        close = exchange.close
        if close is None:
            return []
        if not is_first_of_kind(exchange):
            self._refused.get_or(_key(view), dict).pop((view.key, view.version), None)
            return []
        return self._refuse(view, self._how(view), close.time_ns, close.how)

    def end(self, info: ConnectionInfo) -> None:
        """Take a connection that is over: what was answered on it is not refused in a row."""
        self._advertised.pop(info.id)
        known = self._refused.peek(_key_of(info)) if len(self._refused) else None
        if not known or info.unanswered or info.incomplete or info.no_response_expected:
            return
        for kind in [kind for kind in info.api_versions_seen if kind in known]:
            if kind[0] != apis.API_VERSIONS and info.start_ns > known[kind].last_ns:
                del known[kind]

    def _how(self, view: ExchangeView) -> RefusalFact:
        """Return the fact that a connection shows of a closed request: whether it is advertised and waited
        alone.
        """
        low, high = (self._advertised.peek(view.info.id) or {}).get(view.key, (0, -1))
        is_alone = (
            view.request is not None
            and view.exchange.state is State.UNANSWERED
            and view.exchange.ordinal == view.info.complete
        )
        if not is_alone or not low <= view.version <= high or view.key in WAITING:
            return RefusalFact.CLOSED_AGAIN
        kinds = list(view.info.api_versions_seen)
        before = {key for key, _ in kinds[: kinds.index((view.key, view.version))]}
        if view.key in PRELIMINARY or before - PRELIMINARY - {apis.SASL_AUTHENTICATE}:
            return RefusalFact.ADVERTISED_CLOSED
        is_before_login = before <= {apis.API_VERSIONS} and view.info.mechanism is None
        return RefusalFact.CLOSED_BEFORE_LOGIN if is_before_login else RefusalFact.CLOSED_AGAIN

    def _refuse(self, view: ExchangeView, how: RefusalFact, now_ns: int, seen: str) -> list[Fact]:
        known, kind = self._refused.get_or(_key(view), dict), (view.key, view.version)
        before, times = known.get(kind), 1
        began_ns = view.info.start_ns
        if before is not None:
            if began_ns <= before.last_ns:
                return []  # of one time with the last one, which may have one cause
            soon_ns = AT_ONCE_NS if view.key in LEFT_AT_SHUTDOWN else SOON_NS
            times = before.times + 1 if began_ns - before.last_ns <= soon_ns else 1
        elif len(known) >= KINDS_KEPT:
            del known[next(iter(known))]
        alike = 1 + (before.alike if before is not None and times > 1 and before.how is how else 0)
        known[kind] = Refusals(times, now_ns, view.evidence, how, alike)
        if times < AGAIN or before is None:
            return []
        what = how
        if alike >= AGAIN:
            times = alike
        elif how is not RefusalFact.VERSION_REFUSED_AGAIN:
            what = RefusalFact.CLOSED_AGAIN
        detail = f"{plural(times, 'time')} in a row, each on a connection of its own"
        return [view.fact(what, kind, sure=view.is_whole, seen=str(seen), earlier=before.by, detail=detail)]


def is_first_of_kind(exchange: Exchange) -> bool:
    """Return whether a request is known to be the first one of its API and version on its connection.

    It is if each request before it was of another kind, but for the rounds of a login.
    """
    info = exchange.connection
    kinds = list(info.api_versions_seen)
    pair = exchange.api_key, exchange.api_version
    if pair not in kinds:
        return False
    before = [key for key, _ in kinds[: kinds.index(pair)]]
    if apis.SASL_HANDSHAKE not in before:
        return exchange.ordinal == len(before)
    rounds = ROUNDS.get(info.mechanism or "")
    return rounds is not None and exchange.ordinal == len(before) + rounds - (
        apis.SASL_AUTHENTICATE in before
    )


def promptly_closed_ns(exchange: Exchange) -> int | None:
    """Return the time from a request to the broker's close right after it; None if there was no such close.

    A broker that may have refused a PROXY protocol header says nothing about the request.
    """
    close, request = exchange.close, exchange.request
    if close is None or close.by != _BROKER or request is None or exchange.connection.is_unheard_after_proxy:
        return None
    after_ns = close.time_ns - request.end_time_ns
    return after_ns if after_ns <= PROMPT_NS else None


def is_refused_by_close(exchange: Exchange) -> bool:
    """Return whether the broker closed right after a request, and did not answer it."""
    if exchange.response is not None or exchange.api_key is None or promptly_closed_ns(exchange) is None:
        return False
    return not any(anomaly.kind is AnomalyKind.MALFORMED_HEADER for anomaly in exchange.anomalies or ())


def _key(view: ExchangeView) -> tuple[str, str, str]:
    return _key_of(view.info)


def _key_of(info: ConnectionInfo) -> tuple[str, str, str]:
    return info.capture_set, info.broker_address, info.client.host
