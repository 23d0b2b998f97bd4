"""The request loggers of a cluster: their levels, read and set over the admin protocol."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from kdissect.broker_loggers.client_properties import Settings

LOGGER = "kafka.request.logger"
# The levels of Kafka's `LogLevelConfig`: OFF cannot be set, and FATAL logs no request either.
LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
QUIET = "WARN"  # of the logger in the log4j files of every release
WRITES_REQUESTS = ("TRACE", "DEBUG")
_TIMEOUT_MS = 15_000


class ClusterError(Exception):
    """The cluster does not respond, or refuses the client."""


class _LastError(logging.Handler):
    """Keeps the reason why the last connection failed: kafka-python logs it, and raises a timeout."""

    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record of the log."""
        _, found, reason = record.getMessage().partition("KafkaConnectionError: ")
        if found and record.levelno >= logging.ERROR:
            hint = "; is it the right security.protocol, and are the credentials right?"
            self.text = f"{reason}{hint}" if reason == "socket disconnected" else reason


class BrokerLogger(NamedTuple):
    """The request logger of a broker. `level` is None if the broker did not report it; `problem` says why."""

    node: int
    address: str
    level: str | None
    problem: str = ""


class Cluster:
    """A connection to a cluster; a context manager. Raises ClusterError."""

    def __init__(self, bootstrap: str, settings: Settings) -> None:
        from kafka.admin import KafkaAdminClient  # an extra
        from kafka.errors import KafkaError

        self.bootstrap = bootstrap
        heard = _LastError()
        logging.getLogger("kafka").addHandler(heard)
        self._error = (KafkaError, OSError, ValueError, AssertionError)
        try:
            self._client = KafkaAdminClient(
                bootstrap_servers=bootstrap.split(","), client_id="kdissect", request_timeout_ms=_TIMEOUT_MS,
                bootstrap_timeout_ms=_TIMEOUT_MS, **settings,
            )  # fmt: skip
        except self._error as error:
            raise ClusterError(f"{bootstrap}: {heard.text or _text(error)}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @property
    def id(self) -> str:
        """The id that the brokers name."""
        return str(self._metadata.cluster_id)

    def loggers(self) -> list[BrokerLogger]:
        """Return the request logger of each broker of the cluster."""
        brokers = sorted(self._metadata.brokers(), key=lambda broker: broker.node_id)
        return [self._logger(broker) for broker in brokers]

    @property
    def _metadata(self) -> Any:
        # `describe_cluster` of 3.0.12 raises KeyError for brokers up to 3.6, whose response has no type of
        # endpoint. These names are those of the Metadata response that every connection begins with.
        return self._client._manager.cluster  # noqa: SLF001

    def _logger(self, broker: Any) -> BrokerLogger:
        node, address = broker.node_id, f"{broker.host}:{broker.port}"
        resource = self._resource(node, None)
        try:
            rows = self._client.describe_configs([resource], config_filter="all")
        except self._error as error:
            return BrokerLogger(node, address, None, _text(error))
        level = rows.get("broker_logger", {}).get(str(node), {}).get(LOGGER, {}).get("value")
        return BrokerLogger(node, address, level, "" if level else f"it does not report {LOGGER}")

    def set_levels(self, levels: Mapping[int, str]) -> dict[int, str]:
        """Set the level of brokers by node id. Returns what is wrong, by the ids of those not changed."""
        problems = {}
        for node, level in levels.items():
            try:
                done = self._client.alter_configs(
                    [self._resource(node, level)], raise_on_unknown=False, incremental=True
                )
            except self._error as error:
                problems[node] = _text(error)
                continue
            outcome = done.get("broker_logger", {}).get(str(node), "no result")
            if outcome != "OK":
                problems[node] = outcome
        return problems

    @staticmethod
    def _resource(node: int, level: str | None) -> Any:
        from kafka.admin import ConfigResource, ConfigResourceType  # an extra

        return ConfigResource(ConfigResourceType.BROKER_LOGGER, str(node), {LOGGER: level})


def _text(error: Exception) -> str:
    return str(error) or type(error).__name__
