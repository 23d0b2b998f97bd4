"""`--schemas`: what decodes keys and values of records."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from kdissect.cli.diagnostics import say
from kdissect.model.wording import plural
from kdissect.report.printable import printable

if TYPE_CHECKING:
    from kdissect.api import Dissection
    from kdissect.engine.records.poison_pills import PoisonPills
    from kdissect.engine.records.record_values import RecordValues
    from kdissect.engine.records.topic_schemas import TopicSchemas
    from kdissect.engine.records.value_faults import ValueFaults
    from kdissect.rules.judging.schema_judge import ValuesOf
    from kdissect.serdes.schemas import Schemas
    from kdissect.session.exchange import Exchange

_PILLS_SHOWN = 20


def schemas_of(options: Namespace) -> Schemas | None:
    """Return the user's schemas, read once; None without `--schemas`. Raises ValueError."""
    if not getattr(options, "schemas", None):
        return None
    if options.loaded_schemas is None:
        from kdissect.serdes.faults import SchemaError  # start-up: of --schemas
        from kdissect.serdes.schema_files import load_schemas  # start-up: the same

        try:
            options.loaded_schemas = load_schemas(options.schemas)
        except SchemaError as error:
            raise ValueError(f"--schemas: {error}") from None
    found: Schemas = options.loaded_schemas
    return found


def check_schemas(parser: ArgumentParser, options: Namespace) -> None:
    """Read the user's schemas. Exit with a usage error if they cannot be read."""
    try:
        schemas_of(options)
    except ValueError as error:
        parser.error(str(error))


def values_of(
    options: Namespace,
    pills: PoisonPills | None = None,
    topics: TopicSchemas | None = None,
    by_content: bool = False,
) -> RecordValues:
    """Return the decoder of records for filters and rows. `pills` receives values that do not fit their
    schema, `topics` the schemas of all rows. Contents that no schema describes are decoded in rows with
    `--schemas`, or `by_content`.
    """
    from kdissect.engine.records.record_values import RecordValues  # start-up: for filters and columns

    schemas = schemas_of(options)
    return RecordValues(schemas, pills, topics, by_content or schemas is not None)


def value_faults_of(
    options: Namespace, dissection: Dissection, wants: Callable[[Exchange], bool] | None
) -> ValueFaults | None:
    """Return what reads keys and values for findings and causes; None without `--schemas`."""
    schemas = schemas_of(options)
    if schemas is None:
        return None
    from kdissect.engine.records.value_faults import ValueFaults  # start-up: of --schemas

    return ValueFaults(schemas, dissection.topics, wants)


def of_all_sets(values: ValueFaults | None) -> ValuesOf | None:
    """Return what a judge asks for the reader of a capture set: one reads all sets."""
    return None if values is None else lambda _set: values


def report_schemas(options: Namespace, pills: PoisonPills, topics: TopicSchemas) -> None:
    """Say which keys and values do not fit their schemas, which schemas of a topic do not go together, and
    which schemas could not be used.
    """
    for pill in pills.found[:_PILLS_SHOWN]:
        file, packet = pill.place
        say(f"poison pill: {printable(f'{file} packet {packet}: {pill}')}")
    if pills.count > _PILLS_SHOWN:
        say(f"and {plural(pills.count - _PILLS_SHOWN, 'more poison pill')}")
    for line in topics.lines():
        say(printable(line))
    schemas = schemas_of(options)
    for error in () if schemas is None else schemas.errors:
        say(f"warning: {printable(error)}")
