"""`python -m captures.record.confignames`: writes `kdissect/schema/configs.table` from Apache Kafka's jars.

Every `ConfigDef` of these releases is asked for its names and types: the newest of each part, and older ones
for names that are gone since. A name that any of them declares as a password is left out.
"""

import sys
from pathlib import Path

from captures.record import jars, workshop
from captures.record.java import configs

TABLE = workshop.REPOSITORY / "kdissect" / "schema" / "configs.table"
RELEASES = (
    "broker-4.4.0", "connect-4.3.1", "streams-4.3.1", "broker-3.9.2", "broker-2.8.2", "streams-2.8.2",
    "tools-1.1.1", "tools-0.10.2.2", "streams-0.10.2.2",
)  # fmt: skip
# Declared as text, and credentials all the same: what ZooKeeper kept of a user (DynamicConfig.User).
_CREDENTIALS = frozenset({"SCRAM-SHA-256", "SCRAM-SHA-512"})
_HEAD = """\
# Configs that are no secret: every name that a ConfigDef of Apache Kafka declares with another type than
# PASSWORD, and whose it is. Written by `python -m captures.record.confignames` from
# {releases}.
# What is not here is masked: `schema.secrets`.
"""


def main() -> int:
    """Ask every release; write the table; 1 where a program for it is missing."""
    kinds: dict[str, set[str]] = {}
    passwords = set(_CREDENTIALS)
    try:
        for release in RELEASES:
            for line in _asked(release):
                kind, type_name, name = line.split(" ", 2)
                kinds.setdefault(name, set()).add(kind)
                if type_name == "PASSWORD":
                    passwords.add(name)
    except workshop.MissingProgramError as missing:
        print(missing, file=sys.stderr)
        return 1
    rows = [f"{name} {','.join(sorted(kinds[name]))}\n" for name in sorted(kinds) if name not in passwords]
    TABLE.write_text(_HEAD.format(releases=", ".join(RELEASES)) + "".join(rows))
    print(f"{len(rows)} names, {len(passwords)} passwords left out")
    return 0


def _asked(release: str) -> list[str]:
    folder = jars.folder(release)
    own = [str(path) for path in sorted(folder.glob("*.jar")) if _is_kafka(path)]
    return workshop.run([*configs(release), *own]).splitlines()


def _is_kafka(path: Path) -> bool:
    return path.name.startswith(("kafka", "connect"))


if __name__ == "__main__":
    sys.exit(main())
