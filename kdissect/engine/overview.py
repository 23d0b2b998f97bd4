"""Counts of a capture: connections, exchanges, APIs, error codes, gaps, anomalies."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kdissect.engine.copy_counts import CopyCounts
from kdissect.engine.exchange_bodies import body_of
from kdissect.engine.records.record_sets import record_sets
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.packets.packet import ref_file, ref_number
from kdissect.schema.error_codes import error_name
from kdissect.schema.protocol_messages import api_name
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange, State
from kdissect.session.info import ConnectionKind

if TYPE_CHECKING:
    from kdissect.decoders.generated.validate import Validator
    from kdissect.model.frame import Frame
    from kdissect.model.record_batch import RecordBatch, RecordFault

# People look at the first few examples. The counts cover the other ones.
EXAMPLES_KEPT = 20
# APIs and versions counted one by one; Kafka has 368 of them, hostile requests can name 2^32.
MAX_KINDS = 10_000
OTHER_KINDS = (None, None)
# HTTP is no problem but where Kafka is spoken, which takes all connections to know.
_NO_KAFKA = (ConnectionKind.HTTP, ConnectionKind.HTTP2)


class _Kind:
    """How many exchanges of an API's version came to one state; `asked` and `answered` validate bodies."""

    __slots__ = ("answered", "asked", "exchanges")

    def __init__(self, asked: "Validator", answered: "Validator") -> None:
        self.exchanges = 0
        self.asked = asked
        self.answered = answered


class Overview:
    """Counts events.

    With `deep` every body is decoded, to count bodies that do not fit the schema. With `records` every batch
    is decompressed and its records are read, too.
    """

    def __init__(self, deep: bool = False, records: bool = False) -> None:
        self.connections: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.anomalies: Counter[str] = Counter()
        self.copies = CopyCounts()
        """Connections of which another capture set has the copy that is read. Other counts leave them out,
        except gaps and anomalies, which are facts of a capture. Of their exchanges only exchanges without
        a copy count.
        """
        self.problems: Counter[str] = Counter()
        """Failed connections, by the reason of the event that ends them."""
        self.decrypted = 0
        """Connections over TLS of which something could be read."""
        self.opaque: Counter[str] = Counter()
        """Connections over TLS that are opaque, or became so, by the reason."""
        self.gaps = 0
        self.gap_bytes = 0
        self.bytes_cut_off = 0
        self.deep = DeepCounts(records) if deep or records else None
        self._kinds: dict[tuple[int | None, int | None, State], _Kind] = {}
        self._apis: set[tuple[int | None, int | None]] = set()

    @property
    def states(self) -> Counter[str]:
        """Exchanges by their state."""
        counts: Counter[str] = Counter()
        for (_, _, state), kind in self._kinds.items():
            counts[str(state)] += kind.exchanges
        return counts

    @property
    def apis(self) -> Counter[tuple[int | None, int | None]]:
        """Exchanges by API and version."""
        counts: Counter[tuple[int | None, int | None]] = Counter()
        for (key, version, _), kind in self._kinds.items():
            counts[key, version] += kind.exchanges
        return counts

    def add(self, event: Event) -> None:
        """Count one event."""
        if not isinstance(event, Exchange):
            if isinstance(event, ConnectionClosed):
                self._add_connection(event)
            return
        if event.connection.same_as is not None:
            return
        # Hot, once an exchange: one look-up finds all that is known of its kind.
        kind = self._kinds.get((event.api_key, event.api_version, event.state)) or self._kind_of(event)
        kind.exchanges += 1
        request, response = event.request, event.response
        if (
            event.anomalies
            or (request is not None and request.anomalies)
            or (response is not None and response.anomalies)
        ):
            self._add_anomalies(event.all_anomalies())
        errors: tuple[int, ...] | None
        if self.deep is None:
            errors = event.response_summary().errors
        else:
            errors = self.deep.validate(kind.asked, kind.answered, event, request, response)
            if errors is None:
                errors, anomalies = self.deep.add(event)
                self._add_anomalies(anomalies)
        for code in errors:
            self.errors[error_name(code)] += 1

    def _kind_of(self, exchange: Exchange) -> _Kind:
        """Return the counts of an exchange's kind, or the common counts if there are too many kinds."""
        api = exchange.api_key, exchange.api_version
        if api not in self._apis and len(self._apis) >= MAX_KINDS:
            api = OTHER_KINDS
            self.anomalies[str(AnomalyKind.LIMIT_REACHED)] += 1
        self._apis.add(api)
        return self._kinds.setdefault((*api, exchange.state), self._new_kind(*api))

    def _new_kind(self, api_key: int | None, api_version: int | None) -> _Kind:
        if self.deep is None or api_key is None or api_version is None:
            return _Kind(_unclear, _unclear)
        from kdissect.decoders.generated.validate import validator  # `info` alone decodes no body

        return _Kind(validator(api_key, api_version, False), validator(api_key, api_version, True))

    def _add_connection(self, event: ConnectionClosed) -> None:
        info = event.connection
        is_copy = self.copies.add(info)
        if not is_copy:
            self.connections[str(info.kind)] += 1
            if event.problem is not None and info.kind not in _NO_KAFKA:
                self.problems[str(event.problem.reason)] += 1
        self.add_anomaly_counts(info.anomaly_counts.items())
        if info.tls is not None and not is_copy:
            self.decrypted += info.tls.is_decrypted
            if info.tls.why is not None:
                self.opaque[info.tls.why] += 1
        if info.tcp is not None:
            self.gaps += info.tcp.gaps
            self.gap_bytes += info.tcp.gap_bytes
            self.bytes_cut_off += info.tcp.bytes_cut_off

    def add_anomaly_counts(self, counts: Iterable[tuple[AnomalyKind, int]]) -> None:
        """Count anomalies found elsewhere: in files, packets, connections."""
        for kind, count in counts:
            self.anomalies[str(kind)] += count

    def _add_anomalies(self, anomalies: Iterable[Anomaly]) -> None:
        for anomaly in anomalies:
            self.anomalies[str(anomaly.kind)] += 1

    def api_rows(self) -> list[dict[str, Any]]:
        """Return exchanges by API and version, in the order of the API keys, unknown ones last."""
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

    `cut` bodies were only partly captured, and cannot be judged.
    """

    def __init__(self, records: bool = False) -> None:
        self.records: int | None = 0 if records else None
        """Records that could be read; None if no caller requested them."""
        self.bodies = 0
        self.cut = 0
        self.undecodable = 0
        self.trailing = 0
        self.batches = 0
        """Batches of records that are whole."""
        self.bad_crcs = 0
        """Those whose checksum is not that of their bytes."""
        self.examples: list[dict[str, Any]] = []

    def validate(
        self,
        asked: "Validator",
        answered: "Validator",
        exchange: Exchange,
        request: "Frame | None",
        response: "Frame | None",
    ) -> tuple[int, ...] | None:
        """Walk both bodies, check the batches in them, and return the error codes.

        Return None, without counting, if validation (`generated.validate`) does not prove that they fit and
        have no anomaly, as nearly all do: then `add` decodes them for output.
        """
        bodies = batches = 0
        errors: tuple[int, ...] = ()
        if request is not None:
            data = request.data
            found = asked(data, exchange.request_body_offset) if len(data) == request.size else None
            if found is None:
                return None
            bodies = 1
            batches = found[1]
        if response is not None:
            data = response.data
            found = answered(data, exchange.response_body_offset) if len(data) == response.size else None
            if found is None:
                return None
            bodies += 1
            errors = found[0]
            batches += found[1]
        if batches and self.records is not None:
            return None
        self.bodies += bodies
        self.batches += batches
        return errors

    def add(self, exchange: Exchange) -> tuple[tuple[int, ...], list[Anomaly]]:
        """Count exchanges that validation does not cover, and return the error codes and anomalies."""
        if exchange.api_key is None or exchange.api_version is None:
            return (), self._closer(exchange)
        return exchange.response_summary().errors, self._closer(exchange)

    def _closer(self, exchange: Exchange) -> list[Anomaly]:
        """Decode both bodies for output, check the batches in them, and return their anomalies."""
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
        found: list[Anomaly] = []
        for records in record_sets(exchange):
            batches = records.found.batches
            self.batches += len(batches)
            self.bad_crcs += sum(not batch.crc_is_right for batch in batches)
            faults = [(index, fault) for index, batch in enumerate(batches) for fault in batch.faults]
            if self.records is not None:
                faults += self._read_records(batches)
            found += records.anomalies(faults)
        return found

    def _read_records(self, batches: Iterable["RecordBatch"]) -> Iterator[tuple[int, "RecordFault"]]:
        from kdissect.decoders.records.reader import read_records  # start-up: `info` alone reads none

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


def _unclear(_data: bytes, _offset: int) -> None:
    """Return None: bodies that can only be counted have no validation."""


def _api_order(row: dict[str, Any]) -> tuple[int, int]:
    last = 1 << 16
    return (
        last if row["api_key"] is None else row["api_key"],
        last if row["api_version"] is None else row["api_version"],
    )
