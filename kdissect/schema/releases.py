"""Which release brought an API version and which dropped it, from `releases.table`, read at first use."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from kdissect.model.errors import SchemaError
from kdissect.schema.fact_tables import read_rows, whole_number
from kdissect.schema.field_tokens import parse_versions
from kdissect.schema.types import NO_VERSIONS, Versions

TABLE = "releases.table"


class ApiHistory(NamedTuple):
    """The life of one API."""

    key: int
    name: str
    since: dict[int, str]
    """Version -> the release whose brokers first name it."""
    gone: Versions
    """Versions no current broker takes (NO_VERSIONS: none)."""
    gone_in: str
    """The release that dropped them, '' if none."""
    unstable: Versions
    """Versions that are only offered by a setting."""
    default_from: str
    """The release from which on the API works without a setting, '' if it always did."""
    former_name: str
    """The former name of the API, '' if it always had its name."""


def history(api_key: int) -> ApiHistory | None:
    """Return the history of an API, or None if the key is unknown."""
    return _all().get(api_key)


@cache
def newest_release() -> str:
    """Return the newest Kafka release in the table: the schema's own age."""
    releases = {release for row in _all().values() for release in row.since.values()}
    return max(releases, key=lambda release: [int(part) for part in release.split(".")])


def parse_releases(rows: Iterable[tuple[str, list[str]]]) -> dict[int, ApiHistory]:
    """Return rows `KEY NAME VERSION:RELEASE ... [gone RANGE in RELEASE] [unstable RANGE] [default RELEASE]
    [formerly NAME]`.

    Raises SchemaError (`file:line: why`).
    """
    found: dict[int, ApiHistory] = {}
    for place, words in rows:
        row = _parse_row(place, words)
        if row.key in found:
            raise SchemaError(f"{place}: key {row.key} stands here twice")
        found[row.key] = row
    return found


def _parse_row(place: str, words: list[str]) -> ApiHistory:
    if len(words) < 3:
        raise SchemaError(f"{place}: a row is 'KEY NAME VERSION:RELEASE ...'")
    pairs = [word.partition(":") for word in words[2:] if ":" in word]
    options = [word for word in words[2:] if ":" not in word]
    try:
        gone = parse_versions(options[options.index("gone") + 1]) if "gone" in options else NO_VERSIONS
        return ApiHistory(
            key=whole_number(words[0], place),
            name=words[1],
            since={whole_number(version, place): release for version, _, release in pairs},
            gone=gone,
            gone_in=_after("in", options),
            unstable=parse_versions(_after("unstable", options) or "none"),
            default_from=_after("default", options),
            former_name=_after("formerly", options),
        )
    except (ValueError, IndexError) as error:
        raise SchemaError(f"{place}: {error}") from None


def _after(word: str, options: list[str]) -> str:
    return options[options.index(word) + 1] if word in options else ""


@cache
def _all() -> dict[int, ApiHistory]:
    return parse_releases(read_rows(TABLE))
