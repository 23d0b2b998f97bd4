"""What is in a capture, counted while it is made."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .exchange import Exchange


def _by_version(counts: Counter[tuple[int, int]]) -> dict[str, int]:
    return {f"{key}v{version}": count for (key, version), count in sorted(counts.items())}


class Truth:
    """Counts of everything sent; names as in the manifest of the recorded captures."""

    def __init__(self) -> None:
        self.connections = 0
        self.no_response_expected = 0
        self.record_batches = 0
        self.records = 0
        self.frame_bytes = 0
        self.requests: Counter[tuple[int, int]] = Counter()
        self.responses: Counter[tuple[int, int]] = Counter()
        self.whole: Counter[str] = Counter()

    def add_request(self, exchange: Exchange, size: int) -> None:
        """Count a request that was sent."""
        template = exchange.request
        self.requests[template.api_key, template.version] += 1
        self.record_batches += len(template.stamps)
        self.records += template.records
        self.frame_bytes += size
        self.no_response_expected += exchange.response is None

    def add_response(self, exchange: Exchange, size: int) -> None:
        """Its response was sent."""
        template = exchange.response
        assert template is not None
        # Counted under the request's version: a refused ApiVersions is answered in v0.
        self.responses[template.api_key, exchange.request.version] += 1
        self.record_batches += len(template.stamps)
        self.records += template.records
        self.frame_bytes += size

    def settle(self, exchange: Exchange) -> None:
        """Count the parts of a finished exchange that the capture contains in full."""
        self.whole["requests"] += exchange.request_whole
        if exchange.response is not None:
            self.whole["responses"] += exchange.response_whole
            self.whole["paired"] += exchange.request_whole and exchange.response_whole

    def as_json(self) -> dict[str, Any]:
        """Return the side file, all but the numbers only the capture point knows.

        `requests`, `responses`, `paired` and `api` (requests by "key v version") count what was sent; `whole`
        counts those of which no byte is missing from the capture: the same numbers when nothing was lost.
        """
        requests, responses = self.requests.total(), self.responses.total()
        return {
            "connections": self.connections,
            "requests": requests,
            "responses": responses,
            "paired": responses,
            "no_response_expected": self.no_response_expected,
            "record_batches": self.record_batches,
            "records": self.records,
            "frame_bytes": self.frame_bytes,
            "api": _by_version(self.requests),
            "api_responses": _by_version(self.responses),
            "whole": {name: self.whole[name] for name in ("requests", "responses", "paired")},
        }
