"""Frames of two clusters that call their topics by id."""

from typing import Any

from kdissect.decoders.encoder import encode_request, encode_response
from tests.support.messages.traffic import Conversation

ORDERS, CLICKS = bytes(range(16)), bytes(range(16, 32))
METADATA, FETCH, CREATE_TOPICS, DESCRIBE_CLUSTER = 3, 1, 19, 60


class Client(Conversation):
    """A connection whose requests are answered at once."""

    def __init__(self, broker: str = "10.0.0.2", port: int = 40000, start_ns: int = 10**18) -> None:
        super().__init__(broker=broker, ports=(port, 9092), start_ns=start_ns)
        self._id = 0
        self._correlation = 0
        self.handshake()

    def ask(self, key: int, version: int, request: dict[str, Any], response: dict[str, Any]) -> "Client":
        """Return one exchange."""
        self._correlation += 1
        self.client(encode_request(key, version, self._correlation, "me", request))
        self.broker(encode_response(key, version, self._correlation, response))
        return self

    def fetch(self, *ids: bytes) -> "Client":
        """Return a Fetch that names topics by id alone (KIP-516)."""
        topics = [{"topic_id": topic_id, "partitions": []} for topic_id in ids]
        return self.ask(FETCH, 13, {"topics": topics}, {"responses": []})

    def metadata(self, cluster: str | None, **names: bytes) -> "Client":
        """Return a Metadata response that has names."""
        topics = [{"name": name, "topic_id": topic_id} for name, topic_id in names.items()]
        return self.ask(METADATA, 12, {"topics": []}, {"cluster_id": cluster, "topics": topics})
