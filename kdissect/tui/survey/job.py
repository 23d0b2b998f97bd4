"""What a survey is to read, and what it is asked for."""

from collections.abc import Mapping
from typing import Any, NamedTuple

Facts = dict[str, Any]


class Job(NamedTuple):
    """The inputs as `api.Dissection` takes them. `filter` is the text of a filter; what does not pass is not
    counted. `by` is the dimension (`stats.dimensions`) that traffic is told apart by.
    """

    paths: tuple[str, ...]
    ports: tuple[int, ...] = ()
    topic_ids: Mapping[bytes, str] | None = None
    key_logs: tuple[str, ...] = ()
    hosts: Mapping[str, str] | None = None
    filter: str = ""
    by: str = "api"


CONNECTIONS = "connections"
TOPICS = "topics"
GROUPS = "groups"
PRODUCERS = "producers"
TRAFFIC = "traffic"
FINDINGS = "findings"
PARTS = (CONNECTIONS, TOPICS, GROUPS, PRODUCERS, TRAFFIC, FINDINGS)
"""What a survey can be asked for; each part is one dict of plain values."""


class Snapshot(NamedTuple):
    """What is known of one part after `exchanges` exchanges. `is_last`: the inputs are read to their end.

    `error` says why there is nothing, in one line.
    """

    part: str
    facts: Facts
    exchanges: int
    is_last: bool
    error: str = ""


class Codes(NamedTuple):
    """Codes of findings by exchange (connection, ordinal), those that came since the last time."""

    changed: dict[tuple[str, int], tuple[str, ...]]
    exchanges: int
    is_last: bool
