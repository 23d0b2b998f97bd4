"""Brokers on loopback that know the levels of their request loggers, and nothing else."""

import socketserver
import struct
import threading
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from typing import Any

from kdissect.broker_loggers.cluster import LOGGER
from kdissect.decoders.encoder import encode_response
from kdissect.decoders.messages import decode_request

API_VERSIONS, METADATA, DESCRIBE, ALTER = 18, 3, 32, 44
_VERSIONS = {API_VERSIONS: (0, 2), METADATA: (0, 9), DESCRIBE: (0, 2), ALTER: (0, 0)}
CLUSTER_ID = "scripted"


class ScriptedBroker(socketserver.ThreadingTCPServer):
    """One broker. `peers` are the addresses of all brokers by node id."""

    daemon_threads = allow_reuse_address = True

    def __init__(self, node: int, level: str, refusal: str | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.node, self.level, self.refusal = node, level, refusal
        self.changes: list[str] = []
        self.peers: dict[int, int] = {}

    def answer(self, api: int, body: Any) -> dict[str, Any]:
        """Return the body of the response to a request."""
        brokers = [{"node_id": node, "host": "127.0.0.1", "port": port} for node, port in self.peers.items()]
        if api == API_VERSIONS:
            rows = [{"api_key": key, "min_version": low, "max_version": high}
                    for key, (low, high) in _VERSIONS.items()]  # fmt: skip
            return {"api_keys": rows}
        if api == METADATA:
            return {"brokers": brokers, "cluster_id": CLUSTER_ID, "controller_id": 1, "topics": []}
        return self._logger_answer(api, body.resources[0])

    def _logger_answer(self, api: int, resource: Any) -> dict[str, Any]:
        names = {"resource_type": 8, "resource_name": resource.resource_name}
        assert resource.resource_type == 8
        assert resource.resource_name == str(self.node)
        if api == DESCRIBE:
            config = {"name": LOGGER, "value": self.level, "config_source": 6}  # DYNAMIC_BROKER_LOGGER_CONFIG
            return {"results": [names | {"error_message": None, "configs": [config]}]}
        if self.refusal:
            return {"responses": [names | {"error_code": 40, "error_message": self.refusal}]}
        (config,) = resource.configs
        assert config.name == LOGGER
        self.level = config.value
        self.changes.append(config.value)
        return {"responses": [names | {"error_message": None}]}


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, ScriptedBroker)
        while size := self.rfile.read(4):
            request = decode_request(self.rfile.read(*struct.unpack(">i", size)))
            header = request.header
            api, version = header.api_key, header.api_version
            if api == API_VERSIONS and version > _VERSIONS[api][1]:
                body: dict[str, Any] = {"error_code": 35}
                self.wfile.write(encode_response(api, 0, header.correlation_id, body))
                continue
            body = self.server.answer(api, request.body)
            self.wfile.write(encode_response(api, version, header.correlation_id, body))


@contextmanager
def cluster(*levels: str, refusal: Callable[[int], str | None] = lambda _: None):
    """Yield the brokers of a cluster, one for each level. `refusal` is why a broker changes nothing."""
    with ExitStack() as stack:
        brokers = [
            stack.enter_context(ScriptedBroker(node, level, refusal(node)))
            for node, level in enumerate(levels, 1)
        ]
        peers = {each.node: each.server_address[1] for each in brokers}
        for broker in brokers:
            broker.peers = peers
            threading.Thread(target=broker.serve_forever, daemon=True).start()
            stack.callback(broker.shutdown)
        yield brokers


def bootstrap(brokers: list[ScriptedBroker]) -> str:
    """Return the address of the first broker."""
    return f"127.0.0.1:{brokers[0].server_address[1]}"
