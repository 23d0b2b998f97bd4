"""From a fault to a finding: whose bytes, which bytes, what came of it."""

from collections.abc import Mapping
from typing import NamedTuple

from kdissect.decoders.trees.tree_decoder import dissect
from kdissect.engine.secrets.shown_bytes import shown_bytes
from kdissect.model.finding import Finding, Location, Party, Who
from kdissect.model.frame import Frame
from kdissect.rules.findings import Key, key_from
from kdissect.rules.rule import REQUEST, RESPONSE, Rule, Violation
from kdissect.rules.views.body_view import Body, body_of
from kdissect.schema.error_codes import error_name
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange, State
from kdissect.session.info import ConnectionInfo

Labels = Mapping[str, str]
MILLISECOND_NS = 1_000_000
SHOWN_ERRORS = 3


def label_of(info: ConnectionInfo, who: Who, labels: Labels) -> str | None:
    """Return the user's name for an end. A label may name an address, a host, or the role."""
    if not labels:  # as mostly: addresses need no text then
        return None
    endpoint = info.client if who is Who.CLIENT else info.broker
    return labels.get(str(endpoint)) or labels.get(endpoint.host) or labels.get(who)


def party_of(info: ConnectionInfo, who: Who, labels: Labels) -> Party:
    """Return the client or broker of a connection."""
    label = label_of(info, who, labels)
    if who is Who.BROKER:  # brokers do not say what they are
        return Party(who, info.broker_text, label=label)
    return Party(who, info.client_text, info.software_name, info.software_version, info.client_id, label)


class Occurrence(NamedTuple):
    """A fault with the key that makes findings equal: in most cases that is enough (`FindingLog.repeats`)."""

    side: str
    party: Party
    key: Key
    time_ns: int


def occurrence_of(
    rule: Rule, fault: Violation, info: ConnectionInfo, exchange: Exchange | None, labels: Labels
) -> Occurrence:
    """Return the end at fault, and the key of the finding."""
    side = fault.side or _side_of(rule, fault, exchange)
    who = fault.who or rule.who or (Who.CLIENT if side == REQUEST else Who.BROKER)
    party = party_of(info, who, labels)
    where: tuple[int | None, int | None, str, str] = None, None, "", ""
    time_ns = info.start_ns
    if exchange is not None:
        frame = exchange.request if side == REQUEST else exchange.response
        path = "" if frame is None else _path(exchange, side, fault)
        where = exchange.api_key, exchange.api_version, side, path
        time_ns = 0 if frame is None else frame.time_ns
    key = key_from(rule.once, rule.code, rule.claim, party, where, fault.expected, fault.seen)
    return Occurrence(side, party, key, time_ns)


def finding_of(
    rule: Rule, fault: Violation, info: ConnectionInfo, exchange: Exchange | None, found: Occurrence
) -> Finding:
    """Return the finding that a fault makes."""
    place = place_of(info, exchange, found.side, fault)
    finding = Finding(
        rule.code, rule.name, rule.level, rule.claim, rule.effective_severity(), found.party, place,
        fault.expected, fault.seen, _consequence_of(exchange, found.party.role),
    )  # fmt: skip
    finding.earlier = fault.earlier
    finding.capture_set = info.capture_set
    return finding


def _side_of(rule: Rule, fault: Violation, exchange: Exchange | None) -> str:
    if exchange is None:
        return ""
    who = fault.who or rule.who
    if exchange.request is None:
        return RESPONSE
    return RESPONSE if who is Who.BROKER and exchange.response is not None else REQUEST


def place_of(info: ConnectionInfo, exchange: Exchange | None, side: str, fault: Violation) -> Location:
    """Return where a fault stands."""
    if exchange is None:
        return Location(info.id, -1, time_ns=info.start_ns)
    frame = exchange.request if side == REQUEST else exchange.response
    key = exchange.api_key
    place = Location(
        info.id, exchange.ordinal, None if key is None else api_name(key), key, exchange.api_version, side
    )
    if frame is None:
        return place
    start, end, path = _span(exchange, side, fault)
    if frame.logged is not None:  # its bytes were built from the log
        start = end = -1
    seen = shown_bytes(exchange, side, start, end) if start >= 0 else b""
    return place._replace(
        first_ref=frame.first_ref, last_ref=frame.last_ref, time_ns=frame.time_ns,
        start=start, end=end, bytes_seen=seen, path=path,
    )  # fmt: skip


def _path(exchange: Exchange, side: str, fault: Violation) -> str:
    """Return the field as decoders name it, from the name of the message on."""
    body = body_of(exchange, side) if fault.path else None
    return fault.path if body is None else f"{body.message.name}.{fault.path}"


def _span(exchange: Exchange, side: str, fault: Violation) -> tuple[int, int, str]:
    path = _path(exchange, side, fault)
    body = body_of(exchange, side) if fault.path and fault.start < 0 else None
    if body is None:
        return fault.start, fault.end, path
    try:
        node = dissect(body.message, body.version, body.data, body.offset).find(fault.path)
    except KeyError:  # a default that is not on the wire
        return body.offset, body.end, path
    return node.start, node.end, path


def _consequence_of(exchange: Exchange | None, who: Who) -> str:
    """Return the reaction of the other end.

    Only brokers respond. A client's use of a response is not visible.
    """
    if exchange is None or who is Who.BROKER or exchange.request is None:
        return ""
    if exchange.response is not None:
        errors = exchange.response_summary().errors
        if not errors and exchange.response.is_cut:
            return "answered: the answer was captured in part"
        if not errors:
            return "accepted: answered without an error code"
        names = [error_name(code) for code in errors[:SHOWN_ERRORS]]
        return f"answered with {', '.join(names)}"
    if exchange.state is State.NO_RESPONSE_EXPECTED:
        return "the request asks for no response"
    return _unanswered(exchange, exchange.request)


def _unanswered(exchange: Exchange, request: Frame) -> str:
    close = exchange.close
    if close is None or close.by is None:
        return "no answer in the capture"
    after = (close.time_ns - request.end_time_ns) / MILLISECOND_NS
    return f"the {close.by} closed the connection ({close.how}) after {after:.1f} ms, without an answer"


def has_no_error(body: Body) -> bool:
    """Return whether the exchange of a request body was answered without any error code."""
    response = body.exchange.response
    if response is None or response.is_cut:
        return False
    summary = body.exchange.response_summary()
    return summary.complete and not summary.errors
