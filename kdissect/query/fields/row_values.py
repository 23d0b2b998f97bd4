"""Field values of an exchange, taken from the exchange itself: most of them never become a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from kdissect.engine.exchange_bodies import body_of
from kdissect.engine.exchange_rows import has_anomalies, topic_id_text, union
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.frame import Frame
from kdissect.model.packets.packet import ref_file
from kdissect.query.binding import Binding
from kdissect.query.fields.field_sources import Cost, RowSource
from kdissect.query.fields.named import members
from kdissect.session.exchange import Exchange
from kdissect.session.identities import cluster_of

Get = Callable[[Exchange], Any]

ANOMALY_KINDS = members(AnomalyKind)
# Kinds of anomalies that exist only once bodies are decoded. Filters that name one of these decode bodies.
_OF_BODIES = (AnomalyKind.MALFORMED_BODY, AnomalyKind.TRAILING_BYTES, AnomalyKind.MALFORMED_PAYLOAD)


def plain(get: Get) -> Callable[[Binding], Get]:
    """Return a getter that needs only the exchange."""
    return lambda _: get


def guarded(side: str, get: Callable[[Frame], Any]) -> Get:
    """Return a getter of one side's frame, None if there is none."""
    if side == "request":
        return lambda e: None if e.request is None else get(e.request)
    return lambda e: None if e.response is None else get(e.response)


def logged(name: str) -> Get:
    """Return the value that the broker's request log has for an exchange under this name; None without a
    log.
    """

    def get(exchange: Exchange) -> Any:
        line = exchange.log_line
        return None if line is None else getattr(line, name)

    return get


def file_getter(side: str, first: bool) -> Callable[[Binding], Get]:
    """Return a getter of the file with the frame's first byte, or its last one if that file is different."""

    def make(binding: Binding) -> Get:
        names = binding.context.file_names

        def file(frame: Frame) -> str | None:
            begins, ends = ref_file(frame.first_ref), ref_file(frame.last_ref)
            index = begins if first else ends
            return names[index] if index < len(names) and (first or begins != ends) else None

        return guarded(side, file)

    return make


def whole(side: str, part: int) -> Callable[[Binding], Get]:
    """Return a getter of the decoded body (part 0) or the reason why there is none (1), as rows have them."""
    return plain(lambda e: body_of(e, side, show_secrets=False)[part])


def frame_bytes(side: str) -> Callable[[Binding], Get]:
    """Return a getter of one side's bytes on the wire, without secrets unless they are wanted."""

    def make(binding: Binding) -> Get:
        from kdissect.engine.secrets.shown_bytes import shown_frame  # start-up: few ask for bytes

        show_secrets = binding.context.show_secrets
        return lambda e: shown_frame(e, side, show_secrets)

    return make


def number(binding: Binding) -> Get:
    """Return a getter of the tested exchange's number (`Predicate.needs_all`)."""
    return lambda _: binding.number


def ends(e: Exchange) -> Sequence[Any]:
    """Return the client and broker."""
    return e.connection.client, e.connection.broker


# Facts about a process, in words.
PROCESS_PARTS = {
    "process": "the process", "pid": "its id", "pod": "its pod", "namespace": "its namespace",
    "container": "its container",
}  # fmt: skip


def processes(e: Exchange) -> Sequence[Any]:
    """Return the processes of either end."""
    return e.connection.processes


def known_ends(e: Exchange) -> Sequence[str]:
    """Return the ends whose processes are known."""
    return [end for end, _ in e.connection.processes_of() if end is not None]


def part_of_processes(part: str, role: str | None) -> Get:
    """Return a getter of one fact about the processes of an end, or of both."""
    get = attrgetter(part)

    def values(e: Exchange) -> Sequence[Any]:
        info = e.connection
        if not info.processes:
            return ()
        found = (get(process) for _, process in info.processes_of(role))
        return tuple(dict.fromkeys(value for value in found if value is not None))

    return values


def cluster(e: Exchange) -> str | None:
    """Return the id of the broker's cluster, as far as it is known by now."""
    return cluster_of(e.connection)


def software(e: Exchange) -> str | None:
    """Name and version that the client gave."""
    return e.connection.software


def time(e: Exchange) -> int | None:
    """Return the time of the request's first byte, or of the response alone."""
    frame = e.request or e.response
    return None if frame is None else frame.time_ns


def errors(e: Exchange) -> Sequence[int]:
    """Return error codes of the response, or NONE alone if it has none."""
    if e.response is None:
        return ()
    return e.response_summary().errors or (0,)


def has_errors(e: Exchange) -> bool:
    """Return whether the response has error codes."""
    return bool(e.response_summary().errors)


def topics(binding: Binding) -> Get:
    """Return names of topics, also of topic ids that are known."""
    topics_of = binding.context.topics_of
    return lambda e: topics_of(e, e.request_summary(), e.response_summary())


def topic_ids(e: Exchange) -> Sequence[str]:
    """Return the topic ids as Kafka prints them."""
    found = union(e.request_summary().topic_ids, e.response_summary().topic_ids)
    return tuple(map(topic_id_text, found))


def closed_by(e: Exchange) -> str | None:
    """Return the end that closed the connection of an unanswered request."""
    return e.close.by if e.close else None


def closed_after(e: Exchange) -> int | None:
    """Return nanoseconds from the request to that end."""
    if e.close is None:
        return None
    return e.close.time_ns - (e.request.end_time_ns if e.request is not None else e.close.time_ns)


def anomalies(e: Exchange) -> Sequence[Any]:
    """Return the anomalies of exchange and frames."""
    return e.all_anomalies() if has_anomalies(e) else ()


def kinds(e: Exchange) -> Sequence[str]:
    """Return their kinds."""
    return [str(anomaly.kind) for anomaly in anomalies(e)]


def details(e: Exchange) -> Sequence[str]:
    """Return their details."""
    return [anomaly.detail for anomaly in anomalies(e)]


def refined(kinds: tuple[str, ...]) -> RowSource | None:
    """Return the source for kinds that only decoded bodies have, or None."""
    if not any(kind in _OF_BODIES for kind in kinds):
        return None
    return RowSource("anomalies.kind", ANOMALY_KINDS, plain(_deep_kinds), is_many=True, cost=Cost.WHOLE_BODY)


def _deep_kinds(e: Exchange) -> Sequence[str]:
    """Return kinds of anomalies, including the bodies' anomalies."""
    asked, answered = (body_of(e, side, show_secrets=False).anomalies for side in ("request", "response"))
    return [str(anomaly.kind) for anomaly in (*anomalies(e), *asked, *answered)]
