"""Options of `spark.read.format("kdissect")`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from kdissect.model.endpoint import Ports
from kdissect.model.limit_notes import parse_limits
from kdissect.model.limits import DEFAULT_LIMITS, Limits, in_force


class SourceOptions(NamedTuple):
    """Options: `table` (default `exchanges`), `path` or `paths` (of `load`), `recursive`, `port`, `only_port`
    and `keylog` (several with commas), `shards`: tasks for each capture set (0: by its size), `limits` as
    `--limits` takes them, `schemas` (several with commas) as `--schemas` does.
    """

    table: str
    paths: tuple[str, ...]
    recursive: bool
    ports: Ports
    key_logs: tuple[str, ...]
    shards: int
    limits: Limits = DEFAULT_LIMITS
    schemas: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: Mapping[str, str]) -> SourceOptions:
        """Return options as Spark hands them over. Raises ValueError for one that makes no sense."""
        return cls(
            options.get("table", "exchanges"),
            _paths(options),
            options.get("recursive", "false").lower() == "true",
            Ports(map(int, _listed(options, "port")), map(int, _listed(options, "only_port"))),
            _listed(options, "keylog"),
            int(options.get("shards", "0")),
            parse_limits(options["limits"]) if options.get("limits") else in_force(),
            _listed(options, "schemas"),
        )


def _paths(options: Mapping[str, str]) -> tuple[str, ...]:
    several = options.get("paths")
    if several is not None:  # what Spark makes of load(["a", "b"])
        return tuple(json.loads(several))
    path = options.get("path")
    if path is None:
        raise ValueError("no path: use load(PATH)")
    return (path,)


def _listed(options: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in options.get(name, "").split(","))))
