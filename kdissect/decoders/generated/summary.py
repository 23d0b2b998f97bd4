"""The few facts of a body that a list of exchanges shows, without decoding the other fields.

The same emitter as `compiled`, with a sink that skips what it does not want: most fields cost nothing,
arrays of fixed-width elements one multiplication.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from kdissect.decoders import quirks
from kdissect.decoders.generated.compiled import FAULTS, compile_function
from kdissect.decoders.generated.emitter import Emitter, Sink
from kdissect.decoders.generated.struct_layout import Layout
from kdissect.schema.types import Array, Field, Message, MessageKind, Primitive, Struct, Type

NO_TOPIC_ID = bytes(16)  # org.apache.kafka.common.Uuid#ZERO_UUID: the topic has no id


class Summary(NamedTuple):
    """Facts of one body: distinct values, in order of appearance.

    `errors` are the non-zero error codes, `topics` the topic names (bytes that are not UTF-8 as `\\\\xNN`),
    `topic_ids` the non-zero ids of 16 bytes, `acks` what a Produce request asks for. `complete` is False
    where the body is cut, or where what a summary looks at does not fit: then these are the facts that stand
    before that. Fields that it skips are not checked: a body may be `complete` here and yet not fit
    (`decode_request` decides). `fits` says of a complete one whether it ends where the data ends.

    `groups`, `throttle_ms` and `rack` are known only where a list asks for them. A throttle time other than 0
    counts only in a body that fits.
    """

    errors: tuple[int, ...]
    topics: tuple[str, ...]
    topic_ids: tuple[bytes, ...]
    acks: int | None
    complete: bool
    fits: bool = False
    groups: tuple[str, ...] = ()
    throttle_ms: int | None = None
    rack: str | None = None


Summarizer = Callable[[bytes, int], Summary]
NO_SUMMARY = Summary((), (), (), None, False)


@cache
def summarizer(message: Message, version: int, is_listed: bool = False) -> Summarizer:
    """Return `(data, offset) -> Summary` for one version, `is_listed` with what only a list of exchanges
    shows.

    Raises nothing, whatever the bytes.
    """
    sink = SummarySink(Layout(message, version), is_listed)
    emitter = Emitter(message, version, sink)
    emitter.emit_root(depth=2)
    lines = ["def summarize(b, p):", "    end = len(b)", "    acks = throttle = rack = None"]
    lines += [f"    {name} = {{}}" for name in sink.used]
    lines += ["    try:", *emitter.lines, f"    except {FAULTS}:", f"        return {sink.result(False)}"]
    lines.append(f"    return {sink.result(True)}")
    names = emitter.names | {"new": tuple.__new__, "Summary": Summary, "NO_TOPIC_ID": NO_TOPIC_ID}
    summarize: Summarizer = compile_function(lines, names, f"<{message.name} v{version} to summary>")
    return summarize


class SummarySink(Sink):
    """Keeps error codes, topics and acks, `is_listed` groups, throttle time and rack.

    `used` names the dicts (as ordered sets) the code fills.
    """

    enters = True

    def __init__(self, layout: Layout, is_listed: bool) -> None:
        self._layout = layout
        self._is_listed = is_listed
        self._wanted: dict[Struct, bool] = {}
        self._root = layout.message.root
        self.used: dict[str, None] = {}

    def result(self, complete: bool) -> str:
        """Return the expression that makes the summary."""
        sets = [
            f"tuple({name}) if {name} else ()" if name in self.used else "()"
            for name in ("errors", "topics", "topic_ids", "groups")
        ]
        fits = "p == end" if complete else "False"
        throttle = f"throttle if {fits} or not throttle else None"
        return f"new(Summary, ({', '.join(sets[:3])}, acks, {complete}, {fits}, {sets[3]}, {throttle}, rack))"

    def begin(self, emitter: Emitter, of: Struct, target: str | None) -> str:
        """Structs have no value; the name identifies the root, which has acks."""
        return "root" if of is self._root else "inner"

    def target(self, emitter: Emitter, owner: str, field: Field) -> str | None:
        """Return a local for what is wanted. A container is wanted if anything in it is."""
        if isinstance(field.type, Array | Struct):
            return "inner" if self.wants_field(field) else None
        if owner == "root" and self.is_acks(field):
            return "acks"
        listed = self._listed(field)
        if listed in ("throttle", "rack"):
            return listed
        return emitter.fresh("v") if field.is_error or listed or _is_topic(field) else None

    def wants(self, of: Type) -> bool:
        """Return whether a struct has a wanted field. Primitives: what `target` let through is wanted."""
        if isinstance(of, Array):
            return self.wants(of.element)
        if isinstance(of, Primitive):
            return True
        if of not in self._wanted:
            layout = self._layout
            fields = layout.plain_fields(of) + layout.tagged_fields(of)
            self._wanted[of] = any(self.wants_field(field) for field in fields)
        return self._wanted[of]

    def is_acks(self, field: Field) -> bool:
        """Return whether a field of the root is the number of requested acknowledgements."""
        return field.name == "acks" and quirks.has_acks(self._layout.message)

    def wants_field(self, field: Field) -> bool:
        """Return whether a field is wanted, or anything in it."""
        inner = field.type.element if isinstance(field.type, Array) else field.type
        if isinstance(inner, Struct):
            return self.wants(inner)
        return field.is_error or _is_topic(field) or self._listed(field) is not None

    def _listed(self, field: Field) -> str | None:
        return listed_role(self._layout.message, field) if self._is_listed else None

    def fixed(self, emitter: Emitter, field: Field, target: str) -> None:
        """Error codes and topic ids, unless zero."""
        if field.is_error:
            self._use("errors")
            emitter.emit(f"if {target}: errors[{target}] = None")
        elif field.type is Primitive.UUID:
            self._use("topic_ids")
            emitter.emit(f"if {target} != NO_TOPIC_ID: topic_ids[{target}] = None")

    def text(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """Emit the reading of a name, if all its bytes are there."""
        emitter.emit(f"if {stop} > end: raise ValueError")
        text = f'b[{start}:{stop}].decode("utf-8", "backslashreplace")'
        listed = self._listed(field)
        if listed == "rack":
            emitter.emit(f"rack = {text}")
            return
        names = "topics" if listed is None else "groups"
        self._use(names)
        emitter.emit(f"{names}[{text}] = None")

    def items(self, emitter: Emitter, field: Field, target: str, count: str, start: str) -> None:
        """Topic ids in an array of them."""
        self._use("topic_ids")
        emitter.emit(f"for i in range({start}, {start} + {count} * 16, 16): topic_ids[b[i:i + 16]] = None")

    def _use(self, name: str) -> None:
        self.used[name] = None


def _is_topic(field: Field) -> bool:
    inner: Any = field.type.element if isinstance(field.type, Array) else field.type
    if inner is Primitive.STRING:
        return field.entity == "topicName"
    return inner is Primitive.UUID and field.entity == "topicId"


def listed_role(message: Message, field: Field) -> str | None:
    """`group`, `throttle` or `rack` for what filters call so (`query.fields.lookup`): texts and a number."""
    inner: Any = field.type.element if isinstance(field.type, Array) else field.type
    if inner is Primitive.STRING and (field.entity == "groupId" or field.name == "group_id"):
        return "group"
    if field.type is Primitive.INT32 and field.name == "throttle_time_ms":
        return "throttle" if message.kind is MessageKind.RESPONSE else None
    is_own = message.kind is MessageKind.REQUEST and any(field is one for one in message.root.fields)
    return "rack" if is_own and field.type is Primitive.STRING and field.name in ("rack", "rack_id") else None
