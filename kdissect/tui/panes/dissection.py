"""One exchange decoded for the screen: lines of a tree, and the bytes of each line."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kdissect.decoders.trees.masking import secret_nodes
from kdissect.decoders.trees.node import Decompressed, Node
from kdissect.decoders.trees.tree_text import TreeText
from kdissect.engine.exchange_log.log import ExchangeLog
from kdissect.engine.exchange_log.logged_frames import LoggedFrame, Span
from kdissect.engine.exchange_rows import has_anomalies
from kdissect.engine.exchange_trees import whole_tree
from kdissect.engine.records.record_values import RecordValues
from kdissect.engine.secrets.patches import FILLER
from kdissect.engine.secrets.secret_bytes import secret_patches
from kdissect.engine.times import rfc3339
from kdissect.model.frame import Frame
from kdissect.model.packets.packet import ref_number, span_text
from kdissect.model.wording import plural
from kdissect.report.broker_times import broker_times
from kdissect.report.quantities import duration
from kdissect.session.exchange import Exchange, exchange_text
from kdissect.session.info import ConnectionInfo
from kdissect.tui.widgets.safe_text import safe

# Children of one node shown at once. Further children appear below groups of this size.
GROUP = 100
_SIDES = ("request", "response")


class Buffer:
    """Bytes for the hex pane: of a frame without its size prefix, or of data that was compressed in it.

    `spans` are the packets of a frame's bytes, counted from the end of the size prefix. `hidden` are bytes
    that the screen must not show.
    """

    def __init__(self, data: bytes, title: str, side: str, spans: tuple[Span, ...] = ()) -> None:
        self.data = data
        self.title = title
        self.side = side
        self.spans = tuple(Span(span.start - 4, span.end - 4, span.ref) for span in spans)
        self.hidden = bytearray(len(data))
        self.root: Item | None = None
        """The line for all of it."""

    def hide(self, start: int, end: int) -> None:
        """Bytes that hold a secret."""
        end = min(end, len(self.data))
        self.hidden[start:end] = b"\1" * max(end - start, 0)

    def shown(self, start: int, end: int) -> bytes:
        """Return bytes with fillers in place of hidden bytes."""
        pairs = zip(self.data[start:end], self.hidden[start:end], strict=True)
        return bytes(FILLER[0] if hidden else byte for byte, hidden in pairs)

    def packet_at(self, offset: int) -> int | None:
        """Return the number of the packet that carried a byte, or None if it is unknown."""
        for span in self.spans:
            if span.start <= offset < span.end:
                return ref_number(span.ref)
        return None


class Item:
    """A line of the tree. `node` is None for what is no field: facts, groups; `start`, `end` in `buffer`."""

    __slots__ = (
        "buffer",
        "depth",
        "end",
        "is_open",
        "kind",
        "label",
        "made",
        "make",
        "node",
        "parent",
        "side",
        "start",
        "value",
    )  # fmt: skip

    def __init__(
        self, label: str, value: str = "", kind: str = "", side: str = "", parent: Item | None = None
    ) -> None:
        self.label = label
        self.value = value
        self.kind = kind
        """Style: empty, `side`, `fact`, `bad`, `odd`, `group`."""
        self.side = side
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.node: Node | None = None
        self.buffer: Buffer | None = None
        self.start = self.end = 0
        self.is_open = False
        self.made: list[Item] | None = None
        self.make: Callable[[], list[Item]] | None = None

    @property
    def can_open(self) -> bool:
        """Whether there is anything below."""
        return bool(self.made) if self.made is not None else self.make is not None

    @property
    def children(self) -> list[Item]:
        """The lines below, made when they are first wanted."""
        if self.made is None:
            self.made = self.make() if self.make is not None else []
        return self.made


class Dissected:
    """An exchange and its tree. Making one reads its bytes and takes a moment: not on the screen's thread."""

    def __init__(self, log: ExchangeLog, row: int, show_secrets: bool = False) -> None:
        self.row = row
        self.exchange = log.exchange(row)
        self._log = log
        self._show_secrets = show_secrets
        self._values = None if log.schemas is None else RecordValues(log.schemas)
        self.roots: list[Item] = [self._facts(row)]
        for side, frame in zip(_SIDES, (self.exchange.request, self.exchange.response), strict=True):
            if frame is not None:
                self.roots.append(self._side(side, frame))

    def root(self, side: str) -> Item | None:
        """Return the root of a side."""
        return next((item for item in self.roots if item.side == side), None)

    def item_at(self, buffer: Buffer, offset: int) -> Item | None:
        """Return the innermost line that shows a byte of a buffer."""
        item = buffer.root
        if item is None or not 0 <= offset < len(buffer.data):
            return None
        while (inner := _below(item, buffer, offset)) is not None:
            item = inner
        return item

    # facts

    def _facts(self, row: int) -> Item:
        log, exchange = self._log, self.exchange
        info = exchange.connection
        root = Item(f"Exchange {row + 1}", f"{info.client_text} > {info.broker_text}", "fact")
        facts = [
            ("connection", f"{info.id}, {exchange_text(exchange.ordinal)}"),
            ("correlation id", "" if exchange.correlation_id is None else str(exchange.correlation_id)),
            ("client id", "null" if exchange.client_id is None else safe(exchange.client_id)),
            ("software", safe(info.software or "")),
            ("principal", safe(info.principal or "")),
            ("state", exchange.state.replace("_", " ")),
            ("latency", "" if exchange.latency_ns is None else duration(exchange.latency_ns)),
        ]
        logged = exchange.logged
        if logged is not None:
            facts += [
                ("broker", broker_times(logged)),
                ("not in the log", "records, sizes of frames, packets"),
            ]
        root.is_open = bool(log.codes(row)) or has_anomalies(exchange)
        lines = [Item(f"! {code}", safe(_rule_name(code)), "bad", "", root) for code in log.codes(row)]
        if has_anomalies(exchange):
            lines += [
                Item(f"~ {anomaly.kind}", safe(anomaly.detail), "odd", "", root)
                for anomaly in exchange.all_anomalies()
            ]
        lines += [Item(name, value, "fact", "", root) for name, value in facts if value]
        root.made = lines
        return root

    # frames

    def _side(self, side: str, frame: Frame) -> Item:
        root = Item(side.capitalize(), _about(frame), "side", side)
        root.is_open = True
        found = frame.found if isinstance(frame, LoggedFrame) else None
        spans = found.spans if found is not None else ()
        if found is not None and found.why:
            root.made = [Item("!", safe(found.why), "bad", side, root)]
            return root
        buffer = Buffer(frame.data, f"{side} frame", side, spans)
        root.buffer, root.end = buffer, len(frame.data)
        buffer.root = root
        if not self._show_secrets:
            _hide(self.exchange, side, buffer)
        tree = whole_tree(self.exchange, side, frame, self._topic_name, self._values)
        if tree is None:
            root.made = [
                Item("body", "the request is not known, so this cannot be decoded", "odd", side, root)
            ]
            return root
        root.node = tree
        secret: frozenset[int] = frozenset() if self._show_secrets else secret_nodes(tree)
        text = TreeText(secret, topic_name=lambda number: self._topic_name(self.exchange.connection, number))
        _Branches(text, side, secret).fill(root, tree, buffer)
        return root

    def _topic_name(self, _info: ConnectionInfo, number: bytes) -> str | None:
        return self._log.topic_names.get(number)


class _Branches:
    """Maker of the lines for a tree of nodes."""

    def __init__(self, text: TreeText, side: str, secret: frozenset[int]) -> None:
        self._text = text
        self._secret = secret
        self._side = side

    def fill(self, item: Item, node: Node, buffer: Buffer) -> None:
        """Let a line make its children when they are wanted, and open it if they are few."""
        shown = [child for child in node.children if self._text.is_shown(node, child)]
        error = node.own_error
        if not shown and error is None:
            return

        def make() -> list[Item]:
            lines = self._lines(item, shown, buffer)
            if error is not None:
                lines.insert(
                    0, Item("!", safe(f"{error.why} at byte {error.offset}"), "bad", self._side, item)
                )
            return lines

        item.make = make
        if len(shown) <= 20 and item.depth < 6:
            item.is_open = True

    def _lines(self, parent: Item, nodes: list[Node], buffer: Buffer) -> list[Item]:
        if len(nodes) <= 2 * GROUP:
            return [self._line(parent, node, buffer) for node in nodes]
        groups = []
        for first in range(0, len(nodes), GROUP):
            part = nodes[first : first + GROUP]
            group = Item(f"[{first} … {first + len(part) - 1}]", "", "group", self._side, parent)
            group.buffer, group.start, group.end = buffer, part[0].start, part[-1].end
            group.make = self._maker(group, part, buffer)
            groups.append(group)
        return groups

    def _maker(self, group: Item, part: list[Node], buffer: Buffer) -> Callable[[], list[Item]]:
        return lambda: [self._line(group, node, buffer) for node in part]

    def _line(self, parent: Item, node: Node, buffer: Buffer) -> Item:
        kind = "bad" if node.error is not None else ""
        item = Item(safe(node.name), safe(self._text.value(node)), kind, self._side, parent)
        item.node, item.buffer, item.start, item.end = node, buffer, node.start, node.end
        if isinstance(node, Decompressed):
            inner = Buffer(node.content, f"decompressed, in the {self._side} at {parent.start}", self._side)
            for part in node.walk() if self._secret else ():
                if id(part) in self._secret and not part.children:
                    inner.hide(part.start, part.end)
            inner.root = item
            item.buffer, item.start, item.end = inner, 0, len(node.content)
            item.value = plural(len(node.content), "byte")
            buffer = inner
        self.fill(item, node, buffer)
        return item


def _hide(exchange: Exchange, side: str, buffer: Buffer) -> None:
    """Mark the bytes that hold secrets."""
    for patch in secret_patches(exchange, side):
        buffer.hide(patch.start, patch.start + len(patch.data))


def _below(item: Item, buffer: Buffer, offset: int) -> Item | None:
    for child in item.children:
        if child.buffer is buffer and child.start <= offset < child.end:
            return child
    return None


def inner_item(item: Item, label: str) -> Item | None:
    """Return the first line below that has a label."""
    for child in item.children:
        found = child if child.label == label else inner_item(child, label)
        if found is not None:
            return found
    return None


def open_lines(items: list[Item]) -> Iterator[Item]:
    """Yield the lines on screen, including the children of open lines."""
    for item in items:
        yield item
        if item.is_open and item.can_open:
            yield from open_lines(item.children)


def _about(frame: Frame) -> str:
    if frame.is_logged:
        return f"{span_text(frame.first_ref, frame.last_ref)}, {rfc3339(frame.time_ns)[11:29]}"
    first, last = ref_number(frame.first_ref), ref_number(frame.last_ref)
    packets = f"packet {first}" if first == last else f"packets {first} to {last}"
    cut = "" if not frame.is_cut else ", captured in part"
    return f"{plural(frame.size + 4, 'byte')}, {packets}, {rfc3339(frame.time_ns)[11:29]}{cut}"


def _rule_name(code: str) -> str:
    from kdissect.rules.registry import ALL_RULES  # start-up: every rule is a module

    return next((rule.name for rule in ALL_RULES if rule.code == code), "")
