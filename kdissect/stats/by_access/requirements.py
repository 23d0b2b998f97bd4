"""Operations that one exchange needed to be allowed, and their outcomes in the broker's response."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

from kdissect.decoders.generated.native_plan import FORGOTTEN
from kdissect.decoders.generated.summary import Summary
from kdissect.decoders.generated.values import Value, present, sent
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.stats.by_access.operations import CLUSTER_NAME, Alternative, Need, needs_of
from kdissect.stats.client import is_follower, text_of
from kdissect.stats.denials import (
    CLUSTER,
    DELEGATION_TOKEN,
    DENIALS,
    GROUP,
    TOPIC,
    TRANSACTIONAL_ID,
    Name,
    Resource,
    denied_resources,
    resources_with,
    topic_in,
)

USER = "User"
# In the order in which handlers check: a denial ends the request before what comes later is checked.
_ORDER = {TRANSACTIONAL_ID: 0, GROUP: 1, CLUSTER: 1, TOPIC: 2}
# Errors before any check (org.apache.kafka.common.protocol.Errors): ILLEGAL_SASL_STATE, UNSUPPORTED_VERSION,
# NOT_CONTROLLER, INVALID_REQUEST, SECURITY_DISABLED, REBOOTSTRAP_REQUIRED.
_UNCHECKED = frozenset({34, 35, 41, 42, 54, 129})
_UNKNOWN_TOPIC_ID = 100  # the broker has no name to check
ERRORS_OF_ONE = frozenset({*DENIALS, *_UNCHECKED, _UNKNOWN_TOPIC_ID})
"""Errors that a response may have for one of several resources."""
# Errors for a topic that is not there, or has no leader yet (org.apache.kafka.common.protocol.Errors).
_MISSING = frozenset({3, 5})


class Outcome(StrEnum):
    """Outcome of an operation in a response."""

    ALLOWED = "allowed"
    DENIED = "denied"
    UNANSWERED = "unanswered"  # no response, or one that cannot be read
    UNCHECKED = "unchecked"  # the broker refused the request before it checked this


class Access(NamedTuple):
    """An operation on a resource that one exchange needed."""

    operation: str
    resource: str
    name: Name
    outcome: Outcome
    alternatives: tuple[Alternative, ...]


def accesses_of(view: ExchangeView) -> list[Access]:
    """Return the operations on resources that an exchange needed. None for a request that cannot be read."""
    needs = needs_of(view.key)
    if not needs or view.request is None:
        return []
    denied = denied_resources(view)
    return list(dict.fromkeys(access for need in needs for access in _of_need(view, need, denied)))


def _of_need(view: ExchangeView, need: Need, denied: set[Resource]) -> Iterator[Access]:
    if view.version not in need.versions or not _applies(view, need, denied):
        return
    for name in _names(view, need.names):
        outcome = _outcome(view, need, name, denied)
        yield Access(need.operation, need.resource, name, outcome, need.alternatives)


def _applies(view: ExchangeView, need: Need, denied: set[Resource]) -> bool:
    if need.without is not None and sent(view.request, need.without) is not None:
        return False
    if need.condition == "denied":
        return any(kind == need.resource for kind, _ in denied)
    return not need.condition or (need.condition == "follower") == is_follower(view)


def _outcome(view: ExchangeView, need: Need, name: Name, denied: set[Resource]) -> Outcome:
    exchange = view.exchange
    if exchange.response is None or not exchange.response_summary().complete:
        return Outcome.UNANSWERED
    if need.names == "new_configs":
        return _of_configs(view, name)
    kind = DELEGATION_TOKEN if need.resource == USER else need.resource
    if (kind, name) in denied or (kind, None) in denied:
        return Outcome.DENIED
    order = _ORDER.get(kind, 0)
    if any(_ORDER.get(other, 0) < order for other, _ in denied):
        return Outcome.UNCHECKED
    unchecked = resources_with(view, _unchecked(kind))
    return Outcome.ALLOWED if unchecked.isdisjoint({(kind, name), (kind, None)}) else Outcome.UNCHECKED


@cache
def _unchecked(kind: str) -> Mapping[int, str]:
    """Return the errors after which a resource of this type was not checked."""
    return dict.fromkeys({*_UNCHECKED, *([_UNKNOWN_TOPIC_ID] if kind == TOPIC else [])}, kind)


def _names(view: ExchangeView, names: str) -> Iterable[Name]:
    kind, _, of_types = names.partition(":")
    special = _SPECIAL.get(kind)
    if special is not None:
        return special(view, frozenset(map(int, of_types.split(","))) if of_types else frozenset())
    body, path = view.request, names
    if names.startswith("answer."):
        body, path = view.response, names.removeprefix("answer.")
    return dict.fromkeys(_at(body, path.split(".")))


def _at(value: Any, path: list[str]) -> Iterator[Name]:
    if value is None:
        return
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _at(item, path)
    elif path:
        yield from _at(sent(value, path[0]), path[1:])
    elif value:  # Kafka refuses empty names before it asks
        yield text_of(value)


Types = frozenset[int]
Names = Callable[[ExchangeView, Types], Iterable[Name]]


def _cluster(_view: ExchangeView, _types: Types) -> Iterable[Name]:
    return (CLUSTER_NAME,)


def _topics(view: ExchangeView, _types: Types) -> Iterable[Name]:
    """Return the topics of a request. A Fetch in a session names changes: its response has further ones."""
    exchange, request = view.exchange, view.request
    # A summary is fast, and has the topics that leave a session, too.
    leaves = bool(sent(request, FORGOTTEN))
    found = dict.fromkeys(_topics_below(request) if leaves else _topics_in(exchange.request_summary()))
    if view.key in (apis.FETCH, apis.SHARE_FETCH):
        found |= dict.fromkeys(_topics_in(exchange.response_summary()))
    return found


def _topics_in(summary: Summary) -> Iterator[Name]:
    yield from filter(None, summary.topics)
    yield from summary.topic_ids


def _topics_below(value: Any) -> Iterator[Name]:
    if not isinstance(value, Value):
        return
    topic = topic_in(value)
    if topic:
        yield topic
    for field, name, held in present(value):
        if isinstance(held, Value):
            yield from _topics_below(held)
        elif isinstance(held, (list, tuple)) and name != FORGOTTEN:
            if field.entity == "topicName":
                yield from map(text_of, held)
            elif held and isinstance(held[0], Value):
                for item in held:
                    yield from _topics_below(item)


def _keys(view: ExchangeView, types: Types) -> Iterable[Name]:
    """Return the keys of a FindCoordinator, which are groups in version 0."""
    request = view.request
    if sent(request, "key_type", 0) not in types:
        return ()
    if 2 in types:  # coordinatorKeyType SHARE
        return (CLUSTER_NAME,)
    keys = sent(request, "coordinator_keys") or (sent(request, "key") or "",)
    return [text_of(key) for key in keys if key]


def _configs(view: ExchangeView, types: Types) -> Iterable[Name]:
    is_topic_or_group = types <= {2, 32}  # configResourceType TOPIC, GROUP. Others are of the cluster
    rows = [row for row in sent(view.request, "resources") or () if row.resource_type in types]
    return dict.fromkeys(text_of(row.resource_name) if is_topic_or_group else CLUSTER_NAME for row in rows)


def _new_configs(view: ExchangeView, _types: Types) -> Iterable[Name]:
    """Return created topics whose configs the broker returned or refused."""
    return [
        text_of(row.name)
        for row in sent(view.response, "topics") or ()
        if not row.error_code and (row.configs is not None or sent(row, "topic_config_error_code", 0))
    ]


def _of_configs(view: ExchangeView, name: Name) -> Outcome:
    rows = [row for row in view.response.topics if text_of(row.name) == name]
    is_refused = any(sent(row, "topic_config_error_code", 0) for row in rows)
    return Outcome.DENIED if is_refused else Outcome.ALLOWED


def _two_phase_commit(view: ExchangeView, _types: Types) -> Iterable[Name]:
    name = sent(view.request, "transactional_id")
    return (text_of(name),) if name and sent(view.request, "enable2_pc", False) else ()


def _token_owner(view: ExchangeView, _types: Types) -> Iterable[Name]:
    """Return the owner of a token that somebody else creates."""
    kind, name = sent(view.request, "owner_principal_type"), sent(view.request, "owner_principal_name")
    owner = f"{text_of(kind)}:{text_of(name)}" if kind and name else None
    return () if owner in (None, f"User:{view.info.principal}") else (owner,)


def _tokens(view: ExchangeView, _types: Types) -> Iterable[Name]:
    """Return described tokens that are neither owned, renewed nor created by the principal of the request."""
    principal = view.info.principal
    rows = sent(view.response, "tokens") or () if principal is not None else ()
    return [text_of(row.token_id) for row in rows if principal not in set(_holders(row))]


def _holders(row: Any) -> Iterator[str]:
    yield text_of(row.principal_name)
    yield text_of(sent(row, "token_requester_principal_name", ""))
    for renewer in row.renewers or ():
        yield text_of(renewer.principal_name)


_SPECIAL: dict[str, Names] = {
    "cluster": _cluster,
    "topics": _topics,
    "keys": _keys,
    "configs": _configs,
    "new_configs": _new_configs,
    "two_phase_commit": _two_phase_commit,
    "token_owner": _token_owner,
    "tokens": _tokens,
    "created": lambda _view, _types: (),  # one response does not show it: `AccessTraffic`
}


def may_lack_topics(view: ExchangeView) -> bool:
    """Return whether a response may have a topic that is missing."""
    return not _MISSING.isdisjoint(view.exchange.response_summary().errors)


def missing_topics(view: ExchangeView) -> tuple[list[str], list[str]]:
    """Return topics that a Metadata may have the broker create, and topics that its response has.

    Up to version 3 every Metadata allows it. A request that names no topics asks for all existing ones.
    """
    rows = sent(view.response, "topics") or ()
    may_create = bool(sent(view.request, "topics")) and sent(view.request, "allow_auto_topic_creation", True)
    named = [(text_of(row.name), row.error_code) for row in rows if row.name is not None]
    missing = [name for name, code in named if code in _MISSING and may_create]
    return missing, [name for name, code in named if not code]
