"""`kdissect wireshark-plugin`: a plugin of Wireshark and tshark that knows every message the schema knows.

The plugin is tables of the schema, written here, and a walker that reads any message by them
(`wireshark.lua`), as the readers of kdissect do.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.output_options import add_output, writing
from kdissect.cli.output import Output
from kdissect.model.version import __version__
from kdissect.schema import protocol_messages, secrets
from kdissect.schema.enums import all_enumerations
from kdissect.schema.error_codes import all_errors
from kdissect.schema.types import Array, Field, Message, Struct, Versions

_WALKER = Path(__file__).with_name("wireshark.lua")
_INDENT = "  "
_SMALLEST, _LARGEST = -(1 << 31), (1 << 31) - 1  # numbers that Wireshark's lists of names take
_ERRORS = "error"


def run(arguments: Sequence[str]) -> int:
    """Write the plugin and return the exit code."""
    parser = command_parser(
        "wireshark-plugin",
        "Print a Lua plugin with which Wireshark and tshark decode every Kafka message under our names.",
    )
    add_output(parser.add_argument)
    options = parser.parse_args(arguments)

    def body(output: Output) -> None:
        output.write(plugin_text().encode())

    return writing(parser, options, body)


def plugin_text() -> str:
    """Return the plugin: tables and walker, in Lua."""
    return "\n".join((
        f"-- Kafka for Wireshark and tshark, by every message that kdissect {__version__} knows.",
        "-- Made by `kdissect wireshark-plugin`: do not edit it.",
        "--",
        "-- A field: name, type, first and last version; z and Z: null in these versions; g: its tag, in",
        "-- versions t to T; a: an array; of: the fields of its struct; e: names of its values; x: an error",
        "-- code; k: what it names; s: secret; c: the value of a config.",
        *_tables(),
        "",
        _WALKER.read_text(encoding="utf-8"),
    ))  # fmt: skip


def _tables() -> Iterator[str]:
    yield "local ENUMS = {"
    yield from _names(_ERRORS, ((error.code, error.name) for error in all_errors()))
    for enum in all_enumerations():
        yield from _names(
            enum.name, ((key, name) for key, name in enum.values.items() if isinstance(key, int))
        )
    yield "}"
    yield f"local PUBLIC_CONFIGS = {_set(secrets.public_configs())}"
    yield f"local OF_MECHANISM = {_set(secrets.PUBLIC_OF_MECHANISM)}"
    yield f"local LOG_LEVELS = {_set(secrets.LOG_LEVELS)}"
    yield "local APIS = {"
    for api in protocol_messages.all_apis():
        first, last = api.versions
        flexible = min(api.request.flexible.first, last + 1) if api.request.flexible.last >= 0 else last + 1
        secret = ", secret = true" if secrets.is_secretive(api.key) else ""
        versions = f"first = {first}, last = {last}, flexible = {flexible}"
        yield f'[{api.key}] = {{name = "{api.name}", {versions}{secret},'
        yield "request = {"
        yield from _fields(api.request, api.request.root, _INDENT)
        yield "}, response = {"
        yield from _fields(api.response, api.response.root, _INDENT)
        yield "}},"
    yield "}"


def _names(enum: str, names: Iterable[tuple[int, str]]) -> Iterator[str]:
    pairs = ", ".join(f'[{key}] = "{name}"' for key, name in names if _SMALLEST <= key <= _LARGEST)
    if pairs:
        yield f"{_INDENT}{enum} = {{{pairs}}},"


def _set(words: Iterable[str]) -> str:
    return "{" + ", ".join(f'["{word}"] = true' for word in sorted(words)) + "}"


def _fields(message: Message, of: Struct, indent: str) -> Iterator[str]:
    for field in of.fields:
        kind = field.type.element if isinstance(field.type, Array) else field.type
        inner = kind if isinstance(kind, Struct) else None
        facts = [
            f'"{field.name}"', '"struct"' if inner is not None else f'"{kind}"',
            *_range(message, field.versions), *_marks(message, field),
        ]  # fmt: skip
        if inner is None:
            yield f"{indent}{{{', '.join(facts)}}},"
        else:
            yield f"{indent}{{{', '.join(facts)}, of = {{"
            yield from _fields(message, inner, indent + _INDENT)
            yield f"{indent}}}}},"


def _marks(message: Message, field: Field) -> Iterator[str]:
    if field.nullable.last >= field.nullable.first:
        first, last = _range(message, field.nullable)
        yield f"z = {first}, Z = {last}"
    if field.tag is not None:
        first, last = _range(message, field.tagged)
        yield f"g = {field.tag}, t = {first}, T = {last}"
    if isinstance(field.type, Array):
        yield "a = true"
    if field.enum is not None:
        yield f'e = "{field.enum}"'
    if field.is_error:
        yield "x = true"
    if field.entity is not None:
        yield f'k = "{field.entity}"'
    if field.is_secret:
        yield "s = true"
    if field.is_config_value:
        yield "c = true"


def _range(message: Message, versions: Versions) -> tuple[str, str]:
    return str(versions.first), str(min(versions.last, message.versions.last))
