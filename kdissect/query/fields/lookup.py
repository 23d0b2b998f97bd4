"""Sources of values by the names of fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kdissect.decoders.as_json.jsonable import PAYLOAD_SUFFIX
from kdissect.decoders.generated.projection import Path
from kdissect.engine.exchange_bodies import body_of
from kdissect.query.binding import Binding
from kdissect.query.fields.field_sources import RECORD_PARTS, BodySource, Cost, Many, Source
from kdissect.query.fields.named import suggest
from kdissect.query.fields.row_fields import row_fields
from kdissect.query.fields.schema_fields import REQUEST, RESPONSE, SIDES, BodyField, all_body_fields
from kdissect.query.values.value_kinds import ValueKind
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange

Apis = frozenset[int] | None


"""The APIs that a test can hold for; None for all."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.(?:[A-Za-z_][A-Za-z0-9_]*|\*\*?))*")
_SHOWN_APIS = 4  # in a message
MAX_PARTS = 16  # of a name, twice the parts of the schema's deepest field
_PARTITIONS = ("partition", "partition_index", "partition_indexes", "partition_id", "partitions")


class EntityField:
    """A name for all body fields with one meaning, with any name in each message."""

    def __init__(
        self,
        name: str,
        doc: str,
        means: Callable[[BodyField], bool],
        fits_only: bool = False,
        is_one: bool = False,
    ) -> None:
        self.name = name
        self.is_one = is_one
        """Whether an exchange has one at most."""
        self.fits_only = fits_only
        """Whether it counts only in bodies that fit to their last byte, as statistics have it."""
        self.doc = doc
        self.means = means


ENTITIES = {
    entity.name: entity
    for entity in (
        EntityField(
            "group",
            "group ids in request and response",
            lambda f: f.field.entity == "groupId" or f.path[-1] == "group_id",
        ),
        EntityField(
            "transactional_id",
            "transactional ids in request and response",
            lambda f: f.field.entity == "transactionalId",
        ),
        EntityField(
            "producer_id",
            "producer ids in request and response, not the ids in record batches",
            lambda f: f.field.entity == "producerId",
        ),
        EntityField(
            "partition",
            "partitions of topics in request and response",
            lambda f: f.kind.name == "int" and _is_partition(f.path),
        ),
        EntityField(
            "throttle",
            "time the broker says it throttled the client for",
            lambda f: f.side == RESPONSE and f.path[-1] == "throttle_time_ms",
            fits_only=True,
            is_one=True,
        ),
        EntityField(
            "rack",
            "rack that the requester names as its own (Fetch, heartbeats). Empty if it names none",
            lambda f: f.side == REQUEST and f.path in (("rack",), ("rack_id",)),
            is_one=True,
        ),
    )
}


def _is_partition(path: Path) -> bool:
    """Produce alone calls it an index."""
    return path[-1] in _PARTITIONS or (path[-1] == "index" and "partition" in path[-2])


class UnknownFieldError(LookupError):
    """No field has the name; `hint` is a suggestion or empty."""

    def __init__(self, why: str, hint: str) -> None:
        super().__init__(why)
        self.why = why
        self.hint = hint


def look_up(name: str, apis: Apis = None) -> Source:
    """Return the field of a name, for exchanges of some APIs. Raises UnknownFieldError."""
    apis = apis or None  # tests that exclude each other: no exchange passes, with any further test
    entry = row_fields().get(name)
    if entry is not None:
        return entry.source
    entity = ENTITIES.get(name)
    if entity is not None:
        fields = (f for side in SIDES for f in all_body_fields(side, apis) if entity.means(f))
        return _source(name, fields, entity.fits_only)
    if name.startswith(RECORD_PARTS):
        from kdissect.query.fields.record_sources import record_source  # start-up: of few filters

        of_records = record_source(name)
        if of_records is not None:
            return of_records
    if name.count(".") >= MAX_PARTS:
        raise UnknownFieldError(f"{name!r} is no field name", "")
    if _NAME.fullmatch(name) is None:
        raise UnknownFieldError(f"{name!r} is no field name", _suggest_field(name, apis))
    side, _, rest = name.partition(".")
    if side not in SIDES or not rest:
        raise UnknownFieldError(f"no field {name!r}", _suggest_field(name, apis))
    payload_path = payload_place(rest.split("."))
    if payload_path is not None:
        return _decoded(name, side, rest, payload_path, apis)
    source = _source(name, matching(side, rest.removeprefix("body."), apis))
    if not source.kinds:
        raise _missing(name, side, rest, apis)
    return source


def _decoded(name: str, side: str, rest: str, payload_path: Path, apis: Apis) -> Source:
    """Return the content of the bytes at a payload_path."""
    path = rest.removeprefix("body.").split(".")
    wanted = ".".join(payload_path).removeprefix("body.")
    keys = frozenset(field.api_key for field in matching(side, wanted, apis) if field.field.payload)
    if not keys or "*" in rest:
        raise UnknownFieldError(f"{side}.{wanted} holds no payload that is decoded", "")
    return DecodedSource(name, side, path, keys)


def matching(side: str, pattern: str, apis: Apis = None) -> Iterable[BodyField]:
    """Yield the fields of one side whose path matches a pattern: `*` is one name, `**` any number of
    names.
    """
    if "*" not in pattern:
        path = tuple(pattern.split("."))
        return (field for field in all_body_fields(side, apis) if field.path == path)
    parts = (_PART.get(part, re.escape(part) + r"\.") for part in pattern.split("."))
    matches = re.compile("".join(parts)).fullmatch
    return (field for field in all_body_fields(side, apis) if matches(".".join(field.path) + "."))


_PART = {"*": r"[^.]+\.", "**": r"(?:[^.]+\.)*"}


def _source(name: str, fields: Iterable[BodyField], fits_only: bool = False) -> BodySource:
    groups: dict[ValueKind, dict[str, dict[int, list[Path]]]] = {}
    for field in fields:
        sides = groups.setdefault(field.kind, {})
        sides.setdefault(field.side, {}).setdefault(field.api_key, []).append(field.path)
    return BodySource(name, groups, fits_only)


def _missing(name: str, side: str, rest: str, apis: Apis) -> UnknownFieldError:
    hint = _suggest_field(name, apis)
    if apis is None:
        return UnknownFieldError(f"no API has {name}", hint)
    names = ", ".join(_api_text(key) for key in sorted(apis)[:_SHOWN_APIS])
    why = f"{names} {'has' if len(apis) == 1 else 'have'} no {name}"
    owners = sorted({field.api_key for field in matching(side, rest.removeprefix("body."))})
    if hint != _ALL or not owners:
        return UnknownFieldError(why, hint)
    shown = ", ".join(map(_api_text, owners[:_SHOWN_APIS])) + (" ..." if len(owners) > _SHOWN_APIS else "")
    return UnknownFieldError(why, f"it is a field of {shown}")


def _api_text(key: int) -> str:
    return api_name(key) or f"API {key}"


# Names of fields in other tools, Wireshark first of all.
_HABITS = {
    "duration": "latency",
    "frame.number": "request.packets.first",
    "group_id": "group",
    "ip": "host",
    "ip.addr": "host",
    "ip.dst": "broker.ip",
    "ip.src": "client.ip",
    "kafka.request_key": "api_key",
    "kafka.topic_name": "topic",
    "port": "broker.port",
    "tcp.port": "broker.port",
    "topic_name": "topic",
}
_ALL = "kdissect fields lists them all"


def _suggest_field(name: str, apis: Apis) -> str:
    """Return `did you mean NAME?`, or a hint if no name is near."""
    if name in _HABITS:
        return f"did you mean {_HABITS[name]}?"
    for side in SIDES:
        if any(True for _ in matching(side, name, apis)):
            return f"did you mean {side}.{name}?"
    from kdissect.query.fields.record_sources import RECORD_FILTER_FIELDS  # start-up: for mistakes

    known = [*row_fields(), *ENTITIES, *(field.name for field in RECORD_FILTER_FIELDS)]
    side = name.partition(".")[0]
    if side in SIDES:
        known += {field.name for field in all_body_fields(side, apis)}
    near = suggest(name, known).strip()
    return near if near.startswith("did") else _ALL


# Fields in the content of bytes fields: `request.protocols.metadata_decoded.topics`.
class DecodedSource(Source):
    """The values at a path of the decoded body, with its payloads. For structs only their presence counts."""

    def __init__(self, name: str, side: str, path: Sequence[str], keys: frozenset[int]) -> None:
        from kdissect.query.fields.decoded_values import DECODED  # start-up: of few filters

        super().__init__(name, (DECODED,), True, Cost.WHOLE_BODY)
        self._side = side
        self._path = tuple(path)
        self._keys = keys

    def many(self, binding: Binding) -> tuple[Many, ...]:
        """Return the getter of the values, from the body as rows have it, secrets masked."""
        from kdissect.query.fields.decoded_values import values_at  # start-up: of few filters

        def get(exchange: Exchange) -> Sequence[Any]:
            if exchange.api_key not in self._keys:
                return ()
            return list(values_at(body_of(exchange, self._side, show_secrets=False).body, self._path))

        return (get,)


def payload_place(path: Sequence[str]) -> tuple[str, ...] | None:
    """Return the path of the bytes field whose payload a path leads into, or None if it leads into none."""
    for index, part in enumerate(path):
        if part.endswith(PAYLOAD_SUFFIX):
            return (*path[:index], part.removesuffix(PAYLOAD_SUFFIX))
    return None
