"""Blocks of exchanges, judged by rows.

A row that no rule needs, and about which the histories' machines have no facts, is counted without becoming
an object. The compiled part looks at the rows (native/src/judging). Native builds only: all other exchanges
are for `Judge.add`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import Any

from kdissect.decoders.body_schemas import known_body
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.engine.records.compiled_records import BATCH_QUESTIONS
from kdissect.engine.transfer_rows import transfer_rows
from kdissect.history.fact import Fact
from kdissect.history.groups.lent_members import LentMembers
from kdissect.history.groups.modern_groups import ModernGroups
from kdissect.history.groups.repeated_heartbeats import RepeatedHeartbeats
from kdissect.history.history import History
from kdissect.history.lent_connections import LentConnections
from kdissect.history.member_rows import MemberRows, member_rows
from kdissect.history.producing.lent_sequences import LentSequences
from kdissect.history.producing.stored_batches import StoredTable
from kdissect.history.sessions.lent_sessions import LentSessions
from kdissect.model.native import native
from kdissect.rules.finding_evidence import Occurrence
from kdissect.rules.guards import Guard, Other
from kdissect.rules.judging.batch_judge import (
    LOG_TOPICS,
    BatchJudge,
    CarriageRow,
    carries_batches,
    has_topic_names,
    tells_own_topics,
)
from kdissect.rules.judging.body_kind import BodyPair
from kdissect.rules.judging.judged_connection import JudgedConnection
from kdissect.rules.judging.repeated_answers import Kind, ToldAgain
from kdissect.rules.judging.repeated_offers import RepeatedOffers
from kdissect.rules.judging.rule_index import Subjects
from kdissect.rules.judging.shown_bodies import BodyFault
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, RESPONSE
from kdissect.rules.run_coverage.coverage import Coverage
from kdissect.rules.run_coverage.rule_coverage import Exercise
from kdissect.rules.views.connection_view import API_VERSIONS, MOST_NS, AtRest, ConnectionView, Earlier
from kdissect.rules.views.kept_exchanges import RecentExchanges
from kdissect.schema.logs import METADATA_TOPIC, METADATA_TOPIC_ID
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.sketches.distribution import DistributionRow, bin_multiplier

_MOST_LENT = 1 << 12
"""Sequences, sessions and their partitions, or members, that may wait after a block: some MB."""
_HEARTBEATS = ModernGroups.api_keys or frozenset()
_TRANSFERS = (0, 1)  # Produce and Fetch (org.apache.kafka.common.protocol.ApiKeys)
LentRow = tuple[
    JudgedConnection, Exercise, str | None, int, int, list[tuple[Earlier, int]],
    dict[int, tuple[int, int]] | None, frozenset[str], int, int, dict[int, tuple[int, int]] | None,
]  # fmt: skip
"""A connection, what counts for its software, what `ConnectionView.lend` and `History.lend` give."""
_Asks = tuple[
    "native.Sequences | None", bool, "native.Sessions | None",
    Callable[[ConnectionInfo, int, int], bool] | None,
    tuple["native.LentMembers", "native.Layout", list[str]] | None, "native.StoredBatches | None",
    list[Callable[[ConnectionInfo, str | bytes, int, int, int], bool]],
    tuple[MemberRows, list[Callable[[ConnectionInfo, str, str, int, "native.EvidenceRow"], bool]]] | None,
]  # fmt: skip
_Again = Callable[[ConnectionInfo, Kind, tuple[bytes, bytes], "native.EvidenceRow", str | None], bool]
PlanRow = tuple[
    "native.Guards",
    CarriageRow | None,
    tuple["native.PartitionRows", "native.PartitionRows"] | None,
    _Asks,
    _Again | None,
    int,
    int,
    int,
    bool,
]
"""The guards of bodies, how batches are looked at, bodies as rows by partition, what machines ask, what takes
exchanges that come again, marks of rules that never speak of such bodies, marks that `_show` follows, marks
that each stand for one fault, and whether rules or machines need all exchanges as objects.
"""
CountTimes = Callable[[int, int], None]
"""Counts findings: how many, and the time of the last one."""
TakenBack = tuple[
    JudgedConnection, list[Exchange], Earlier, tuple[int, int, int | None], tuple[int, bool],
    list[Earlier], int,
]  # fmt: skip
"""A connection, what `ConnectionView.take_back` takes, the ordinal that is due next."""


class UnmarkedRows:
    """`take(block, start)` passes rows for a judge, whose parts these are, and returns the first row that
    stays.

    A connection stays native-owned after a block. `give_back(info)` before anybody looks at it.
    """

    def __init__(
        self,
        views: dict[str, JudgedConnection],
        subjects: Subjects,
        history: History,
        batches: BatchJudge,
        coverage: Coverage,
        recent: RecentExchanges[ConnectionView],
        offers: RepeatedOffers,
        passes: Callable[[list[Fact], Exchange], bool],
        repeats: Callable[[Exchange, ConnectionView, Sequence[BodyFault]], list[Occurrence] | None],
        count: Callable[[Exchange, Iterable[Occurrence]], None],
        repeated: Callable[
            [ConnectionView, Iterable[BodyRule], tuple[int, int]], tuple[int, CountTimes] | None
        ],
    ) -> None:
        self._views = views
        self._subjects = subjects
        self._history = history
        self._batches = batches
        self._coverage = coverage
        self._recent = recent
        self._passes = passes
        self._repeats, self._count, self._repeated = repeats, count, repeated
        self._offers = offers
        self._again = ToldAgain()
        self._heartbeats = RepeatedHeartbeats(history.modern_groups)
        self._sequences = LentSequences(history.producers, LentConnections())
        self._sessions = LentSessions(history.fetch_sessions, LentConnections())
        self._members = LentMembers(history.classic_groups)
        limits, gzip, lz4, zstd, decompress, _ = BATCH_QUESTIONS
        self._rows = native.UnmarkedRows(
            (
                self._lend, self._are_lent, self._take_back, self._plan_of, self._codes_of, self._pair_of,
                self._settle, self._show, self._begin, self._repeated_by, AtRest, AtRest.of,
            ),
            (METADATA_TOPIC.encode(), METADATA_TOPIC_ID),
            (LOG_TOPICS, batches.is_own_topic, batches.name_changes),
            (limits, gzip, lz4, zstd, decompress),
            bin_multiplier(),
        )  # fmt: skip
        self.give_back = self._rows.give_back
        self.forget = self._rows.forget
        """Forget a connection that is over: nobody looks at its exchanges."""

    def take(self, block: native.ExchangeBlock, start: int) -> int:
        """Pass rows of a block from one on, and return the number of the first one that stays, or the block's
        length.
        """
        done, turn, spoke = self._rows.take(block, start, self._recent.turns())
        self._recent.go_on(turn, spoke)
        for lent in self._sequences, self._sessions, self._members:
            if len(lent.rows) > _MOST_LENT:
                lent.take()
        return done

    def rest(self, views: Iterable[ConnectionView], turn: int) -> list[int]:
        """See `RecentExchanges`."""
        return self._rows.rest([view.info for view in views], turn)

    def finish(self) -> None:
        """Give everything back, and count what passed."""
        self._rows.give_back_all()
        self._rows.settle()
        self._sequences.take()
        self._sessions.take()
        self._members.take()

    def note(self, exchange: Exchange) -> None:
        """Note an exchange of which no rule spoke."""
        if exchange.api_key == API_VERSIONS:
            self._offers.note(exchange)
        else:
            self._again.note(exchange)

    def _begin(
        self, info: ConnectionInfo, kind: Kind, bodies: tuple[bytes, bytes], row: native.EvidenceRow,
        client_id: str | None, facts: int,
    ) -> tuple[LentRow, int] | None:  # fmt: skip
        """Judge the first exchange of a connection, if it is known by its bodies, and return the state before
        it and the marks of its bodies. None: it must be added.
        """
        if info.same_as is not None or info.id in self._views:
            return None
        offer = self._offers.find(info, kind, facts, bodies)
        exercise = self._coverage.exercises.at(info)
        pair = None if offer is None else self._pair_of(exercise, *kind, True, offer.marks)
        if offer is None or pair is None or row[5] <= pair[1]:
            return None
        view = self._offers.begin(info, offer, row)
        view.exercise, view.software = exercise, (info.software_name, info.software_version)
        due = self._history.lend(info)
        assert due is not None  # it began with an offer alone
        return (view, exercise, *view.lend_new(client_id), *due), offer.marks

    def _lend(self, info: ConnectionInfo) -> LentRow | bool:
        """Return the state of a connection.

        False if its exchanges must be added, True if none of its exchanges counts.
        """
        if info.same_as is not None:
            return True
        view = self._views.get(info.id)
        lent = None if view is None else view.lend()
        due = None if lent is None else self._history.lend(info)
        if view is None or lent is None or due is None:
            return False
        exercise = view.exercise
        if exercise is None or view.software != (info.software_name, info.software_version):
            exercise = view.exercise = self._coverage.exercises.at(info)
            view.software = info.software_name, info.software_version
        return view, exercise, *lent, *due

    def _are_lent(self, views: list[JudgedConnection]) -> list[bool]:
        """Return whether rows of native-owned connections continue to pass as before."""
        # Hot, once a block for each of its connections.
        infos = [view.info for view in views]
        return [
            lends and view.software == (info.software_name, info.software_version)
            for view, info, lends in zip(views, infos, self._history.lends_each(infos), strict=True)
        ]

    def _plan_of(self, api_key: int, version: int) -> PlanRow | None:
        """Return the plan for exchanges of a kind; None if they must be added."""
        if api_key == API_VERSIONS or self._subjects.open_node_rules:
            return None
        request, response = known_body(api_key, version, False), known_body(api_key, version, True)
        asks = self._history.row_asks(api_key, version)
        if request is None or response is None or asks is None:
            return None
        shown = self._subjects.shown_of((api_key, version, version))
        again: _Again | None = None
        if asks.heartbeats is not None:
            again = self._heartbeats.take
        elif self._again.watch((api_key, version), asks.again):
            again = self._again.take
        carriage = None
        if self._batches.has_rules and api_key in _TRANSFERS:
            carriage = self._batches.carriage(api_key, version)
            if carriage is None:
                return None
        rows = transfer_rows(api_key, version) if api_key in _TRANSFERS else None
        members = None
        if asks.member_fields is not None:
            members = self._members.rows, native_layout(request, version)[0], list(asks.member_fields)
        guards, bits = shown.guards.with_others(map(_is_set, (*asks.zeros, *asks.fed_unless_zero)))
        added, fed = (reduce(or_, some, 0) for some in (bits[: len(asks.zeros)], bits[len(asks.zeros) :]))
        of_machines = fed & ~(shown.guards.bits[True] | shown.guards.shared_bits)
        sequences = self._sequences.rows if asks.asks_sequences else None
        sessions = self._sessions.rows if asks.asks_sessions else None
        table = self._history.stored_batches.table if asks.asks_stored else None
        stored = None if isinstance(table, StoredTable) else table
        idle, requests = None, member_rows(api_key, version)
        if asks.idle is not None and requests is not None and shown.is_guarded and not asks.is_fed:
            idle = requests, list(asks.idle)
        numbers = sequences, asks.is_transactional, sessions, asks.knows_epoch
        stated = *numbers, members, stored, list(asks.leaders), idle
        has_open_batches = self._batches.has_rules and carriage is None and _has_batches(api_key)
        is_shown = asks.is_fed or not shown.is_guarded or has_open_batches
        marks = shown.silent, (shown.checkable | of_machines) & ~added, shown.exact & ~(added | fed)
        return guards, carriage, rows, stated, None if asks.is_fed else again, *marks, is_shown

    def _show(
        self, exchange: Exchange, marks: int, is_shown: bool, has_marked: bool, is_noted: bool
    ) -> int | None:
        """Show a row to the rules whose guards it `marks`, to rules without a guard, if the plan `is_shown`,
        to the rules about batches, if it `has_marked` ones, and to the machines that watch its API.

        `is_noted`: a rule about exchanges marks it. Return the number of its batches, if its findings only
        increase counts, and it has no facts for rules; None if it must be added.
        """
        # Hot, once for each row that is not passed by its values alone.
        asked, answered = exchange.bodies()
        request, response, batches = exchange.request, exchange.response, 0
        if asked is None or request is None or (answered is None and response is not None):
            return None
        faults: list[BodyFault] | None = []
        repeated: list[Occurrence] | None = []
        if marks or is_shown:
            api_key, version = exchange.api_key or 0, asked.version
            faults = self._subjects.shown_of((api_key, version, version)).faults(exchange, marks)
            if faults:
                repeated = self._repeats(exchange, self._views[exchange.connection.id], faults)
            is_added = faults is None or repeated is None
            found = None if is_added else self._batches_in(exchange, asked.value)
            if found is None:
                return None
            batches = found
        if has_marked and self._batches.finds(exchange):
            return None
        if not self._history.take_row(exchange, self._passes):
            return None
        if faults or is_noted:
            self._count(exchange, repeated or ())
        elif exchange.api_key in _HEARTBEATS:
            self._heartbeats.note(exchange)
        elif response is not None:
            self._again.note(exchange)
        return batches

    def _repeated_by(
        self, view: JudgedConnection, api_key: int, version: int, marks: int
    ) -> tuple[int, CountTimes] | None:
        """Return what counts the faults of rows with these marks, each of which stands for one fault, and the
        time of the response after which they only increase counts. None: such rows must be shown.
        """
        rules = self._subjects.shown_of((api_key, version, version)).rules(marks)
        return self._repeated(view, rules, (api_key, version))

    def _batches_in(self, exchange: Exchange, asked: Any) -> int | None:
        """Return the number of batches that the native engine does not count; None if a rule needs one, or
        learns names of topics.
        """
        api_key = exchange.api_key or 0
        if has_topic_names(api_key):
            frames = exchange.request, exchange.response
            return None if any(frame and tells_own_topics(frame.data) for frame in frames) else 0
        return (
            0 if api_key in _TRANSFERS or not _has_batches(api_key) else self._batches.passes(exchange, asked)
        )

    def _codes_of(self, api_key: int, version: int, facts: int) -> tuple[list[str], bool]:
        """Return the rules about exchanges that receive one with these facts, and whether others mark it."""
        rules = self._subjects.exchange_rules_for(api_key, version, facts)
        codes = [rule.code for rule in rules if not rule.only_marks(api_key)]
        return codes, len(codes) < len(rules)

    def _pair_of(
        self, exercise: Exercise, api_key: int, version: int, is_answered: bool, marks: int
    ) -> tuple[BodyPair, int, bool] | None:
        """Return the counts for bodies of a kind; None as long as one of them was not seen."""
        key = api_key, version, is_answered, marks
        pair = exercise.pairs.get(key) or self._subjects.body_pair(key, exercise, self._coverage)
        return None if pair is None else (pair, min(pair.first_ns, MOST_NS), pair.is_watched)

    def _take_back(
        self, large: list[tuple[JudgedConnection, Exchange]], connections: list[TakenBack]
    ) -> None:
        """Take the results of passed rows: large exchanges in their order, and states of connections, in the
        order of their last activity.
        """
        light: dict[int, Earlier] = {id(exchange): view.keep_large(exchange) for view, exchange in large}
        for view, recent, last, numbers, spoke, waiting, due in connections:
            still = [light.get(id(one), one) for one in waiting] if light else waiting
            view.take_back(recent, light.get(id(last), last), numbers, spoke, still)
            self._history.take_back(view.info, due)
            if isinstance(last, AtRest):
                self._recent.rest(view)

    def _settle(
        self,
        pairs: list[tuple[BodyPair, int, int]],
        latencies: list[tuple[tuple[int, int], DistributionRow]],
        slots: list[tuple[int, int]],
    ) -> int:
        """Count the results of passed rows, and return the width of a slot of the time line."""
        for pair, exchanges, batches in pairs:
            pair.add(exchanges, batches)
        traffic = self._coverage.traffic
        for kind, counted in latencies:
            traffic.add_latencies(kind, counted)
        return traffic.add_slots(slots)


@lru_cache(maxsize=256)  # Kafka has 95 APIs
def _has_batches(api_key: int) -> bool:
    name = api_name(api_key) or ""
    return carries_batches(name, REQUEST) or carries_batches(name, RESPONSE)


def _is_set(name: str) -> Guard:
    """Return the guard that a number of the answer is not 0."""
    return (Other((f".{name}",), frozenset({0})),)
