"""A body under judgement: its bytes, its value, and the tree of its pieces where one is needed."""

from collections.abc import Sequence, Set
from typing import Any

from kdissect.decoders import quirks
from kdissect.decoders.decoded import Decoded
from kdissect.decoders.listed_partitions import Topics, topic_lister
from kdissect.decoders.trees.node import Node
from kdissect.decoders.trees.tree_decoder import dissect
from kdissect.model.errors import DecodeError
from kdissect.model.frame import Frame
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.pieces import NUMBER, pieces
from kdissect.schema import protocol_messages
from kdissect.schema.domains import domain
from kdissect.schema.types import Api, Message
from kdissect.session.exchange import Exchange


class Body:
    """One side of an exchange whose API and version the schema knows, captured whole.

    `value` is None and `error` set if the bytes do not fit; `end` is the offset after the body in `data`, the
    frame's content. `fits` says whether the bytes are exactly the body: only then its values are meaningful.
    `is_canonical`: it has the form that writers give it (`generated.canonical`).
    """

    __slots__ = (
        "_numbers", "_rows", "_topics", "_tree", "decoded", "exchange", "fits", "is_canonical", "request",
        "side", "value", "version",
    )  # fmt: skip

    def __init__(
        self, exchange: Exchange, side: str, decoded: Decoded, request: "Body | None" = None
    ) -> None:
        self.exchange = exchange
        self.side = side
        self.decoded = decoded
        self.value: Any
        self.value, _, self.version, self.fits, self.is_canonical, _, _ = decoded
        self.request = request
        """Of a response under judgement: the body of its request, if there is one."""
        self._tree: Node | None = None
        self._topics: Topics | None = None
        self._numbers: dict[str, set[int]] | None = None
        self._rows: dict[tuple[str, str], list[tuple[Any, Any, str]]] = {}

    @property
    def end(self) -> int:
        """The offset after the body in `data`."""
        return self.decoded.end

    @property
    def error(self) -> DecodeError | None:
        """Why the bytes do not fit."""
        return self.decoded.error

    @property
    def api(self) -> Api:
        """The API of the exchange."""
        api = protocol_messages.api(self.exchange.api_key or 0)
        assert api is not None  # the schema knows it: the body was decoded
        return api

    @property
    def message(self) -> Message:
        """The schema of the body."""
        return self.api.request if self.side == REQUEST else self.api.response

    @property
    def frame(self) -> Frame:
        """The frame whose body this is."""
        frame = self.exchange.request if self.side == REQUEST else self.exchange.response
        assert frame is not None  # `body_of` made sure
        return frame

    @property
    def data(self) -> bytes:
        """The content of the frame."""
        return self.frame.data

    @property
    def offset(self) -> int:
        """Where the body begins in `data`."""
        exchange = self.exchange
        return exchange.request_body_offset if self.side == REQUEST else exchange.response_body_offset

    @property
    def tree(self) -> Node:
        """The pieces of the body, built on first use."""
        if self._tree is None:
            self._tree = dissect(self.message, self.version, self.data, self.offset)
        return self._tree

    def numbers(self, meaning: str) -> Set[int]:
        """Return its numbers that have a meaning (`schema.domains`), or none if the body does not fit."""
        if self._numbers is None:
            self._numbers = {}
            message = self.message.name
            for sort, node, _ in pieces(self.tree) if self.fits else ():
                known = domain(message, node.field) if sort == NUMBER and node.field else None
                if known is not None:
                    self._numbers.setdefault(known.meaning, set()).add(node.value)
        return self._numbers.get(meaning, frozenset())

    @property
    def topics(self) -> Topics:
        """The topics and partitions that it names, if the body fits."""
        if self._topics is None:
            key = self.exchange.api_key or 0
            self._topics = topic_lister(key, self.version, self.side != REQUEST)(self.value)
        return self._topics

    @property
    def has_ignorable_tail(self) -> bool:
        """Whether bytes after the body are a habit that brokers ignore (`quirks.is_ignorable_tail`)."""
        return self.side == REQUEST and quirks.is_ignorable_tail(
            self.api.key, self.version, self.data, self.end
        )

    def other(self) -> Any:
        """Return the value of the exchange's other side; None without one that fits."""
        found = self.exchange.bodies()[self.side == REQUEST]
        return found.value if found is not None and found.fits else None

    def partitions(self, topics: str, rows: str = "partitions") -> Sequence[tuple[Any, Any, str]]:
        """Return the topic, partition and path (`topics[0].partitions[1]`) of each row in a list of
        topics.
        """
        # Kept: five rules read all partitions of a Metadata response.
        found = self._rows.get((topics, rows))
        if found is None:
            found = self._rows[topics, rows] = [
                (topic, row, f"{topics}[{at}].{rows}[{index}]")
                for at, topic in enumerate(getattr(self.value, topics) or ())
                for index, row in enumerate(getattr(topic, rows) or ())
            ]
        return found

    def violation(self, path: str, expected: str, seen: str) -> Violation:
        """Return the violation of the field at `path`."""
        return Violation(expected, seen, path, side=self.side)

    def undecodable(self, error: DecodeError, expected: str) -> Violation:
        """Return the violation of the bytes where decoding stopped."""
        end = min(error.offset + 16, len(self.data))
        path = error.path.partition(".")[2]  # below the message
        return Violation(expected, error.why, path, error.offset, end, self.side)


def body_of(exchange: Exchange, side: str) -> Body | None:
    """Return one side of an exchange as a body; None if it is missing, or unknown to the schema."""
    decoded = exchange.bodies()[side != REQUEST]
    return None if decoded is None else Body(exchange, side, decoded)
