"""Findings a project has decided to live with: a rule, what else must match, and the reason."""

from typing import Any, NamedTuple

from kdissect.config.read import ConfigFile

KEY = "suppress"
# Properties of a finding that can be matched. Names are as in the JSON report, `-` for `_`.
MATCHERS = ("software", "version", "client-id", "address", "api", "label", "path")


class Suppression(NamedTuple):
    """One entry. `matchers` are pairs of a name in `MATCHERS` and patterns of which one must fit. All
    matchers must fit.

    `file` and `line` are its position.
    """

    rule: str
    reason: str
    matchers: tuple[tuple[str, tuple[str, ...]], ...] = ()
    file: str = ""
    line: int = 0

    @property
    def where(self) -> str:
        """`kdissect.toml:12`."""
        return f"{self.file}:{self.line}" if self.line else self.file


def parse_suppressions(file: ConfigFile) -> list[Suppression]:
    """Return the entries of a file. Raises ConfigError for one that is no entry, or has no reason."""
    entries = file.table.get(KEY, [])
    if not isinstance(entries, list):
        raise file.error((KEY,), f"{KEY!r} is a list of tables: [[{'.'.join((*file.base, KEY))}]]")
    return [_entry(file, index, entry) for index, entry in enumerate(entries)]


def _entry(file: ConfigFile, index: int, entry: Any) -> Suppression:
    if not isinstance(entry, dict):
        raise file.error((KEY, index), "a suppression is a table with 'rule' and 'reason'")
    values = {key.replace("_", "-"): value for key, value in entry.items()}
    rule, reason = (_required(file, index, values, name) for name in ("rule", "reason"))
    matchers = tuple(
        (name, _patterns(file, index, name, value)) for name, value in values.items() if name in MATCHERS
    )
    for name in values.keys() - {"rule", "reason", *MATCHERS}:
        known = ", ".join(("rule", "reason", *MATCHERS))
        raise file.error((KEY, index, name), f"unknown key {name!r} in a suppression. Known keys are {known}")
    return Suppression(rule, reason, matchers, file.path, file.error((KEY, index), "").line)


def _required(file: ConfigFile, index: int, values: dict[str, Any], name: str) -> str:
    value = values.get(name)
    if name not in values:
        raise file.error((KEY, index), f"a suppression needs {name!r}")
    if not isinstance(value, str) or not value.strip():
        raise file.error((KEY, index, name), f"{name!r} is a text that is not empty")
    return value.strip()


def _patterns(file: ConfigFile, index: int, name: str, value: Any) -> tuple[str, ...]:
    patterns = value if isinstance(value, list) else [value]
    if not patterns or not all(isinstance(pattern, str) and pattern for pattern in patterns):
        raise file.error((KEY, index, name), f"{name!r} is a text or a list of texts, none empty")
    return tuple(patterns)
