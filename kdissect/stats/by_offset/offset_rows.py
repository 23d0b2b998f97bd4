"""The facts of `OffsetTraffic` as plain values, for JSON and tables (docs/statistics.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kdissect.engine.times import rfc3339
from kdissect.history.fact import Evidence
from kdissect.session.identities import plain_name
from kdissect.stats.by_offset.held_offsets import Held
from kdissect.stats.by_offset.offset_traffic import Commit, Gap, OffsetTraffic
from kdissect.stats.by_offset.position_jumps import Jump
from kdissect.stats.by_offset.written_twice import Twice, Written

Facts = dict[str, Any]
Wanted = Callable[[str], object]


def offset_facts(traffic: OffsetTraffic, wanted: Wanted | None = None) -> Facts:
    """Return all rows, each kind in the order of time. `wanted` chooses by topic."""
    kinds = {
        "positions": [(jump.reader[0][0], _jump(jump)) for jump in traffic.jumps],
        "commits": [(commit.scope, _commit(commit)) for commit in traffic.commits],
        "held": [(held.place[0], _held(held)) for held in traffic.held],
        "written_twice": [(twice.again.place[0], _twice(twice)) for twice in traffic.twice if twice.counts],
        "gaps": [(gap.place[0], _gap(gap)) for gap in traffic.gaps],
    }
    kept = len(traffic.jumps) + len(traffic.commits) + len(traffic.held) + len(traffic.twice)
    return {
        name: sorted(
            (row | _cluster(traffic, scope) for scope, row in rows if wanted is None or wanted(row["topic"])),
            key=_when,
        )
        for name, rows in kinds.items()
    } | {"forgotten": traffic.count - kept + traffic.gaps.forgotten}


def _cluster(traffic: OffsetTraffic, scope: str) -> Facts:
    """Return the field `cluster` of a row, or no field if one cluster was captured."""
    cluster = traffic.apart(scope)
    return {"cluster": cluster} if cluster else {}


def _when(row: Facts) -> int:
    time_ns: int = row["time_ns"]
    return time_ns


def _seen(evidence: Evidence, time_ns: int) -> Facts:
    return {
        "time": rfc3339(time_ns),
        "time_ns": time_ns,
        "exchange": exchange_of(evidence),
    }


def exchange_of(evidence: Evidence) -> str:
    """Return an exchange as `inspect --exchange` takes it."""
    return f"{evidence.connection}/{evidence.ordinal}"


def _jump(jump: Jump) -> Facts:
    (_, host, client_id), (topic, partition) = jump.reader
    return _seen(jump.evidence, jump.evidence.sent_ns) | {
        "client_id": client_id,
        "address": host,
        "topic": plain_name(topic),
        "partition": partition,
        "before": jump.before,
        "after": jump.after,
        "because": jump.because,
        "cause": None if jump.cause is None else exchange_of(jump.cause),
        "cause_time_ns": None if jump.cause is None else jump.cause.answered_ns,
    }


def _commit(commit: Commit) -> Facts:
    return _seen(commit.evidence, commit.evidence.sent_ns) | {
        "group": commit.group,
        "client_id": commit.client_id,
        "topic": plain_name(commit.partition[0]),
        "partition": commit.partition[1],
        "what": commit.what,
        "before": commit.before,
        "after": commit.after,
    }


def _held(held: Held) -> Facts:
    _, topic, partition = held.place
    holder, until_ns = held.holder, held.moved_ns or held.gone_ns
    return _seen(held.first, held.first.answered_ns) | {
        "topic": plain_name(topic),
        "partition": partition,
        "last_stable_offset": held.offset,
        "high_watermark": held.high_watermark,
        "held_ns": held.held_ns,
        "moved": None if held.moved_ns is None else rfc3339(held.moved_ns),
        "until": None if until_ns is None else rfc3339(until_ns),
        "transactional_id": None if holder is None else holder.transactional_id,
        "producer_id": None if holder is None else holder.producer_id,
        "epoch": None if holder is None else holder.epoch,
        "client_id": None if holder is None else holder.client_id,
        "waiting": list(held.waiting),
    }


def _twice(twice: Twice) -> Facts:
    first, again = twice.first, twice.again
    return _seen(again.evidence, again.evidence.sent_ns) | {
        "topic": plain_name(again.place[1]),
        "partition": again.place[2],
        "records": again.count,
        "differs": twice.differs,
        "first": _written(first),
        "again": _written(again),
        "read_by": twice.read_by,
    }


def _written(written: Written) -> Facts:
    return {
        "offset": written.offset,
        "producer_id": written.producer_id,
        "epoch": written.epoch,
        "sequence": written.sequence,
        "client_id": written.client_id,
        "exchange": exchange_of(written.evidence),
    }


def _gap(gap: Gap) -> Facts:
    _, topic, partition = gap.place
    return _seen(gap.evidence, gap.evidence.answered_ns) | {
        "topic": plain_name(topic),
        "partition": partition,
        "from": gap.first,
        "to": gap.end - 1,
        "offsets": gap.end - gap.first,
        "client_id": gap.client_id,
    }
