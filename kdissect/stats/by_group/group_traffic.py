"""Groups of every kind: members, generations or epochs, rebalances with their causes, lag.

The state machines come from `history` (`classic_groups`, `modern_groups`). This module logs their facts, so
that it can also show former members.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kdissect.decoders.generated.values import sent
from kdissect.engine.transfer_rows import transfer_rows
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Fact, GroupKey
from kdissect.history.groups.classic_groups import ClassicGroups
from kdissect.history.groups.classic_steps import ClassicFact
from kdissect.history.groups.group_payloads import assigned_partitions, connect_tasks
from kdissect.history.groups.modern_group import Holding
from kdissect.history.groups.modern_groups import ModernFact, ModernGroups
from kdissect.history.member_rows import member_rows
from kdissect.history.sessions.share_deliveries import ShareDeliveries
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.native import is_compiled, native
from kdissect.schema.error_codes import error_name
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_group.group_links import (
    GroupLinks,
    client_key,
    groups_named,
    names_groups,
)
from kdissect.stats.by_group.group_log import Assigned, GroupLog
from kdissect.stats.by_group.lent_logs import BEATS, MOST_LENT, LentLogs, are_lent
from kdissect.stats.by_group.positions import GoesBack, Positions, name_of
from kdissect.stats.by_group.streams_log import StreamsLog
from kdissect.stats.by_offset.deleted_commits import DELETING
from kdissect.stats.client import advertised, client_of, text_of
from kdissect.stats.leaders import Leaders
from kdissect.stats.transfers import Way, way_past

GROUPS_KEPT = 2_000  # 2 KB each, and 1 KB a member
_COMMITS = frozenset({apis.OFFSET_COMMIT, apis.TXN_OFFSET_COMMIT})
_SHOW_ENDS = frozenset({apis.PRODUCE, apis.LIST_OFFSETS})
_DELETES = DELETING | {apis.DELETE_TOPICS}
_GROUP_AUTHORIZATION_FAILED = 30  # org.apache.kafka.common.protocol.Errors
_GROUP_COORDINATOR = 0  # key_type of FindCoordinator: 1 is for transactions, 2 for share partitions
_LEFT = (ClassicFact.LEFT, ModernFact.LEFT)
_MEMBERS_ASK = frozenset(
    {apis.JOIN_GROUP, apis.SYNC_GROUP, apis.LEAVE_GROUP, apis.OFFSET_COMMIT, *BEATS}
)  # requests of members, whose failure is one of the group
# Steps of joining, not failures: KIP-394.
_STEPS = frozenset({"MEMBER_ID_REQUIRED"})
_FENCED = (ClassicFact.FENCED, ModernFact.FENCED)
_ASSIGNED = (ClassicFact.ASSIGNED, ModernFact.ASSIGNED)
_REFUSED = (ClassicFact.REFUSED, ModernFact.REFUSED)
_JOINED = (ClassicFact.JOINED, ModernFact.JOINED)


class GroupTraffic:
    """Groups by capture set and id."""

    _goes_back: GoesBack | None = None
    """Whether offsets that a group commits in a block are to be added as exchanges."""

    def __init__(self, names: TopicNames, *, watches_refetches: bool = False) -> None:
        self.names = names
        self.classic = ClassicGroups()
        self.modern = ModernGroups()
        self.shares = ShareDeliveries()
        self.positions = Positions(names, watches_refetches=watches_refetches)
        self.leaders = Leaders()
        self.links = GroupLinks()
        self._wanted = True
        self._is_filtered = False
        """Whether there was an unwanted exchange."""
        self.logs: Table[GroupKey, GroupLog] = Table(GROUPS_KEPT)
        """As they are after `catch_up`, and so are the machines."""
        self._lent = self._lending()

    def _lending(self) -> LentLogs | None:
        if not is_compiled:
            return None
        return LentLogs(self.logs, self.links, self.classic, self.modern, self.shares)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state, with the native engine's facts. The engine begins again elsewhere, if it is in
        use.
        """
        self.catch_up()
        return vars(self) | {"_lent": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lent = self._lending()

    def add(self, exchange: Exchange, wanted: bool = True) -> None:
        """Take the next exchange, in the order in which the analyzer reports them.

        Only groups of a wanted exchange are reported.
        """
        self._wanted = wanted
        self._is_filtered |= not wanted
        self.names.pass_by(exchange)
        self.leaders.see(exchange.connection)
        key = exchange.api_key
        if key in _DELETES:
            self.positions.learn_deleted(ExchangeView(exchange))
        if key == apis.FETCH:
            self.positions.learn_fetch(exchange)
        elif key in _SHOW_ENDS:
            self.positions.learn_ends(exchange)
        elif key is not None and _is_watched(key):
            self._take(ExchangeView(exchange))
            return
        if wanted and self._is_filtered:
            self._want_groups_of_client(ExchangeView(exchange))

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Take exchanges of a block that are all wanted, from `start`. Return the next one that is for
        `add`.
        """
        lent = self._lent
        if self._is_filtered or lent is None:
            return start
        done = self.positions.learn_block(block, start, self._way_of, self._see, (lent.rows, self._goes_back))
        if len(lent.rows) > MOST_LENT:
            lent.take()
        return done

    def _way_of(self, api_key: int, version: int) -> Way:
        """Return the way to take Fetches, Produces and requests that name a group, if the version is known.
        Skip exchanges that are about no group.
        """
        if api_key == apis.LIST_OFFSETS or api_key in _DELETES:
            return False
        if api_key in (apis.FETCH, apis.PRODUCE):
            return transfer_rows(api_key, version) or False
        if not _is_watched(api_key):
            return way_past(self.names, api_key)
        return (are_lent(api_key) and member_rows(api_key, version)) or False

    def _see(self, info: ConnectionInfo) -> bool:
        if info.same_as is not None:
            return False
        self.leaders.see(info)
        return True

    def catch_up(self) -> None:
        """Have everything known that was learned from blocks."""
        self.positions.catch_up()
        if self._lent is not None:
            self._lent.take()

    def _take(self, view: ExchangeView) -> None:
        if self._lent is not None:
            self._lent.take()
        if view.key in _COMMITS:
            self.positions.learn_commit(view)
        self.links.learn(view)
        is_search = view.key == apis.FIND_COORDINATOR
        named = _searched(view) if is_search else groups_named(view)
        self._named(view, named)
        if is_search and named:
            self._coordinators(view)
        if view.key in BEATS and view.request is not None:
            self._beat(view)
        if view.key in _MEMBERS_ASK:
            self._fail(view, named)
        self._feed(view)
        if self._wanted and not named:
            self._want_groups_of_client(view)

    def _feed(self, view: ExchangeView) -> None:
        """Have the state machines take an exchange, and log their facts."""
        if view.key in self.shares.api_keys:
            self.shares.feed(view)
        for machine in (self.classic, self.modern):
            if view.key in (machine.api_keys or ()):
                facts = machine.feed(view)
                for fact in facts:
                    self._apply(view, fact)
                if self._lent is not None and machine is self.modern and not facts:
                    self._lent.note(view.exchange)

    def _want_groups_of_client(self, view: ExchangeView) -> None:
        """Mark the groups of an exchange's client as wanted, for an exchange that names no group, as
        Fetch.
        """
        for group in self.links.of_client(client_key(view)):
            log = self.logs.peek((view.info.scope, group))
            if log is not None:
                log.is_wanted = True

    def _log(self, view: ExchangeView, group: str) -> GroupLog:
        log = self.logs.get_or((view.info.scope, group), lambda: GroupLog(view.info))
        log.is_wanted |= self._wanted
        return log

    def _named(self, view: ExchangeView, groups: tuple[str, ...]) -> None:
        api = api_name(view.key) or str(view.key)
        is_denied = (
            _GROUP_AUTHORIZATION_FAILED in view.exchange.response_summary().errors if groups else False
        )
        for group in groups:
            log = self._log(view, group)
            log.named(view.exchange.client_id, api)
            if is_denied:
                log.deny(client_of(view), api)

    def _coordinators(self, view: ExchangeView) -> None:
        """Note the addresses of the requested coordinators."""
        request, answer = view.request, view.response
        rows = sent(answer, "coordinators", None)
        if rows is None and answer is not None:
            rows = [answer]
        for row in rows or ():
            if not row.error_code:
                key = sent(row, "key", None)
                group = text_of(request.key if key is None else key)
                self._log(view, group).coordinator = advertised(row)

    def _beat(self, view: ExchangeView) -> None:
        member_id = text_of(view.request.member_id or sent(view.response, "member_id", None) or "")
        member = self._log(view, text_of(view.request.group_id)).member(member_id)
        member.beat(view.sent_ns)
        member.connection = view.info.id
        if view.response is not None and not view.response.error_code:
            member.accept()
        if member.client is None:
            member.client, member.link = client_of(view), client_key(view)
        if view.key == apis.STREAMS_GROUP_HEARTBEAT:
            member.streams = member.streams or StreamsLog()
            if view.losses > member.streams.losses:
                member.held = None  # the lost response may have had others
            member.streams.losses = view.losses
            member.streams.beat(view)

    def _fail(self, view: ExchangeView, groups: tuple[str, ...]) -> None:
        """Keep what a member was refused for, with its rhythm."""
        for error in view.exchange.response_summary().errors:
            name = error_name(error)
            if name not in _STEPS:
                for group in groups:
                    api = api_name(view.key) or str(view.key)
                    self._log(view, group).fail(api, name, client_of(view), view.sent_ns)

    def _apply(self, view: ExchangeView, fact: Fact) -> None:
        """Write a fact of a state machine into the group's log."""
        log, time_ns = self._log(view, fact.key[1]), view.evidence.answered_ns or view.sent_ns
        if fact.kind is ModernFact.JOINED or fact.kind is ModernFact.EPOCH_GIVEN:
            log.member(fact.detail).epoch = fact.seen
        if fact.kind in _JOINED:
            self._joined(view, log, fact, time_ns)
        elif fact.kind in _ASSIGNED:
            log.member(fact.detail).held = self._held(view, fact.seen)
        elif fact.kind in _LEFT:
            classic = fact.kind is ClassicFact.LEFT
            member = log.member(text_of(fact.seen if classic else fact.detail))
            member.gone("left", time_ns, fact.detail if classic else "")
        elif fact.kind in _REFUSED:
            log.errors[error_name(fact.seen)] += 1
        elif fact.kind in _FENCED:
            log.errors[error_name(fact.seen)] += 1
            log.member(fact.detail).gone("fenced", time_ns)

    def _joined(self, view: ExchangeView, log: GroupLog, fact: Fact, time_ns: int) -> None:
        """Note a member that joined. In classic groups the present members do so again at each rebalance."""
        request = view.request
        member = log.member(text_of(fact.seen if fact.kind is ClassicFact.JOINED else fact.detail))
        instance_id = sent(request, "group_instance_id", None) or sent(request, "instance_id", None)
        member.instance_id = None if instance_id is None else text_of(instance_id)
        member.client, member.link = client_of(view), client_key(view)
        is_new = member.joined_ns is None or member.how is not None
        former = log.replace(member, view.info.id, time_ns)
        if former is not None and is_new:
            log.rejoin(former, member.client, view.sent_ns)
        member.back(time_ns)

    def _held(self, view: ExchangeView, given: Any) -> list[Assigned] | None:
        """Return the assignment of a member."""
        return _of_classic(given) if isinstance(given, bytes) else self.assigned(view.info, given)

    def assigned(self, info: ConnectionInfo, given: Iterable[Holding]) -> list[Assigned]:
        """Return partitions or tasks of newer groups; `info` is a connection to their cluster."""
        named = sorted((name_of(self.names, info, row[0]), row[1]) for row in given if len(row) == 2)
        tasks = sorted(row for row in given if len(row) == 3)  # of a streams group
        return [
            *named,
            *(f"{role} {subtopology}_{partition}" for role, subtopology, partition in tasks),
        ]


def _is_watched(api_key: int) -> bool:
    """Return whether exchanges of an API are read: if it is about groups, or names their coordinator."""
    return api_key == apis.FIND_COORDINATOR or names_groups(api_key)


def _searched(view: ExchangeView) -> tuple[str, ...]:
    """Return the groups whose coordinator a FindCoordinator asks for."""
    request = view.request
    if request is None or sent(request, "key_type", _GROUP_COORDINATOR) != _GROUP_COORDINATOR:
        return ()
    asked = sent(request, "coordinator_keys", None)
    return tuple(map(text_of, (request.key,) if asked is None else asked))


def _of_classic(given: bytes) -> list[Assigned] | None:
    """Return partitions, or what a Connect worker runs; None for bytes of another form."""
    partitions = assigned_partitions(given)
    if partitions is not None:
        return sorted(partitions)
    tasks = connect_tasks(given)
    return None if tasks is None else sorted(tasks)
