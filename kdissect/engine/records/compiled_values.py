"""Keys and values that schemas decode in the native engine (native/src/records/schema_values.rs)."""

from __future__ import annotations

from typing import Literal, NamedTuple

from kdissect.engine.exchange_rows import Row, topic_id_text
from kdissect.engine.records.record_values import PARTS, PartFacts, facts_of
from kdissect.engine.records.topic_schemas import TopicSchemas
from kdissect.model.native import native
from kdissect.serdes.reading import Reading
from kdissect.serdes.schemas import Schemas

JsonStyle = Literal["orjson", "compact", "spaced"]
"""How decoded contents are written: as orjson does, or as Python's json does, with blanks or without."""
Found = tuple["native.AvroProgram | None", int, PartFacts]
"""How contents are read: the program (None: by no schema), where they begin after an id, and the columns."""


class Place(NamedTuple):
    """Position of a record."""

    topic: str | None
    topic_id: bytes | None
    partition: int | None
    offset: int | None
    file: str
    packet: int


class Client(NamedTuple):
    """Direction and client of a record."""

    direction: str
    principal: str | None
    client_id: str | None
    client: str


class CompiledValues:
    """Returns for the native engine how keys and values are read, and adds to `topics` what it counts.

    `has_cells`: a decoded text or list is a cell of a table, not JSON.
    """

    def __init__(self, schemas: Schemas, topics: TopicSchemas, style: JsonStyle, has_cells: bool) -> None:
        self._schemas = schemas
        self._topics = topics
        self._readings: list[Reading] = []
        """By the number of the plan."""
        self.asked = (_exact(style), has_cells, self._found, self._note)
        """The argument of `native.HeldRecords`."""

    def _found(
        self, topic: str | None, is_key: bool, content: bytes, header: tuple[str, bytes] | None, number: int
    ) -> Found | None:
        """Return how keys or values with the id of this one are read, as plan `number`; None if Python reads
        them.
        """
        plan = self._schemas.plan(topic, content, () if header is None else (header,), is_key)
        if plan is None:
            return None
        assert number == len(self._readings)
        self._readings.append(plan.reading)
        nodes = plan.nodes
        program = None if nodes is None else native.AvroProgram(nodes)
        return program, plan.start, facts_of(plan.reading)

    def _note(
        self,
        plan: int,
        is_key: bool,
        content: bytes,
        count: int,
        at: tuple[str | None, bytes | None, int | None, int | None, str, int],
        by: tuple[str, str | None, str | None, str],
    ) -> None:
        """Add `count` keys or values of a plan, the first of which is at a place."""
        place, client = Place(*at), Client(*by)
        row: Row = {**place._asdict(), **client._asdict()}
        if place.topic_id is not None:
            row["topic_id"] = topic_id_text(place.topic_id)
        self._topics.add(row, PARTS[is_key], self._readings[plan], content, self._schemas, count)


def _exact(style: JsonStyle) -> str:
    """Return the style of the native engine: releases of orjson differ in exponents."""
    if style != "orjson":
        return style
    from orjson import dumps  # start-up: few commands write JSON of schemas

    return "orjson+" if b"+" in dumps(1e16) else "orjson"
