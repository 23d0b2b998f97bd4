"""A body under judgement: its bytes, its value, and the tree of its pieces where one is needed."""

from typing import Any

from kdissect.decoders import quirks
from kdissect.decoders.compiled import decoder
from kdissect.decoders.node import Node
from kdissect.decoders.plain import plain_check
from kdissect.decoders.spanned import dissect
from kdissect.model.errors import DecodeError
from kdissect.model.frame import Frame
from kdissect.rules.rule import REQUEST, RESPONSE, Fault
from kdissect.schema import registry
from kdissect.schema.types import Api, Message
from kdissect.session.exchange import Exchange


class Body:
    """One side of an exchange whose API and version the schema knows, captured whole.

    `value` is None and `error` set where the bytes do not fit; `end` is the offset behind the body in
    `data`, the frame's content.
    """

    __slots__ = (
        "_tree", "api", "data", "end", "error", "exchange", "frame", "message", "offset", "side", "value",
        "version",
    )  # fmt: skip

    def __init__(self, exchange: Exchange, side: str, api: Api, frame: Frame) -> None:
        self.exchange = exchange
        self.side = side
        self.api = api
        self.frame = frame
        self.data = frame.data
        asked = exchange.api_version or 0
        is_request = side == REQUEST
        self.offset = exchange.request_body_offset if is_request else exchange.response_body_offset
        self.message: Message = api.request if is_request else api.response
        self.version = asked
        if not is_request:
            self.version = quirks.response_body_version(api.key, asked, self.data, self.offset)
        self.value: Any = None
        self.error: DecodeError | None = None
        self.end = self.offset
        self._tree: Node | None = None
        try:
            self.value, self.end = decoder(self.message, self.version)(self.data, self.offset)
        except DecodeError as error:
            self.error = error

    @property
    def tree(self) -> Node:
        """The pieces of the body; made when first asked for."""
        if self._tree is None:
            self._tree = dissect(self.message, self.version, self.data, self.offset)
        return self._tree

    @property
    def is_plain(self) -> bool:
        """Whether no piece of the body can be odd (`decoders.plain`): then nobody needs its tree."""
        return plain_check(self.message, self.version)(self.data, self.offset)

    @property
    def fits(self) -> bool:
        """Whether the bytes are the body and nothing else: only then do its values mean anything."""
        return self.error is None and (self.end == len(self.data) or self.has_ignorable_tail)

    @property
    def has_ignorable_tail(self) -> bool:
        """Whether bytes behind the body are a habit that brokers ignore (`quirks.is_ignorable_tail`)."""
        return self.side == REQUEST and quirks.is_ignorable_tail(
            self.api.key, self.version, self.data, self.end
        )

    def other(self) -> Any:
        """The value of the other side of the exchange; None where there is none that fits."""
        found = body_of(self.exchange, RESPONSE if self.side == REQUEST else REQUEST)
        return found.value if found is not None and found.fits else None

    def fault(self, path: str, expected: str, seen: str) -> Fault:
        """A fault of the field at `path`."""
        return Fault(expected, seen, path, side=self.side)


def body_of(exchange: Exchange, side: str) -> Body | None:
    """One side of an exchange as a body; None where there is none, or the schema or the capture lacks it."""
    frame = exchange.request if side == REQUEST else exchange.response
    if frame is None or frame.is_cut or exchange.api_key is None or exchange.api_version is None:
        return None
    api = registry.api(exchange.api_key)
    if api is None or exchange.api_version not in api.versions:
        return None
    offset = exchange.request_body_offset if side == REQUEST else exchange.response_body_offset
    if not offset:  # the header did not fit
        return None
    return Body(exchange, side, api, frame)
