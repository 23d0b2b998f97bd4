"""The versions of APIs that a Kafka release takes, and the fate of each version in it.

Facts: `releases.table`. A version is deprecated in a release that accepts it if a later one does not: Kafka
marks versions that 4.0 dropped as deprecated from 3.7 on (KIP-896), and clients that use them break later all
the same.
"""

from enum import StrEnum
from functools import cache
from typing import NamedTuple

from kdissect.schema.protocol_messages import api_keys
from kdissect.schema.releases import history

Number = tuple[int, int, int]
# The protocols of 0.8.0 to 0.8.2 and of 0.10.0 to 0.10.2 differ. Every other release has one protocol.
_WITH_THIRD = ((0, 8), (0, 10))


class Fate(StrEnum):
    """Fate of a version in a release."""

    TAKEN = "taken"
    DEPRECATED = "deprecated"  # taken, and dropped by a later release
    GONE = "gone"  # dropped by this release or an earlier one
    TOO_NEW = "too_new"  # a later release brings it
    UNKNOWN = "unknown"  # the schema does not know the API or the version


class Verdict(NamedTuple):
    """The fate of a version, the release that decides it (`gone in`, `brought by`), and the versions
    taken.
    """

    fate: Fate
    release: str
    taken: tuple[int, int] | None
    """Lowest and highest version of the API that the release takes; None for none."""


def resolve(text: str) -> str:
    """Return a release as the table names it, of `4.0`, `3.9.1`, `2.8.0`, `0.10.2.1`, `v4.1`.

    Raises ValueError for a release that the table does not reach.
    """
    wanted = number(text.removeprefix("v"))
    for release in releases():
        if number(release) == wanted:
            return release
    raise ValueError(f"no release {text!r}; known are {label(releases()[0])} to {label(releases()[-1])}")


def label(release: str) -> str:
    """Return a release of the table as people call it: `2.8.0` is `2.8`."""
    major, minor, third = number(release)
    return f"{major}.{minor}" + (f".{third}" if (major, minor) in _WITH_THIRD else "")


def number(release: str) -> Number:
    """Return a release as numbers that compare. Bug fixes are left out: they do not change the protocol.

    Before 1.0 the third number counts: 0.10.1 and 0.10.2 differ. Raises ValueError.
    """
    parts = release.split(".")
    if not 1 <= len(parts) <= 4 or not all(part.isdigit() for part in parts):
        raise ValueError(f"{release!r} is not a Kafka release such as 4.0")
    major, minor, third = ([int(part) for part in parts] + [0, 0])[:3]
    return (major, minor, third if (major, minor) in _WITH_THIRD else 0)


@cache
def releases() -> list[str]:
    """Return the releases that the table names, oldest first."""
    found: set[str] = set()
    for key in api_keys():
        known = history(key)
        if known is not None:
            found |= {*known.since.values(), *([known.gone_in] if known.gone_in else [])}
    return sorted(found, key=number)


def verdict(api_key: int, version: int, release: str) -> Verdict:
    """Return the fate of a version in a release (`resolve`d)."""
    known = history(api_key)
    if known is None or version not in known.since:
        return Verdict(Fate.UNKNOWN, "", taken_range(api_key, release))
    taken = taken_range(api_key, release)
    if version in known.gone:
        past = number(known.gone_in) <= number(release)
        return Verdict(Fate.GONE if past else Fate.DEPRECATED, known.gone_in, taken)
    since = known.since[version]
    fate = Fate.TAKEN if number(since) <= number(release) else Fate.TOO_NEW
    return Verdict(fate, since, taken)


@cache
def is_off(api_key: int, release: str) -> bool:
    """Return True if a release takes an API only after a setting or a feature has been changed."""
    known = history(api_key)
    return known is not None and known.default_from != "" and number(release) < number(known.default_from)


@cache
def taken_range(api_key: int, release: str) -> tuple[int, int] | None:
    """Return the lowest and highest version that a release takes, or None if it takes none."""
    known = history(api_key)
    if known is None:
        return None
    now = number(release)
    dropped = known.gone_in != "" and number(known.gone_in) <= now
    found = [
        version
        for version, since in known.since.items()
        if number(since) <= now and not (dropped and version in known.gone)
    ]
    return (min(found), max(found)) if found else None
