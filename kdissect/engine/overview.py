"""What a capture holds, in counts: connections, exchanges, APIs, error codes, gaps, anomalies."""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from kdissect.engine.bodies import body_of
from kdissect.engine.rows import has_anomalies
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.packet import ref_file, ref_number
from kdissect.schema.errors import error_name
from kdissect.schema.registry import api_name
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable

    from kdissect.decoders.glance import Glance, Glancer
    from kdissect.engine.record_sets import RecordSet, SectionBatches
    from kdissect.model.frame import Frame
    from kdissect.model.record_batch import RecordBatch, RecordFault

# People look at the first few; what is wrong with the rest is told by the counts.
EXAMPLES_KEPT = 20
# APIs and versions counted one by one; Kafka has 368 of them, hostile requests can name 2^32.
MAX_KINDS = 10_000
OTHER_KINDS = (None, None)


class Overview:
    """Counts events. With `deep` every body is decoded, to count those that do not fit the schema; with
    `records` every batch is decompressed and its records are read, too."""

    def __init__(self, deep: bool = False, records: bool = False) -> None:
        self.connections: Counter[str] = Counter()
        self.states: Counter[str] = Counter()
        self.apis: Counter[tuple[int | None, int | None]] = Counter()
        self.errors: Counter[str] = Counter()
        self.anomalies: Counter[str] = Counter()
        self.decrypted = 0
        """Connections over TLS of which something could be read."""
        self.opaque: Counter[str] = Counter()
        """Connections over TLS that are opaque, or became so, by the reason."""
        self.gaps = 0
        self.gap_bytes = 0
        self.deep = DeepCounts(records) if deep or records else None

    def add(self, event: Event) -> None:
        """Count one event."""
        if isinstance(event, Exchange):
            self._add_exchange(event)
        elif isinstance(event, ConnectionClosed):
            info = event.connection
            self.connections[str(info.kind)] += 1
            self.add_anomaly_counts(info.anomaly_counts.items())
            if info.tls is not None:
                self.decrypted += info.tls.is_decrypted
                if info.tls.why is not None:
                    self.opaque[info.tls.why] += 1
            if info.tcp is not None:
                self.gaps += info.tcp.gaps
                self.gap_bytes += info.tcp.gap_bytes

    def add_anomaly_counts(self, counts: Iterable[tuple[AnomalyKind, int]]) -> None:
        """Count anomalies found elsewhere: in files, packets, connections."""
        for kind, count in counts:
            self.anomalies[str(kind)] += count

    def _add_exchange(self, exchange: Exchange) -> None:
        self.states[str(exchange.state)] += 1
        kind = exchange.api_key, exchange.api_version
        if kind not in self.apis and len(self.apis) >= MAX_KINDS:
            kind = OTHER_KINDS
            self.anomalies[str(AnomalyKind.LIMIT_REACHED)] += 1
        self.apis[kind] += 1
        if has_anomalies(exchange):
            self._add_anomalies(exchange.all_anomalies())
        if self.deep is None:
            errors = exchange.response_summary().errors
        else:
            errors, anomalies = self.deep.add(exchange)
            if anomalies:
                self._add_anomalies(anomalies)
        for code in errors:
            self.errors[error_name(code)] += 1

    def _add_anomalies(self, anomalies: Iterable[Anomaly]) -> None:
        for anomaly in anomalies:
            self.anomalies[str(anomaly.kind)] += 1

    def api_rows(self) -> list[dict[str, Any]]:
        """Exchanges by API and version, in the order of the API keys, unknown ones last."""
        rows = [
            {
                "api_key": key,
                "api": None if key is None else api_name(key),
                "api_version": version,
                "exchanges": count,
            }
            for (key, version), count in self.apis.items()
        ]
        return sorted(rows, key=_api_order)


class DeepCounts:
    """Bodies by how their decoding went, and the batches in them by their checksums.

    `cut` bodies were captured in part only; nobody can judge them.
    """

    def __init__(self, records: bool = False) -> None:
        self.records: int | None = 0 if records else None
        """Records that could be read; None where nobody asked for them."""
        self.bodies = 0
        self.cut = 0
        self.undecodable = 0
        self.trailing = 0
        self.batches = 0
        """Batches of records that are whole."""
        self.bad_crcs = 0
        """Those whose checksum is not that of their bytes."""
        self.examples: list[dict[str, Any]] = []

    def add(self, exchange: Exchange) -> tuple[tuple[int, ...], list[Anomaly]]:
        """Walk both bodies and check the batches in them; gives the error codes, and what is odd.

        A glance tells of nearly all bodies that they fit (`decoders.glance`); of the others output has the
        word.
        """
        key, version = exchange.api_key, exchange.api_version
        if key is None or version is None:
            return (), self._closer(exchange)
        request, response = exchange.request, exchange.response
        asked = _glance(request, exchange.request_body_offset, key, version, False)
        answered = _glance(response, exchange.response_body_offset, key, version, True)
        if asked is None or answered is None or not self._are_right(exchange, asked, answered):
            return exchange.response_summary().errors, self._closer(exchange)
        self.bodies += (request is not None) + (response is not None)
        return answered.errors, []

    def _are_right(self, exchange: Exchange, asked: "Glance", answered: "Glance") -> bool:
        """Whether nothing is wrong with the batches; then they are counted."""
        count = 0
        for frame, glance in ((exchange.request, asked), (exchange.response, answered)):
            if frame is None or not glance.sections:
                continue
            if self.records is not None:
                return False
            is_response = frame is exchange.response
            for _, found in _section_batches()(frame.data, glance.sections, is_response=is_response):
                if found.faults or any(batch.faults for batch in found.batches):
                    return False
                count += len(found.batches)
        self.batches += count
        return True

    def _closer(self, exchange: Exchange) -> list[Anomaly]:
        """Decode both bodies for output and check the batches in them; gives what is odd about them."""
        found = self._check_batches(exchange)
        for side, frame in (("request", exchange.request), ("response", exchange.response)):
            if frame is None or exchange.api_key is None:
                continue
            self.bodies += 1
            if frame.is_cut:
                self.cut += 1
                continue
            decoded = body_of(exchange, side, show_secrets=False)
            found += decoded.anomalies
            if decoded.error is not None:
                self.undecodable += 1
                self._keep(exchange, side, frame.first_ref, decoded.error)
            elif decoded.anomalies:
                self.trailing += any(a.kind is AnomalyKind.TRAILING_BYTES for a in decoded.anomalies)
                self._keep(exchange, side, frame.first_ref, decoded.anomalies[0].detail)
        return found

    def _check_batches(self, exchange: Exchange) -> list[Anomaly]:
        if exchange.api_key is None or _records_side(exchange.api_key) is None:
            return []
        found: list[Anomaly] = []
        for records in _record_sets(exchange):
            batches = records.found.batches
            self.batches += len(batches)
            self.bad_crcs += sum(not batch.crc_is_right for batch in batches)
            faults = [(index, fault) for index, batch in enumerate(batches) for fault in batch.faults]
            if self.records is not None:
                faults += self._read_records(batches)
            found += records.anomalies(faults)
        return found

    def _read_records(self, batches: Iterable["RecordBatch"]) -> Iterator[tuple[int, "RecordFault"]]:
        from kdissect.decoders.records.reader import read_records

        assert self.records is not None
        for index, batch in enumerate(batches):
            read = read_records(batch)
            self.records += len(read.records)
            yield from ((index, fault) for fault in read.faults)

    def _keep(self, exchange: Exchange, side: str, ref: int, why: str) -> None:
        if len(self.examples) < EXAMPLES_KEPT:
            self.examples.append(
                {
                    "connection": exchange.connection.id,
                    "exchange": exchange.ordinal,
                    "side": side,
                    "file_index": ref_file(ref),
                    "packet": ref_number(ref),
                    "api_key": exchange.api_key,
                    "api": None if exchange.api_key is None else api_name(exchange.api_key),
                    "api_version": exchange.api_version,
                    "why": why,
                }
            )


def _glance(
    frame: "Frame | None", offset: int, api_key: int, api_version: int, is_response: bool
) -> "Glance | None":
    """A body at a glance, None where that does not do; where there is no frame, one that holds nothing."""
    if frame is None:
        return _nothing()
    data = frame.data
    return _glancer()(api_key, api_version, is_response)(data, offset) if len(data) == frame.size else None


# Imported by `info --deep` alone, and once: an import statement takes a microsecond each time.


@cache
def _nothing() -> "Glance":
    from kdissect.decoders.glance import Glance

    return Glance((), [])


@cache
def _glancer() -> "Callable[[int, int, bool], Glancer]":
    from kdissect.decoders.glance import glancer

    return glancer


@cache
def _section_batches() -> "Callable[..., tuple[SectionBatches, ...]]":
    from kdissect.engine.record_sets import section_batches

    return section_batches


@cache
def _records_side(api_key: int) -> bool | None:
    from kdissect.engine.record_sets import records_side  # `info` alone has no use for records

    return records_side(api_key)


def _record_sets(exchange: Exchange) -> Iterable["RecordSet"]:
    from kdissect.engine.record_sets import record_sets

    return record_sets(exchange)


def _api_order(row: dict[str, Any]) -> tuple[int, int]:
    last = 1 << 16
    return (
        last if row["api_key"] is None else row["api_key"],
        last if row["api_version"] is None else row["api_version"],
    )
