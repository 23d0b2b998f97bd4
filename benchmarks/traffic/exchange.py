"""One request and its response, made when they are sent."""

from __future__ import annotations

from .template import Template


class Exchange:
    """An exchange whose bodies need no patching; subclasses fill in offsets, sequences and times."""

    __slots__ = ("request", "request_whole", "response", "response_whole", "service_ns")

    def __init__(self, request: Template, response: Template | None, service_ns: int) -> None:
        self.request = request
        self.response = response
        self.service_ns = service_ns
        """From the last byte of the request to the first of the response."""
        self.request_whole = True
        """No byte of it was left out of the capture."""
        self.response_whole = True

    def request_frame(self, correlation_id: int, now_ms: int) -> bytearray:
        """Return the request's bytes, size prefix included."""
        return self.request.take(correlation_id)

    def response_frame(self, correlation_id: int, now_ms: int) -> bytearray:
        """Return the response's bytes; only called when `response` is one."""
        assert self.response is not None
        return self.response.take(correlation_id)
