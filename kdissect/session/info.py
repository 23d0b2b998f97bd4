"""What is known of one connection while it lasts, and afterwards."""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.endpoint import Endpoint
from kdissect.model.limits import DEFAULT_LIMITS
from kdissect.model.stream import CloseKind

if TYPE_CHECKING:
    from kdissect.tls.info import TlsInfo


_NO_NAMES: Mapping[str, str] = {}
# Of a connection that is not open; nobody adds to it.
NO_ANOMALIES: Counter[AnomalyKind] = Counter()


class ConnectionKind(StrEnum):
    """What a connection carries. Everything but KAFKA is opaque: counted and named, not dissected."""

    KAFKA = "kafka"
    TLS = "tls"
    HTTP = "http"
    HTTP2 = "http2"
    SSH = "ssh"
    ZOOKEEPER = "zookeeper"
    UNKNOWN = "unknown"
    NO_DATA = "no_data"


class Close(NamedTuple):
    """Who ended a connection (`client`, `broker`; None for neither), how and when."""

    by: str | None
    how: CloseKind
    time_ns: int


class ConnectionInfo:
    """One connection. Until the roles are known `client` is the end that opened it or spoke first.

    `states` counts the exchanges emitted so far by what became of them; `bytes` is payload in both directions
    as captured. `names` are those of addresses; `client_text` and `broker_text` have them. `anomaly_counts`
    has what TCP noticed from the end of the connection on, `anomalies_so_far` at any time. `opened_at` is the
    place of its first packet and `over_ns` the time at which its silence was known to be its end (0: it did
    not end so), both for `engine.event_order`. `same_as` is the connection of another capture set that is
    this one, captured elsewhere, and counted instead (`engine.twins`).
    """

    __slots__ = (
        "_kept",
        "anomalies",
        "anomaly_counts",
        "api_versions_seen",
        "broker",
        "broker_address",
        "broker_text",
        "capture_set",
        "client",
        "client_direction",
        "client_id",
        "client_text",
        "close",
        "end_ns",
        "id",
        "kind",
        "line_texts",
        "mechanism",
        "middle_start",
        "names",
        "opened_at",
        "over_ns",
        "principal",
        "same_as",
        "sasl_until",
        "software_name",
        "software_version",
        "start_ns",
        "states",
        "tcp",
        "tcp_anomalies",
        "tls",
    )

    def __init__(
        self,
        connection_id: str,
        capture_set: str,
        client: Endpoint,
        broker: Endpoint,
        start_ns: int,
        names: Mapping[str, str] = _NO_NAMES,
        anomalies_kept: int = DEFAULT_LIMITS.anomalies,
    ) -> None:
        self.id = connection_id
        self.capture_set = capture_set
        self.names = names
        self.set_ends(client, broker)
        self.client_direction = 0
        self.kind = ConnectionKind.NO_DATA
        self.start_ns = start_ns
        self.end_ns = start_ns
        self.middle_start = False
        self.opened_at = (0, 0)
        self.over_ns = 0
        self.same_as: str | None = None
        self.client_id: str | None = None
        self.software_name: str | None = None
        self.software_version: str | None = None
        self.mechanism: str | None = None
        self.principal: str | None = None
        self.sasl_until = -1
        """The ordinal of the last exchange before SASL ended; -1 without SASL."""
        self.close: Close | None = None
        self.states: Counter[str] = Counter()
        self.api_versions_seen: Counter[tuple[int, int]] = Counter()
        self.anomalies: list[Anomaly] = []
        self._kept = anomalies_kept
        self.anomaly_counts: Counter[AnomalyKind] = Counter()
        self.tcp: TcpSummary | None = None
        self.tcp_anomalies: Counter[AnomalyKind] = NO_ANOMALIES
        """Those of TCP, while the connection is open."""
        self.tls: TlsInfo | None = None
        """What carries the connection, where that is TLS; `kind` is what its plaintext is, if any."""

    @property
    def exchanges(self) -> int:
        """Exchanges emitted so far."""
        return self.states.total()

    def set_ends(self, client: Endpoint, broker: Endpoint) -> None:
        """Name the two ends."""
        self.client = client
        self.broker = broker
        self.broker_address = str(broker)  # what states are kept by, whatever the broker is called
        self.client_text = self._text(client, str(client))  # printed on every row: formatted once
        self.broker_text = self._text(broker, self.broker_address)
        self.line_texts: tuple[bytes, bytes] | None = None
        """Id and ends as they stand on a line (`cli.formats.fastlines`), once there was one."""

    def _text(self, end: Endpoint, address: str) -> str:
        """The name of an end with its port, or its address (`model.hosts`)."""
        names = self.names
        if not names:
            return address
        name = names.get(address) or names.get(end.host)
        return address if name is None else f"{name}:{end.port}"

    def anomalies_so_far(self) -> Counter[AnomalyKind]:
        """How many anomalies of each kind there were, also while the connection is open."""
        return self.anomaly_counts + self.tcp_anomalies

    def note_limit(self, why: str) -> None:
        """Tell once that of something there was more than is kept."""
        if not self.anomaly_counts[AnomalyKind.LIMIT_REACHED]:
            self.note(Anomaly(AnomalyKind.LIMIT_REACHED, why, 0, self.end_ns))

    def note(self, anomaly: Anomaly) -> None:
        """Count an anomaly and keep it while there is room."""
        self.anomaly_counts[anomaly.kind] += 1
        if len(self.anomalies) < self._kept:
            self.anomalies.append(anomaly)


class TcpSummary(NamedTuple):
    """TCP health of a connection, both directions added up except where named."""

    packets: int
    client_bytes: int
    broker_bytes: int
    retransmissions: int
    out_of_order: int
    duplicates: int
    zero_windows: int
    resets: int
    gaps: int
    gap_bytes: int
