"""Runs the stages without Spark: flows dealt out to parts in any order, forwarded events shuffled."""

import pickle
import random
from collections.abc import Iterator
from typing import Any

from kdissect.api import Dissection
from kdissect.capture.files import ends_of, numbers_in_sets
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.event_order import OrderedAnalyzer
from kdissect.engine.tables.all_tables import TABLES
from kdissect.model.packets.process import as_segment
from kdissect.model.packets.segment import reverse_flow
from kdissect.net.parser import SegmentParser
from kdissect.stages.forwarding import NAMES
from kdissect.stages.judges import Judgement
from kdissect.stages.one_process import produce
from kdissect.stages.per_capture_set import CaptureSetStage
from kdissect.stages.per_flow import FORWARDED, JUDGEMENT, OF_CAUSES, OF_PERSONAL, FlowStage
from kdissect.stages.replay import replay
from kdissect.stages.rows.file_rows import file_anomaly_rows, file_rows
from kdissect.stages.rows.judgement_rows import coverage_rows, finding_rows
from kdissect.stages.topic_id_names import Names

Row = dict[str, Any]
Tables = dict[str, list[Row]]
# Causes are not made in stages: they need whole exchanges.
ALL = frozenset(TABLES) - OF_CAUSES - OF_PERSONAL


def together(path: str | list[str], tables: frozenset[str] = ALL) -> Tables:
    """Return the tables of one process, each in its canonical order."""
    found: Tables = {name: [] for name in ALL}
    for name, batch in produce(Dissection(path), tables):
        found[name] += batch.to_pylist()
    return {name: ordered(name, rows) for name, rows in found.items()}


def staged(path: str | list[str], parts: int = 3, seed: int = 1, tables: frozenset[str] = ALL) -> Tables:
    """Return the same by stages."""
    chance = random.Random(seed)
    dissection = Dissection(path)
    flows = list(_flows(dissection).items())
    chance.shuffle(flows)
    found: Tables = {name: [] for name in ALL}
    total = Judgement()
    batches: list[tuple[str, Any]] = []
    forwarded: list[Row] = []
    for part in range(parts):
        for name, batch in _first(dissection, flows[part::parts], tables):
            if name == JUDGEMENT:
                total.merge(pickle.loads(batch.to_pylist()[0]["blob"]))
            elif name == FORWARDED:
                forwarded += batch.to_pylist()
            else:
                batches.append((name, batch))
    chance.shuffle(forwarded)
    forwarded.sort(key=lambda row: (row["capture_set"], row["event_order"]))
    names = Names()
    names.learn((row["event_order"], row["blob"]) for row in forwarded)
    names = pickle.loads(pickle.dumps(names))
    for name, batch in batches:
        found[name] += names.complete(name, batch).to_pylist()
    for name, batch in _second(forwarded, names):
        if name == JUDGEMENT:
            total.merge(pickle.loads(batch.to_pylist()[0]["blob"]))
        else:
            found[name] += batch.to_pylist()
    _add_rest(found, total, dissection)
    return {name: ordered(name, rows) for name, rows in found.items()}


def _add_rest(found: Tables, total: Judgement, dissection: Dissection) -> None:
    from kdissect.stages.rows.table_rows import batch_of

    files, names = dissection.captures.files, dissection.file_names
    for name, rows in (
        ("files", file_rows(files, names)),
        ("anomalies", file_anomaly_rows(files, names)),
        ("findings", finding_rows(total, names)),
        ("coverage", coverage_rows(total)),
    ):
        found[name] += batch_of(TABLES[name], list(rows)).to_pylist()


def _flows(dissection: Dissection) -> dict[tuple[str, bytes], list[tuple[Any, int, int, int]]]:
    parser = SegmentParser()
    files = dissection.captures.files
    found: dict[tuple[str, bytes], list[tuple[Any, int, int, int]]] = {}
    now_ns = 0
    for packets in dissection.captures.batches():
        for packet, segment in zip(packets, parser.parse_batch(packets), strict=True):
            now_ns = max(now_ns, packet[1])
            if segment is not None:
                flow = min(segment[0], reverse_flow(segment[0]))
                key = files[packet[0] >> 40].capture_set, flow
                local_end = parser.local_ends.pop(packet[0], None)
                told = [] if local_end is None else [as_segment(segment[0], local_end)]
                placed = [(one, packet[0], packet[1], now_ns) for one in (*told, segment)]
                found.setdefault(key, []).extend(placed)
    return found


def _first(dissection: Dissection, flows: list[Any], tables: frozenset[str]) -> Iterator[tuple[str, Any]]:
    files = dissection.captures.files
    stage = FlowStage(dissection.file_names, tables)
    numbers = numbers_in_sets(file.capture_set for file in files)
    for (capture_set, _), segments in flows:
        analyzer = Analyzer(
            capture_set_of=lambda index: files[index].capture_set,
            secrets=dissection.key_logs,
            brokers=dissection.analyzer.brokers,
        )
        ordered_analyzer = OrderedAnalyzer(analyzer, numbers.__getitem__)
        stage.begin_flow()
        for segment in segments:
            for placed in ordered_analyzer.feed_segment(*segment):
                stage.add(placed)
        for placed in ordered_analyzer.close({capture_set: ends_of(dissection.captures.files)[capture_set]}):
            stage.add(placed)
        yield from stage.take()
    yield from stage.close()


def _second(forwarded: list[Row], names: Names) -> Iterator[tuple[str, Any]]:
    for capture_set in sorted({row["capture_set"] for row in forwarded}):
        rows = [row for row in forwarded if row["capture_set"] == capture_set]
        stage = CaptureSetStage(capture_set, ALL, names.topics)
        for event, silenced in replay(
            row["blob"] for row in rows if not row["event_order"].startswith(NAMES)
        ):
            stage.add(event, silenced)
        yield from stage.close()


def ordered(name: str, rows: list[Row]) -> list[Row]:
    """Return rows in the canonical order of their table."""
    return sorted(rows, key=lambda row: [_sortable(row[column]) for column in TABLES[name].order])


def _sortable(value: Any) -> Any:
    if isinstance(value, list):
        return True, [_sortable(one) for one in value]
    return value is not None, value
