"""Python source of a decoder for one version of one message.

The emitter knows the wire. A `Sink` knows how to use the values: objects, JSON dicts, or only the few fields
that a summary wants. These points make the code fast:

- Adjacent fixed-width fields, and the length of the variable field after them, come from one `unpack_from`.
- `p` is a position known at run time, `self.delta` the number of bytes read after it so far, known while
  emitting: offsets fold into constants, and fixed-width fields that are not wanted cost no code.
- Bounds are not checked field by field: a length only ever moves `p` forward, an `unpack_from` or index
  past the end raises by itself, and the last line checks `p`. Only counts are checked at once, before a
  loop.
- The code keeps no path and no offset for errors: `tree_decoder` finds them again when something raised.

Names in the emitted code: `b` the buffer, `m` a memoryview of it, `p` the position, `n` a length or count,
`q` an end, `end` the buffer's length; `o1`, `o2` ... structs, `s1` ... ends of tagged fields, `c1` ...
elements to come, `u1` ... unpackers, `x1` ... element lists.
"""

import struct
from typing import Any

from kdissect.decoders.cursor import more_varint, skip_tags
from kdissect.decoders.generated.struct_layout import FIXED, Layout
from kdissect.schema.types import Array, Field, Message, Primitive, Struct, Type


class Sink:
    """Consumer of the values; this one skips them all. Targets are expressions to be assigned to.

    A plain base class: importing a Protocol of this size takes 5 ms.
    """

    enters = False
    """Whether elements of an array are wanted though not all are there: each reads a byte, or raises."""

    def begin(self, emitter: "Emitter", of: Struct, target: str | None) -> str:
        """Emit the start of a struct, also assigned to `target` if there is one, and return its name."""
        return "skipped"

    def end(self, emitter: "Emitter", of: Struct, owner: str) -> None:
        """Emit the code after the last field of a struct; call `flush` before."""

    def target(self, emitter: "Emitter", owner: str, field: Field) -> str | None:
        """Return where the value of a field goes, None to skip it."""
        return None

    def wants(self, of: Type) -> bool:
        """Return whether anything in the elements of an array that has a target is wanted."""
        return True

    def fixed(self, emitter: "Emitter", field: Field, target: str) -> None:
        """Emit what follows once `target` holds a fixed-width value as `struct` gives it."""

    def text(self, emitter: "Emitter", field: Field, target: str, start: str, stop: str) -> None:
        """Emit the use of the string at `b[start:stop]`."""

    def blob(self, emitter: "Emitter", field: Field, target: str, start: str, stop: str) -> None:
        """Emit the use of the bytes or records at `b[start:stop]`."""

    def null(self, emitter: "Emitter", target: str) -> None:
        """Emit the use of a null, at least one line."""
        emitter.emit("pass")

    def array(self, emitter: "Emitter", field: Field, target: str) -> str:
        """Emit the birth of an empty list for `target`; its name."""
        return "skipped"

    def item(self, emitter: "Emitter", array: str) -> str:
        """Return the target of the next string in a list."""
        return "skipped"

    def append(self, emitter: "Emitter", array: str, item: str) -> None:
        """Emit the addition of `item` to a list."""

    def items(self, emitter: "Emitter", field: Field, target: str, count: str, start: str) -> None:
        """Emit the use of `count` fixed-width values from `start` on."""

    def unknown_tag(self, emitter: "Emitter", owner: str) -> None:
        """Emit the use of the unknown tag `t` at `b[p:p + k]`."""

    def all_tags(self, emitter: "Emitter", owner: str, start: str) -> str:
        """Return a statement that uses a section of unknown tags, its count at `start`, and moves `p` to its
        end.
        """
        emitter.names["skip_tags"] = skip_tags
        return f"p = skip_tags(b, {start})"


class Emitter:
    """Emits the body of one decoder; `lines` and `names`, the constants the code uses, are the result."""

    def __init__(self, message: Message, version: int, sink: Sink) -> None:
        self.layout = Layout(message, version)
        self.sink = sink
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"more": more_varint}
        self.delta = 0
        self._depth = 1
        self._serial = 0
        self._run: list[tuple[str, int, str | None, Field | None]] = []
        self._unpackers: dict[str, str] = {}

    def emit_root(self, depth: int) -> str:
        """Emit the message's root struct at an indentation of `depth`; the name of its value."""
        self._depth = depth
        owner = self.sink.begin(self, self.layout.message.root, None)
        self._fields(self.layout.message.root, owner)
        self.sync()
        self.emit("if p > end: raise ValueError")
        return owner

    # The sink's tools.

    def emit(self, line: str) -> None:
        """One more line at the present indentation."""
        self.lines.append("    " * self._depth + line)

    def fresh(self, prefix: str) -> str:
        """Return a name not used yet."""
        self._serial += 1
        return f"{prefix}{self._serial}"

    def constant(self, prefix: str, value: object) -> str:
        """Return a name the emitted code can use for `value`."""
        name = self.fresh(prefix)
        self.names[name] = value
        return name

    # Positions.

    def at(self, extra: int = 0) -> str:
        """Return the present position, `extra` bytes on, as an expression."""
        delta = self.delta + extra
        return "p" if not delta else f"p + {delta}" if delta > 0 else f"p - {-delta}"

    def sync(self) -> None:
        """Make `p` the present position."""
        self.flush()
        if self.delta:
            self.emit(f"p {'+' if self.delta > 0 else '-'}= {abs(self.delta)}")
            self.delta = 0

    # Runs of fixed-width values.

    def _add(self, code: str, width: int, target: str | None, field: Field | None = None) -> None:
        self._run.append((code, width, target, field))

    def flush(self) -> None:
        """Emit the pending run as one `unpack_from`; unwanted values are pad bytes, unwanted ends nothing."""
        run, self._run = self._run, []
        total = sum(width for _, width, _, _ in run)
        while run and run[-1][2] is None:
            run.pop()
        targets = [target for _, _, target, _ in run if target]
        if targets:
            self._unpack(run, targets)
        self.delta += total
        for _, _, target, field in run:
            if target and field:
                self.sink.fixed(self, field, target)

    def _unpack(self, run: list[tuple[str, int, str | None, Field | None]], targets: list[str]) -> None:
        skipped = 0
        while run[0][2] is None:
            skipped += run.pop(0)[1]
        if [code for code, _, _, _ in run] == ["B"]:
            self.emit(f"{targets[0]} = b[{self.at(skipped)}]")
            return
        codes = "".join(code if target else f"{width}x" for code, width, target, _ in run)
        name = self._unpackers.get(codes)
        if name is None:
            name = self._unpackers[codes] = self.constant("u", struct.Struct(">" + codes).unpack_from)
        left = ", ".join(targets) + ("," if len(targets) == 1 else "")
        self.emit(f"{left} = {name}(b, {self.at(skipped)})")

    def _length(self, code: str, width: int, compact: bool, often_long: bool = False) -> None:
        """Emit the reading of a length or count into `n`, after the pending run. Compact ones remain n +
        1.
        """
        if not compact:
            self._add(code, width, "n")
            self.flush()
            return
        self._add("B", 1, "n")
        self.flush()
        if not often_long:
            self._varint_rest("n")
            return
        # Records mostly take 128 bytes and more: a second byte is worth a line of its own.
        self.emit("if n > 127:")
        self.emit(f"    k = b[{self.at()}]")
        self.emit("    if k < 128: n += (k << 7) - 128; p += 1")
        self.emit(f"    else: n, k = more(b, {self.at()}, n); p += k")

    def _varint_rest(self, name: str) -> None:
        self.emit("if %s > 127: %s, k = more(b, %s, %s); p += k" % (name, name, self.at(), name))  # noqa: UP031

    # Fields.

    def _fields(self, of: Struct, owner: str) -> None:
        for field in self.layout.plain_fields(of):
            self._field(field, self.sink.target(self, owner, field), tagged=False)
        if self.layout.flexible:
            self._tags(of, owner)
        self.sink.end(self, of, owner)

    def _field(self, field: Field, target: str | None, tagged: bool) -> None:
        kind = field.type
        if isinstance(kind, Array):
            self._array(field, kind.element, target)
        elif isinstance(kind, Struct):
            self._struct(field, kind, target, tagged)
        elif kind in FIXED:
            self._add(*FIXED[kind], target, field)
        elif kind is Primitive.STRING:
            compact = self.layout.is_compact(field)
            self._length("h", 2, compact)
            self._variable(field, target, compact, self.layout.is_nullable(field))
        else:
            self._length("i", 4, self.layout.flexible, often_long=True)
            self._variable(field, target, self.layout.flexible, self.layout.is_nullable(field))

    def _variable(self, field: Field, target: str | None, compact: bool, nullable: bool) -> None:
        """Emit the `n` (compact: n - 1) bytes of a string, bytes or records, or null."""
        if target is None:
            self._skip_variable(compact, nullable)
            return
        extra = -1 if compact else 0  # a compact n counts one byte more than there is
        if not nullable:
            self.emit(f"if n < {1 if compact else 0}: raise ValueError")
            self._content(field, target, extra)
            self.delta = 0
            return
        self.emit("if n:" if compact else "if n >= 0:")
        self._depth += 1
        self._content(field, target, extra)
        self._depth -= 1
        self.emit("else:" if compact else "elif n == -1:")
        self._depth += 1
        self.sync()
        self.sink.null(self, target)
        self._depth -= 1
        if not compact:
            self.emit("else: raise ValueError")

    def _content(self, field: Field, target: str, extra: int) -> None:
        self.emit(f"q = {self.at(extra)} + n")
        use = self.sink.text if field.type is Primitive.STRING or _is_text(field) else self.sink.blob
        use(self, field, target, self.at(), "q")
        self.emit("p = q")

    def _skip_variable(self, compact: bool, nullable: bool) -> None:
        if compact:
            self.emit("if n > 1: p += n - 1" if nullable else "if n < 1: raise ValueError")
        elif nullable:
            self.emit("if n > 0: p += n")
            self.emit("elif n < -1: raise ValueError")
        else:
            self.emit("if n < 0: raise ValueError")
        if not nullable:
            self.emit("p += n")
            self.delta -= 1 if compact else 0

    def _struct(self, field: Field, of: Struct, target: str | None, tagged: bool) -> None:
        if not self.layout.is_nullable(field):
            self.flush()
            self._fields(of, self.sink.begin(self, of, target))
            return
        # Markers: quirks.is_null_marker.
        if tagged:
            self._length("", 0, compact=True)
        else:
            self._add("b", 1, "n")
        self.sync()
        self._marker(tagged)
        self._null_if("n < 1" if tagged else "n < 0", target)
        self._depth += 1
        self._fields(of, self.sink.begin(self, of, target))
        self.sync()
        self.emit("pass")
        self._depth -= 1

    def _marker(self, tagged: bool) -> None:
        """Emit the check of a struct's marker `n`; any marker is accepted here."""

    # Arrays.

    def _array(self, field: Field, element: Primitive | Struct, target: str | None) -> None:
        compact, nullable = self.layout.flexible, self.layout.is_nullable(field)
        self._length("i", 4, compact)
        self.sync()
        if nullable:
            self._null_if("not n" if compact else "n == -1", target)
            self._depth += 1
        if compact:
            self.emit("n -= 1")
        self._check_count(element)
        self._elements(field, element, target)
        if nullable:
            self._depth -= 1

    def _check_count(self, element: Primitive | Struct) -> None:
        """Emit the check that refuses counts of too large arrays, before elements are allocated."""
        if self.sink.enters and element not in FIXED:
            self.emit("if n < 0: raise ValueError")
            return
        least = self.layout.min_element(element)
        self.emit(f"if n < 0 or n * {least} > end - p: raise ValueError")

    def _null_if(self, condition: str, target: str | None) -> None:
        """Emit the code for a null; the code that follows, one level deeper, is for other values."""
        self.emit(f"if {condition}:")
        self._depth += 1
        if target:
            self.sink.null(self, target)
        else:
            self.emit("pass")
        self._depth -= 1
        self.emit("else:")

    def _elements(self, field: Field, element: Primitive | Struct, target: str | None) -> None:
        size = self.layout.fixed_size(element)
        skipped = target is None or not self.sink.wants(element)
        if skipped and size:
            self.emit(f"p += n * {size}")
        elif isinstance(element, Primitive) and size and target:
            self.sink.items(self, field, target, "n", "p")
            self.emit(f"p += n * {size}")
        else:
            self._loop(field, element, None if skipped else target)

    def _loop(self, field: Field, element: Primitive | Struct, target: str | None) -> None:
        array = self.sink.array(self, field, target) if target else None
        self._begin_loop()
        if isinstance(element, Struct):
            item = self.sink.begin(self, element, None)
            if array:
                self.sink.append(self, array, item)
            self._fields(element, item)
        else:
            self._loop_variable(field, element, array)
        self.sync()
        self._depth -= 1

    def _begin_loop(self) -> None:
        # Most arrays on the wire have one or two elements: a counter beats `for _ in range(n)` up to about
        # ten.
        counter = self.fresh("c")
        self.emit(f"{counter} = n")
        self.emit(f"while {counter}:")
        self._depth += 1
        self.emit(f"{counter} -= 1")

    def _loop_variable(self, field: Field, element: Primitive, array: str | None) -> None:
        """Elements of variable width are never null (Apache Kafka's generated readers refuse them)."""
        compact = self.layout.flexible
        self._length(*(("h", 2) if element is Primitive.STRING else ("i", 4)), compact)
        item = self.sink.item(self, array) if array else None
        self._variable(field, item, compact, nullable=False)
        if array and item:
            self.sink.append(self, array, item)

    # Tag sections (KIP-482): count, then tag, size, bytes each.

    def _tags(self, of: Struct, owner: str) -> None:
        wanted = [(field, self.sink.target(self, owner, field)) for field in self.layout.tagged_fields(of)]
        known = [(field, target) for field, target in wanted if target]
        self._add("B", 1, "n")
        self.flush()
        # Nearly always there are no tags: that path keeps its constant offset, the other one pays.
        delta = self.delta
        back = f"p -= {delta}" if delta > 0 else f"p += {-delta}"
        if not known:
            self.emit(f"if n: {self.sink.all_tags(self, owner, self.at(-1))}; {back}")
            return
        self.emit("if n:")
        self._depth += 1
        self._varint_rest("n")
        self.sync()
        self._tag_loop(known, owner)
        self.emit(back)
        self.delta = delta
        self._depth -= 1

    def _tag_loop(self, known: list[tuple[Field, str]], owner: str) -> None:
        self._begin_loop()
        for name in ("t", "k"):
            self.emit(f"{name} = b[p]; p += 1")
            self.emit(f"if {name} > 127: {name}, n = more(b, p, {name}); p += n")
        keyword = "if"
        for field, target in known:
            self.emit(f"{keyword} t == {field.tag}:")
            self._tagged_field(field, target)
            keyword = "elif"
        self.emit("else:")
        self._depth += 1
        self.sink.unknown_tag(self, owner)
        self.emit("p += k")
        self._depth -= 2

    def _tagged_field(self, field: Field, target: str) -> None:
        self._depth += 1
        stop = self.fresh("s")
        self.emit(f"{stop} = p + k")
        self._field(field, target, tagged=True)
        self.sync()
        self.emit(f"if p != {stop}: raise ValueError")
        self._depth -= 1


def _is_text(field: Field) -> bool:
    return isinstance(field.type, Array) and field.type.element is Primitive.STRING
